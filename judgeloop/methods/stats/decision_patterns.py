"""Principal components of which items were decisive in earlier comparisons.

Two strong systems are told apart by other items than two weak ones. Each pattern describes a
contrast like this between comparisons. `decision_model.py` learns from a run's verdicts how far its
comparison follows each pattern. How often an item is decisive overall is computed in
`decisiveness.py`. Which system a verdict prefers is not used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Known = NDArray[np.bool_]

MOST_PATTERNS = 2  # a third saved nothing on recorded verdicts
FEWEST_COMPARISONS = 3
AT_A_TIME = 8  # comparisons
LARGEST = 3.0  # largest change of the log odds for one standard deviation of a pattern


def patterns_of(decided: Known, known: Known, shares: Floats, counts: Floats) -> Floats:
    """Compute the patterns as log odds, shape (patterns, items), with 0 to `MOST_PATTERNS` rows.

    A pattern is the change in the log odds that each item is decisive, for a comparison that is one
    standard deviation off the mean along the pattern. `decided` (a decisive verdict) and `known`
    have the shape (comparisons, items). `shares`, shape (items,), says how often each item is
    decisive. `counts`, shape (comparisons,), is the weight of each comparison.

    The patterns are the first principal components (Pearson 1901) of the residuals that the shares
    and each comparison's own level leave unexplained. The slope of the logistic function turns them
    into log odds. Each component is shrunk by the factor 1 - b/e: e is its eigenvalue, b the
    largest that as many independent verdicts would show by chance (the upper edge of Marchenko &
    Pastur 1967). Components with e ≤ b are left out. No pattern exceeds ± `LARGEST`.
    """
    from scipy.linalg import eigh  # its import takes longer than most commands need it

    telling = (counts > 0) & known.any(axis=1)
    decided, known, counts = decided[telling], known[telling], counts[telling]
    comparisons, items = decided.shape
    if comparisons < FEWEST_COMPARISONS:
        return np.zeros((0, items))
    spread = shares * (1 - shares)
    left = _residuals(decided, known, shares, counts)
    highest = max(0, comparisons - MOST_PATTERNS), comparisons - 1
    energies, directions = eigh(left @ left.T, subset_by_index=highest)  # in ascending order
    by_chance = (
        counts.max()
        * float(known.sum(axis=0) @ spread)
        / comparisons
        * (1 + np.sqrt(comparisons / items)) ** 2
    )
    places = np.flatnonzero(energies > by_chance)[::-1]
    believed = 1 - by_chance / energies[places]
    components = directions[:, places].T @ left / np.sqrt(counts.sum())
    patterns: Floats = np.clip(believed[:, None] * components / spread, -LARGEST, LARGEST)
    return patterns


def _residuals(decided: Known, known: Known, shares: Floats, counts: Floats) -> Floats:
    """Subtract the shares and each comparison's own mean residual; 0 where there is no verdict.

    Each comparison is then multiplied by the root of its weight, as its square enters the energies.
    """
    residuals = np.empty(decided.shape)
    # A few comparisons at a time stay in the processor's cache: so it takes half of the time.
    for first in range(0, len(decided), AT_A_TIME):
        rows = slice(first, first + AT_A_TIME)
        there, left = known[rows].astype(np.float64), decided[rows].astype(np.float64)
        left -= shares
        left *= there
        left -= (left.sum(axis=1) / np.maximum(there.sum(axis=1), 1))[:, None]
        left *= there
        np.multiply(left, np.sqrt(counts[rows])[:, None], out=residuals[rows])
    return residuals
