"""Which items told systems apart in earlier comparisons, and how much to prefer them.

Drawing by these weights is a selector's business, and what a run itself says of its items that of `decision_model.py`. That earlier
comparisons say something about the next one is an assumption that `judgeloop calibrate` and `judgeloop replay` put to the test.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.decision_patterns import patterns_of

Floats = NDArray[np.float64]
Preferences = NDArray[np.int8]
Known = NDArray[np.bool_]

# All of these were the best, or as good as the best, on every recorded data set (docs/results.md).
PRIOR_VERDICTS = 4.0  # as many comparisons as the mean over all items is worth
PRIOR_DECISIVE = 20.0  # the same of agreement, in decisive comparisons
LEAST_AGREEMENT = 0.02
WITH_TODAYS = 0.25  # of the other verdicts: as much as those that a system of today took part in count together, at most
LEAST_EVEN = 0.1  # the share of chance that is spread over all items alike
MOST_EXPONENT = 2.0
FULLY_KNOWN_BY = 16.0  # systems; with fewer the exponent is less


class Prospects(NamedTuple):
    """What is known of each item before a comparison: the share of decisive comparisons, and agreement with the winner; shape (items,).

    `power` says how strongly to prefer by them. `distances` say how far the two outputs are apart, if that is known; `patterns`, shape
    (patterns, items), in which ways comparisons differ in the items that decide them.
    """

    shares: Floats
    agreements: Floats
    power: float
    distances: Floats | None = None
    patterns: Floats | None = None

    def at(self, positions: NDArray[np.int64]) -> Prospects:
        """Those of some items."""
        distances = None if self.distances is None else self.distances[positions]
        patterns = None if self.patterns is None else self.patterns[:, positions]
        return Prospects(
            self.shares[positions], self.agreements[positions], self.power, distances, patterns
        )


def decisive_shares(
    preferences: Preferences, known: Known, apart: NDArray[np.bool_] | None = None
) -> Floats:
    """How often each item told two systems apart, smoothed towards the mean of all: shape (items,), in (0, 1).

    `preferences` and `known` have the shape (comparisons, items). Comparisons that are not `apart`, shape (comparisons,), count
    together no more than a quarter of the others: all of them show what is peculiar to one system, and items preferred for that
    speak for it, or against it.
    """
    counts = known * counts_of_each(known, apart)[:, None]
    asked = counts.sum(axis=0)
    decisive = (counts * (preferences != 0)).sum(axis=0)
    mean = (decisive.sum() + 1) / (asked.sum() + 2)
    shares: Floats = (decisive + PRIOR_VERDICTS * mean) / (asked + PRIOR_VERDICTS)
    return shares


def counts_of_each(known: Known, apart: NDArray[np.bool_] | None = None) -> Floats:
    """How much each comparison counts, shape (comparisons,): as much as any, but those that are not `apart` together no more than a quarter."""
    if apart is None or apart.all():
        return np.ones(len(known))
    others, todays = known[apart].sum(), known[~apart].sum()
    return np.where(apart, 1.0, min(1.0, WITH_TODAYS * others / max(1, todays)))


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
    """How strongly to prefer, by how many systems were compared on an item: 0 for none, 2 for 16 and more.

    It grows with their square root, as that by which a share stands out from its error does.
    """
    return MOST_EXPONENT * min(1.0, math.sqrt(systems / FULLY_KNOWN_BY))


def prospects(
    preferences: Preferences,
    known: Known,
    systems: float,
    *,
    apart: NDArray[np.bool_] | None = None,
    power: float | None = None,
) -> Prospects | None:
    """What comparisons of so many systems an item say of the items; None where they prefer none.

    `power` is by default one by the number of systems. `apart`, shape (comparisons,), is True where neither of the two systems of
    today took part; all, unless given. Agreement is taken from these alone: with a system of today in it, to have agreed with the winner is to
    speak for that system, or against it, and draws that prefer such items name the wrong system several times as often
    (docs/results.md).
    """
    if not known.any() or not (preferences[known] != 0).any():
        return None
    apart = np.ones(len(known), dtype=np.bool_) if apart is None else apart
    shares = decisive_shares(preferences, known, apart)
    found = Prospects(
        shares,
        agreements(preferences[apart], known[apart]),
        exponent(systems) if power is None else power,
        patterns=patterns_of(preferences != 0, known, shares, counts_of_each(known, apart)),
    )
    weights = draw_weights(found, found.shares)
    return None if np.allclose(weights, weights.mean(), rtol=1e-9) else found


def draw_weights(known: Prospects, chances: Floats) -> Floats:
    """The chance of each item to be drawn first, where `chances` say how likely it is to decide; shape (items,), the sum is 1.

    It grows with (h² c)^p: h is the chance to decide, c how far the item agreed with the winner, p the power. A tenth of the chance is
    spread evenly, so that no item is out of reach, and no weight so small that an estimate would rest on a few.
    """
    preferred = (chances * chances * known.agreements) ** known.power
    weights: Floats = (1 - LEAST_EVEN) * preferred / preferred.sum() + LEAST_EVEN / len(chances)
    return weights
