"""How likely each item is to decide, by what was known of it before and by what a run has seen so far: a logistic regression.

What was known before is the business of `decisiveness.py`; when to look again, that of `selectors/decisive.py`. Who is preferred where an
item decides is not modelled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.decisiveness import Floats, Prospects, draw_weights

# The log odds of history are taken as they are and those of distance at a fifth, until a run has seen many items that say otherwise.
SLOPE_OF_HISTORY, SLOPE_OF_DISTANCE = 1.0, 0.2
# One over the variance: what a run sees moves the level first. A pattern is scaled so that past comparisons had a variance of 1.
PRECISION_OF_LEVEL, PRECISION_OF_SLOPE, PRECISION_OF_PATTERN = 0.1, 20.0, 1.0
NO_DISTANCE = 0.1  # added to a distance, so that its logarithm is finite
SHORT = 20  # characters, added to a length, so that a few more or less of a short output are no great distance
STEPS, CLOSE = 50, 1e-9  # Newton's, and by how little the last one mends


class _Model(NamedTuple):
    """What the log odds are a weighted sum of, shape (items, features), and which weights are expected, how precisely."""

    features: Floats
    expected: Floats
    precision: Floats


def length_distances(first: NDArray[np.number], second: NDArray[np.number]) -> Floats:
    """How far the lengths of two outputs are apart, by item: the absolute difference of their logarithms, shape (items,).

    `first` and `second` are in characters, NaN where there is no output.
    """
    distances: Floats = np.abs(np.log(first + SHORT) - np.log(second + SHORT))
    return distances


def weights_after(
    known: Prospects, positions: NDArray[np.int64], decided: NDArray[np.bool_]
) -> Floats:
    """The draw weights of all items once those at `positions` have `decided` or not, both of the shape (seen,)."""
    model = _model(known)
    beliefs = _fitted(model, model.features[positions], decided.astype(np.float64))
    return draw_weights(known, _chances(model.features @ beliefs))


def _model(known: Prospects) -> _Model:
    odds = np.log(known.shares / (1 - known.shares))
    level = float(odds.mean())
    features = [np.ones(len(odds)), odds - level]
    expected, precision = [level, SLOPE_OF_HISTORY], [PRECISION_OF_LEVEL, PRECISION_OF_SLOPE]
    if known.distances is not None:
        features.append(_standard(np.log(known.distances + NO_DISTANCE)))
        expected.append(SLOPE_OF_DISTANCE)
        precision.append(PRECISION_OF_SLOPE)
    for pattern in () if known.patterns is None else known.patterns:
        features.append(pattern)
        expected.append(0.0)
        precision.append(PRECISION_OF_PATTERN)
    return _Model(np.column_stack(features), np.array(expected), np.array(precision))


def _standard(values: Floats) -> Floats:
    """With mean 0 and variance 1; 0 where a value is not known, and everywhere if all are the same."""
    there = values[np.isfinite(values)]
    if not len(there) or np.ptp(there) == 0:
        return np.zeros(len(values))
    standard: Floats = np.nan_to_num((values - there.mean()) / there.std())
    return standard


def _fitted(model: _Model, features: Floats, decided: Floats) -> Floats:
    """The most likely weights after a normal prior, by Newton's steps, each halved until it mends."""
    beliefs = model.expected
    if not len(features):
        return beliefs
    misfit = _misfit(model, features, decided, beliefs)
    for _ in range(STEPS):
        chance = _chances(features @ beliefs)
        slope = features.T @ (chance - decided) + model.precision * (beliefs - model.expected)
        bend = (features.T * (chance * (1 - chance))) @ features + np.diag(model.precision)
        step = np.linalg.solve(bend, slope)
        while (after := _misfit(model, features, decided, beliefs - step)) > misfit + CLOSE:
            step = step / 2
        beliefs, mended, misfit = beliefs - step, misfit - after, after
        if mended < CLOSE:
            break
    return beliefs


def _misfit(model: _Model, features: Floats, decided: Floats, beliefs: Floats) -> float:
    """Minus the log of the likelihood and the prior, but for a constant."""
    odds = features @ beliefs
    likelihood = np.logaddexp(0, odds).sum() - decided @ odds
    return float(likelihood + model.precision @ (beliefs - model.expected) ** 2 / 2)


def _chances(odds: Floats) -> Floats:
    chances: Floats = np.exp(-np.logaddexp(0, -odds))
    return chances
