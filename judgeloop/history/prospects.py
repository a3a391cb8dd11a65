"""What earlier comparisons say of each item for a new comparison of two systems.

Chooses the comparisons and passes them to the formulas in `methods/stats/decisiveness.py`.
"""

from __future__ import annotations

import numpy as np

from judgeloop.history.past import Past
from judgeloop.methods.stats.decisiveness import Prospects, prospects

# Most comparisons used, evenly spaced over all. More take time and add little.
MOST_WEIGHED = 300


def prospects_of(
    past: Past, systems: tuple[str, ...], power: float | None = None
) -> Prospects | None:
    """Return how likely each item is to tell `systems` apart; None if `past` prefers no item.

    `power` is the exponent of the draw weights. By default it grows with the number of systems that
    were compared on an item.
    """
    last = max(0, len(past) - 1)
    rows = np.unique(np.linspace(0, last, min(len(past), MOST_WEIGHED)).astype(np.int64))
    return prospects(
        past.preferences[rows],
        past.known[rows],
        past.systems_an_item,
        apart=past.apart_from(*systems)[rows],
        power=power,
    )
