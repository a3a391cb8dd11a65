"""The mean of a whole pool, and an interval for it, from weighted draws without replacement.

Takes scores in [0, 1] in the order drawn, NaN for an item without a score, and the propensity of
each draw: the item's weight over the weights of all items left. A selector chooses the weights
(`methods/selectors/decisive.py`). The estimate corrects for the propensities only: if draws also depend on
the scores themselves, it is biased.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from judgeloop.methods.stats.mean_intervals import UNSEEN, Interval, interval_at_once
from judgeloop.methods.stats.strata import FEWEST, UNKNOWN, Floats, Moments

# Lower limit for the degrees of freedom. With fewer the interval says nothing, and the `UNSEEN`
# scores already widen the interval of a few draws.
LEAST_FREEDOM = 3.0


class _Sample(NamedTuple):
    """The known scores, with the chance of each item to be drawn and its share in the mean.

    All have shape (scores,).
    """

    scores: Floats
    chances: Floats
    shares: Floats


def chances_to_be_drawn(propensities: Floats) -> Floats:
    """Return for each of the n items drawn its chance to be among n drawn: shape (n,), in (0, 1].

    `propensities`, shape (n,), are in the order drawn, and so is the result. Successive draws are a
    race of exponential waiting times whose rates are the weights. So an item of weight w is drawn
    before time τ with probability 1 - exp(-w τ) (Rosén 1997, "On sampling with probability
    proportional to size"). τ is the time at which the first item that is not drawn would have come,
    as expected from the order alone: Σ 1 / W, with W the weight left before each draw and after the
    last (rank conditioning: Cohen & Kaplan 2008, "Tighter estimation using bottom k sketches"). The
    weights follow from the propensities, because all weights sum to 1.

    For even draws all chances are the same. Once all items are drawn the chances are 1. If the
    weights changed as the run learned, each item is treated as if the weight by which it was drawn
    had applied from the start. The bias and the coverage that result are measured together with the
    rest (`benchmarks/gap_coverage.py`).
    """
    left = np.concatenate([[1.0], np.cumprod(1 - propensities)])
    if left[-1] <= 0:
        return np.ones(len(propensities))
    chances: Floats = -np.expm1(-propensities * left[:-1] * float((1 / left).sum()))
    return chances


def weighted_moments(scores: Floats, propensities: Floats) -> Moments:
    """Estimate the mean of all items, the variance of the estimate, and its degrees of freedom.

    The mean is Hájek's (1971): each score counts with the inverse of its item's chance to be drawn.
    It is nearly unbiased, and errs less than the exactly unbiased mean of Des Raj (1956), which
    jumps at every win on an item that was unlikely to be drawn. The variance is Rosén's for order
    sampling (1997, section 5). The degrees of freedom are the effective number of draws behind it,
    less one (Kish 1965); items that were certain to be drawn do not count. What cannot be estimated
    from so few scores is NaN.
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
    """Return an interval that misses the mean of all `items` with probability about `risk`.

    None with fewer than two draws. The interval is that of `interval_at_once`, with the variance
    that `UNSEEN` more scores of 0 and as many of 1 would add: draws that prefer some items may well
    miss scores that only other items have. If some items have no score, the interval covers the
    interval with 0 for all of them and the interval with 1. Its coverage is measured, not proved:
    at one look, and where the tie-aware rule ended the run (`methods/stopping/majority.py`,
    `benchmarks/gap_coverage.py`).
    """
    if len(scores) < FEWEST:
        return None
    found = [
        _interval(np.nan_to_num(scores, nan=missing), propensities, items, risk)
        for missing in ((0.0, 1.0) if np.isnan(scores).any() else (0.0,))
    ]
    return min(low for low, _ in found), max(high for _, high in found)


def _interval(scores: Floats, propensities: Floats, items: int, risk: float) -> Interval:
    moments = weighted_moments(scores, propensities)
    variance = moments.variance + _unseen(_sample(scores, propensities), moments.mean)
    found = interval_at_once(moments._replace(variance=variance), len(scores), items, risk)
    assert found is not None, "the variance is known with two scores or more"
    return found


def _sample(scores: Floats, propensities: Floats) -> _Sample:
    known = ~np.isnan(scores)
    chances = chances_to_be_drawn(propensities)[known]
    return _Sample(scores[known], chances, (1 / chances) / (1 / chances).sum())


def _variance(sample: _Sample, mean: float) -> float:
    """Return the variance of the mean from each score's weighted distance from it.

    The distances are centred on a mean to which items that were certain to be drawn do not
    contribute.
    """
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
    """Return what unseen scores of 0 and of 1 would add to the variance.

    Each has the mean weight of a draw. For even draws this is nearly
    `mean_intervals.unseen_variance`. There it is a lower limit; here it is added, because measured
    coverage required it.
    """
    of_one_draw = float(((1 - sample.chances) * sample.shares**2).mean())
    return UNSEEN * (mean**2 + (1 - mean) ** 2) * of_one_draw
