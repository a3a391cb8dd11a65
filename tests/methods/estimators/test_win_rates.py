"""Win rates of many systems: what counts, who is in question, who leads, and what it means that all
is asked."""

from __future__ import annotations

from dataclasses import fields
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tallies import labels_of_rows

from judgeloop.core.outcomes import StopKind
from judgeloop.core.records import Choice, Label, Verdict
from judgeloop.methods.estimators.win_rates import WinRates

NO, UNASKED = np.nan, None
BASELINE = 1
labels_of = partial(labels_of_rows, baseline=BASELINE)


def tally(rows, items=10, **how):
    return WinRates(len(rows[0]), BASELINE).tally(labels_of(rows, **how), items)


ROWS = [[1.0, 0.5, 0.0, 0.5], [1.0, 0.5, NO, 0.0], [NO, 0.5, 0.0, 0.5]]


def test_counts_as_worked_by_hand():
    standings = tally(ROWS)
    assert standings.wins.tolist() == [2, 0, 0, 0]
    assert standings.ties.tolist() == [0, 0, 0, 2], "nothing is asked about the baseline"
    assert standings.losses.tolist() == [0, 0, 2, 1]
    assert standings.silent.tolist() == [1, 0, 1, 0]
    assert (standings.queries, standings.judged, standings.abstentions) == (3, 7, 2)
    assert standings.asked.tolist() == [3, 0, 3, 3]


def test_an_abstention_is_neither_a_win_nor_a_loss_in_a_win_rate():
    # 2 of 2, the baseline against itself, 0 of 2, (½ · 2) of 3.
    assert tally(ROWS).rates == pytest.approx([1, 0.5, 0, 1 / 3])


def test_bounds_are_kept_at_a_stated_risk_until_a_query_is_picked():
    estimator = WinRates(4, BASELINE, 0.1)
    standings = estimator.tally(labels_of(ROWS), 10)
    assert [level.judged for level in standings.levels.each] == [3, 10, 3, 3]
    assert standings.leader == standings.levels.leader
    picked = estimator.extended(standings, labels_of([[1.0, 0.5, 0.0, 0.0]], drawn=False, first=3))
    assert picked.levels is None
    again = estimator.extended(picked, labels_of([[1.0, 0.5, 0.0, 0.0]], first=4))
    assert again.levels is None
    assert again.queries == 5
    assert tally(ROWS).levels is None, "no risk is stated"


def test_who_was_not_asked_on_every_query_is_not_in_question():
    standings = tally([[1.0, 0.5, 1.0, 0.0], [UNASKED, 0.5, 0.0, UNASKED], [UNASKED, 0.5, 1.0, UNASKED]])
    assert standings.in_question.tolist() == [False, True, True, False]
    assert standings.rates == pytest.approx([1, 0.5, 2 / 3, 0])
    assert standings.leader == 2, "a single win does not lead two of three"


def test_level_systems_have_no_leader():
    standings = tally([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    assert standings.best == [0, 1, 2]
    assert standings.leader is None


def test_before_the_first_query_nobody_is_best():
    standings = WinRates(3, BASELINE).tally((), 10)
    assert (standings.best, standings.leader, standings.judged, standings.queries) == ([], None, 0, 0)


def same(one, other):
    for field in fields(one):
        first, second = getattr(one, field.name), getattr(other, field.name)
        if field.name == "levels":
            assert first.uppers.tolist() == second.uppers.tolist()
            assert first.leader == second.leader
        else:
            np.testing.assert_array_equal(first, second)


@given(data=st.data())
def test_counting_bit_by_bit_is_counting_at_once(data):
    rows = data.draw(st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0, NO]), min_size=3, max_size=3), max_size=8))
    cut = data.draw(st.integers(0, len(rows)))
    estimator = WinRates(3, BASELINE, 0.1)
    bit_by_bit = estimator.extended(estimator.tally(labels_of(rows[:cut]), 8), labels_of(rows[cut:], first=cut))
    same(bit_by_bit, estimator.tally(labels_of(rows), 8))


def test_flips_are_counted():
    flipped = Label(Choice(0, 0.1, (0, 1)), Verdict(0.5, flipped=True))
    assert WinRates(2, 1).tally([flipped], 10).flips == 1


@pytest.mark.parametrize(
    ("rows", "kind", "words"),
    [
        ([[1.0, 0.5, 0.0]] * 2, StopKind.ALL_JUDGED, "nothing is left to chance"),
        ([[1.0, 0.5, 1.0]] * 2, StopKind.POOL_EXHAUSTED, "the best systems are level"),
        ([[1.0, 0.5, 0.0]], StopKind.POOL_EXHAUSTED, "no further queries"),
        ([[1.0, 0.5, 0.0], [1.0, 0.5, UNASKED]], StopKind.POOL_EXHAUSTED, "no further queries"),
        # 1 + 0 against 0 + 1 abstention that may have been a win; then 2 against as much as 1.
        ([[1.0, 0.5, 0.0], [0.0, 0.5, NO]], StopKind.POOL_EXHAUSTED, "outweigh"),
        ([[1.0, 0.5, 0.0], [1.0, 0.5, NO]], StopKind.ALL_JUDGED, "nothing is left to chance"),
        # The leader's own abstention counts for nothing: 1 against 1.
        ([[1.0, 0.5, 0.0], [NO, 0.5, 0.5]], StopKind.POOL_EXHAUSTED, "outweigh"),
    ],
)
def test_what_it_means_that_all_is_asked(rows, kind, words):
    stop = WinRates(3, BASELINE).exhausted(tally(rows, items=2))
    assert stop.kind is kind
    assert words in stop.sentence
