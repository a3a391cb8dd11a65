"""A systematic sample along the confidence: every prefix is spread evenly, and every item is
equally likely at every place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import selectors

from judgeloop.papers.actracer.rivals import ConfidenceSystematic, spread_ranks


class Scripted:
    """Draws the same half of every cell, and one shift."""

    def __init__(self, half, shift):
        self.half, self.shift = half, shift

    def integers(self, high, size=None):
        return self.shift if size is None else np.full(size, self.half)


def order_of(confidence, seed=0):
    selector = ConfidenceSystematic(np.asarray(confidence, dtype=np.float64))
    return selectors.order_of(selector, len(confidence), seed)


def gaps(visited, items):
    """Distances between neighbours round the circle of ranks."""
    ranks = np.sort(visited)
    return np.diff(ranks, append=ranks[0] + items)


@pytest.mark.parametrize(
    ("items", "half", "shift", "expected"),
    [
        # The cells of 8 in the order of van der Corput: 0; then 0 1; 0 2 1 3; 0 4 2 6 1 5 3 7.
        (8, 0, 0, [0, 4, 2, 6, 1, 5, 3, 7]),
        (8, 0, 3, [3, 7, 5, 1, 4, 0, 6, 2]),
        # Always the upper half: 1 0; 3 1 2 0; 7 3 5 1 6 2 4 0.
        (8, 1, 0, [7, 3, 5, 1, 6, 2, 4, 0]),
        # The first six of those eight cells, 0 4 2 6 1 5, by rank among themselves.
        (6, 0, 0, [0, 3, 2, 5, 1, 4]),
        (1, 0, 0, [0]),
        (0, 0, 0, []),
    ],
)
def test_ranks_are_visited_in_halves_of_halves(items, half, shift, expected):
    assert spread_ranks(items, Scripted(half, shift)).tolist() == expected


@given(items=st.integers(1, 2000), seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_no_gap_in_any_prefix_is_larger_than_four_even_ones(items, seed, share):
    ranks = spread_ranks(items, np.random.default_rng(seed))
    assert sorted(ranks.tolist()) == list(range(items))
    judged = max(1, round(share * items))
    assert gaps(ranks[:judged], items).max() <= 4 * items / judged + 2


@pytest.mark.parametrize("judged", [1, 2, 8, 64, 256])
@pytest.mark.parametrize("seed", range(5))
def test_a_power_of_two_puts_one_into_each_of_so_many_equal_strata(judged, seed):
    ranks, size = spread_ranks(1024, np.random.default_rng(seed))[:judged], 1024 // judged
    strata = [np.unique((ranks - shift) % 1024 // size).size for shift in range(size)]
    assert max(strata) == judged


def test_every_rank_is_equally_likely_at_every_place():
    draws = 4000
    counts = np.zeros((6, 6))
    for seed in range(draws):
        counts[np.arange(6), spread_ranks(6, np.random.default_rng(seed))] += 1
    assert np.abs(counts - draws / 6).max() < 5 * np.sqrt(draws * 5 / 36)


def test_the_confidence_is_what_the_ranks_are_of():
    confidence = np.random.default_rng(1).permutation(512) / 512
    order = order_of(confidence)
    assert set(gaps(confidence[order[:128]] * 512, 512)) <= set(range(1, 8))
    assert gaps(np.array(order[:128]), 512).max() > 8, "the positions themselves are not even"


def test_items_of_equal_confidence_are_in_random_order():
    orders = np.array([order_of([0.5] * 64, seed)[:32] for seed in range(60)])
    assert len(set(orders[:, 0])) > 30
    pairs = [len(set((order - shift) % 64 // 2)) for order in orders for shift in (0, 1)]
    assert max(pairs) < 32, "one of each pair of positions would come were they what is sorted"
    # Of two groups of equals, one of each comes among the first two, each time others.
    firsts = {tuple(sorted(order_of([0.1] * 8 + [0.9] * 8, seed)[:2])) for seed in range(40)}
    assert len(firsts) > 20
