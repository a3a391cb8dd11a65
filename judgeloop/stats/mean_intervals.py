"""Intervals for the mean of all scores of a pool, each in [0, 1], from an estimate of it.

Where the estimate is from is the business of `strata.py`; for draws from a pool in one piece `betting.py` has bounds that need no
approximation.
"""

from __future__ import annotations

import math

from judgeloop.stats.strata import Moments

Interval = tuple[float, float]
UNSEEN = 2.0  # with fewer, runs that end by the width missed up to six times as often as stated on populations with rare scores
LEAST_DRAWS = 1e-6  # with fewer all of [0, 1] is in the interval anyway
TUNED_FOR = 200  # judgments at which the sequence of intervals is narrowest


def interval_at_once(moments: Moments, known: int, items: int, risk: float) -> Interval | None:
    """An interval that misses the mean of all `items` with a chance of about `risk`, for one look at `known` scores.

    Wilson's (1927), for as many draws as would give the variance that was found (Korn & Graubard 1998), with Student's quantile: so it
    stays within [0, 1], and does not shrink to a point where all scores so far are the same, or nearly. None where the variance is unknown.
    """
    if math.isnan(moments.variance):
        return None
    from scipy.special import stdtrit

    freedom = min(moments.freedom, 1e9)
    return _wilson(moments, known, items, float(stdtrit(freedom, 1 - risk / 2)))


def interval_whenever(moments: Moments, known: int, items: int, risk: float) -> Interval | None:
    """An interval that ever misses the mean, at any of many looks, with a chance of about `risk`.

    An asymptotic confidence sequence: Robbins' normal mixture (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2021, theorem 2.2), in the
    form of `interval_at_once`, tuned for `TUNED_FOR` judgments. None where the variance is unknown.
    """
    if math.isnan(moments.variance):
        return None
    drawn = _as_if_drawn(known, items)
    if math.isinf(drawn):
        return moments.mean, moments.mean
    # The u at which the sequence is narrowest beside an interval for one look (about 7.1 for a risk of 0.1); it is nearly flat there.
    tuned = -2 * math.log(risk) + math.log(-2 * math.log(risk)) + 1
    u = tuned * drawn / TUNED_FOR
    return _wilson(moments, known, items, math.sqrt((1 + 1 / u) * math.log((1 + u) / risk**2)))


def reach(mean: float, interval: Interval) -> float:
    """How far the interval reaches from the mean, to the farther side."""
    return max(interval[1] - mean, mean - interval[0])


def _wilson(moments: Moments, known: int, items: int, z: float) -> Interval:
    mean = min(1.0, max(0.0, moments.mean))
    as_if_drawn = _as_if_drawn(known, items)
    if math.isinf(as_if_drawn):
        return mean, mean
    variance = max(moments.variance, unseen_variance(mean, known, items))
    draws = max(LEAST_DRAWS, mean * (1 - mean) / variance) if 0 < mean < 1 else as_if_drawn
    centre = mean + z * z / (2 * draws)
    half = z * math.sqrt(mean * (1 - mean) / draws + (z / (2 * draws)) ** 2)
    scale = 1 + z * z / draws
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def unseen_variance(mean: float, known: int, items: int) -> float:
    """The least variance to be reckoned with: that of `UNSEEN` scores of 0 and as many of 1 among those known.

    A score that few items have may well be missing from a small sample, which then hardly varies: 4 % of items that score 0 are missing from
    half of all samples of 17. No variance that is found speaks against it.
    """
    return UNSEEN * (mean**2 + (1 - mean) ** 2) / known**2 * (1 - known / items)


def _as_if_drawn(known: int, items: int) -> float:
    """The draws with replacement that tell as much as `known` without: infinite once all are known."""
    return math.inf if known >= items else known / (1 - known / items)
