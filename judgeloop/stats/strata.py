"""A pool cut into strata, and what the scores of some of its items say about the mean of all.

Which items to ask about is a selector's business, and how wide an interval may be that of `mean_intervals.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-12  # relative: what varies less is constant
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Strata:
    """Which stratum each item of a pool is in: `labels` has the shape (items,) and holds 0 to strata - 1, none of them empty."""

    labels: Counts

    def __post_init__(self) -> None:
        if not len(self.labels):
            raise ValueError("expected at least one item, found none")
        if self.labels.min() < 0 or not self.sizes.all():
            raise ValueError("expected strata numbered from 0 without a gap")

    @classmethod
    def single(cls, items: int) -> Strata:
        """The whole pool as one."""
        return cls(np.zeros(items, dtype=np.int64))

    @cached_property
    def sizes(self) -> Counts:
        """Items in each."""
        return np.bincount(self.labels)

    @cached_property
    def shares(self) -> Floats:
        """Each one's share of the items: the w of Huang et al. (2024), algorithm 1."""
        shares: Floats = self.sizes / len(self.labels)
        return shares


class Moments(NamedTuple):
    """A mean over a whole pool as estimated from some of its items, the variance of that, and its degrees of freedom.

    The variance is NaN where it cannot be known: a stratum of several items has fewer than two that are known.
    """

    mean: float
    variance: float
    freedom: float


UNKNOWN = Moments(math.nan, math.nan, math.nan)


def stratified(strata: Strata, positions: Counts, scores: Floats) -> Moments:
    """The mean of all items from the `scores` of those at `positions`, drawn at random within each stratum.

    The weighted mean of the strata's means (Huang et al. 2024, algorithm 1, line 23), its variance with the finite population
    correction (Cochran 1977, equation 5.12) and Satterthwaite's degrees of freedom (equation 5.16). A stratum of which nothing is
    known counts as the others do together.
    """
    if not len(positions):
        return UNKNOWN
    within = strata.labels[positions]
    known = np.bincount(within, minlength=len(strata.sizes))
    means: Floats = np.bincount(within, scores, minlength=len(known)) / np.maximum(known, 1)
    shares = np.where(known > 0, strata.shares, 0.0)
    mean = float(shares @ means / shares.sum())
    squares = np.bincount(within, (scores - means[within]) ** 2, minlength=len(known))
    return Moments(mean, *_spread(strata, known, squares.astype(np.float64)))


def _spread(strata: Strata, known: Counts, squares: Floats) -> tuple[float, float]:
    """The variance of the stratified mean and its degrees of freedom; `squares` are sums of squared deviations by stratum."""
    complete = known == strata.sizes
    if (known[~complete] < len(("one", "another"))).any():
        return math.nan, math.nan
    if complete.all():
        return 0.0, math.inf
    left = 1 - known / strata.sizes
    parts = strata.shares**2 * left * squares / np.maximum(known - 1, 1) / known
    parts[complete] = 0.0
    variance = float(parts.sum())
    if variance == 0:
        return 0.0, float((known - 1)[~complete].sum())
    freedom = variance**2 / float((parts[~complete] ** 2 / (known - 1)[~complete]).sum())
    return variance, freedom


def with_proxy(strata: Strata, positions: Counts, scores: Floats, proxy: Floats) -> Moments:
    """The same, helped by a `proxy` that is known for every item, shape (items,): its mean plus the mean of what it leaves.

    The proxy counts with the coefficient that leaves the least variance, so that a useless one does no harm but for the one degree of
    freedom that it takes (Angelopoulos et al. 2023, "PPI++", equation 4; combined regression estimator, Cochran 1977, section 7.11).
    """
    slope = best_slope(strata, positions, scores, proxy[positions])
    left = stratified(strata, positions, scores - slope * proxy[positions])
    fewer = left.freedom - (slope != 0)
    if not fewer >= 1:  # too few to spare one
        return stratified(strata, positions, scores)
    return Moments(left.mean + slope * float(proxy.mean()), left.variance * left.freedom / fewer, fewer)


def best_slope(strata: Strata, positions: Counts, scores: Floats, proxy: Floats) -> float:
    """The coefficient of `proxy`, at the same positions as `scores`, that leaves the stratified mean the least variance."""
    within = strata.labels[positions]
    known = np.bincount(within, minlength=len(strata.sizes))
    usable = (known > 1) & (known < strata.sizes)
    if not usable.any():
        return 0.0
    weights = np.zeros(len(known))
    weights[usable] = (strata.shares**2 * (1 - known / strata.sizes))[usable] / (known * (known - 1))[usable]
    centred = [
        values - (np.bincount(within, values, minlength=len(known)) / np.maximum(known, 1))[within]
        for values in (scores, proxy)
    ]
    together = float(weights[within] @ (centred[0] * centred[1]))
    alone = float(weights[within] @ centred[1] ** 2)
    constant = ROUNDING * float(weights[within] @ proxy**2)
    return together / alone if alone > constant else 0.0
