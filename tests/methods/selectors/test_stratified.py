"""Strata in turn: AcTracer's choices by hand, rounds, and what random draws within strata
promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, ks_2samp, wasserstein_distance
from support.selectors import steps_of
from support.walking import walk

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Abstention, Label, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.selectors.stratified import Stratified, kolmogorov_smirnov_with_each, wasserstein_with_each
from judgeloop.methods.stats.strata import Strata
from judgeloop.methods.stopping.precise import Precise

LABELS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1])
CONFIDENCE = np.array([0.0, 0.1, 0.2, 0.3, 1.0, 0.5, 0.6, 0.7, 0.8, 0.9])


def asked_by(selector, scores, count, *, seed=0):
    """The positions in the order asked."""
    items, rng = len(selector.strata.labels), np.random.default_rng(seed)
    labels = walk(selector, items, count, lambda one: Verdict(float(scores[one.position])), rng)
    return [label.choice.position for label in labels]


def test_the_first_five_of_actracer_as_worked_by_hand():
    # Of each cluster the one nearest to all others on average: 0.2 of the first (0.2+0.1+0+0.1+0.8
    # against 0.3+0.2+0.1+0+0.7 for 0.3) and
    # 0.7 of the second. Then the second of each. In the first, at the gaps of 0.1, 0.1, 0.1 and 0.7
    # the whole's distribution function is
    # 0.2, 0.4, 0.6, 0.8; with 0.0: 0.03 + 0.01 + 0.04 + 0.14 = 0.22; with 0.1: 0.02 + 0.01 + 0.04 +
    # 0.14 = 0.21; with 0.3: 0.02 + 0.04 +
    # 0.01 + 0.14 = 0.21; with 1.0: 0.02 + 0.04 + 0.01 + 0.21 = 0.28. The second, even, is nearest
    # with either neighbour of its middle.
    # Scores in the first cluster differ (deviation √½), in the second they do not: the fifth is of
    # the first cluster.
    scores = np.array([0, 1, 0, 0, 0, 1, 1, 1, 1, 1.0])
    selector = Stratified(Strata(LABELS), 10, confidence=CONFIDENCE, rounds=0.0, name="actracer")
    four = asked_by(selector, scores, 4)
    assert [position for position in four if position < 5] == [2, 1]
    assert [position for position in four if position >= 5] == [7, 6]
    assert {LABELS[position] for position in four[:2]} == {0, 1}, "one of each, before the second of any"
    fifth = asked_by(selector, scores, 5)[4]
    assert LABELS[fifth] == 0
    # With 0.1 and 0.2 of five: 0.3 gives 0.02 + 0.1·|1/3 - 0.4| + 0.1·|2/3 - 0.6| + 0.7·0.2, 1.0
    # the last as 0.7·|2/3 - 0.8|: 0.02 + 0.1/15 +
    # 0.1/15 + 0.7·2/15.
    assert fifth == 4


def test_mc_ucb_prefers_the_stratum_whose_scores_spread_and_proportional_does_not():
    labels = np.repeat([0, 1], 2000)
    scores = np.concatenate([np.zeros(2000), np.tile([0.0, 1.0], 1000)])
    shares = {}
    for allocation in ("mc-ucb", "proportional"):
        asked = np.array(asked_by(Stratified(Strata(labels), 2000, allocation), scores, 2000))
        shares[allocation] = (labels[asked] == 1).mean()
    assert shares["proportional"] == pytest.approx(0.5, abs=0.001)
    assert shares["mc-ucb"] > 0.55


def test_every_stratum_is_drawn_from_twice_to_begin_with():
    labels = np.array([0] * 50 + [1] * 3 + [2] + [3] * 2)
    asked = asked_by(Stratified(Strata(labels), 20), np.zeros(56), 7)
    assert sorted(labels[asked].tolist()) == [0, 0, 1, 1, 2, 3, 3]
    assert sorted(labels[asked[:4]].tolist()) == [0, 1, 2, 3], "once each, before any is drawn from again"
    firsts = {
        int(labels[asked_by(Stratified(Strata(labels), 20), np.zeros(56), 1, seed=seed)[0]]) for seed in range(40)
    }
    assert firsts == {0, 1, 2, 3}, "in random order"


def test_nothing_is_asked_while_the_answers_of_a_round_are_out():
    selector, rng = Stratified(Strata(LABELS), 10, rounds=0.5), np.random.default_rng(0)
    state = selector.init(10, rng)
    begun, state = steps_of(selector, state, 100, rng)
    assert len(begun) == 4, "two of each stratum need no answers"
    assert steps_of(selector, state, 100, rng)[0] == []
    answers = [Label(step.choices[0], Verdict(1.0)) for step in begun]
    almost = selector.tell(state, answers[:3])
    assert steps_of(selector, almost, 100, rng)[0] == []
    assert len(steps_of(selector, selector.tell(almost, answers[3:]), 100, rng)[0]) == 2, "half as many as were asked"


def test_proportional_allocation_waits_for_nobody():
    selector, rng = Stratified(Strata(LABELS), 10, "proportional"), np.random.default_rng(0)
    assert len(steps_of(selector, selector.init(10, rng), 100, rng)[0]) == 10


def test_abstentions_are_no_scores():
    selector, rng = Stratified(Strata(LABELS), 10), np.random.default_rng(0)
    state = selector.init(10, rng)
    steps, state = steps_of(selector, state, 4, rng)
    labels = [Label(step.choices[0], Abstention("no")) for step in steps]
    state = selector.tell(state, labels)
    assert state.heard.tolist() == [0, 0]
    assert steps_of(selector, state, 1, rng)[0], "and it goes on"


def test_every_item_of_a_stratum_is_equally_likely_to_be_drawn():
    selector = Stratified(Strata(LABELS), 10)
    firsts = np.array([asked_by(selector, np.zeros(10), 2, seed=seed) for seed in range(1000)])
    for column, members in ((0, range(5)), (1, range(5, 10))):
        counts = [int((firsts[:, column] == member).sum()) for member in members]
        assert chisquare(counts).pvalue > 1e-4


def test_propensities_are_one_over_what_is_left_of_the_stratum():
    selector, rng = Stratified(Strata(LABELS), 10, "proportional"), np.random.default_rng(0)
    steps, _ = steps_of(selector, selector.init(10, rng), 10, rng)
    left = {0: 5, 1: 5}
    for step in steps:
        (choice,) = step.choices
        assert choice.propensity == pytest.approx(1 / left[int(LABELS[choice.position])])
        left[int(LABELS[choice.position])] -= 1


@pytest.mark.parametrize("confidence", [None, CONFIDENCE])
def test_through_a_session_the_whole_pool_gives_the_exact_mean(confidence):
    scores = np.random.default_rng(0).random(10)
    strata = Strata(LABELS)
    session = Session(
        items=10,
        selector=Stratified(strata, 10, confidence=confidence),
        estimator=MeanScore(strata),
        rule=Precise(0.1, 10),
        limits=Limits(1, 100),
        rng=np.random.default_rng(0),
    )
    outcome = replay(session, lambda choice: Verdict(float(scores[choice.position])))
    assert outcome.stop.kind is StopKind.ALL_JUDGED
    assert outcome.estimate.tally.moments.mean == pytest.approx(scores.mean())


@settings(deadline=None)
@given(
    values=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), min_size=2, max_size=9), bits=st.integers(0, 511)
)
def test_both_distances_are_scipys(values, bits):
    values = np.sort(np.array(values))
    chosen = np.array([bool(bits >> i & 1) for i in range(len(values))])
    for with_each, scipys in (
        (wasserstein_with_each, wasserstein_distance),
        (kolmogorov_smirnov_with_each, lambda a, b: ks_2samp(a, b, method="exact").statistic),
    ):
        found = with_each(values, chosen)
        for candidate in np.flatnonzero(~chosen):
            sample = np.append(values[chosen], values[candidate])
            assert found[candidate] == pytest.approx(scipys(sample, values), abs=1e-12)
