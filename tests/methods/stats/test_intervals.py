"""Intervals for a mean: known values, what they never do, and how both kinds compare."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from judgeloop.methods.stats.intervals import interval_at_once, interval_whenever
from judgeloop.methods.stats.strata import UNKNOWN, Moments

KINDS = (interval_at_once, interval_whenever)


def of_ones(ones, drawn, items):
    """The moments of so many ones among so many scores."""
    mean = ones / drawn
    return Moments(mean, mean * (1 - mean) / drawn * (1 - drawn / items), math.inf)


def test_for_many_draws_of_a_large_pool_it_is_wilsons():
    # Wilson (1927) for 40 of 100 at 90 %: z = 1.6449, (0.4 + z²/200 ± z √(0.24/100 + z²/40000)) /
    # (1 + z²/100).
    z = norm.ppf(0.95)
    centre, half = 0.4 + z * z / 200, z * math.sqrt(0.24 / 100 + z * z / 40_000)
    expected = [(centre - half) / (1 + z * z / 100), (centre + half) / (1 + z * z / 100)]
    assert interval_at_once(of_ones(40, 100, 10**12), 100, 10**12, 0.1) == pytest.approx(expected)
    assert expected == pytest.approx([0.3228, 0.4825], abs=1e-3)


def test_few_degrees_of_freedom_make_it_wider():
    moments = of_ones(40, 100, 1000)
    few = interval_at_once(moments._replace(freedom=4.0), 100, 1000, 0.1)
    many = interval_at_once(moments, 100, 1000, 0.1)
    assert few[0] < many[0]
    assert few[1] > many[1]


@pytest.mark.parametrize("find", KINDS)
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_where_all_scores_are_the_same_it_is_no_point(find, mean):
    low, high = find(Moments(mean, 0.0, 29.0), 30, 300, 0.1)
    assert high - low > 0.05
    assert (low, high)[round(mean)] == pytest.approx(mean)


@pytest.mark.parametrize("find", KINDS)
def test_once_all_is_known_it_is_a_point(find):
    assert find(Moments(0.3, 0.0, math.inf), 50, 50, 0.1) == (0.3, 0.3)


@pytest.mark.parametrize("find", KINDS)
def test_without_a_variance_there_is_none(find):
    assert find(UNKNOWN, 1, 50, 0.1) is None
    assert find(Moments(0.5, math.nan, math.nan), 3, 50, 0.1) is None


@pytest.mark.parametrize("find", KINDS)
@given(
    mean=st.floats(-0.2, 1.2),
    spread=st.floats(0, 0.25),
    drawn=st.integers(2, 99),
    freedom=st.floats(1, 1e6),
    risk=st.floats(0.001, 0.5),
)
def test_it_lies_within_the_scores_and_holds_the_mean(find, mean, spread, drawn, freedom, risk):
    low, high = find(Moments(mean, spread / drawn * (1 - drawn / 100), freedom), drawn, 100, risk)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= min(1, max(0, mean)) <= high + 1e-9


@pytest.mark.parametrize("drawn", [50, 200, 2000])
def test_to_look_at_any_time_costs_less_than_twice_the_width(drawn):
    once, whenever = (np.diff(find(of_ones(drawn // 2, drawn, 10**9), drawn, 10**9, 0.1))[0] for find in KINDS)
    assert 1.6 < whenever / once < 1.9
