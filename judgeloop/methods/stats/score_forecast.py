"""Forecast of a system's scores from earlier systems' scores, and a mean that uses it.

`forecast_scores` computes the forecast. `with_forecast` estimates the mean of all items from some judged
items and the forecast. The earlier scores come from `history/ratings.py`. For a proxy of unknown
quality, `strata.py` has a function of its own (`with_proxy`).
"""

from typing import NamedTuple

import numpy as np

from judgeloop.methods.stats.strata import ROUNDING, Counts, Floats, Moments, Strata, centred, stratified

# Chosen on recorded scores among others that did as well (docs/results: their effect).
USUAL_LIKENESS = 0.2  # prior mean of the correlation of two systems' scores on an item
PRIOR_PAIRS = 200.0  # pairs of scores on one item that this prior is worth
LIKENESS = (0.02, 0.95)  # least and largest correlation
PRIOR_DRAWS = 10.0  # judgments that the expected coefficient is worth


class Forecast(NamedTuple):
    """The expected score of each item, shape (items,), and the earlier scores' standard deviation.

    `spread` is the standard deviation of the earlier systems' scores, each around its system's
    mean.
    """

    scores: Floats
    spread: float


def forecast_scores(scores: Floats) -> Forecast | None:
    """Forecast the next system's scores; None if the earlier scores tell no item from another.

    `scores` has the shape (systems, items), NaN where there is no score. Each system's mean is
    subtracted from its scores, so that it does not matter which systems were rated on an item. An
    item's mean deviation is shrunk towards 0: more, the fewer its scores are and the less alike the
    systems (the best linear predictor of a random effect: Henderson 1975). An item without scores
    is expected to score the mean of all systems.
    """
    scores = scores[~np.isnan(scores).all(axis=1)]
    if not len(scores):
        return None
    known = ~np.isnan(scores)
    means = np.nanmean(scores, axis=1)
    apart = np.where(known, scores - means[:, None], 0.0)
    likeness = _likeness(apart, known.sum(axis=0))
    deviations = apart.sum(axis=0) / (known.sum(axis=0) + (1 - likeness) / likeness)
    if not np.abs(deviations).max() > ROUNDING:
        return None
    freedom = max(1, int(known.sum()) - len(scores))
    return Forecast(float(means.mean()) + deviations, float(np.sqrt((apart**2).sum() / freedom)))


def _likeness(apart: Floats, counts: Counts) -> float:
    """Estimate the correlation of two systems' deviations on an item, within the bounds `LIKENESS`.

    The estimate is shrunk towards `USUAL_LIKENESS`.
    """
    squares = apart**2
    spread = squares.sum() / counts.sum()
    if spread <= ROUNDING:
        return USUAL_LIKENESS
    pairs = float((counts * (counts - 1)).sum())
    together = float((apart.sum(axis=0) ** 2 - squares.sum(axis=0)).sum()) / spread
    return float(np.clip((together + PRIOR_PAIRS * USUAL_LIKENESS) / (pairs + PRIOR_PAIRS), *LIKENESS))


class Slope(NamedTuple):
    """The coefficient of the forecast, and the degrees of freedom spent on estimating it."""

    coefficient: float
    spent: float


def with_forecast(strata: Strata, positions: Counts, scores: Floats, forecast: Forecast) -> Moments:
    """Estimate the mean of all items from `scores` at `positions` and a forecast for every item.

    The positions are drawn at random within each stratum. The estimate is the forecast's mean plus
    the mean of what it leaves unexplained, as with any proxy (`strata.with_proxy`). The coefficient
    differs: `believed` shrinks it towards the value expected of a forecast. A few judgments cannot
    determine a coefficient, and a forecast that hardly varies among them would get an absurd value.
    """
    slope = believed(strata, positions, scores, forecast)
    left = stratified(strata, positions, scores - slope.coefficient * forecast.scores[positions])
    fewer = left.freedom - slope.spent
    if not fewer >= 1:  # too few degrees of freedom left to estimate a coefficient; also NaN
        return stratified(strata, positions, scores)
    mean = left.mean + slope.coefficient * float(forecast.scores.mean())
    return Moments(mean, left.variance * (1 + slope.spent / fewer), fewer)


def believed(strata: Strata, positions: Counts, scores: Floats, forecast: Forecast) -> Slope:
    """Estimate the coefficient of the forecast within strata, by ridge regression.

    The coefficient is shrunk towards the expected one, as if `PRIOR_DRAWS` further items had shown
    it. The spread of the forecast over these is that over all items, which is known. The expected
    coefficient is 1 for scores that spread as the earlier systems' did. It is less for scores that
    spread less: a system that nearly always wins differs little from item to item. The degrees of
    freedom spent are those of Hastie, Tibshirani & Friedman (2009), equations 3.44 and 3.50.
    """
    expected_scores, parts = forecast.scores, len(strata.sizes)
    own = centred(strata.labels[positions], expected_scores[positions], parts)
    left = centred(strata.labels[positions], scores, parts)
    freedom = max(1, len(scores) - len(np.unique(strata.labels[positions])))
    expected = min(1.0, float(np.sqrt(left @ left / freedom)) / forecast.spread)
    prior = PRIOR_DRAWS * float((centred(strata.labels, expected_scores, parts) ** 2).mean())
    seen = float(own @ own)
    if prior + seen <= ROUNDING * float(expected_scores @ expected_scores):
        return Slope(0.0, 0.0)
    return Slope((float(own @ left) + prior * expected) / (seen + prior), seen / (seen + prior))
