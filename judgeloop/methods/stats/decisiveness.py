"""Which items told systems apart in earlier comparisons, and draw weights that prefer them.

Takes earlier comparisons as arrays of preferences; returns `Prospects` and draw weights. Two strong
systems are told apart by other items than two weak ones: `patterns_of` finds such contrasts.
`decision_model.py` learns from a run's verdicts how far its comparison follows each.
`methods/selectors/decisive.py` draws by the weights. That earlier comparisons say something about
the next one is an assumption: `judgeloop calibrate` and `judgeloop replay` test it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_PATTERNS = 2  # a third saved nothing on recorded verdicts
FEWEST_COMPARISONS = 3
AT_A_TIME = 8  # comparisons
LARGEST = 3.0  # largest change of the log odds for one standard deviation of a pattern
Floats = NDArray[np.float64]
Preferences = NDArray[np.int8]
Known = NDArray[np.bool_]
# Each value was the best, or as good as the best, on every recorded data set (docs/results).
PRIOR_VERDICTS = 4.0  # verdicts on an item that the mean share over all items is worth
PRIOR_DECISIVE = 20.0  # decisive verdicts on an item that the mean agreement is worth
LEAST_AGREEMENT = 0.02
# Most that the verdicts with a system of the new comparison weigh together, as a share of the other
# verdicts.
WITH_TODAYS = 0.25
LEAST_EVEN = 0.1  # share of the probability that is spread evenly over all items
MOST_EXPONENT = 2.0
FULLY_KNOWN_BY = 16.0  # number of systems from which on the exponent is MOST_EXPONENT


class Prospects(NamedTuple):
    """What is known of each item before a comparison.

    `shares` says how often each item's verdict was decisive, `agreements` how far it agreed with
    the winner; both have the shape (items,). `power` is the exponent of the draw weights.
    `distances`, shape (items,), says how far the two outputs are apart, if that is known.
    `patterns`, shape (patterns, items), describes how comparisons differ in the items that are
    decisive.
    """

    shares: Floats
    agreements: Floats
    power: float
    distances: Floats | None = None
    patterns: Floats | None = None

    def at(self, positions: NDArray[np.int64]) -> Prospects:
        """Return the prospects of the items at `positions`."""
        distances = None if self.distances is None else self.distances[positions]
        patterns = None if self.patterns is None else self.patterns[:, positions]
        return Prospects(self.shares[positions], self.agreements[positions], self.power, distances, patterns)


def decisive_shares(preferences: Preferences, known: Known, apart: NDArray[np.bool_] | None = None) -> Floats:
    """Compute how often each item was decisive, smoothed towards the mean of all; shape (items,).

    The shares are in (0, 1). `preferences` and `known` have the shape (comparisons, items).
    Comparisons that are not `apart`, shape (comparisons,), together count at most a quarter of the
    others. A system of the new comparison took part in them, so that they all show what is peculiar
    to this system. Items preferred for that favour it or disfavour it.
    """
    counts = counts_of_each(known, apart)
    asked = _weighed(known, counts)
    decisive = _weighed(known & (preferences != 0), counts)
    mean = (decisive.sum() + 1) / (asked.sum() + 2)
    shares: Floats = (decisive + PRIOR_VERDICTS * mean) / (asked + PRIOR_VERDICTS)
    return shares


def counts_of_each(known: Known, apart: NDArray[np.bool_] | None = None) -> Floats:
    """Compute the weight of each comparison, shape (comparisons,).

    The weight is 1, but comparisons that are not `apart` together weigh at most a quarter of the
    others.
    """
    if apart is None or apart.all():
        return np.ones(len(known))
    others, todays = int(known[apart].sum()), int(known[~apart].sum())
    return np.where(apart, 1.0, min(1.0, WITH_TODAYS * others / max(1, todays)))


def agreements(preferences: Preferences, known: Known) -> Floats:
    """Compute how far each item's decisive verdicts agreed with the winner on the other items.

    The result has the shape (items,) and is in (0, 1]. Before smoothing, an item that always agreed
    has 1, and an item that agreed as often as it disagreed has 0. The values are smoothed towards
    the mean of all items. Values below `LEAST_AGREEMENT`, also those of items that contradict the
    winner, are raised to it.
    """
    signs = np.where(known, preferences, np.int8(0))
    leads = signs.sum(axis=1, dtype=np.int64)
    # The winner on the other items is the winner on all, unless the lead is a single item.
    clear = np.abs(leads) > 1
    others = leads[~clear, None] - signs[~clear]
    agreed = _total(signs[clear] * np.sign(leads[clear, None]).astype(np.int8))
    agreed += _total(signs[~clear] * np.sign(others))
    decisive = _total(signs != 0)
    mean = agreed.sum() / max(1, int(decisive.sum()))
    raw = (agreed + PRIOR_DECISIVE * mean) / (decisive + PRIOR_DECISIVE)
    found: Floats = np.clip(raw, LEAST_AGREEMENT, 1.0)
    return found


def _weighed(flags: Known, counts: Floats) -> Floats:
    """Sum the weights of the comparisons that have each flag, shape (items,)."""
    total = np.zeros(flags.shape[1])
    for weight in np.unique(counts).tolist():  # there are one or two
        total += weight * _total(flags[counts == weight])
    return total


def _total(values: NDArray[Any]) -> NDArray[np.int64]:
    """Sum the comparisons' flags or signs, shape (items,), three times as fast as a product."""
    total: NDArray[np.int64] = values.sum(axis=0, dtype=np.int32).astype(np.int64)
    return total


