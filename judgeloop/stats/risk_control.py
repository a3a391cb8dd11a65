"""Conformal risk control: how often, at most, a threshold that did well on past comparisons errs on a new one.

Angelopoulos, Bates, Fisch, Lei & Schuster (2022), "Conformal risk control". How past comparisons are replayed stands in
`calibrating.py`; a rule that stops by such a threshold in `stopping/calibrated.py`.

A run stops at its first look whose statistic is at or under a threshold. Whether it then names a wrong system is no monotone
function of the threshold; whether it does so at this or any stricter threshold is, and it is no less. That is the loss here: 1 from the
least statistic on at which the run would ever be wrong, its critical value, 0 under it. The loss of a comparison is the mean over
repeated runs of it, as many of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def risk_bound(wrong: int, comparisons: int, repetitions: int) -> float:
    """The most that the expected loss of a new comparison can be, when `wrong` runs of past ones erred at its threshold.

    The bound is (nR + 1) / (n + 1), with R the mean loss of the n past comparisons, each run so often (theorem 1). It needs them and the
    new one to be exchangeable. Let t be the loosest threshold at which the mean loss of all n + 1 is at most the risk: it does not depend
    on which of them is the new one, and that is any of them with the same chance, so that the new one's expected loss at t is at most
    the risk. Its loss never exceeds 1; where the bound is at most the risk, so is the mean loss of all. Such a threshold is no looser
    than t, and the loss, which is monotone, no greater.
    """
    return (wrong + repetitions) / (repetitions * (comparisons + 1))


def fewest_comparisons(risk: float) -> int:
    """How many past comparisons it takes to bound the risk so when none erred: the least n with 1 / (n + 1) ≤ `risk`.

    >>> fewest_comparisons(0.1), fewest_comparisons(0.05)
    (9, 19)
    """
    fewest = max(1, math.ceil(1 / risk - 1) - 1)  # one less, for the rounding
    while risk_bound(0, fewest, 1) > risk:
        fewest += 1
    return fewest


def new_minima(statistics: Floats) -> Flags:
    """Which looks have a lower statistic than all before: there alone a run can stop, whatever the threshold; shape as `statistics`.

    `statistics` has the shape (walks, looks), infinite where no system leads.
    """
    before = np.full_like(statistics, np.inf)
    before[:, 1:] = np.minimum.accumulate(statistics, axis=1)[:, :-1]
    lower: Flags = statistics < before
    return lower


def critical_values(statistics: Floats, wrong: Flags) -> Floats:
    """The strictest threshold at which each walk ends wrong: shape (walks,), infinite where none does.

    `statistics` and `wrong` have the shape (walks, looks). At it and at every looser one the monotone loss is 1.
    """
    stops = new_minima(statistics) & wrong
    least: Floats = np.where(stops, statistics, np.inf).min(axis=1, initial=np.inf)
    return least


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bound for the new comparison's expected loss, by the statistic at which it stops: it never falls as that rises.

    `critical` are the critical values of all walks, rising; infinite ones may be left out.
    """

    critical: Floats
    comparisons: int
    repetitions: int

    def at(self, statistic: float) -> float:
        """The bound for a threshold of `statistic`."""
        wrong = int(np.searchsorted(self.critical, statistic, side="right"))
        return min(1.0, risk_bound(wrong, self.comparisons, self.repetitions))

    def below(self, risk: float) -> float | None:
        """The statistic under which the bound is at most `risk`: infinite if it always is, None if it never is."""
        if self.at(-math.inf) > risk:
            return None
        risen = [value for value in np.unique(self.critical) if self.at(float(value)) > risk]
        return float(risen[0]) if risen else math.inf


def bounds_of(critical: Floats) -> Bounds:
    """The bounds from the critical values of past comparisons, shape (comparisons, repetitions)."""
    return Bounds(np.sort(critical[np.isfinite(critical)]), *critical.shape)
