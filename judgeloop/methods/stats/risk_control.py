"""Conformal risk control: a bound on the error rate of a threshold chosen on past comparisons.

Angelopoulos, Bates, Fisch, Lei & Schuster (2022), "Conformal risk control". `calibration/walks.py`
replays the past comparisons; `methods/stopping/calibrated.py` is the rule that stops by the threshold.

A run stops at its first look whose statistic is at or under a threshold. Whether the run then names
a wrong system is not a monotone function of the threshold. Whether it does so at this threshold or
at any stricter one is a monotone function, and it is never smaller. That is the loss here. The
critical value of a run is the least statistic at which the run would ever be wrong. The loss is 1
from the critical value on, and 0 under it. The loss of a comparison is the mean over its repeated
runs; all comparisons have the same number of runs.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def risk_bound(wrong: int, comparisons: int, repetitions: int) -> float:
    """Return a bound on the expected loss of a new comparison at a threshold.

    `wrong` is the number of runs of past comparisons whose loss is 1 at this threshold. Each of the
    past `comparisons` was run `repetitions` times. The bound is (nR + 1) / (n + 1), with R the mean
    loss of the n past comparisons (theorem 1). It requires that these and the new comparison are
    exchangeable.

    Proof: let t be the loosest threshold at which the mean loss of all n + 1 comparisons is at most
    the risk. t does not depend on which of them is the new comparison, and each of them is new with
    the same probability. So the expected loss of the new comparison at t is at most the risk. Now
    take a threshold at which the bound is at most the risk. The loss of the new comparison never
    exceeds 1, so the mean loss of all n + 1 is at most the risk there. So this threshold is no
    looser than t, and the loss, which is monotone, is no greater than at t.
    """
    return (wrong + repetitions) / (repetitions * (comparisons + 1))


def fewest_comparisons(risk: float) -> int:
    """Return how many past comparisons bound the risk at `risk` when none of them erred.

    This is the least n with 1 / (n + 1) ≤ `risk`.

    >>> fewest_comparisons(0.1), fewest_comparisons(0.05)
    (9, 19)
    """
    fewest = max(1, math.ceil(1 / risk - 1) - 1)  # from one lower, as rounding may raise it
    while risk_bound(0, fewest, 1) > risk:
        fewest += 1
    return fewest


def new_minima(statistics: Floats) -> Flags:
    """Return which looks have a lower statistic than all looks before; shape as `statistics`.

    `statistics` has shape (walks, looks), infinite where no system leads. A run can stop at these
    looks only, whatever the threshold.
    """
    before = np.full_like(statistics, np.inf)
    before[:, 1:] = np.minimum.accumulate(statistics, axis=1)[:, :-1]
    lower: Flags = statistics < before
    return lower


def critical_values(statistics: Floats, wrong: Flags) -> Floats:
    """Return the strictest threshold at which each walk ends wrong, shape (walks,).

    Infinite if there is none. `statistics` and `wrong` have shape (walks, looks). At this threshold
    and at every looser one the monotone loss is 1.
    """
    stops = new_minima(statistics) & wrong
    least: Floats = np.where(stops, statistics, np.inf).min(axis=1, initial=np.inf)
    return least


@dataclass(frozen=True, eq=False)
class Bounds:
    """The bound on a new comparison's expected loss, by the statistic at which its run stops.

    The bound never falls as the statistic rises. `critical` holds the critical values of all walks
    in ascending order; infinite values may be left out. There are `comparisons` past comparisons
    with `repetitions` runs each.
    """

    critical: Floats
    comparisons: int
    repetitions: int

    def at(self, statistic: float) -> float:
        """Return the bound for a threshold of `statistic`."""
        wrong = int(np.searchsorted(self.critical, statistic, side="right"))
        return min(1.0, risk_bound(wrong, self.comparisons, self.repetitions))

    def below(self, risk: float) -> float | None:
        """Return the statistic under which the bound is at most `risk`.

        Infinite if the bound is always at most `risk`, None if it never is.
        """
        if self.at(-math.inf) > risk:
            return None
        values = np.unique(self.critical)
        wrong = np.searchsorted(self.critical, values, side="right")
        bounds = (wrong + self.repetitions) / (self.repetitions * (self.comparisons + 1))
        risen = values[np.minimum(1.0, bounds) > risk]
        return float(risen[0]) if len(risen) else math.inf


def bounds_of(critical: Floats) -> Bounds:
    """Return the bounds from past critical values, shape (comparisons, repetitions)."""
    return Bounds(np.sort(critical[np.isfinite(critical)]), *critical.shape)
