"""Counts of preferences: when the propensities are kept, and the win distance that they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.selectors import steps_of

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.estimators.preferences import Preferences, weighted_distance
from judgeloop.methods.selectors.decisive import Decisive
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.majority import TieAware

pytestmark = pytest.mark.smoke

ITEMS = 8
WEIGHTS = np.arange(1.0, 1 + ITEMS)
SCORES = (1.0, 0.5, 0.0, None, 1.0)


def labels_of(propensities, scores=SCORES):
    return [
        Label(Choice(at, one), Abstention("no") if score is None else Verdict(score))
        for at, (one, score) in enumerate(zip(propensities, scores, strict=True))
    ]


def drawn_by(selector, scores=SCORES):
    steps, _ = steps_of(
        selector,
        selector.init(ITEMS, np.random.default_rng(0)),
        len(scores),
        np.random.default_rng(0),
    )
    return labels_of([step.choices[0].propensity for step in steps], scores)


def counted(labels):
    return Preferences().tally(labels, ITEMS)


def test_even_draws_and_picks_leave_no_propensities():
    assert counted(drawn_by(Random())).propensities == ()
    assert counted(labels_of([None] * 5)).propensities == ()
    assert counted([]).propensities == ()


def test_draws_that_prefer_some_items_leave_theirs_in_the_order_of_the_history():
    labels = drawn_by(Decisive(WEIGHTS))
    tally = counted(labels)
    assert tally.preferences == (1, 0, -1, None, 1)
    assert tally.propensities == tuple(label.choice.propensity for label in labels)


@pytest.mark.parametrize("first", [1, 2, 4])
@pytest.mark.parametrize(
    "labels", [drawn_by(Random()), drawn_by(Decisive(WEIGHTS)), labels_of([None] * 5)]
)
def test_labels_step_by_step_or_at_once_are_the_same(labels, first):
    estimator = Preferences()
    assert estimator.extended(counted(labels[:first]), labels[first:]) == counted(labels)


def test_draws_that_were_even_at_first_get_their_propensities_once_one_is_not():
    even, uneven = labels_of([1 / 8, 1 / 7], (1.0, 0.5)), labels_of([0.5], (0.0,))
    tally = Preferences().extended(counted(even), uneven)
    assert tally.propensities == (1 / 8, 1 / 7, 0.5)


def test_one_pick_makes_all_of_them_useless():
    drawn, picked = drawn_by(Decisive(WEIGHTS)), labels_of([None], (1.0,))
    for before, after in ((drawn, picked), (picked, drawn)):
        tally = Preferences().extended(counted(before), after)
        assert tally.picked
        assert tally.propensities == ()
        assert weighted_distance(tally) is None


def test_the_win_distance_has_a_known_value():
    tally = Preferences().tally(labels_of([0.5, 0.5], (1.0, 0.0)), 4)
    # Twice the mean of 1 and 0 that tests/methods/stats/test_weighted_draws.py works out, less 1: 2 ·
    # 0.460029 - 1.
    assert weighted_distance(tally).value == pytest.approx(-0.079941, abs=1e-6)
    assert tally.win_distance == 0


def test_the_systems_the_other_way_round_have_the_opposite_distance():
    tally = counted(drawn_by(Decisive(WEIGHTS)))
    turned = replace(
        tally, preferences=tuple(None if one is None else -one for one in tally.preferences)
    )
    distance, opposite = weighted_distance(tally), weighted_distance(turned)
    assert opposite.value == pytest.approx(-distance.value)
    assert opposite.interval == pytest.approx((-distance.interval[1], -distance.interval[0]))


def test_an_abstention_may_have_been_a_win_of_either():
    won, lost, unknown = (
        weighted_distance(counted(drawn_by(Decisive(WEIGHTS), (1.0, 0.5, 0.0, fourth, 1.0))))
        for fourth in (1.0, 0.0, None)
    )
    assert unknown.interval == (
        min(lost.interval[0], won.interval[0]),
        max(lost.interval[1], won.interval[1]),
    )
    assert lost.value < unknown.value < won.value


def test_there_is_no_weighted_gap_of_nothing_of_even_draws_or_projections():
    assert weighted_distance(Tally(ITEMS)) is None
    assert weighted_distance(counted(drawn_by(Random()))) is None
    assert weighted_distance(counted(labels_of([0.5, 0.3], (None, None)))) is None
    assert weighted_distance(replace(counted(drawn_by(Decisive(WEIGHTS))), preferences=())) is None


def test_of_one_verdict_there_is_a_distance_and_no_interval():
    assert weighted_distance(counted(labels_of([0.5], (1.0,)))) == (1.0, None)


def test_a_rule_looks_ahead_from_weighted_draws_as_from_even_ones():
    tally = counted(drawn_by(Decisive(WEIGHTS), (1.0, 1.0, 1.0, 0.5, 1.0)))
    rule = TieAware(0.1)
    ahead = [rule.can_be_met(one, 3) for one in (tally, replace(tally, propensities=()))]
    assert ahead == [True, True]
