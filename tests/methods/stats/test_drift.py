"""Drift inside a run: the first half of the draws against the second, at looks fixed beforehand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from judgeloop.methods.stats.drift import EXACT, LEVEL, chance_of_halves, drift, looks


@pytest.mark.parametrize("scores", [(1, 1, 0, -1), (1, 1, 1, -1, 0, 0), (1, 0, 0, 0, -1, -1), (1, 1, 1, 1, -1, -1)])
def test_the_chance_is_that_of_all_orders(scores):
    half, apart = len(scores) // 2, abs(sum(scores[: len(scores) // 2]) - sum(scores[len(scores) // 2 :]))
    orders = list(permutations(scores))
    as_far = sum(abs(sum(one[:half]) - sum(one[half:])) >= apart for one in orders)
    assert chance_of_halves(np.array(scores)) == pytest.approx(as_far / len(orders))


def test_many_draws_are_approximated_as_well(monkeypatch):
    rng = np.random.default_rng(4)
    scores = rng.choice([1, 0, -1], size=2 * EXACT, p=[0.4, 0.3, 0.3])
    exact = chance_of_halves(scores)
    monkeypatch.setattr("judgeloop.methods.stats.drift.EXACT", 0)
    assert chance_of_halves(scores) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(("gap", "least", "most"), [(0.0, 0.0, 0.02), (0.2, 0.07, 0.2), (0.4, 0.62, 0.84)])
def test_a_swap_is_seen_as_often_as_the_page_says(gap, least, most):
    """200 draws with 30 % ties, of which the second half has another gap: 300 runs."""
    rng = np.random.default_rng(11)
    seen = 0
    for _ in range(300):
        halves = [
            rng.choice([1, 0, -1], size=100, p=[0.35 + sign * gap / 4, 0.3, 0.35 - sign * gap / 4]) for sign in (1, -1)
        ]
        seen += drift(np.concatenate(halves).tolist(), 200) is not None
    assert least <= seen / 300 <= most


def test_a_run_is_looked_at_only_where_that_was_fixed_beforehand():
    turned = [1] * 20 + [-1] * 20
    assert drift(turned[:31], 200) is None
    found = drift([*[1] * 16, *[-1] * 30, *turned], 200)
    assert (found.draws, found.first, found.second) == (32, 1.0, -1.0)
    assert drift([None] * 200, 200) is None
    assert looks(500) == [32, 64, 128, 256, 500]
    assert LEVEL == 0.01
