"""Earlier comparisons by item."""

from __future__ import annotations

import numpy as np
import pytest

from judgeloop.history.past import MOST_COMPARISONS, no_past, past_of_pairs, past_of_scores

SCORES = np.array([[0.9, 0.5, np.nan], [0.2, 0.45, 0.1], [0.2, 0.0, 0.4]])


def test_a_table_of_scores_is_all_pairs_of_its_systems():
    past = past_of_scores(("a", "b", "c"), SCORES, 0.05)
    assert past.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    assert past.preferences.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, -1]]
    assert past.known.tolist() == [[True, True, False], [True, True, False], [True, True, True]]
    assert past.verdicts == 7
    assert past.systems == {"a", "b", "c"}


def test_of_very_many_pairs_some_are_taken_spread_over_all_systems():
    scores = np.random.default_rng(0).random((80, 2))
    past = past_of_scores([f"s{i}" for i in range(80)], scores, 0.0)
    assert len(past) == MOST_COMPARISONS < 80 * 79 / 2
    assert len(past.systems) == 80


def test_pairs_are_placed_by_position():
    past = past_of_pairs({("a", "b"): {2: 1, 0: -1}, ("c", "d"): {}}, 3)
    assert past.preferences.tolist() == [[-1, 0, 1], [0, 0, 0]]
    assert past.known.tolist() == [[True, False, True], [False] * 3]


def test_comparisons_can_be_left_out_by_system_or_by_pair():
    past = past_of_scores(("a", "b", "c"), SCORES, 0.0)
    assert past.without("a").pairs == (("b", "c"),)
    assert past.but(("b", "a")).pairs == (("a", "c"), ("b", "c"))
    assert past.beside(past).verdicts == 2 * past.verdicts


@pytest.mark.parametrize("systems", [0, 1])
def test_fewer_than_two_systems_were_never_compared(systems):
    assert len(past_of_scores(("a",)[:systems], np.zeros((systems, 4)), 0.0)) == 0
    assert no_past(4).verdicts == 0


def test_two_systems_compared_with_a_third_imply_a_comparison_on_common_items():
    past = past_of_pairs({("base", "a"): {0: -1, 1: 1, 2: 0, 3: -1}, ("b", "base"): {0: 1, 1: 0, 2: 1}}, 4)
    more = past.with_implied()
    assert more.pairs[2:] == (("a", "b"),)
    # a did better than base on item 0, and so did b; worse on 1, where b was level; level on 2,
    # where b did better.
    assert more.preferences[2].tolist() == [0, -1, -1, 0]
    assert more.known[2].tolist() == [True, True, True, False]


def test_nothing_is_implied_where_all_were_compared_or_no_item_is_common():
    past = past_of_scores(("a", "b", "c"), SCORES, 0.0)
    assert past.with_implied() is past
    apart = past_of_pairs({("base", "a"): {0: 1}, ("base", "b"): {1: 1}}, 2)
    assert apart.with_implied() is apart


def test_systems_an_item_count_each_system_once():
    past = past_of_pairs({("a", "b"): {0: 1, 1: 0}, ("a", "c"): {0: 1}}, 4)
    assert past.systems_an_item == (3 + 2) / 4
    assert no_past(4).systems_an_item == 0
