"""Counts of preferences: when the propensities are kept, and the gap that they give."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.selectors import Weighted, steps_of

from judgeloop.core.outcomes import Tally
from judgeloop.core.records import Abstention, Choice, Label, Verdict
from judgeloop.methods.estimators.preferences import (
    Preferences,
    chances_to_be_drawn,
    weighted_gap,
    weighted_interval,
    weighted_moments,
)
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.intervals import interval_at_once
from judgeloop.methods.stats.strata import Moments
from judgeloop.papers.diffuse.rules import TieAware

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
    steps, _ = steps_of(selector, selector.init(ITEMS, np.random.default_rng(0)), len(scores), np.random.default_rng(0))
    return labels_of([step.choices[0].propensity for step in steps], scores)


def counted(labels):
    return Preferences().tally(labels, ITEMS)


def test_even_draws_and_picks_leave_no_propensities():
    assert counted(drawn_by(Random())).propensities == ()
    assert counted(labels_of([None] * 5)).propensities == ()
    assert counted([]).propensities == ()


def test_draws_that_prefer_some_items_leave_theirs_in_the_order_drawn():
    labels = drawn_by(Weighted(WEIGHTS))
    tally = counted(labels)
    assert tally.preferences == (1, 0, -1, None, 1)
    assert tally.propensities == tuple(label.choice.propensity for label in labels)


@pytest.mark.parametrize("first", [1, 2, 4])
@pytest.mark.parametrize("labels", [drawn_by(Random()), drawn_by(Weighted(WEIGHTS)), labels_of([None] * 5)])
def test_labels_step_by_step_or_at_once_are_the_same(labels, first):
    estimator = Preferences()
    assert estimator.extended(counted(labels[:first]), labels[first:]) == counted(labels)


def test_draws_that_were_even_at_first_get_their_propensities_once_one_is_not():
    even, uneven = labels_of([1 / 8, 1 / 7], (1.0, 0.5)), labels_of([0.5], (0.0,))
    tally = Preferences().extended(counted(even), uneven)
    assert tally.propensities == (1 / 8, 1 / 7, 0.5)


def test_one_pick_makes_all_of_them_useless():
    drawn, picked = drawn_by(Weighted(WEIGHTS)), labels_of([None], (1.0,))
    for before, after in ((drawn, picked), (picked, drawn)):
        tally = Preferences().extended(counted(before), after)
        assert tally.picked
        assert tally.propensities == ()
        assert weighted_gap(tally) is None


def test_the_gap_has_a_known_value():
    tally = Preferences().tally(labels_of([0.5, 0.5], (1.0, 0.0)), 4)
    # Twice the mean of 1 and 0 that tests/methods/stats/test_weighted_draws.py works out, less 1: 2 ·
    # 0.460029 - 1.
    assert weighted_gap(tally).value == pytest.approx(-0.079941, abs=1e-6)
    assert tally.gap == 0


def test_there_is_no_weighted_gap_of_nothing_of_even_draws_or_projections():
    assert weighted_gap(Tally(ITEMS)) is None
    assert weighted_gap(counted(drawn_by(Random()))) is None
    assert weighted_gap(counted(labels_of([0.5, 0.3], (None, None)))) is None
    assert weighted_gap(replace(counted(drawn_by(Weighted(WEIGHTS))), preferences=())) is None


def test_of_one_verdict_there_is_a_distance_and_no_interval():
    assert weighted_gap(counted(labels_of([0.5], (1.0,)))) == (1.0, None)


def test_a_rule_looks_ahead_from_weighted_draws_as_from_even_ones():
    tally = counted(drawn_by(Weighted(WEIGHTS), (1.0, 1.0, 1.0, 0.5, 1.0)))
    rule = TieAware(0.1)
    ahead = [rule.can_be_met(one, 3) for one in (tally, replace(tally, propensities=()))]
    assert ahead == [True, True]


# Two draws of four items with the weights 1/2, 1/4 and, together, 1/4: 1/2 of all, then 1/4 of the
# 1/2 that is left.
TWO = np.array([0.5, 0.5])


def propensities_of(weights):
    """Of items drawn in this order until all are."""
    return weights / np.cumsum(weights[::-1])[::-1]


def test_the_chance_to_be_drawn_grows_with_the_weight():
    # τ = 1/1 + 1/(1/2) + 1/(1/4) = 7, so 1 - exp(-7/2) and 1 - exp(-7/4).
    assert chances_to_be_drawn(TWO) == pytest.approx([0.969803, 0.826226], abs=1e-6)


def test_the_mean_and_its_variance_have_known_values():
    moments = weighted_moments(np.array([1.0, 0.0]), TWO)
    # Weights 1/0.969803 = 1.031138 and 1/0.826226 = 1.210323, so shares 0.460029 and 0.539971: the
    # mean of 1 and 0 is the first.
    assert moments.mean == pytest.approx(0.460029, abs=1e-6)
    # Distances share · (score - mean) = ±0.248402; centred at (0.030197 - 0.173774) · 0.248402 /
    # 0.203971 = -0.174853:
    # (0.030197 · 0.423255² + 0.173774 · 0.073549²) · 2/1.
    assert moments.variance == pytest.approx(0.012699, abs=1e-6)
    # Of (0.006391 + 0.050667)² / (0.006391² + 0.050667²) - 1 = 0.2483, but never less than 3; what
    # is squared is (1 - chance) · share².
    assert moments.freedom == 3.0


def test_two_more_scores_of_each_kind_are_reckoned_with():
    # 60 of 100 even draws: 0.6 · 0.4 / 99 · 0.9, and 2 · (0.6² + 0.4²) / 100² · 0.9 for what was
    # not seen.
    scores, propensities = np.repeat([1.0, 0.0], [60, 40]), 1 / (1000 - np.arange(100))
    expected = interval_at_once(Moments(0.6, 0.002182 + 0.000094, 99.0), 100, 1000, 0.1)
    assert weighted_interval(scores, propensities, 1000, 0.1) == pytest.approx(expected, abs=2e-4)


@given(scores=st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=2, max_size=30))
def test_of_even_draws_it_is_the_plain_mean(scores):
    propensities = 1 / (40 - np.arange(len(scores)))
    moments = weighted_moments(np.array(scores), propensities)
    assert moments.mean == pytest.approx(np.mean(scores))
    assert moments.freedom == pytest.approx(max(3, len(scores) - 1))
    # The waiting time makes the share that is drawn (n + 1) / N instead of n / N, or nearly.
    plain = np.var(scores, ddof=1) / len(scores) * (1 - len(scores) / 40)
    assert moments.variance == pytest.approx(plain, rel=0.1)


weights = st.lists(st.floats(0.01, 1), min_size=2, max_size=20).map(np.array)


@given(weights=weights, seed=st.integers(0, 99))
def test_once_all_is_drawn_it_is_the_mean_of_all_and_the_interval_a_point(weights, seed):
    scores = np.random.default_rng(seed).choice([0.0, 0.5, 1.0], len(weights))
    propensities = propensities_of(weights)
    assert weighted_moments(scores, propensities)[:2] == (pytest.approx(scores.mean()), 0.0)
    assert weighted_interval(scores, propensities, len(weights), 0.1) == pytest.approx((scores.mean(),) * 2)


@given(weights=weights, seed=st.integers(0, 99), risk=st.floats(0.01, 0.5))
def test_the_interval_lies_within_the_scores_and_holds_the_mean(weights, seed, risk):
    rng = np.random.default_rng(seed)
    drawn = int(rng.integers(2, len(weights) + 1))
    scores, propensities = rng.choice([0.0, 0.5, 1.0], drawn), propensities_of(weights)[:drawn]
    low, high = weighted_interval(scores, propensities, len(weights), risk)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= weighted_moments(scores, propensities).mean <= high + 1e-9


def test_scores_the_other_way_round_give_the_interval_the_other_way_round():
    scores, propensities = (np.array([1.0, 0.5, 1.0, 0.0]), propensities_of(np.arange(9, 0, -1.0))[:4])
    low, high = weighted_interval(scores, propensities, 9, 0.1)
    assert weighted_interval(1 - scores, propensities, 9, 0.1) == pytest.approx((1 - high, 1 - low))


def test_what_has_no_score_is_left_out_of_the_mean_and_widens_the_bounds_either_way():
    propensities = propensities_of(np.arange(16.0, 0, -1))[:8]
    scores = np.array([1.0, math.nan, 0.5, 1.0, 0.0, math.nan, 0.5, 0.0])
    chances = chances_to_be_drawn(propensities)
    kept = [0, 2, 3, 4, 6, 7]
    expected = np.average(scores[kept], weights=1 / chances[kept])
    assert weighted_moments(scores, propensities).mean == pytest.approx(expected)
    lost, won = (weighted_interval(np.nan_to_num(scores, nan=one), propensities, 16, 0.1) for one in (0, 1))
    both = (min(lost[0], won[0]), max(lost[1], won[1]))
    assert weighted_interval(scores, propensities, 16, 0.1) == both
    assert both not in {lost, won}


def test_too_few_have_no_interval():
    assert weighted_interval(np.array([1.0]), TWO[:1], 4, 0.1) is None
    assert weighted_interval(np.zeros(0), np.zeros(0), 4, 0.1) is None
    assert math.isnan(weighted_moments(np.array([math.nan]), TWO[:1]).mean)
    one = weighted_moments(np.array([1.0]), TWO[:1])
    assert one.mean == 1.0
    assert math.isnan(one.variance)


def test_over_all_orders_it_leans_less_than_half_of_the_plain_mean():
    weights, scores = (np.array([0.3, 0.25, 0.2, 0.1, 0.08, 0.07]), np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.0]))
    mean = plain = 0.0
    for order in permutations(range(6)):
        propensities = propensities_of(weights[list(order)])
        chance = float(np.prod(propensities))
        mean += chance * weighted_moments(scores[list(order[:3])], propensities[:3]).mean
        plain += chance * float(scores[list(order[:3])].mean())
    assert plain - scores.mean() > 0.08
    assert abs(mean - scores.mean()) < (plain - scores.mean()) / 2
