"""When a mean is known well enough, and that nothing is asked in vain until it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import hypergeom
from support.tallies import labels_of_scores

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.confidence_sequence import ConfidenceSequence, lower_bounds
from judgeloop.methods.stats.intervals import share_interval
from judgeloop.methods.stats.strata import Strata, foreseen
from judgeloop.methods.stopping.precise import AT_THE_END, IntervalKind, Precise

ITEMS = 400
SCORES = (np.random.default_rng(0).random(ITEMS) < 0.3).astype(float)


def tally_of(scores, *, items=ITEMS, drawn=True):
    return MeanScore(Strata.single(items)).tally(labels_of_scores(scores, drawn=drawn), items)


def run(rule, *, limit=1000, scores=SCORES, concurrent=False):
    session = Session(
        items=len(scores),
        selector=Random(((0,),)),
        estimator=MeanScore(Strata.single(len(scores))),
        rule=rule,
        limits=Limits(1, limit),
        rng=np.random.default_rng(1),
    )
    if not concurrent:
        session._could_stop = lambda: bool(session._pending)
    return replay(session, lambda choice: Verdict(float(scores[choice.position])))


def test_it_ends_once_the_interval_is_narrow_enough():
    outcome = run(Precise(0.1, ITEMS, 0.05))
    low, high = outcome.estimate.interval
    assert outcome.stop.kind is StopKind.PRECISE
    mean = outcome.estimate.tally.moments.mean
    assert max(high - mean, mean - low) <= 0.05
    assert outcome.winner == 0
    assert 100 < outcome.asked < ITEMS


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("half_width", [0.05, 0.1, 0.2])
def test_side_by_side_no_more_is_asked_than_one_at_a_time(even, half_width):
    rule = Precise(0.1, ITEMS, half_width, even=even)
    one, many = run(rule), run(rule, concurrent=True)
    assert one.labels == many.labels
    assert one.estimate.interval == many.estimate.interval
    assert many.rounds <= one.rounds


def test_it_looks_first_where_it_is_told_to_and_then_at_five_per_cent_more():
    rule = Precise(0.1, ITEMS, 0.49, first_look=20)
    assert [n for n in range(1, 60) if rule.is_met(tally_of(SCORES[:n]))] == [
        20, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 44, 47, 50, 53, 56, 59
    ]  # fmt: skip


def test_what_cannot_be_looked_at_cannot_be_met():
    rule = Precise(0.1, ITEMS, 0.4, first_look=20)
    assert not rule.can_be_met(tally_of(SCORES[:10]), 9)
    assert rule.can_be_met(tally_of(SCORES[:10]), 10)
    assert not Precise(0.1, ITEMS).can_be_met(tally_of(SCORES[:10]), 1000)


def test_without_a_width_it_runs_to_the_end_of_the_budget_and_decides_there():
    outcome = run(Precise(0.1, ITEMS), limit=37, concurrent=True)
    assert outcome.stop.kind is StopKind.JUDGMENT_LIMIT
    assert outcome.winner == 0
    assert outcome.rounds == 1, "nothing is waited for"


def test_with_a_width_the_end_of_the_budget_decides_nothing():
    outcome = run(Precise(0.1, ITEMS, 0.01), limit=37)
    assert outcome.stop.kind is StopKind.JUDGMENT_LIMIT
    assert outcome.winner is None
    assert outcome.estimate.interval is not None
    assert not AT_THE_END & Precise(0.1, ITEMS, 0.01).decides_at


def test_picked_items_and_a_single_one_have_no_interval():
    assert Precise(0.1, ITEMS).interval(tally_of([1.0])) is None
    assert Precise(0.1, ITEMS).interval(tally_of(SCORES[:50], drawn=False)) is None
    assert Precise(0.1, ITEMS).risk(tally_of(SCORES[:50], drawn=False)) == 1.0
    assert not Precise(0.1, ITEMS, 0.4).is_met(tally_of(SCORES[:50], drawn=False))


@pytest.mark.parametrize("known", [[0.5, 0.25, 0.75, 0.4, 0.6] * 12, [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0] * 9])
@pytest.mark.parametrize("even", [False, True])
def test_abstentions_widen_the_interval_to_both_sides(even, known):
    rule = Precise(0.1, ITEMS, even=even)
    hidden = [None if i % 10 == 0 else score for i, score in enumerate(known)]
    (low, high), (lower, higher) = rule.interval(tally_of(known)), rule.interval(tally_of(hidden))
    assert lower < low < high < higher


def test_by_bets_each_end_is_a_bound_at_half_the_risk():
    rule = Precise(0.1, ITEMS, any_look=True, even=True, limit=90)
    signed = 2 * SCORES[:80] - 1
    low, opposite = lower_bounds(np.array([signed, -signed]), 0.05, 90, ITEMS)[:, -1]
    assert rule.interval(tally_of(SCORES[:80])) == pytest.approx(((1 + low) / 2, (1 - opposite) / 2))
    assert rule.guarantee.startswith("with random draws")
    assert Precise(0.1, ITEMS, any_look=True).guarantee is None


def test_a_tally_that_grows_and_one_that_does_not_have_the_same_bounds():
    grows, rng = Precise(0.1, ITEMS, 0.05, even=True), np.random.default_rng(3)
    for scores in (rng.random(60), SCORES[:60]):
        for number in (10, 11, 40, 60):
            afresh = Precise(0.1, ITEMS, 0.05, even=True)
            assert grows.interval(tally_of(scores[:number])) == afresh.interval(tally_of(scores[:number]))


def test_scores_of_0_and_1_at_one_look_have_exact_ends():
    rule, tally = Precise(0.1, ITEMS, even=True), tally_of(SCORES[:50])
    ones, known = int(SCORES[:50].sum()), 50
    low, high = (round(end * ITEMS) for end in rule.interval(tally))
    assert rule.kind(tally) is IntervalKind.EXACT
    assert hypergeom.sf(ones - 1, ITEMS, low - 1, known) <= 0.05 < hypergeom.sf(ones - 1, ITEMS, low, known)
    assert hypergeom.cdf(ones, ITEMS, high + 1, known) <= 0.05 < hypergeom.cdf(ones, ITEMS, high, known)
    like_these = Precise(0.1, ITEMS, even=True, sampled=True).interval(tally)
    assert like_these == pytest.approx(share_interval(ones, known - ones, 0.1))


def test_another_score_or_look_takes_the_bounds_for_every_look():
    graded, votes, proxy = tally_of([*SCORES[:49], 0.5]), tally_of(SCORES[:50]), np.linspace(0, 1, ITEMS)
    rule, anytime = Precise(0.1, ITEMS, even=True), IntervalKind.ANYTIME
    assert rule.kind(graded) is rule.kind(votes, once=False) is anytime
    assert replace(rule, half_width=0.1).kind(votes) is replace(rule, any_look=True).kind(votes) is anytime
    helped = replace(votes, proxy=proxy)
    assert Precise(0.1, ITEMS).kind(votes) is Precise(0.1, ITEMS).kind(helped) is IntervalKind.APPROXIMATE
    assert rule.kind(helped) is replace(rule, any_look=True).kind(helped) is anytime
    promises = {rule.promised(kind) for kind in IntervalKind}
    assert len(promises) == 3
    assert rule.promised(IntervalKind.APPROXIMATE) is None


def test_a_proxy_narrows_the_bounds_and_a_useless_one_hardly_widens_them():
    rng, votes = np.random.default_rng(5), tally_of(SCORES[:150])
    near = np.clip(SCORES + rng.normal(0, 0.2, ITEMS), 0, 1)
    widths = []
    for proxy in (None, near, rng.random(ITEMS)):
        low, high = Precise(0.1, ITEMS, any_look=True, even=True, limit=150).interval(replace(votes, proxy=proxy))
        widths.append(high - low)
    assert widths[1] < 0.75 * widths[0] < widths[2] < 1.15 * widths[0]


def test_at_one_look_stakes_that_aim_at_it_make_a_proxy_worth_more():
    near = np.clip(SCORES + np.random.default_rng(5).normal(0, 0.5, ITEMS), 0, 1)
    helped = replace(tally_of(SCORES[:60]), proxy=near)
    widths = []
    for often in (True, False):
        low, high = Precise(0.1, ITEMS, any_look=often, even=True, limit=60).interval(helped)
        widths.append(high - low)
    assert widths[1] < 0.95 * widths[0]


def test_of_items_like_these_a_proxy_is_a_control_by_its_block_and_not_by_the_pool():
    """By hand: the bets of both sides with a slope of the labels before, as theorem 2 has it."""
    rng = np.random.default_rng(8)
    votes = (rng.random(ITEMS) < 0.6).astype(float)
    near = np.clip(votes + rng.normal(0, 0.3, ITEMS), 0, 1)
    blocks = rng.permutation(ITEMS)[:160].reshape(40, 4)
    helped = replace(tally_of(votes[:40]), positions=blocks[:, 0], scores=votes[blocks[:, 0]], proxy=near, sampled=True)
    helped = replace(helped, blocks=blocks)
    rule = Precise(0.1, ITEMS, any_look=True, even=True, sampled=True, limit=40)
    sequence, cheap, dear = ConfidenceSequence(2, 0.05, 40), 2 * near - 1, 2 * votes - 1
    for at, block in enumerate(blocks):
        slope = 0.0
        if at:
            own, seen, told = cheap[blocks[:at, 0]], cheap[blocks[:at]], dear[blocks[:at, 0]]
            away = own - seen.mean()
            slope = float(np.clip(away @ (told - told.mean()) / (away @ away + 4 * seen.var()), -2, 2))
        control, most = slope * (cheap[block[0]] - cheap[block].mean()), abs(slope) * 1.5
        signs = np.array([1, -1])
        sequence.follow(signs * dear[block[0]], signs * control, np.full(2, most))
    low, opposite = sequence.low
    assert rule.interval(helped) == pytest.approx(((1 + low) / 2, (1 - opposite) / 2))
    assert near[blocks].mean() != pytest.approx(near.mean(), abs=1e-4)


def grouped(seed=9):
    """Votes of which the items of one group are right in 5 % and those of another in 95 %, and their groups."""
    rng, labels = np.random.default_rng(seed), np.arange(ITEMS) % 8
    return (rng.random(ITEMS) < np.linspace(0.05, 0.95, 8)[labels]).astype(float), Strata(labels)


@pytest.mark.parametrize("helped", [False, True])
def test_groups_are_a_control_by_what_was_known_before_and_by_the_items_left(helped):
    """By hand: what proxy and groups foresee, less its mean over the items without a label, as theorem 1 has it."""
    (votes, groups), rng = grouped(), np.random.default_rng(3)
    order, proxy = rng.permutation(ITEMS), np.clip(votes + rng.normal(0, 0.4, ITEMS), 0, 1)
    positions, dear, cheap = order[:60], 2 * votes - 1, 2 * proxy - 1
    tally = replace(tally_of(votes[positions]), positions=positions, groups=groups, proxy=proxy if helped else None)
    tally = replace(tally, scores=np.where(np.arange(60) % 10 == 9, np.nan, tally.scores))
    sequence, signs = ConfidenceSequence(2, 0.05, 60, ITEMS), np.array([1, -1])
    for at, item in enumerate(positions):
        before = positions[:at][~np.isnan(tally.scores[:at])]
        slope = 0.0
        if helped and len(before):
            away = cheap[before] - cheap.mean()
            slope = float(away @ (dear[before] - dear[before].mean()) / (away @ away + 4 * cheap.var()))
        ahead = slope * cheap
        ahead = ahead + foreseen(groups, before, dear[before] - ahead[before])
        left = ahead[order[at:]] - ahead[order[at:]].mean()
        assert abs(left.mean()) < 1e-12, "given the past the control is 0 on average"
        scores = np.full(2, -1.0) if np.isnan(tally.scores[at]) else signs * dear[item]
        sequence.follow(scores, signs * left[0], np.array([left.max(), -left.min()]))
    (low, opposite), rule = sequence.low, Precise(0.1, ITEMS, any_look=True, even=True, limit=60)
    assert rule.interval(tally) == pytest.approx(((1 + low) / 2, (1 - opposite) / 2))


def test_groups_that_differ_narrow_the_bounds_and_others_leave_them_as_they_are():
    votes, groups = grouped()
    order = np.random.default_rng(4).permutation(ITEMS)[:150]
    alike = Strata(np.random.default_rng(5).permutation(groups.labels))
    plain, helped, useless = (
        Precise(0.1, ITEMS, any_look=True, even=True, limit=150).interval(
            replace(tally_of(votes[order]), positions=order, groups=one)
        )
        for one in (None, groups, alike)
    )
    assert np.diff(helped) < 0.95 * np.diff(plain)
    assert useless == plain


def test_once_all_is_known_the_interval_is_a_point():
    for rule in (Precise(0.1, ITEMS), Precise(0.1, ITEMS, even=True), Precise(0.1, ITEMS, any_look=True, even=True)):
        low, high = rule.interval(tally_of(SCORES))
        assert low == pytest.approx(high) == pytest.approx(SCORES.mean())
    outcome = run(Precise(0.1, ITEMS, 0.0001))
    assert outcome.stop.kind in {StopKind.PRECISE, StopKind.ALL_JUDGED}
    assert outcome.asked == ITEMS
