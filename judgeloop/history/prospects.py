"""What earlier comparisons say of the items when two systems are compared after them.

The formulas stand in `stats/decisiveness.py`; here they get the comparisons they are about.
"""

from __future__ import annotations

import numpy as np

from judgeloop.history.past import Past
from judgeloop.stats.decisiveness import Prospects, prospects

MOST_WEIGHED = (
    300  # comparisons that weights rest on, spread over all: more take time and say little more
)


def prospects_of(
    past: Past, systems: tuple[str, ...], power: float | None = None
) -> Prospects | None:
    """How likely each item is to tell `systems` apart, by this past; None where it prefers none.

    `power` is the exponent of the weights, by default one that grows with the number of systems
    that were compared on an item.
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
