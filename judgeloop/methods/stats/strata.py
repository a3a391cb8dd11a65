"""Strata of a pool: the mean over all items from the scores of some, and which stratum is next.

Takes the stratum of every item, and the positions and scores of the judged items. Returns
`Moments`: the mean, its variance and its degrees of freedom. `methods/stats/intervals.py`
makes an interval of them; selectors choose the items. Strata are sections of a number known for
every item, or clusters of vectors (`papers/actracer/clusters.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FEWEST = 2  # known scores that it takes to estimate a spread
ROUNDING = 1e-12  # relative: what varies less counts as constant
LEAST_SPREAD = 0.25  # share of the proxy's variance among all items
BEYOND_CHANCE = 2.0  # standard deviations of what chance makes of strata that are alike
LEAST_BETWEEN = 0.1  # variance between strata, as a share of that of all
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
SECTIONS = 8
JUDGMENTS_A_STRATUM = 5
ITEMS_A_STRATUM = 2  # minimum
# Draws from every stratum at the start, so that its spread can be estimated (Carpentier & Munos
# 2011, algorithm 1).
FIRST_DRAWS = 2


@dataclass(frozen=True, eq=False)
class Strata:
    """The stratum of each item of a pool.

    `labels`, shape (items,), holds the numbers 0 to strata - 1; no stratum is empty.

    Raises:
        ValueError: there is no item, or a number is negative or left out.
    """

    labels: Counts

    def __post_init__(self) -> None:
        if not len(self.labels):
            raise ValueError("expected at least one item, found none")
        if self.labels.min() < 0 or not self.sizes.all():
            raise ValueError("expected strata numbered from 0 without a gap")

    @classmethod
    def single(cls, items: int) -> Strata:
        """The whole pool as one stratum."""
        return cls(np.zeros(items, dtype=np.int64))

    @cached_property
    def sizes(self) -> Counts:
        """Number of items in each stratum, shape (strata,)."""
        return np.bincount(self.labels)

    @cached_property
    def shares(self) -> Floats:
        """Each stratum's share of the items, shape (strata,).

        This is the w of Huang et al. (2024), algorithm 1.
        """
        shares: Floats = self.sizes / len(self.labels)
        return shares


class Moments(NamedTuple):
    """An estimated mean over a whole pool, its variance, and its degrees of freedom.

    The variance and the degrees of freedom are NaN if too few items have a score.
    """

    mean: float
    variance: float
    freedom: float


UNKNOWN = Moments(math.nan, math.nan, math.nan)


class _Part(NamedTuple):
    """What the strata of one kind add to a mean.

    `share` is their share of the pool, `total` their part of the mean, `variances` the parts of its
    variance, with their `freedoms`.
    """

    share: float
    total: float
    variances: Floats
    freedoms: Floats


def stratified(strata: Strata, positions: Counts, scores: Floats) -> Moments:
    """Estimate the mean of all items from the `scores` of the items at `positions`.

    The items were drawn at random within each stratum. The estimate is the weighted mean of the
    strata's means (Huang et al. 2024, algorithm 1, line 23). Its variance has the finite population
    correction (Cochran 1977, equation 5.12), and the degrees of freedom are Satterthwaite's
    (equation 5.16). Strata with too few known scores to estimate their spread are pooled; their
    first draws came in a random order of the strata. Strata without a known score are taken to be
    like the others that are pooled.
    """
    if not len(positions):
        return UNKNOWN
    within = strata.labels[positions]
    known = np.bincount(within, minlength=len(strata.sizes))
    few = known < np.minimum(FEWEST, strata.sizes)
    parts = [_apart(strata, within, scores, known, few), _together(strata, within, scores, few)]
    share = sum(part.share for part in parts)
    mean = sum(part.total for part in parts) / share
    if share < 1 - ROUNDING:  # strata without a known score, and none to pool them with
        return Moments(mean, math.nan, math.nan)
    return Moments(
        mean, *_satterthwaite(*(np.concatenate(pieces) for pieces in zip(*(p[2:] for p in parts), strict=True)))
    )


def of_sample(scores: Floats) -> Moments:
    """Estimate the mean of the population that `scores`, shape (judged,), are a random sample of.

    The population has no end, so there is no finite population correction.
    """
    judged = len(scores)
    if judged < FEWEST:
        return Moments(float(scores[0]), math.nan, math.nan) if judged else UNKNOWN
    return Moments(float(scores.mean()), float(scores.var(ddof=1)) / judged, judged - 1.0)


def of_blocks(scores: Floats, cheap: Floats, known: NDArray[np.bool_]) -> Moments:
    """Estimate the mean of the population as `of_sample` does, with the help of a proxy of further items.

    `cheap`, shape (asked, k), has the proxy's scores of a block of items a label, the item of the label first; `known`
    says which labels have one of the `scores`. All items of the blocks are a sample of the population, and of these
    `with_proxy` estimates the mean.
    """
    asked, each = cheap.shape
    if len(scores) < FEWEST:
        return of_sample(scores)
    found = with_proxy(Strata.single(asked * each), np.flatnonzero(known) * each, scores, cheap.ravel())
    return found._replace(variance=found.variance + float(scores.var(ddof=1)) / (asked * each))


def _apart(strata: Strata, within: Counts, scores: Floats, known: Counts, few: NDArray[np.bool_]) -> _Part:
    """The part of the strata with enough known scores, each by itself."""
    means = np.bincount(within, scores, minlength=len(known)) / np.maximum(known, 1)
    squares = np.bincount(within, (scores - means[within]) ** 2, minlength=len(known))
    shares = np.where(few, 0.0, strata.shares)
    spread = squares / np.maximum(known - 1, 1) / np.maximum(known, 1)
    variances: Floats = shares**2 * (1 - known / strata.sizes) * spread
    partly = ~few & (known < strata.sizes)
    return _Part(float(shares.sum()), float(shares @ means), variances[partly], (known - 1)[partly].astype(np.float64))


def _together(strata: Strata, within: Counts, scores: Floats, few: NDArray[np.bool_]) -> _Part:
    """The part of the strata with too few known scores, pooled into one stratum.

    Each known item stands for its stratum (a ratio to size: Cochran 1977, equation 6.13).
    """
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
    """The sum of independent variances and its degrees of freedom.

    Both are NaN if one of the variances is.
    """
    if not len(variances):
        return 0.0, math.inf
    variance = float(variances.sum())
    if variance == 0:
        return 0.0, float(freedoms.sum())
    return variance, variance**2 / float((variances**2 / freedoms).sum())


def with_proxy(strata: Strata, positions: Counts, scores: Floats, proxy: Floats) -> Moments:
    """Estimate the mean of all items as `stratified` does, with the help of a `proxy`.

    `proxy`, shape (items,), is known for every item. The estimate is the proxy's mean times a
    coefficient, plus the mean of the scores less the coefficient times the proxy. The coefficient
    is the one that leaves the least variance, so a useless proxy does no harm, except for the one
    degree of freedom that the coefficient takes (Angelopoulos et al. 2023, "PPI++", equation 4;
    combined regression estimator, Cochran 1977, section 7.11). `best_slope` says how a proxy that
    hardly varies among the judged items gets a smaller coefficient.
    """
    slope = best_slope(strata, positions, scores, proxy)
    left = stratified(strata, positions, scores - slope * proxy[positions])
    fewer = left.freedom - (slope != 0)
    if not fewer >= 1:  # too few to give one up
        return stratified(strata, positions, scores)
    return Moments(left.mean + slope * float(proxy.mean()), left.variance * left.freedom / fewer, fewer)


def with_groups(strata: Strata, positions: Counts, scores: Floats, proxy: Floats | None, groups: Strata) -> Moments:
    """Estimate the mean of all items as `with_proxy` does, with the help of groups of the items.

    What `foreseen` says of an item is taken off its score, and its mean over all items is added. The variance leaves
    out that it was learned from the same scores.
    """
    slope = 0.0 if proxy is None else best_slope(strata, positions, scores, proxy)
    left = scores if proxy is None else scores - slope * proxy[positions]
    ahead = foreseen(groups, positions, left)
    left = scores - ahead[positions]
    found = stratified(strata, positions, left) if proxy is None else with_proxy(strata, positions, left, proxy)
    return found._replace(mean=found.mean + float(ahead.mean()))


def foreseen(strata: Strata, positions: Counts, scores: Floats) -> Floats:
    """How far the mean of each item's stratum is above that of all, as the `scores` at `positions` say; shape (items,).

    A stratum's mean is shrunk by as much as the variance between strata makes likely (Efron & Morris 1973). All is 0
    unless the strata differ by more than `BEYOND_CHANCE` and by `LEAST_BETWEEN`: a control that says little costs more
    than it brings.
    """
    within, alike = strata.labels[positions], np.zeros(len(strata.labels))
    known = np.bincount(within, minlength=len(strata.sizes))
    freedom = np.count_nonzero(known) - 1
    if freedom < 1:
        return alike
    spread = float(scores.var())
    ahead = np.bincount(within, scores - scores.mean(), minlength=len(known)) / np.maximum(known, 1)
    between = float(known @ ahead**2)
    beyond = between - freedom * spread
    variance = beyond / (len(scores) - float(known @ known) / len(scores))
    if beyond <= BEYOND_CHANCE * math.sqrt(2 * freedom) * spread or variance < LEAST_BETWEEN * spread:
        return alike
    shrunk: Floats = ahead * known / (known + spread / variance)
    return shrunk[strata.labels]


def best_slope(strata: Strata, positions: Counts, scores: Floats, proxy: Floats) -> float:
    """The coefficient of `proxy` that leaves the stratified mean the least variance.

    `proxy` has shape (items,). The mean is that of the `scores` at `positions`. If the proxy's
    variance among these items is less than `LEAST_SPREAD` of its variance among all items, that
    share is used instead. Otherwise a few large values of the proxy, none of them judged, would be
    multiplied by whatever coefficient the small values seem to show.
    """
    within, own = strata.labels[positions], proxy[positions]
    known = np.bincount(within, minlength=len(strata.sizes))
    usable = (known > 1) & (known < strata.sizes)
    if not usable.any():
        return 0.0
    weights = np.zeros(len(known))
    weights[usable] = (strata.shares**2 * (1 - known / strata.sizes))[usable] / (known * (known - 1))[usable]
    left, centred_proxy = (centred(within, values, len(known)) for values in (scores, own))
    together = float(weights[within] @ (left * centred_proxy))
    alone = float(weights[within] @ centred_proxy**2)
    spread = np.bincount(strata.labels, centred(strata.labels, proxy, len(known)) ** 2) / strata.sizes
    expected = float((weights * np.maximum(known - 1, 0)) @ spread)
    constant = ROUNDING * float(weights[within] @ own**2)
    if alone <= constant:
        return 0.0
    return together / max(alone, LEAST_SPREAD * expected)


def centred(labels: Counts, values: Floats, strata: int) -> Floats:
    """The values less the mean of their stratum."""
    counts = np.maximum(np.bincount(labels, minlength=strata), 1)
    less: Floats = values - (np.bincount(labels, values, minlength=strata) / counts)[labels]
    return less


def by_sections(values: Floats, sections: int = SECTIONS) -> Strata:
    """Strata of equal width between the lowest and the highest of `values`, shape (items,).

    Empty sections are left out. If all values are equal there is one stratum. Confidence-based
    stratified sampling (CSSampling; Li et al. 2019, section 4.1, as described by Huang et al. 2024,
    section 4.3).
    """
    low, high = float(values.min()), float(values.max())
    if low == high:
        return Strata.single(len(values))
    numbers = np.minimum(((values - low) / (high - low) * sections).astype(np.int64), sections - 1)
    return Strata(np.unique(numbers, return_inverse=True)[1].astype(np.int64))


def paying_strata(limit: int, items: int) -> int:
    """The number of strata to cut `items` into for `limit` random draws.

    `limit` is a number of judgments. More strata narrow the interval as long as the
    spread within each stratum can still be estimated. On the hidden states of a language model,
    five judgments per stratum gave narrower intervals than ten, and narrower than the smaller
    number of clusters at the elbow of the inertia, at the stated coverage (docs/results).
    """
    return max(1, min(limit // JUDGMENTS_A_STRATUM, items // ITEMS_A_STRATUM))


def exploration(limit: int) -> float:
    """Compute the exploration constant β = √log(2 / n^(-9/2)) for n = `limit` draws.

    `limit` is a number of judgments; the scores are in [0, 1]. This is the β of
    Huang et al. (2024), equation 2.

    It is √log(2/δ) with δ = n^(-9/2), as printed there with a reference to Carpentier, Munos &
    Antos (2015), "Adaptive strategy for stratified Monte Carlo sampling". That text was not
    available. An independent implementation of their index for bounded arms has the same β, times
    the range of the scores.

    For scores in [0, 1], the deviation is known to within √(2 log(2/δ) / (T - 1)) (Maurer & Pontil
    2009, theorem 10). That is 2β/√(T - 1) with a β smaller by the factor √2.

    Both are large. At 400 draws, 2β/√T exceeds 1/2, the largest possible deviation of these
    scores, until a stratum has 443 draws. The allocation is therefore nearly proportional.
    """
    return math.sqrt(math.log(2) + 4.5 * math.log(max(1, limit)))


def upper_bounds(shares: Floats, drawn: Counts, deviations: Floats, beta: float) -> Floats:
    """Compute an upper bound on each stratum's part of the variance, per draw; shape (strata,).

    B = w / T · (s + 2β / √T) for `shares` w, `drawn` T, `deviations` s and `beta` β: Huang et al.
    (2024), equation 1. Every entry of `drawn` must be at least 1.
    """
    bounds: Floats = shares / drawn * (deviations + 2 * beta / np.sqrt(drawn))
    return bounds


def behind_their_share(shares: Floats, drawn: Counts) -> Floats:
    """Compute how far each stratum is behind its proportional share; shape (strata,).

    The stratum with the highest value is drawn from next (Sainte-Laguë's divisors).
    """
    behind: Floats = shares / (2 * drawn + 1)
    return behind
