"""The calibrated rule: its statistic by hand, and what its bounds make of a tally."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.outcomes import StopKind, Tally
from judgeloop.methods.stats.risk_control import bounds_of
from judgeloop.methods.stopping.calibrated import Calibrated, chance_not_to_win

LIKE = "9 past comparisons of base with others"


def rule(critical, risk=0.1):
    """From comparisons with these critical values, and nine without an error."""
    rows = [[value] for value in critical] + [[inf]] * 9
    return Calibrated(risk, bounds_of(np.array(rows)), LIKE)


def test_the_statistic_as_worked_by_hand():
    # Two wins of four judged, six to come: a decisive one is expected in 3 of 6, so that 3 are.
    # Three losses in a row overtake, with a
    # chance of 4/10 · 5/11 · 6/12; nothing else does.
    assert chance_not_to_win(2, 0, 4, 10) == pytest.approx(4 * 5 * 6 / (10 * 11 * 12))


@given(wins=st.integers(1, 60), ties=st.integers(1, 60), unknown=st.integers(0, 300), data=st.data())
def test_a_win_in_place_of_a_tie_never_makes_it_likelier(wins, ties, unknown, data):
    """Or a batch could be cut short of the verdicts that meet the rule."""
    losses = data.draw(st.integers(0, wins - 1))
    judged, items = wins + losses + ties, wins + losses + ties + unknown
    before = chance_not_to_win(wins, losses, judged, items)
    assert chance_not_to_win(wins + 1, losses, judged, items) <= before * (1 + 1e-9)


@given(wins=st.integers(1, 60), ties=st.integers(0, 60), unknown=st.integers(0, 10), data=st.data())
def test_nothing_overtakes_a_lead_that_all_further_verdicts_do_not_reach(wins, ties, unknown, data):
    losses = data.draw(st.integers(0, wins - 1))
    judged = wins + losses + ties
    if wins - losses > unknown:
        assert chance_not_to_win(wins, losses, judged, judged + unknown) == 0


def test_the_risk_is_the_bound_at_the_statistic():
    # Of 50 items: 5:0 of 5 leaves a chance of 0.049, of 8 one of 0.039, and 4:0 of 4 one of 0.085.
    # Of eleven comparisons none, and one.
    found = rule([0.07, 0.3])
    assert found.risk(Tally(items=50, wins=(5, 0), ties=3)) == pytest.approx(1 / 12)
    assert found.risk(Tally(items=50, wins=(0, 4))) == pytest.approx(2 / 12)
    assert found.is_met(Tally(items=50, wins=(0, 5)))
    assert not found.is_met(Tally(items=50, wins=(4, 0)))
    assert found.reason_to_stop(Tally(items=50, wins=(0, 5))).kind is StopKind.RISK_MET


def test_at_a_critical_value_itself_the_bound_has_risen():
    assert not rule([chance_not_to_win(5, 0, 5, 50), 0.3]).is_met(Tally(items=50, wins=(5, 0)))


def test_level_systems_have_no_leader_to_name_whatever_the_bounds():
    assert rule([]).risk(Tally(items=50, wins=(3, 3))) == 1.0
    assert not rule([], risk=1.0).is_met(Tally(items=50, wins=(3, 3)))


def test_an_abstention_counts_as_a_win_of_the_other_side():
    found = rule([0.07, 0.3])
    assert found.risk(Tally(items=50, wins=(5, 0), abstentions=1)) == found.risk(Tally(items=50, wins=(5, 1)))
    assert not found.is_met(Tally(items=50, wins=(5, 0), abstentions=1))


def test_more_abstentions_than_the_lead_name_nobody_up_to_the_last_item():
    for items in range(18, 40):
        tally = Tally(items=items, wins=(5, 3), ties=5, abstentions=5)
        assert rule([0.3]).risk(tally) > 0.1


@given(wins=st.integers(0, 12), losses=st.integers(0, 12), unknown=st.integers(1, 12), critical=st.floats(0.001, 0.5))
def test_no_answers_meet_the_rule_where_it_says_that_none_can(wins, losses, unknown, critical):
    found = rule([critical] * 2)
    tally = Tally(items=100, wins=(wins, losses))
    met = any(
        found.is_met(Tally(items=100, wins=(wins + won, losses + lost), ties=unknown - won - lost))
        for won in range(unknown + 1)
        for lost in range(unknown + 1 - won)
    )
    assert found.can_be_met(tally, unknown) == met


def test_its_promise_names_the_past_and_is_on_average_only():
    assert LIKE in rule([]).guarantee
    assert "on average" in rule([]).guarantee
    assert "for this pair alone nothing is guaranteed" in rule([]).guarantee
    assert not rule([]).needs_draws
