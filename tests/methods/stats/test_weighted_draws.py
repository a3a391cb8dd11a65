"""The mean of a pool from draws that prefer some items: known values, what it never does, and how
little it leans."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.methods.stats.mean_intervals import interval_at_once
from judgeloop.methods.stats.strata import Moments
from judgeloop.methods.stats.weighted_draws import (
    chances_to_be_drawn,
    weighted_interval,
    weighted_moments,
)

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
    assert weighted_interval(scores, propensities, len(weights), 0.1) == pytest.approx(
        (scores.mean(),) * 2
    )


@given(weights=weights, seed=st.integers(0, 99), risk=st.floats(0.01, 0.5))
def test_the_interval_lies_within_the_scores_and_holds_the_mean(weights, seed, risk):
    rng = np.random.default_rng(seed)
    drawn = int(rng.integers(2, len(weights) + 1))
    scores, propensities = rng.choice([0.0, 0.5, 1.0], drawn), propensities_of(weights)[:drawn]
    low, high = weighted_interval(scores, propensities, len(weights), risk)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= weighted_moments(scores, propensities).mean <= high + 1e-9


def test_scores_the_other_way_round_give_the_interval_the_other_way_round():
    scores, propensities = (
        np.array([1.0, 0.5, 1.0, 0.0]),
        propensities_of(np.arange(9, 0, -1.0))[:4],
    )
    low, high = weighted_interval(scores, propensities, 9, 0.1)
    assert weighted_interval(1 - scores, propensities, 9, 0.1) == pytest.approx((1 - high, 1 - low))


def test_what_has_no_score_is_left_out_of_the_mean_and_widens_the_bounds_either_way():
    propensities = propensities_of(np.arange(16.0, 0, -1))[:8]
    scores = np.array([1.0, math.nan, 0.5, 1.0, 0.0, math.nan, 0.5, 0.0])
    chances = chances_to_be_drawn(propensities)
    kept = [0, 2, 3, 4, 6, 7]
    expected = np.average(scores[kept], weights=1 / chances[kept])
    assert weighted_moments(scores, propensities).mean == pytest.approx(expected)
    lost, won = (
        weighted_interval(np.nan_to_num(scores, nan=one), propensities, 16, 0.1) for one in (0, 1)
    )
    both = (min(lost[0], won[0]), max(lost[1], won[1]))
    assert weighted_interval(scores, propensities, 16, 0.1) == both
    assert both not in {lost, won}


def test_with_all_drawn_what_has_no_score_leaves_just_that_open():
    propensities = propensities_of(np.array([3.0, 2.0, 1.0, 1.0]))
    scores = np.array([1.0, math.nan, 0.0, 0.0])
    assert weighted_interval(scores, propensities, 4, 0.1) == pytest.approx((0.25, 0.5))


def test_too_few_have_no_interval():
    assert weighted_interval(np.array([1.0]), TWO[:1], 4, 0.1) is None
    assert weighted_interval(np.zeros(0), np.zeros(0), 4, 0.1) is None
    assert math.isnan(weighted_moments(np.array([math.nan]), TWO[:1]).mean)
    one = weighted_moments(np.array([1.0]), TWO[:1])
    assert one.mean == 1.0
    assert math.isnan(one.variance)


def test_over_all_orders_it_leans_less_than_half_of_the_plain_mean():
    weights, scores = (
        np.array([0.3, 0.25, 0.2, 0.1, 0.08, 0.07]),
        np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.0]),
    )
    mean = plain = 0.0
    for order in permutations(range(6)):
        propensities = propensities_of(weights[list(order)])
        chance = float(np.prod(propensities))
        mean += chance * weighted_moments(scores[list(order[:3])], propensities[:3]).mean
        plain += chance * float(scores[list(order[:3])].mean())
    assert plain - scores.mean() > 0.08
    assert abs(mean - scores.mean()) < (plain - scores.mean()) / 2
