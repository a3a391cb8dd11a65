"""What earlier systems' scores on the same items say of the next one's, and a mean of scores that is helped by it.

Where the scores come from is the business of `jobs/ratings_history.py`; a proxy of which nothing is known beforehand has its own function in
`strata.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from judgeloop.stats.strata import ROUNDING, Counts, Floats, Moments, Strata, stratified

# Chosen on recorded scores among others that did as well (docs/estimate.md says what they do).
USUAL_LIKENESS = 0.2  # of two systems' scores on an item, before any two were seen
PRIOR_PAIRS = 200.0  # scores of two systems on one item that it is worth
LIKENESS = (0.02, 0.95)  # at least and at most
PRIOR_DRAWS = 10.0  # judgments that the coefficient expected is worth


class Forecast(NamedTuple):
    """The score that each item lets expect, shape (items,), and the standard deviation of earlier systems' scores."""

    scores: Floats
    spread: float


def foretell(scores: Floats) -> Forecast | None:
    """What earlier scores let expect of the next system's; None where nothing tells one item from another.

    `scores` has the shape (systems, items), NaN where there is none. A system's scores count as they differ from its mean, so that who rated
    an item does not matter; an item's mean of these is drawn towards 0 by how few they are and how unlike the systems (the best linear
    predictor of a random effect: Henderson 1975). An item that nobody was rated on has the mean of all.
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
    """How alike two systems' deviations on an item are, from -1 to 1, drawn towards what is usual."""
    squares = apart**2
    spread = squares.sum() / counts.sum()
    if spread <= ROUNDING:
        return USUAL_LIKENESS
    pairs = float((counts * (counts - 1)).sum())
    together = float((apart.sum(axis=0) ** 2 - squares.sum(axis=0)).sum()) / spread
    return float(
        np.clip((together + PRIOR_PAIRS * USUAL_LIKENESS) / (pairs + PRIOR_PAIRS), *LIKENESS)
    )


class Slope(NamedTuple):
    """How much of what is foretold to believe, and how many degrees of freedom it took to find out."""

    coefficient: float
    spent: float


def with_forecast(strata: Strata, positions: Counts, scores: Floats, forecast: Forecast) -> Moments:
    """The mean of all items from the `scores` of those at `positions`, drawn at random within each stratum, helped by a forecast.

    The mean of what is foretold plus the mean of what it leaves, as with any proxy (`strata.with_proxy`); but with a coefficient that
    is drawn towards what a forecast lets expect. Few judgments cannot tell a coefficient, and a history that hardly varies among them
    would be given an absurd one.
    """
    slope = believed(strata, positions, scores, forecast)
    left = stratified(strata, positions, scores - slope.coefficient * forecast.scores[positions])
    fewer = left.freedom - slope.spent
    if not fewer >= 1:  # too few to spare one
        return stratified(strata, positions, scores)
    mean = left.mean + slope.coefficient * float(forecast.scores.mean())
    return Moments(mean, left.variance * (1 + slope.spent / fewer), fewer)


def believed(strata: Strata, positions: Counts, scores: Floats, forecast: Forecast) -> Slope:
    """The coefficient of what is foretold, within strata: a ridge towards that expected, as if `PRIOR_DRAWS` further items had shown it.

    Those spread as all items do, which is known. Expected is 1 for scores that spread as earlier systems' did, and less where they spread
    less: a system that nearly always wins differs little from item to item. Hastie, Tibshirani & Friedman (2009), equations 3.44 and 3.50 for
    the freedom spent.
    """
    foretold, parts = forecast.scores, len(strata.sizes)
    own = _centred(strata.labels[positions], foretold[positions], parts)
    left = _centred(strata.labels[positions], scores, parts)
    freedom = max(1, len(scores) - len(np.unique(strata.labels[positions])))
    expected = min(1.0, float(np.sqrt(left @ left / freedom)) / forecast.spread)
    prior = PRIOR_DRAWS * float((_centred(strata.labels, foretold, parts) ** 2).mean())
    seen = float(own @ own)
    if prior + seen <= ROUNDING * float(foretold @ foretold):
        return Slope(0.0, 0.0)
    return Slope((float(own @ left) + prior * expected) / (seen + prior), seen / (seen + prior))


def _centred(labels: Counts, values: Floats, strata: int) -> Floats:
    """The values less the mean of their stratum."""
    counts = np.maximum(np.bincount(labels, minlength=strata), 1)
    centred: Floats = values - (np.bincount(labels, values, minlength=strata) / counts)[labels]
    return centred
