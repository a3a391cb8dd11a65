"""Intervals for a mean: known values, what they never do, and exact ends against SciPy's distribution."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom, norm

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.intervals import exact_interval, interval_at_once, share_interval
from judgeloop.methods.stats.strata import UNKNOWN, Moments


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


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_where_all_scores_are_the_same_it_is_no_point(mean):
    low, high = interval_at_once(Moments(mean, 0.0, 29.0), 30, 300, 0.1)
    assert high - low > 0.05
    assert (low, high)[round(mean)] == pytest.approx(mean)


def test_once_all_is_known_it_is_a_point():
    assert interval_at_once(Moments(0.3, 0.0, math.inf), 50, 50, 0.1) == (0.3, 0.3)


def test_without_a_variance_there_is_none():
    assert interval_at_once(UNKNOWN, 1, 50, 0.1) is None
    assert interval_at_once(Moments(0.5, math.nan, math.nan), 3, 50, 0.1) is None


@given(
    mean=st.floats(-0.2, 1.2),
    spread=st.floats(0, 0.25),
    drawn=st.integers(2, 99),
    freedom=st.floats(1, 1e6),
    risk=st.floats(0.001, 0.5),
)
def test_it_lies_within_the_scores_and_holds_the_mean(mean, spread, drawn, freedom, risk):
    low, high = interval_at_once(Moments(mean, spread / drawn * (1 - drawn / 100), freedom), drawn, 100, risk)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= min(1, max(0, mean)) <= high + 1e-9


@given(known=st.integers(1, 30), ones=st.floats(0, 1), more=st.integers(0, 40), risk=st.floats(0.001, 0.5))
def test_exact_ends_are_those_that_the_tests_keep(known, ones, more, risk):
    found, items = round(ones * known), known + more
    low, high = (round(end * items) for end in exact_interval(found, known, items, risk))
    assert found <= low <= high <= items - (known - found)
    kept = [
        total
        for total in range(items + 1)
        if min(hypergeom.sf(found - 1, items, total, known), hypergeom.cdf(found, items, total, known)) > risk / 2
    ]
    assert (low, high) == (kept[0], kept[-1])


def test_exact_ends_of_an_endless_population_are_those_of_clopper_and_pearson():
    assert exact_interval(18, 20, UNLIMITED, 0.1) == share_interval(18, 2, 0.1)
    assert exact_interval(18, 20, 10**7, 0.1) == pytest.approx(share_interval(18, 2, 0.1), abs=1e-5)
