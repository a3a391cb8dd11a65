"""In which ways earlier comparisons differed in the items that decided them: two strong systems are told apart by other items than two weak ones.

Which way a comparison goes, it shows itself as verdicts come in: `decision_model.py`. How often an item decides on the whole stands in
`decisiveness.py`; who is preferred is not looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_PATTERNS = 2  # a third saved nothing on recorded verdicts
FEWEST_COMPARISONS = 3
LARGEST = 3.0  # log odds that a pattern makes of a standard deviation, at most


def patterns_of(decided: NDArray[np.bool_], known: NDArray[np.bool_], shares: Floats) -> Floats:
    """What a comparison one standard deviation off the others makes of the log odds that each item decides: shape (patterns, items).

    `decided` and `known` have the shape (comparisons, items), `shares` are how often each item decides, shape (items,). The first principal
    components (Pearson 1901) of what the shares and each comparison's own level leave unexplained, taken over to log odds by the slope of the
    logistic function. Each is shrunk by what as many independent verdicts would show by chance (the upper edge of Marchenko & Pastur
    1967), and left out where it is no more than that.
    """
    comparisons, items = decided.shape
    if comparisons < FEWEST_COMPARISONS:
        return np.zeros((0, items))
    spread = shares * (1 - shares)
    left = np.where(known, decided - shares, 0.0)
    left = np.where(known, left - left.sum(axis=1, keepdims=True) / _at_least_one(known), 0.0)
    energies, directions = np.linalg.eigh(left @ left.T)  # the last is the largest
    by_chance = (known * spread).sum() / comparisons * (1 + np.sqrt(comparisons / items)) ** 2
    found = [
        _in_log_odds(np.sqrt(comparisons) * directions[:, -place] @ left / comparisons, spread, 1 - by_chance / energies[-place])
        for place in range(1, min(MOST_PATTERNS, comparisons) + 1)
        if energies[-place] > by_chance
    ]  # fmt: skip
    return np.array(found).reshape(len(found), items)


def _at_least_one(known: NDArray[np.bool_]) -> NDArray[np.int64]:
    counts: NDArray[np.int64] = np.maximum(known.sum(axis=1, keepdims=True), 1)
    return counts


def _in_log_odds(pattern: Floats, spread: Floats, believed: float) -> Floats:
    odds: Floats = np.clip(believed * pattern / spread, -LARGEST, LARGEST)
    return odds
