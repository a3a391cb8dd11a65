"""Which stratum is next, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judgeloop.methods.stats.allocation import (
    behind_their_share,
    exploration,
    paying_strata,
    upper_bounds,
)


def test_beta_is_that_of_equation_2():
    # √log(2 · 400^4.5): log 2 + 4.5 · log 400 = 0.693 + 26.962.
    assert exploration(400) == pytest.approx(math.sqrt(0.69315 + 4.5 * 5.99146), rel=1e-5)
    assert exploration(0) == exploration(1) == pytest.approx(math.sqrt(math.log(2)))


def test_the_bounds_are_those_of_equation_1():
    shares, drawn = np.array([0.5, 0.3, 0.2]), np.array([4, 1, 4])
    bounds = upper_bounds(shares, drawn, np.array([0.5, 0.0, 0.1]), 1.0)
    # 0.5 / 4 · (0.5 + 2 / 2), 0.3 / 1 · (0 + 2 / 1), 0.2 / 4 · (0.1 + 2 / 2)
    assert bounds == pytest.approx([0.1875, 0.6, 0.055])


def test_with_many_draws_the_spread_decides():
    shares, drawn = np.array([0.5, 0.5]), np.array([5000, 5000])
    bounds = upper_bounds(shares, drawn, np.array([0.1, 0.5]), exploration(10_000))
    assert bounds.argmax() == 1
    assert upper_bounds(shares, np.array([5000, 20_000]), np.array([0.1, 0.5]), 0.0).argmax() == 1


def test_shares_are_followed_as_seats_are_by_sainte_lague():
    # The textbook's 53, 24 and 23 % for seven seats: 4, 2 and 1.
    shares, drawn = np.array([0.53, 0.24, 0.23]), np.zeros(3, dtype=np.int64)
    for _ in range(7):
        drawn[behind_their_share(shares, drawn).argmax()] += 1
    assert drawn.tolist() == [3, 2, 2]
    # Quotients: .53, .24, .23, .177, .106, .08, .077: the first, both others, the first twice, then
    # .08 (second) and .077 (third).


@pytest.mark.parametrize(
    ("budget", "items", "strata"),
    [(200, 4000, 40), (4, 4000, 1), (0, 9, 1), (60, 20, 10), (5, 1, 1)],
)
def test_five_judgments_pay_for_a_stratum_of_at_least_two_items(budget, items, strata):
    assert paying_strata(budget, items) == strata
