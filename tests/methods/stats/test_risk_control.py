"""Conformal risk control: small step functions by hand, and that losses are monotone."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.methods.stats.risk_control import bounds_of, critical_values, fewest_comparisons, new_minima, risk_bound

RISKS = [0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 1 / 3, 0.5, 0.9]


def loss_at(statistics, wrong, threshold):
    """Whether a walk that stops at its first statistic at or under the threshold is wrong then."""
    stops = [place for place, value in enumerate(statistics) if value <= threshold]
    return bool(stops) and wrong[stops[0]]


def test_a_run_can_stop_only_where_it_has_a_new_minimum():
    found = new_minima(np.array([[0.4, 0.4, 0.5, 0.3, inf, 0.2], [inf, inf, 0.3, 0.1, 0.2, 0.3]]))
    assert found.tolist() == [[True, False, False, True, False, True], [False, False, True, True, False, False]]


def test_the_critical_value_is_the_strictest_threshold_at_which_a_walk_ends_wrong():
    # At 0.4 the first is wrong, at 0.3 right, at 0.2 wrong again, at 0.1 right: from 0.2 on it
    # counts as lost.
    # The second is wrong at a look with 0.35 only, where it has stopped with 0.3 before whatever
    # the threshold: never lost.
    statistics = np.array([[0.4, 0.3, 0.2, 0.1], [0.3, 0.35, 0.2, inf]])
    wrong = np.array([[True, False, True, False], [False, True, False, True]])
    assert critical_values(statistics, wrong).tolist() == [0.2, inf]


def test_thresholds_as_worked_by_hand():
    # 4 comparisons, 2 runs each. Lost runs under and at 0.05: 0, 0.1: 1, 0.2: 3, 0.3: 4 of 8.
    # Bounds: (4 · 0 + 1) / 5 = 0.2, (4 · 1/8 + 1) / 5 = 0.3, (4 · 3/8 + 1) / 5 = 0.5, (4 · 4/8 + 1)
    # / 5 = 0.6.
    bounds = bounds_of(np.array([[0.2, inf], [inf, inf], [0.1, 0.2], [0.3, inf]]))
    assert [bounds.at(value) for value in (0.05, 0.1, 0.15, 0.2, 0.3, 0.9)] == [0.2, 0.3, 0.3, 0.5, 0.6, 0.6]
    assert [bounds.below(risk) for risk in (0.19, 0.2, 0.29, 0.3, 0.49, 0.5, 0.6)] == [
        None, 0.1, 0.1, 0.2, 0.2, 0.3, inf,
    ]  # fmt: skip


def test_comparisons_without_an_error_allow_any_threshold_and_all_lost_none():
    assert bounds_of(np.full((9, 3), inf)).below(0.1) == inf
    assert bounds_of(np.zeros((9, 3))).at(0.0) == 1.0
    assert bounds_of(np.zeros((9, 3))).at(-1e-9) == 0.1


@pytest.mark.parametrize("risk", RISKS)
def test_so_many_comparisons_bound_the_risk_and_one_less_does_not(risk):
    fewest = fewest_comparisons(risk)
    assert risk_bound(0, fewest, 7) <= risk
    assert fewest == 1 or risk_bound(0, fewest - 1, 7) > risk


walks = st.lists(st.tuples(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5, inf]), st.booleans()), min_size=1, max_size=8)


@given(walk=walks, threshold=st.floats(0, 0.6))
def test_a_walk_is_wrong_exactly_from_its_critical_value_on(walk, threshold):
    statistics, wrong = zip(*walk, strict=True)
    critical = critical_values(np.array([statistics]), np.array([wrong]))[0]
    stricter = [value for value in (0.1, 0.2, 0.3, 0.4, 0.5) if value <= threshold]
    assert any(loss_at(statistics, wrong, value) for value in stricter) == (critical <= threshold)


@given(data=st.data(), risk=st.sampled_from(RISKS))
def test_the_bound_never_falls_and_is_at_most_the_risk_just_under_the_threshold(data, risk):
    rows, repetitions = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 3))
    cells = st.sampled_from([0.01, 0.1, 0.2, 0.3, inf])
    critical = np.array(data.draw(st.lists(cells, min_size=rows * repetitions, max_size=rows * repetitions))).reshape(
        rows, repetitions
    )
    bounds = bounds_of(critical)
    values = [0.0, 0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5]
    found = [bounds.at(value) for value in values]
    assert found == sorted(found)
    assert found == pytest.approx([min(1, (rows * (critical <= value).mean() + 1) / (rows + 1)) for value in values])
    below = bounds.below(risk)
    assert [bound <= risk for bound in found] == [below is not None and value < below for value in values]
