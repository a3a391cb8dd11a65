"""Races: the first bets by hand, and their promise counted over all orders of small fields."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgeloop.methods.stats.betting import BETS, STAKES
from judgeloop.methods.stats.levels import begun as start
from judgeloop.methods.stats.levels import raced

NO = np.nan
ALL = np.ones(3, dtype=bool)


def after(race, scores, asked):
    """The race after a query, without a cheap judge."""
    return raced(race, scores, asked, np.zeros((len(scores), 3)))


def mixed(*factors):
    """The logarithm of the wealth after the factors, functions of the size of the bet."""
    return log(STAKES @ np.prod(factors, axis=0))


def run(items, rows, asked=None):
    race = start(items, len(rows[0]))
    for row in rows:
        everybody = np.ones(len(row), dtype=bool)
        race = after(race, np.array(row, dtype=float), everybody if asked is None else np.array(asked))
    return race


def test_the_first_two_queries_as_worked_by_hand():
    # Nothing is known at first: the mean to beat is 0, the first of the level systems leads, and
    # against it the second is bet on.
    # Differences: against the first 1/2 - 1, against the second 1 - 1/2, against the third 1 - 0.
    race = run(5, [[1, 0.5, 0]])
    assert race.wealth[0] == pytest.approx(np.log([1 - BETS / 2, 1 + BETS / 2, 1 + BETS]))
    assert race.evidence[0] == pytest.approx([0, mixed(1 + BETS / 2), mixed(1 + BETS)])
    # 4 are left. The leader is the first, and the second bets against it. The rest would have to
    # average, from the view of the leader,
    # +1/2 / 4 = 1/8 against the first, -1/8 against the second, -1/4 against the third.
    # The first loses, the second wins, the third abstains, which counts as its win: differences 1,
    # -1 and -1.
    # Gains: (1 - 1/8) / (1 + 1/8) = 7/9; (-1 + 1/8) / (1 - 1/8) = -1; (-1 + 1/4) / (1 - 1/4) = -1.
    race = run(5, [[1, 0.5, 0], [0, 1, NO]])
    factors = [(1 - BETS / 2, 1 + BETS * 7 / 9), (1 + BETS / 2, 1 - BETS), (1 + BETS, 1 - BETS)]
    assert race.wealth[0] == pytest.approx(np.array([np.log(a * b) for a, b in factors]))
    assert race.evidence[0] == pytest.approx([mixed(*factors[0]), mixed(1 + BETS / 2), mixed(1 + BETS)])
    assert (race.least.tolist(), race.most.tolist()) == ([1, 1.5, 0], [1, 1.5, 1])
    assert race.drawn == 2


def test_an_abstention_of_the_leader_counts_as_its_loss():
    # The first leads 1 to 0 and abstains while the others lose: against the second 0 - 0, where
    # -1/4 is the mean to beat.
    race = run(5, [[1, 0, 0], [NO, 0, 0]])
    assert race.wealth[0][1] == pytest.approx(np.log((1 + BETS) * (1 + BETS * 0.25 / 0.75)))
    # Against the first bets the second: 0 - 1, where 1/4 is the mean to beat.
    assert race.wealth[0][0] == pytest.approx(np.log((1 - BETS) * (1 - BETS)))


def test_evidence_stays_where_it_once_was():
    good, bad = [1, 0, 0.5], [0, 1, 0.5]
    evidence = [run(12, [good] * 3 + [bad] * more).evidence[0, 1] for more in range(4)]
    assert evidence == [evidence[0]] * 4
    assert evidence[0] > 0


@pytest.mark.parametrize(("wins", "sure"), [(5, False), (6, True)])
def test_who_is_further_behind_than_queries_are_left_is_surely_out(wins, sure):
    # Of 10: five ahead with five left can still be made good, six with four left cannot.
    race = run(10, [[1, 0]] * wins)
    assert (race.evidence[0][1] == inf) == sure
    assert race.out(1e-300).tolist() == [False, sure]


def test_who_may_be_level_at_the_end_is_never_surely_out():
    race = run(6, [[1, 0]] * 3 + [[0, 1]] * 3)
    assert np.isfinite(race.evidence[0]).all()


def test_at_the_end_all_but_the_best_are_surely_out():
    race = run(4, [[1, 0.5, 0.5], [0, 1, 0], [1, 0, 0.5], [0.5, 0.5, 1]])
    assert race.evidence[0].tolist() == [pytest.approx(race.evidence[0][0]), inf, inf]
    assert np.isfinite(race.evidence[0][0])


def test_a_system_that_is_not_asked_is_bet_neither_on_nor_against_any_more():
    first = run(20, [[1, 0.5, 0], [1, 0.5, 0]])
    left_out = np.array([False, True, True])
    second = after(first, np.array([NO, 0, 1]), left_out)
    assert second.running.tolist() == [False, True, True]
    assert (second.wealth[0][0] == first.wealth[0][0]).all()
    # The second now leads the third, which wins where it loses: all that was bet is lost.
    assert second.wealth[0][2] == pytest.approx(first.wealth[0][2] + np.log(1 - BETS))
    again = after(second, np.array([1.0, 1, 1]), ALL)
    assert again.running.tolist() == [False, True, True], "who was left out once stays out"
    assert (again.least[0], again.wealth[0][0, 0]) == (first.least[0], first.wealth[0][0, 0])


def test_the_last_one_running_is_bet_against_by_nobody():
    race = after(start(10, 3), np.array([0.0, 0, 1]), np.array([False, True, False]))
    assert race.evidence[0] == pytest.approx([0, 0, 0])


def chance_of_dropping(scores, hidden, risk, *, dropping):
    """The chance, exactly, over all orders of the queries, that the first system is ever out."""
    shown = np.array(scores, dtype=float)
    for system, query in hidden:
        shown[system, query] = NO
    columns, counts = np.unique(np.nan_to_num(shown, nan=9), axis=1, return_counts=True)
    columns = np.where(columns == 9, NO, columns)

    def ever_out(race, left):
        if race.out(risk)[0]:
            return 1.0
        if not sum(left):
            return 0.0
        asked = race.running & ~race.out(risk) if dropping else np.ones(len(shown), dtype=bool)
        total = 0.0
        for column in np.flatnonzero(left):
            fewer = list(left)
            fewer[column] -= 1
            total += left[column] * ever_out(after(race, columns[:, column], asked), fewer)
        return total / sum(left)

    return ever_out(start(shown.shape[1], len(shown)), counts.tolist())


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_over_all_orders_so_it_is_for_any_field(data):
    systems, items = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 5))
    cells = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=items, max_size=items)
    rows = sorted(data.draw(st.lists(cells, min_size=systems, max_size=systems)), key=sum, reverse=True)
    hidden = data.draw(st.sets(st.tuples(st.integers(0, systems - 1), st.integers(0, items - 1)), max_size=4))
    risk = data.draw(st.sampled_from([0.1, 0.2, 0.35, 0.5, 0.7, 0.9]))
    dropping = data.draw(st.booleans())
    assert chance_of_dropping(rows, hidden, risk, dropping=dropping) <= risk + 1e-12
