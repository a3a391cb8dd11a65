"""The confidence sequence: its errors over all orders, and that every answer is read off one interval."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tallies import tally_of

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.confidence_sequence import GRID, ConfidenceSequence, lower_bounds
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stopping.bets import Bets

VERDICTS = st.lists(st.sampled_from([1, 1, 1, 0, -1, None]), min_size=2, max_size=60)


def scores_of(history):
    return np.array([[-1 if one is None else sign * one for one in history] for sign in (1, -1)], dtype=float)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(3, 2, 1), (4, 1, 0), (2, 2, 2), (1, 3, 1)])
def test_over_all_orders_each_bound_is_ever_wrong_with_at_most_the_risk(wins, losses, ties):
    pool, wrong = [1] * wins + [-1] * losses + [0] * ties, np.zeros(2)
    orders = sorted(set(itertools.permutations(pool)))
    gap = (wins - losses) / len(pool)
    for order in orders:
        asked = [HedgedBets(0.2, np.zeros(2), len(pool), len(pool))]
        low, high = lower_bounds(scores_of(order), 0.2, len(pool), len(pool), asked)
        wrong += [(low > gap + 1e-9).any(), (high > -gap + 1e-9).any()]
    assert (wrong <= 0.2 * len(orders)).all()


@settings(max_examples=8)
@given(history=VERDICTS, items=st.sampled_from([UNLIMITED, 60, 90]))
@pytest.mark.parametrize(
    "asked", [{}, {"min_gap": 0.15}, {"not_worse": 0.15}, {"near_tie": 0.3}], ids=["winner", "gap", "not worse", "near"]
)
def test_an_answer_is_given_just_when_the_bounds_show_it(asked, history, items):
    rule = Bets(0.2, items, 60, **asked)
    tally = tally_of(history, items)
    first, second = rule.bounds_by_draw(tally, items, 60)
    margin = next(iter(asked.values()), 0.0)
    for number in range(1, len(history) + 1):
        now = tally_of(history[:number], items)
        low, high = first[number - 1], second[number - 1]  # of the first system's gap, and of the second's
        if "not_worse" in asked:
            assert (rule.reason_to_stop(now) is not None) == (
                high >= -margin or (low >= 0 and now.wins[0] > now.wins[1])
            )
            continue
        ahead = (low, high)[now.leader] if now.leader is not None else -1.0
        assert rule.is_met(now) == (now.leader is not None and ahead >= (-margin if "min_gap" in asked else 0.0))
        assert rule.no_difference(now) == ("near_tie" in asked and min(low, high) >= -margin)


@settings(max_examples=8)
@given(history=VERDICTS)
def test_bounds_only_narrow_and_look_the_same_from_both_sides(history):
    scores = scores_of(history)
    found = lower_bounds(scores, 0.1, 40)
    assert (np.diff(found, axis=1) >= 0).all()
    assert (lower_bounds(scores[::-1], 0.1, 40)[::-1] == found).all()


def test_a_null_that_was_asked_falls_in_the_bounds_when_its_own_bets_say_so():
    assert 0.123456 not in GRID
    bets, asked = (HedgedBets(0.1, null, 100) for null in (0.123456, np.full(2, 0.123456)))
    scores = np.random.default_rng(1).choice([1.0, 0.0, -1.0], size=90, p=[0.6, 0.2, 0.2])
    found = lower_bounds(np.array([scores, -scores]), 0.1, 100, asked=[asked])[0]
    for score, bound in zip(scores, found, strict=True):
        bets = bets.after(score)
        assert (bound >= 0.123456) == bets.ruled_out
    assert bets.ruled_out


@settings(max_examples=20)
@given(
    history=st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=50),
    control=st.sampled_from([0.0, 0.3]),
    items=st.sampled_from([np.inf, 50.0]),
    zone=st.sampled_from([0.0, 0.1]),
)
def test_whatever_the_scores_are_each_null_below_an_asked_one_keeps_at_least_its_wealth(history, control, items, zone):
    asked = HedgedBets(0.1, np.full(1, -zone), 50, items, zone=zone)
    sequence = ConfidenceSequence(1, 0.1, 50, items, [asked])
    for score in history:
        sequence.follow(np.array([score]), control * np.sign(score), control)
        below, own = sequence._nulls < -zone, sequence._asked[0].wealth
        richer = sequence._fine.wealth >= np.minimum(own, 10.0) * (1 - 1e-9)
        assert (richer | sequence._out)[0, below].all()


def test_the_bounds_are_finer_than_the_grid():
    draws = np.random.default_rng(0).choice([1.0, 0.0, -1.0], size=(20, 100), p=[0.3, 0.5, 0.2])
    found = np.array([lower_bounds(np.array([one, -one]), 0.1, 100)[:, -1] for one in draws])
    assert (~np.isin(found, GRID)).mean() > 0.5


def test_graded_scores_are_bounded_more_closely_than_votes():
    rng = np.random.default_rng(0)
    votes = rng.choice([1.0, -1.0], size=100)
    widths = [-lower_bounds(np.array([x, -x]), 0.1, 100)[:, -1].sum() for x in (votes, 0.3 * votes)]
    assert widths[1] < 0.45 * widths[0]


def test_beyond_the_plan_the_bounds_stay():
    rng = np.random.default_rng(0)
    scores = rng.choice([1.0, -1.0, 1.0], size=400)
    found = lower_bounds(np.array([scores, -scores]), 0.1, 50)
    assert (found[:, 49:] == found[:, 49:50]).all()
