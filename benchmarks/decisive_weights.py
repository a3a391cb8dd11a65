"""The draws that `decisive_variants.py` tries: weights by a history, by lengths of outputs, and by what a run has seen.

What they come to is its business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from judgeloop.past import Past
from judgeloop.protocols import Selector
from judgeloop.replay.recordings import Contest
from judgeloop.selectors.decisive import decisive, preferred_by
from judgeloop.stats.decisiveness import agreements, decisive_shares, draw_weights, exponent

Floats = NDArray[np.float64]
LOOKS = (10, 20, 40, 80, 120)  # judgments at which the model of a run is fitted again


@dataclass(frozen=True, slots=True)
class World:
    """Two systems on their items, what went before, and how far the lengths of their outputs are apart: shape (items,)."""

    systems: tuple[str, ...]
    contest: Contest
    past: Past
    lengths: Floats

    @property
    def known(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """What the functions of a history take."""
        return self.past.preferences, self.past.known

    @property
    def power(self) -> float:
        """The exponent for so many systems."""
        return exponent(len(self.past.systems))


Weigh = Callable[[World], Floats | None]  # None: as `random` draws


def laplace(power: float) -> Weigh:
    """Weights h^power, h the plain share of decisive verdicts with one of each kind added."""

    def weigh(world: World) -> Floats:
        preferences, known = world.known
        h = ((known & (preferences != 0)).sum(axis=0) + 1) / (known.sum(axis=0) + 2)
        weights: Floats = h**power
        return weights

    return weigh


def built(power: float | None = None) -> Weigh:
    """The weights of `--selector decisive`."""
    return lambda world: preferred_by(world.past.with_implied(), world.systems, power)


def as_they_stand(world: World) -> Floats | None:
    """The same from the comparisons as they stand, though one of the two systems took part in them."""
    return draw_weights(*world.known, len(world.past.systems))


def no_even_tenth(world: World) -> Floats:
    """The same without the even share."""
    weights: Floats = (decisive_shares(*world.known) ** 2 * agreements(*world.known)) ** world.power
    return weights


def share_alone(world: World) -> Floats:
    """Weights without regard to who won on the others."""
    weights: Floats = decisive_shares(*world.known) ** (3 * world.power)
    return weights


def agreement_alone(world: World) -> Floats:
    """Weights without regard to how often an item decided."""
    weights: Floats = agreements(*world.known) ** (2 * world.power)
    return weights


def with_lengths(power: float) -> Weigh:
    """Built weights times a power of the distance between the lengths of the two outputs."""

    def weigh(world: World) -> Floats:
        weights = preferred_by(world.past, world.systems)
        assert weights is not None
        found: Floats = weights * (world.lengths + 0.1) ** power
        return found

    return weigh


def learning(world: World, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws whose chance to decide is a logistic model of history and lengths, fitted again to this run's verdicts at `LOOKS`."""
    h, c = decisive_shares(*world.known), agreements(*world.known)
    odds, lengths = np.log(h / (1 - h)), np.log(world.lengths + 0.1)
    standard = (lengths - lengths.mean()) / max(float(lengths.std()), 1e-9)
    features = np.column_stack([np.ones(len(h)), odds - odds.mean(), standard])
    prior, precision = np.array([odds.mean(), 1.0, 0.2]), np.array([0.1, 20.0, 20.0])
    decided = (world.contest.preferences != 0).astype(np.float64)
    taken: list[int] = []
    beliefs = prior
    for look, following in zip((0, *LOOKS), (*LOOKS, most), strict=True):
        if look:
            beliefs = fitted(features[taken], decided[taken], prior, precision)
        left = np.setdiff1d(np.arange(len(h)), taken)
        weights = (expit(features @ beliefs) ** 2 * c)[left] ** world.power
        order = left[np.argsort(rng.exponential(size=len(left)) / np.maximum(weights, 1e-12))]
        taken += order[: max(0, min(following, most) - look)].tolist()
    return np.array(taken)


def fitted(features: Floats, decided: Floats, prior: Floats, precision: Floats) -> Floats:
    """The mode of a logistic regression with a normal prior, by Newton's steps."""
    beliefs = prior
    for _ in range(8):
        chance = expit(features @ beliefs)
        slope = features.T @ (decided - chance) - precision * (beliefs - prior)
        bend = (features.T * (chance * (1 - chance))) @ features + np.diag(precision)
        beliefs = beliefs + np.linalg.solve(bend, slope)
    return beliefs


def drawn(variant: Weigh | str, world: World, most: int, seed: Sequence[int]) -> NDArray[np.int64]:
    """The first items of a run, in order."""
    rng, items = np.random.default_rng(seed), len(world.contest.preferences)
    if variant == "learning":
        return learning(world, most, rng)
    if variant == "largest first":
        h = laplace(1.0)(world)
        assert h is not None
        return np.lexsort((rng.random(items), -h))[:most]
    assert not isinstance(variant, str)
    selector: Selector[Any] = decisive(variant(world))
    steps, _ = selector.ask(selector.init(items, rng), most, rng)
    return np.array([step.choices[0].position for step in steps])
