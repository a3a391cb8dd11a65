"""Confidence intervals for the mean score of a pool, from an estimate of that mean.

Takes the `Moments` of `methods/stats/strata.py`: a mean in [0, 1], its variance and its degrees of freedom.
Returns an interval within [0, 1]: `interval_at_once` for one look, `interval_whenever` for any
number of looks. Both are approximations. For random draws from an unstratified pool
`methods/stats/betting.py` has bounds that need none.
"""

import math

from judgeloop.methods.stats.strata import Moments

Interval = tuple[float, float]
# Number of scores of 0, and of scores of 1, that an interval allows for unseen. With fewer, runs
# that end by the width missed up to six times as often as stated, on populations with rare scores.
UNSEEN = 2.0
# Lower limit for the effective number of draws: with fewer, the interval is all of [0, 1] anyway.
LEAST_DRAWS = 1e-6
# Number of judgments at which the confidence sequence is narrowest.
TUNED_FOR = 200


def interval_at_once(moments: Moments, known: int, items: int, risk: float) -> Interval | None:
    """Return an interval that misses the mean of all `items` with probability about `risk`.

    It is for one look, at `known` scores. Wilson's interval (1927) for the effective number of
    draws, which is the number that would give the variance found (Korn & Graubard 1998), with
    Student's quantile. It stays within [0, 1], and it does not shrink to a point where all scores
    so far are the same, or nearly. None if the variance is unknown.
    """
    if math.isnan(moments.variance):
        return None
    from scipy.special import stdtrit

    freedom = min(moments.freedom, 1e9)
    return _wilson(moments, known, items, float(stdtrit(freedom, 1 - risk / 2)))


def interval_whenever(moments: Moments, known: int, items: int, risk: float) -> Interval | None:
    """Return an interval that misses the mean at any of many looks with probability about `risk`.

    An asymptotic confidence sequence: Robbins' normal mixture (Waudby-Smith, Arbour, Sinha, Kennedy
    & Ramdas 2021, theorem 2.2), in the form of `interval_at_once`, with √((1 + 1/u) · log((1 + u) /
    risk²)) in place of the quantile. u grows in proportion to the number of draws. The sequence is
    tuned to be narrowest at `TUNED_FOR` judgments. None if the variance is unknown.
    """
    if math.isnan(moments.variance):
        return None
    drawn = _as_if_drawn(known, items)
    if math.isinf(drawn):
        return moments.mean, moments.mean
    # The u at which the sequence is narrowest relative to an interval for one look: about 7.1 for a
    # risk of 0.1. The minimum is nearly flat.
    tuned = -2 * math.log(risk) + math.log(-2 * math.log(risk)) + 1
    u = tuned * drawn / TUNED_FOR
    return _wilson(moments, known, items, math.sqrt((1 + 1 / u) * math.log((1 + u) / risk**2)))


def reach(mean: float, interval: Interval) -> float:
    """Return the distance from the mean to the farther end of the interval."""
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
    """Return the lower limit for the variance of a mean of `known` scores.

    It is the variance if `UNSEEN` of the known scores were 0, `UNSEEN` were 1, and the rest equal
    to the mean. A score that few items have may be missing from a small sample, which then hardly
    varies: if 4 % of the items score 0, half of all samples of 17 contain none of them. The
    variance found in the sample cannot show this.
    """
    return UNSEEN * (mean**2 + (1 - mean) ** 2) / known**2 * (1 - known / items)


def _as_if_drawn(known: int, items: int) -> float:
    """Return the number of draws with replacement that tell as much as `known` draws without.

    It is infinite once all items are known.
    """
    return math.inf if known >= items else known / (1 - known / items)
