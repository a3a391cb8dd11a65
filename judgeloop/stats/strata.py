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

FEWEST = 2  # known, to tell a spread
ROUNDING = 1e-12  # relative: what varies less is constant
LEAST_SPREAD = 0.25  # as a variance
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

    The variance is NaN where it cannot be known: too few items are.
    """

    mean: float
    variance: float
    freedom: float


UNKNOWN = Moments(math.nan, math.nan, math.nan)


class _Part(NamedTuple):
    """What the strata of one kind add to a mean: their share of the pool, their sum, and the parts of the variance with their freedoms."""

    share: float
    total: float
    variances: Floats
    freedoms: Floats


def stratified(strata: Strata, positions: Counts, scores: Floats) -> Moments:
    """The mean of all items from the `scores` of those at `positions`, drawn at random within each stratum.

    The weighted mean of the strata's means (Huang et al. 2024, algorithm 1, line 23), its variance with the finite population
    correction (Cochran 1977, equation 5.12) and Satterthwaite's degrees of freedom (equation 5.16). Strata with too few known to tell their spread
    are taken together, as they came in random order; strata of which nothing is known count as the others do.
    """
    if not len(positions):
        return UNKNOWN
    within = strata.labels[positions]
    known = np.bincount(within, minlength=len(strata.sizes))
    few = known < np.minimum(FEWEST, strata.sizes)
    parts = [_apart(strata, within, scores, known, few), _together(strata, within, scores, few)]
    share = sum(part.share for part in parts)
    mean = sum(part.total for part in parts) / share
    if share < 1 - ROUNDING:  # nothing is known of some, and nothing can be said of them
        return Moments(mean, math.nan, math.nan)
    return Moments(
        mean,
        *_satterthwaite(
            *(np.concatenate(one) for one in zip(*(p[2:] for p in parts), strict=True))
        ),
    )


def _apart(
    strata: Strata, within: Counts, scores: Floats, known: Counts, few: NDArray[np.bool_]
) -> _Part:
    """Each stratum by itself."""
    means = np.bincount(within, scores, minlength=len(known)) / np.maximum(known, 1)
    squares = np.bincount(within, (scores - means[within]) ** 2, minlength=len(known))
    shares = np.where(few, 0.0, strata.shares)
    spread = squares / np.maximum(known - 1, 1) / np.maximum(known, 1)
    variances: Floats = shares**2 * (1 - known / strata.sizes) * spread
    partly = ~few & (known < strata.sizes)
    return _Part(
        float(shares.sum()),
        float(shares @ means),
        variances[partly],
        (known - 1)[partly].astype(np.float64),
    )


def _together(strata: Strata, within: Counts, scores: Floats, few: NDArray[np.bool_]) -> _Part:
    """Strata with fewer than two known as one, each known item standing for its stratum (a ratio to size: Cochran 1977, equation 6.13)."""
    taken = few[within]
    share, count = float(strata.shares[few].sum()), int(taken.sum())
    if not count:
        return _Part(0.0, 0.0, np.zeros(0), np.zeros(0))
    weights = strata.sizes[within[taken]] / strata.sizes[within[taken]].sum()
    mean = float(weights @ scores[taken])
    if count < FEWEST:
        return _Part(share, share * mean, np.full(1, np.nan), np.full(1, np.nan))
    left = 1 - count / strata.sizes[few].sum()
    spread = float((weights**2) @ (scores[taken] - mean) ** 2) * count / (count - 1)
    return _Part(share, share * mean, np.full(1, share**2 * left * spread), np.full(1, count - 1.0))


def _satterthwaite(variances: Floats, freedoms: Floats) -> tuple[float, float]:
    """The sum of independent variances and its degrees of freedom; NaN where one of them is."""
    if not len(variances):
        return 0.0, math.inf
    variance = float(variances.sum())
    if variance == 0:
        return 0.0, float(freedoms.sum())
    return variance, variance**2 / float((variances**2 / freedoms).sum())


def with_proxy(strata: Strata, positions: Counts, scores: Floats, proxy: Floats) -> Moments:
    """The same, helped by a `proxy` that is known for every item, shape (items,): its mean plus the mean of what it leaves.

    The proxy counts with the coefficient that leaves the least variance, so that a useless one does no harm but for the one degree of
    freedom that it takes (Angelopoulos et al. 2023, "PPI++", equation 4; combined regression estimator, Cochran 1977, section 7.11).
    One that hardly varies among the judged items, and so cannot be given a coefficient, is believed less.
    """
    slope = best_slope(strata, positions, scores, proxy)
    left = stratified(strata, positions, scores - slope * proxy[positions])
    fewer = left.freedom - (slope != 0)
    if not fewer >= 1:  # too few to spare one
        return stratified(strata, positions, scores)
    return Moments(
        left.mean + slope * float(proxy.mean()), left.variance * left.freedom / fewer, fewer
    )


def best_slope(strata: Strata, positions: Counts, scores: Floats, proxy: Floats) -> float:
    """The coefficient of `proxy`, shape (items,), that leaves the stratified mean of the `scores` at `positions` the least variance.

    Where the proxy spreads less among them than `LEAST_SPREAD` of what it does among all items, it is taken to spread so much: a few large
    values, none of them judged, would else be multiplied by whatever the small ones seem to say.
    """
    within, own = strata.labels[positions], proxy[positions]
    known = np.bincount(within, minlength=len(strata.sizes))
    usable = (known > 1) & (known < strata.sizes)
    if not usable.any():
        return 0.0
    weights = np.zeros(len(known))
    weights[usable] = (strata.shares**2 * (1 - known / strata.sizes))[usable] / (
        known * (known - 1)
    )[usable]
    left, foretold = (_centred(within, values, len(known)) for values in (scores, own))
    together = float(weights[within] @ (left * foretold))
    alone = float(weights[within] @ foretold**2)
    spread = (
        np.bincount(strata.labels, _centred(strata.labels, proxy, len(known)) ** 2) / strata.sizes
    )
    expected = float((weights * np.maximum(known - 1, 0)) @ spread)
    constant = ROUNDING * float(weights[within] @ own**2)
    if alone <= constant:
        return 0.0
    return together / max(alone, LEAST_SPREAD * expected)


def _centred(labels: Counts, values: Floats, strata: int) -> Floats:
    """The values less the mean of their stratum."""
    counts = np.maximum(np.bincount(labels, minlength=strata), 1)
    centred: Floats = values - (np.bincount(labels, values, minlength=strata) / counts)[labels]
    return centred
