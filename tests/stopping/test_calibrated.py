"""The calibrated rule: its statistic by hand and against SciPy's, and what its bounds make of a tally."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betainc

from judgeloop.records import StopKind, Tally
from judgeloop.stats.risk_control import bounds_of
from judgeloop.stopping import Calibrated
from judgeloop.stopping.calibrated import chance_behind

LIKE = "9 past comparisons of base with others"


def rule(critical, risk=0.1):
    """From comparisons with these critical values, and nine without an error."""
    rows = [[value] for value in critical] + [[inf]] * 9
    return Calibrated(risk, bounds_of(np.array(rows)), LIKE)


def test_the_statistic_as_worked_by_hand():
    # Two wins and no loss: at least 6 heads in 9 tosses, (84 + 36 + 9 + 1) / 512.
    assert chance_behind(2, 0) == 130 / 512
    assert chance_behind(3, 3) == 0.5


@given(wins=st.integers(0, 400), losses=st.integers(0, 400))
def test_it_is_the_incomplete_beta_function(wins, losses):
    assert chance_behind(wins, losses) == pytest.approx(betainc(wins + 4, losses + 4, 0.5), rel=1e-9, abs=0)


@given(wins=st.integers(0, 60), losses=st.integers(0, 60))
def test_it_falls_with_wins_and_rises_with_losses(wins, losses):
    here = chance_behind(wins, losses)
    assert chance_behind(wins + 1, losses) < here < chance_behind(wins, losses + 1)


def test_thousands_of_wins_and_losses_are_no_trouble():
    assert chance_behind(3000, 0) == pytest.approx(0, abs=1e-300)
    assert chance_behind(4000, 4000) == pytest.approx(0.5)


def test_the_risk_is_the_bound_at_the_statistic():
    # chance_behind(5, 0) = 299/4096 = 0.073, (4, 0) = 29/256 = 0.113; eleven comparisons: (0 + 1) / 12 and (1 + 1) / 12.
    found = rule([0.1, 0.3])
    assert found.risk(Tally(items=50, wins=(5, 0), ties=3)) == pytest.approx(1 / 12)
    assert found.risk(Tally(items=50, wins=(0, 4))) == pytest.approx(2 / 12)
    assert found.is_met(Tally(items=50, wins=(0, 5)))
    assert not found.is_met(Tally(items=50, wins=(4, 0)))
    assert found.reason_to_stop(Tally(items=50, wins=(0, 5))).kind is StopKind.RISK_MET


def test_at_a_critical_value_itself_the_bound_has_risen():
    assert not rule([chance_behind(5, 0), 0.3]).is_met(Tally(items=50, wins=(5, 0)))


def test_level_systems_have_no_leader_to_name_whatever_the_bounds():
    assert rule([]).risk(Tally(items=50, wins=(3, 3))) == 1.0
    assert not rule([], risk=1.0).is_met(Tally(items=50, wins=(3, 3)))


def test_an_abstention_counts_as_a_win_of_the_other_side():
    found = rule([0.1, 0.3])
    assert found.risk(Tally(items=50, wins=(5, 0), abstentions=1)) == found.risk(Tally(items=50, wins=(5, 1)))
    assert not found.is_met(Tally(items=50, wins=(5, 0), abstentions=1))


@given(
    wins=st.integers(0, 12),
    losses=st.integers(0, 12),
    unknown=st.integers(1, 12),
    critical=st.floats(0.001, 0.5),
)
def test_no_answers_meet_the_rule_where_it_says_that_none_can(wins, losses, unknown, critical):
    found = rule([critical] * 2)
    tally = Tally(items=100, wins=(wins, losses))
    met = any(
        found.is_met(Tally(items=100, wins=(wins + won, losses + lost)))
        for won in range(unknown + 1)
        for lost in range(unknown + 1 - won)
    )
    assert found.can_be_met(tally, unknown) == met


def test_its_promise_names_the_past_and_is_on_average_only():
    assert LIKE in rule([]).guarantee
    assert "on average" in rule([]).guarantee
    assert "nothing is promised for this pair alone" in rule([]).guarantee
    assert not rule([]).needs_draws
