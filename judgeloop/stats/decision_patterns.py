"""In which ways earlier comparisons differed in the items that decided them: two strong systems are told apart by other items than two weak ones.

Which way a comparison goes, it shows itself as verdicts come in: `decision_model.py`. How often an item decides on the whole stands in
`decisiveness.py`; who is preferred is not looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Known = NDArray[np.bool_]

MOST_PATTERNS = 2  # a third saved nothing on recorded verdicts
FEWEST_COMPARISONS = 3
LARGEST = 3.0  # log odds that a pattern makes of a standard deviation, at most


def patterns_of(decided: Known, known: Known, shares: Floats, counts: Floats) -> Floats:
    """What a comparison one standard deviation off the others makes of the log odds that each item decides: shape (patterns, items).

    `decided` and `known` have the shape (comparisons, items), `shares` are how often each item decides, shape (items,), and `counts` how much
    each comparison does, shape (comparisons,). The first principal components (Pearson 1901) of what the shares and each comparison's own level
    leave unexplained, taken over to log odds by the slope of the logistic function. Each is shrunk by what as many independent verdicts would
    show by chance (the upper edge of Marchenko & Pastur 1967), and left out where it is no more than that.
    """
    telling = (counts > 0) & known.any(axis=1)
    decided, known, counts = decided[telling], known[telling], counts[telling]
    comparisons, items = decided.shape
    if comparisons < FEWEST_COMPARISONS:
        return np.zeros((0, items))
    spread = shares * (1 - shares)
    left = _residuals(decided, known, shares) * np.sqrt(counts)[:, None]
    energies, directions = np.linalg.eigh(left @ left.T)  # the last is the largest
    by_chance = (
        counts.max()
        * (known * spread).sum()
        / comparisons
        * (1 + np.sqrt(comparisons / items)) ** 2
    )
    places = np.flatnonzero(energies > by_chance)[::-1][:MOST_PATTERNS]
    believed = 1 - by_chance / energies[places]
    components = directions[:, places].T @ left / np.sqrt(counts.sum())
    patterns: Floats = np.clip(believed[:, None] * components / spread, -LARGEST, LARGEST)
    return patterns


def _residuals(decided: Known, known: Known, shares: Floats) -> Floats:
    """What is left of each comparison without the shares and its own mean; 0 where nothing is known."""
    left = np.where(known, decided - shares, 0.0)
    means = left.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    residuals: Floats = np.where(known, left - means[:, None], 0.0)
    return residuals
