"""The mean of a whole pool from successive draws without replacement that preferred some items, and an interval for it.

Scores lie in [0, 1] and stand in the order drawn, each beside its propensity: the item's weight over the weights of all that were left. NaN
is an item that was drawn and got no score. Whose weights they are is a selector's business (`selectors/decisive.py`); draws that preferred what
a score says itself, beyond the propensities, are not mended here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from judgeloop.stats.mean_intervals import UNSEEN, Interval, interval_at_once
from judgeloop.stats.strata import FEWEST, UNKNOWN, Floats, Moments

LEAST_FREEDOM = 3.0  # with less the interval says nothing, and `UNSEEN` scores already widen that of a few draws


class _Sample(NamedTuple):
    """Scores, the chance of each item to be among those drawn, and the share with which it counts; all of the shape (scores,)."""

    scores: Floats
    chances: Floats
    shares: Floats


def chances_to_be_drawn(propensities: Floats) -> Floats:
    """The chance of each of the n items drawn, in the order drawn, to be among n: shape (n,), in (0, 1].

    Successive draws are a race of exponential waiting times whose rates are the weights, so that an item of weight w is among those drawn
    before the time τ with the chance 1 - exp(-w τ) (Rosén 1997, "On sampling with probability proportional to size"). τ is when the first item that
    is not drawn would have come, as expected from the order alone: Σ 1 / W, with W the weight left before each draw and after the last (rank conditioning:
    Cohen & Kaplan 2008, "Tighter estimation using bottom k sketches"). The weights follow from the propensities, as all sum to 1. Of even draws
    the chances are all the same; once all items are drawn they are 1. Where the weights changed on the way, as a run learned, each item is taken
    to have had all along the weight that it was drawn by; bias and coverage are measured with the rest.
    """
    left = np.concatenate([[1.0], np.cumprod(1 - propensities)])
    if left[-1] <= 0:
        return np.ones(len(propensities))
    chances: Floats = -np.expm1(-propensities * left[:-1] * float((1 / left).sum()))
    return chances


def weighted_moments(scores: Floats, propensities: Floats) -> Moments:
    """The mean of all items as estimated, the variance of that, and its degrees of freedom.

    Hájek's (1971) mean: each score counts with one over its item's chance to be drawn. It is nearly unbiased, and errs less than the exactly
    unbiased mean of Des Raj (1956), which jumps at every win on an item that was unlikely to come. The variance is Rosén's for order
    sampling (1997, section 5); its degrees of freedom are the effective number of draws that it rests on, less one (Kish 1965), where those that
    were sure to come count for nothing. NaN where too few have a score.
    """
    sample = _sample(scores, propensities)
    if not len(sample.scores):
        return UNKNOWN
    mean = float(sample.shares @ sample.scores)
    if len(sample.scores) < FEWEST:
        return Moments(mean, np.nan, np.nan)
    return Moments(mean, _variance(sample, mean), _freedom(sample))


def weighted_interval(
    scores: Floats, propensities: Floats, items: int, risk: float
) -> Interval | None:
    """An interval that misses the mean of all `items` with a chance of about `risk`; None with fewer than two draws.

    That of `interval_at_once`, with the variance that `UNSEEN` more scores of 0 and as many of 1 would have brought: draws that prefer some items
    may well miss what only others have. Where some have no score it holds what it would be with all of them 0, and with all of them 1. Its
    coverage is measured, at one look and where a rule of `stopping/heuristic.py` ended the run, and not proved (`benchmarks/distance_coverage.py`).
    """
    if len(scores) < FEWEST:
        return None
    found = [
        _interval(np.nan_to_num(scores, nan=one), propensities, items, risk)
        for one in ((0.0, 1.0) if np.isnan(scores).any() else (0.0,))
    ]
    return min(low for low, _ in found), max(high for _, high in found)


def _interval(scores: Floats, propensities: Floats, items: int, risk: float) -> Interval:
    moments = weighted_moments(scores, propensities)
    variance = moments.variance + _unseen(_sample(scores, propensities), moments.mean)
    found = interval_at_once(moments._replace(variance=variance), len(scores), items, risk)
    assert found is not None, "of two scores or more the variance is known"
    return found


def _sample(scores: Floats, propensities: Floats) -> _Sample:
    known = ~np.isnan(scores)
    chances = chances_to_be_drawn(propensities)[known]
    return _Sample(scores[known], chances, (1 / chances) / (1 / chances).sum())


def _variance(sample: _Sample, mean: float) -> float:
    """With each score's distance from the mean, centred where the items that were sure to be drawn count for nothing."""
    missed = 1 - sample.chances
    if not missed.any():
        return 0.0
    apart = sample.shares * (sample.scores - mean)
    centre = float(missed @ apart / missed.sum())
    drawn = len(sample.scores)
    return float(missed @ (apart - centre) ** 2) * drawn / (drawn - 1)


def _freedom(sample: _Sample) -> float:
    unsure = (1 - sample.chances) * sample.shares**2
    if not unsure.any():
        return math.inf
    return max(LEAST_FREEDOM, float(unsure.sum() ** 2 / (unsure @ unsure)) - 1)


def _unseen(sample: _Sample, mean: float) -> float:
    """What scores of 0 and of 1 that were not seen would add to the variance, each at the mean weight of a draw.

    For even draws this is `mean_intervals.unseen_variance`; here it is added and not the least, as measured coverage asked for.
    """
    of_one_draw = float(((1 - sample.chances) * sample.shares**2).mean())
    return UNSEEN * (mean**2 + (1 - mean) ** 2) * of_one_draw
