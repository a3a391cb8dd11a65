"""How likely a balanced population ever looks lopsided, when one looks after every draw.

Exact, by dynamic programming over draws and wins. What a crossing means is the stopping rule's business.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.hypergeometric import survival

GRID = np.geomspace(1e-9, 1.0, 400)


@lru_cache(maxsize=8)
def p_values(population: int, limit: int) -> NDArray[np.float64]:
    """P(X ≥ w) after t draws without replacement from a balanced population, shape (limit + 1, limit + 1), at [t, w].

    Balanced: ⌊population / 2⌋ wins, the most that are no majority. Entries with w > t are 0.
    """
    table = np.zeros((limit + 1, limit + 1))
    for t in range(limit + 1):
        table[t, : t + 1] = [survival(w, population, population // 2, t) for w in range(t + 1)]
    return table


def crossing_probabilities(
    population: int, limit: int, thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each threshold c, the chance that the p-value is ever ≤ c within `limit` draws from a balanced population.

    Shape (thresholds,). The paths not yet crossed are carried along, draw by draw, for all thresholds at once.
    """
    table, wins = p_values(population, limit), population // 2
    alive = np.zeros((len(thresholds), limit + 2))
    alive[:, 0] = 1.0
    crossed = np.zeros(len(thresholds))
    counts = np.arange(limit + 2)
    for t in range(limit):
        left = population - t
        chance = np.clip((wins - counts) / left, 0.0, 1.0)  # of a win, by wins so far
        moved = alive * (1 - chance)
        moved[:, 1:] += alive[:, :-1] * chance[:-1]
        over = np.zeros(moved.shape, dtype=bool)
        over[:, : limit + 1] = (table[t + 1] <= thresholds[:, None]) & (counts[: limit + 1] <= t + 1)
        crossed += np.where(over, moved, 0.0).sum(axis=1)
        alive = np.where(over, 0.0, moved)
    return crossed


@lru_cache(maxsize=32)
def boundary(population: int, limit: int, risk: float) -> float:
    """The largest p-value that can be a boundary: ever at or under it within `limit` draws with a chance of at most `risk`.

    0 if even the smallest is crossed too often.
    """
    reachable = np.unique(p_values(population, limit))
    reachable = reachable[reachable > 0]
    low, high = -1, len(reachable) - 1  # reachable[low] is safe
    while low < high:
        middle = (low + high + 1) // 2
        chance = crossing_probabilities(population, limit, reachable[middle : middle + 1])[0]
        low, high = (middle, high) if chance <= risk else (low, middle - 1)
    return float(reachable[low]) if low >= 0 else 0.0


@lru_cache(maxsize=8)
def crossing_table(
    population: int, limit: int, among: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thresholds, those in `among` included, and the chance of ever crossing each; both ascending."""
    thresholds = np.unique(np.concatenate([GRID, np.asarray(among, dtype=np.float64)]))
    return thresholds, crossing_probabilities(population, limit, thresholds)