def exponent(systems: float) -> float:
    """Compute the exponent of the draw weights from the number of systems compared on an item.

    It is 0 for no systems and 2 for 16 and more. It grows with the square root of their number, as
    does the ratio of a share to its standard error.
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
    """Summarise what earlier comparisons say of the items; None if they prefer no item.

    `preferences` and `known` have the shape (comparisons, items). `systems` is the number of
    systems compared on an item, and `power` is the exponent of the draw weights, by default
    `exponent(systems)`.

    `apart`, shape (comparisons,), is True where neither system of the new comparison took part; by
    default it is True everywhere. Agreement is computed from these comparisons alone. In a
    comparison with one of the two systems, an item that agrees with the winner speaks for that
    system or against it. Draws that prefer these items name the wrong system several times as often
    (docs/results).
    """
    if not (known & (preferences != 0)).any():
        return None
    apart = np.ones(len(known), dtype=np.bool_) if apart is None else apart
    shares = decisive_shares(preferences, known, apart)
    found = Prospects(
        shares,
        agreements(preferences[apart], known[apart]),
        exponent(systems) if power is None else power,
        patterns=patterns_of(preferences != 0, known, shares, counts_of_each(known, apart)),
    )
    return _if_preferring(found)


def _if_preferring(found: Prospects) -> Prospects | None:
    weights = draw_weights(found, found.shares)
    return None if np.allclose(weights, weights.mean(), rtol=1e-9) else found


def draw_weights(known: Prospects, chances: Floats) -> Floats:
    """Compute the probability of each item to be drawn first, shape (..., items); the sum is 1.

    `chances`, shape (..., items), are the probabilities that an item is decisive. The weight grows
    with (h² c)^p: h is that probability, c the agreement with the winner, p the power. A tenth of
    the probability is spread evenly. No item is thus out of reach, and no weight is so small that
    an estimate would rest on a few items.
    """
    preferred = chances * chances
    preferred *= known.agreements
    preferred **= known.power
    total = preferred.sum(axis=-1, keepdims=True)
    preferred *= (1 - LEAST_EVEN) / total
    preferred += LEAST_EVEN / chances.shape[-1]
    return preferred


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
    by_chance = counts.max() * float(known.sum(axis=0) @ spread) / comparisons * (1 + np.sqrt(comparisons / items)) ** 2
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
