"""When a mean is known well enough, and that nothing is asked in vain until it is."""

from __future__ import annotations

import numpy as np
import pytest
from support.tallies import labels_of_scores

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.betting import bound
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.precise import AT_THE_END, Precise

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


@pytest.mark.parametrize("any_look", [False, True])
@pytest.mark.parametrize("half_width", [0.03, 0.1, 0.2])
def test_side_by_side_no_more_is_asked_than_one_at_a_time(any_look, half_width):
    rule = Precise(0.1, ITEMS, half_width, any_look)
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


@pytest.mark.parametrize("any_look", [False, True])
def test_abstentions_widen_the_interval_to_both_sides(any_look):
    rule = Precise(0.1, ITEMS, any_look=any_look)
    known = [0.5, 0.25, 0.75, 0.4, 0.6] * 12
    hidden = [None if i % 10 == 0 else score for i, score in enumerate(known)]
    (low, high), (lower, higher) = rule.interval(tally_of(known)), rule.interval(tally_of(hidden))
    assert lower < low < high < higher


def test_by_bets_each_end_is_wrong_with_half_the_risk():
    rule = Precise(0.1, ITEMS, any_look=True, guaranteed=True)
    low, high = rule.interval(tally_of(SCORES[:80]))
    signed = 2 * SCORES[:80] - 1
    assert low == pytest.approx((bound(signed, ITEMS, 0.05) + 1) / 2)
    assert high == pytest.approx((1 - bound(-signed, ITEMS, 0.05)) / 2)
    assert low < SCORES[:80].mean() < high
    assert "guarantee" not in rule.guarantee
    assert rule.guarantee.startswith("with random draws")
    assert Precise(0.1, ITEMS, any_look=True).guarantee is None


def test_once_all_is_known_the_interval_is_a_point():
    for rule in (Precise(0.1, ITEMS), Precise(0.1, ITEMS, any_look=True)):
        low, high = rule.interval(tally_of(SCORES))
        assert low == pytest.approx(high) == pytest.approx(SCORES.mean())
    outcome = run(Precise(0.1, ITEMS, 0.0001))
    assert outcome.stop.kind in {StopKind.PRECISE, StopKind.ALL_JUDGED}
    assert outcome.asked == ITEMS
