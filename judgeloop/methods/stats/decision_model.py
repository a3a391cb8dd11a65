"""A logistic regression, fitted during a run, of how likely each item is to be decisive.

The features are what is known of each item before the run (`decisiveness.py`). The regression
learns from the verdicts that the run has seen so far, and returns draw weights. It does not model
which system a decisive verdict prefers. `methods/selectors/decisive.py` chooses when to fit again.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.decisiveness import Floats, Prospects, draw_weights

# Prior means of the slopes: the log odds from history are taken as they are, the standardised log
# distance at a fifth, until a run has seen many items that contradict this.
SLOPE_OF_HISTORY, SLOPE_OF_DISTANCE = 1.0, 0.2
# Prior precisions, 1 / variance. The level's is low, so that the verdicts of a run move the level
# first. A pattern's is 1, because patterns are scaled to a variance of 1 over past comparisons.
PRECISION_OF_LEVEL, PRECISION_OF_SLOPE, PRECISION_OF_PATTERN = 0.1, 20.0, 1.0
NO_DISTANCE = 0.1  # added to a distance, so that its logarithm is finite
# Characters, added to a length, so that a few characters make no large distance in short outputs.
SHORT = 20
STEPS, CLOSE = 50, 1e-9  # most Newton steps; they end when the misfit falls by less than CLOSE


class _Model(NamedTuple):
    """Features and normal prior of the regression.

    `features` has the shape (items, features); the log odds are a weighted sum of them. `expected`
    and `precision`, shape (features,), are the prior means and precisions of the weights.
    """

    features: Floats
    expected: Floats
    precision: Floats


def length_distances(first: NDArray[np.number], second: NDArray[np.number]) -> Floats:
    """Compute how far the lengths of two outputs are apart, by item; shape (items,).

    The distance is the absolute difference of the lengths' logarithms. `first` and `second` are in
    characters, NaN where there is no output; the distance is then NaN.
    """
    distances: Floats = np.abs(np.log(first + SHORT) - np.log(second + SHORT))
    return distances


@final
@dataclass(frozen=True, eq=False)
class DecisionModel:
    """The regression for the items of a pool, from what is known of them before the run."""

    known: Prospects

    def weights_after(self, positions: NDArray[np.int64], decided: NDArray[np.bool_]) -> Floats:
        """Compute the draw weights of all items from the verdicts seen so far; shape (items,).

        `positions` are the judged items and `decided` says whether each verdict was decisive; both
        have the shape (seen,).
        """
        weights: Floats = self.weights_after_each(positions[None], decided[None])[0]
        return weights

    def weights_after_each(self, positions: NDArray[np.int64], decided: NDArray[np.bool_]) -> Floats:
        """Compute `weights_after` for many runs at once, shape (runs, items).

        `positions` and `decided` have the shape (runs, seen).
        """
        model = self._model
        beliefs = _fitted(model, model.features[positions], decided.astype(np.float64))
        # Not a product of matrices: for so few features threads would only wait for each other.
        odds = np.zeros((len(beliefs), len(model.features)))
        for feature, weights in zip(model.features.T, beliefs.T, strict=True):
            odds += weights[:, None] * feature
        return draw_weights(self.known, _chances(odds))

    @cached_property
    def _model(self) -> _Model:
        return _model(self.known)


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
    """Scale the values to mean 0 and variance 1; unknown values become 0.

    All become 0 if no two known values differ.
    """
    there = values[np.isfinite(values)]
    if not len(there) or np.ptp(there) == 0:
        return np.zeros(len(values))
    standard: Floats = np.nan_to_num((values - there.mean()) / there.std())
    return standard


def _fitted(model: _Model, features: Floats, decided: Floats) -> Floats:
    """Find the most probable weights under the prior by Newton's method, shape (runs, features).

    `features` has the shape (runs, seen, features), `decided` (runs, seen). A step is halved until
    the misfit does not rise by more than `CLOSE`. Each run ends as it would alone.
    """
    beliefs = np.tile(model.expected, (len(features), 1))
    going = np.arange(len(features) if features.shape[1] else 0)
    misfit = _misfit(model, features, decided, beliefs)
    for _ in range(STEPS):
        if not len(going):
            break
        seen, said, now = features[going], decided[going], beliefs[going]
        step = _newton_step(model, seen, said, now)
        after = _misfit(model, seen, said, now - step)
        while (worse := after > misfit[going] + CLOSE).any():
            step[worse] = step[worse] / 2
            after[worse] = _misfit(model, seen[worse], said[worse], (now - step)[worse])
        beliefs[going] = now - step
        mended, misfit[going] = misfit[going] - after, after
        going = going[mended >= CLOSE]
    return beliefs


def _newton_step(model: _Model, features: Floats, decided: Floats, beliefs: Floats) -> Floats:
    """Compute the inverse of the misfit's second derivatives times its first ones."""
    chance = _chances(_odds(features, beliefs))
    slope = ((chance - decided)[:, None] @ features)[:, 0]
    slope = slope + model.precision * (beliefs - model.expected)
    weighted = features * (chance * (1 - chance))[..., None]
    bend = weighted.transpose(0, 2, 1) @ features + np.diag(model.precision)
    return np.asarray(np.linalg.solve(bend, slope[..., None])[..., 0], dtype=np.float64)


def _odds(features: Floats, beliefs: Floats) -> Floats:
    odds: Floats = (features @ beliefs[..., None])[..., 0]
    return odds


def _misfit(model: _Model, features: Floats, decided: Floats, beliefs: Floats) -> Floats:
    """Compute minus the log of likelihood times prior, up to a constant, shape (runs,)."""
    odds = _odds(features, beliefs)
    likelihood = (np.logaddexp(0, odds) - decided * odds).sum(axis=1)
    apart = beliefs - model.expected
    misfit: Floats = likelihood + (model.precision * apart * apart).sum(axis=1) / 2
    return misfit


def _chances(odds: Floats) -> Floats:
    """Return 1 / (1 + exp(-odds))."""
    chances: Floats = np.negative(odds)
    with np.errstate(over="ignore"):  # the chance is then 0
        np.exp(chances, out=chances)
    chances += 1.0
    return np.reciprocal(chances, out=chances)
