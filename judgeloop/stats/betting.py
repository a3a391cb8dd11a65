"""Testing by betting on the mean of a finite population of scores in [-1, 1], drawn without replacement.

Which population, and what a bet won means, is the stopping rule's business.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Bets as shares of the largest that cannot lose everything, and how the first unit of money is laid on them: Beta(3, 2), which
# needed fewer judgments than other shapes on recorded verdicts (docs/results.md).
BETS = (np.arange(40) + 0.5) / 40
STAKES = BETS**2 * (1 - BETS) / (BETS**2 * (1 - BETS)).sum()
HALVINGS = 40


class Wealth(NamedTuple):
    """The logarithm of the most wealth that a mixture of bets ever had."""

    most: float

    @property
    def risk(self) -> float:
        """The chance, at most, of ever being so wealthy by luck alone (Ville 1939)."""
        return float(np.exp(-max(0.0, self.most)))


def log_wealth(
    scores: NDArray[np.int8] | NDArray[np.float64], items: int, mean: float = 0.0
) -> Wealth:
    """How who bets that the mean of all `items` is above `mean` fared on `scores`, in the order drawn."""
    return Wealth(float(log_wealth_path(scores, items, mean)[-1]) if len(scores) else 0.0)


def log_wealth_path(
    scores: NDArray[np.int8] | NDArray[np.float64], items: int, mean: float = 0.0
) -> NDArray[np.float64]:
    """The logarithm of the most wealth so far after each of `scores`, of their shape.

    Before the draw numbered t, from 0, with sum S so far, what remains would have the mean m = (items · mean - S) / (items - t) at
    most; a bet of c wins the factor 1 + c (x - m) / (1 + m), whose expectation is then 1 at most. Waudby-Smith & Ramdas (2024),
    equations 32 and 33, with λ = c / (1 + m). Where m is under -1 the mean is surely above `mean`, and the wealth infinite.
    """
    if not len(scores):
        return np.zeros(0)
    sums = np.cumsum(scores, dtype=np.float64)
    before = np.concatenate([[0], sums[:-1]])
    drawn = np.arange(len(scores))
    remaining_mean = (items * mean - before) / (items - drawn)
    room = 1 + remaining_mean
    sure = (room < 0) | ((room == 0) & (scores > -1))
    gain = np.divide(scores - remaining_mean, room, out=np.zeros(len(scores)), where=room > 0)
    paths = np.cumsum(np.log1p(gain[:, None] * BETS), axis=0)
    top = paths.max(axis=1)
    mixed = top + np.log(np.exp(paths - top[:, None]) @ STAKES)
    known = np.maximum.accumulate(sure) | (items * mean - sums < -(items - drawn - 1))
    most: NDArray[np.float64] = np.where(known, np.inf, np.maximum.accumulate(mixed))
    return most


def bound(scores: NDArray[np.int8] | NDArray[np.float64], items: int, risk: float) -> float:
    """A lower bound for the mean of all `items`, wrong with a chance of at most `risk` at any look; by bisection.

    The wealth falls as the mean betted against rises, so that what is ruled out is an interval.
    """
    low, high = -1.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if log_wealth(scores, items, middle).risk <= risk:
            low = middle
        else:
            high = middle
    return low
