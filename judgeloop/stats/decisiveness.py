"""Which items told systems apart in earlier comparisons, and how much to prefer them.

Drawing by these weights is a selector's business; that earlier comparisons say something about the next one is an assumption that
`judgeloop calibrate` and `judgeloop replay` put to the test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Preferences = NDArray[np.int8]
Known = NDArray[np.bool_]

# All of these were the best, or as good as the best, on every recorded data set (docs/results.md).
PRIOR_VERDICTS = 4.0  # as many comparisons as the mean over all items is worth
PRIOR_DECISIVE = 20.0  # the same of agreement, in decisive comparisons
LEAST_AGREEMENT = 0.02
LEAST_EVEN = 0.1  # the share of chance that is spread over all items alike
MOST_EXPONENT, HALF_WAY = (
    2.0,
    4.0,
)  # the exponent nears the first as systems are many, and is half of it at the second


def decisive_shares(preferences: Preferences, known: Known) -> Floats:
    """How often each item told two systems apart, smoothed towards the mean of all: shape (items,), in (0, 1).

    `preferences` and `known` have the shape (comparisons, items).
    """
    asked = known.sum(axis=0)
    decisive = (known & (preferences != 0)).sum(axis=0)
    mean = (decisive.sum() + 1) / (asked.sum() + 2)
    shares: Floats = (decisive + PRIOR_VERDICTS * mean) / (asked + PRIOR_VERDICTS)
    return shares


def agreements(preferences: Preferences, known: Known) -> Floats:
    """How far each item, where it decided, agreed with who won on the others: shape (items,), in (0, 1].

    1 where it always did, 0 where as often as not, smoothed towards the mean of all items; what is less is taken for a little, as
    are items that contradict.
    """
    signs = np.where(known, preferences, 0).astype(np.int64)
    others = signs.sum(axis=1)[:, None] - signs
    agreed = (signs * np.sign(others)).sum(axis=0)
    decisive = np.abs(signs).sum(axis=0)
    mean = agreed.sum() / max(1, decisive.sum())
    raw = (agreed + PRIOR_DECISIVE * mean) / (decisive + PRIOR_DECISIVE)
    found: Floats = np.clip(raw, LEAST_AGREEMENT, 1.0)
    return found


def exponent(systems: float) -> float:
    """How strongly to prefer, by how many systems were compared on an item: 0 for none, 2 for very many."""
    return MOST_EXPONENT * systems / (systems + HALF_WAY)


def draw_weights(
    preferences: Preferences,
    known: Known,
    systems: float,
    *,
    apart: NDArray[np.bool_] | None = None,
    power: float | None = None,
) -> Floats | None:
    """The chance of each item to be drawn first, by comparisons of so many systems an item; None where they prefer none.

    It grows with (h² c)^p: h is the share of comparisons that the item decided, c how far it agreed with the winner, and p `power`, or by
    the number of systems on an item. A tenth of the chance is spread evenly, so that no item is out of reach, and no weight so small that an
    estimate would rest on a few.

    `apart`, shape (comparisons,), is True where neither of the two systems of today took part; all, unless given. Agreement is
    taken from these alone: with a system of today in it, to have agreed with the winner is to speak for that system, or against
    it, and draws that prefer such items name the wrong system several times as often (docs/results.md).
    """
    items = known.shape[1]
    if not known.any() or not (preferences[known] != 0).any():
        return None
    apart = np.ones(len(known), dtype=np.bool_) if apart is None else apart
    h, c = decisive_shares(preferences, known), agreements(preferences[apart], known[apart])
    preferred = (h * h * c) ** (exponent(systems) if power is None else power)
    weights: Floats = (1 - LEAST_EVEN) * preferred / preferred.sum() + LEAST_EVEN / items
    return None if np.allclose(weights, 1 / items, rtol=1e-9) else weights
