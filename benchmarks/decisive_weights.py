"""The draws that `decisive_variants.py` tries: by a history, by lengths of outputs, and by what a run has seen.

What they come to is its business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.past import Past
from judgeloop.protocols import Selector
from judgeloop.records import Verdict
from judgeloop.replay.recordings import Contest
from judgeloop.selectors.decisive import Decisive, decisive, prospects_of
from judgeloop.selectors.random import Random
from judgeloop.selectors.walking import walk
from judgeloop.stats.decisiveness import Prospects, agreements, decisive_shares, exponent, prospects

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class World:
    """Two systems on their items, what went before, and how far the lengths of their outputs are apart: shape (items,)."""

    systems: tuple[str, ...]
    contest: Contest
    past: Past
    distances: Floats | None

    @property
    def known(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """What the functions of a history take."""
        return self.past.preferences, self.past.known

    @property
    def power(self) -> float:
        """The exponent for so many systems."""
        return exponent(len(self.past.systems))


Make = Callable[[World], Selector[Any]]
Weigh = Callable[[World], Floats]


def evenly(world: World) -> Selector[Any]:
    """As `random` draws."""
    del world
    return Random()


def built(power: float | None = None, *, lengths: bool = True, learning: bool = True) -> Make:
    """The draws of `--selector decisive`, or of what it would be without a part."""

    def make(world: World) -> Selector[Any]:
        known = prospects_of(world.past.with_implied(), world.systems, power)
        known = known and known._replace(distances=world.distances if lengths else None)
        return _as_built(known, learning=learning)

    return make


def as_they_stand(world: World) -> Selector[Any]:
    """The same from the comparisons as they stand, though one of the two systems took part in them."""
    known = prospects(*world.known, len(world.past.systems))
    return _as_built(known and known._replace(distances=world.distances), learning=True)


def with_todays(*, counted: bool) -> Make:
    """As built, but that comparisons with one of the two systems count as much as any, or not at all, for how often an item decides."""

    def make(world: World) -> Selector[Any]:
        past = world.past.with_implied()
        apart = past.apart_from(*world.systems)
        others = past.preferences[apart], past.known[apart]
        shares = decisive_shares(past.preferences, past.known) if counted else decisive_shares(*others)
        known = Prospects(shares, agreements(*others), exponent(past.systems_an_item), world.distances)
        return decisive(known)

    return make


def _as_built(known: Prospects | None, *, learning: bool) -> Selector[Any]:
    selector = decisive(known)
    return Decisive(selector.weights) if isinstance(selector, Decisive) and not learning else selector


def by(weigh: Weigh) -> Make:
    """Draws by weights that do not change."""
    return lambda world: Decisive(weigh(world))


def laplace(power: float) -> Weigh:
    """Weights h^power, h the plain share of decisive verdicts with one of each kind added."""

    def weigh(world: World) -> Floats:
        preferences, known = world.known
        h = ((known & (preferences != 0)).sum(axis=0) + 1) / (known.sum(axis=0) + 2)
        weights: Floats = h**power
        return weights

    return weigh


def no_even_tenth(world: World) -> Floats:
    """What history alone gives, without the even share."""
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


def drawn(make: Make | str, world: World, most: int, seed: Sequence[int]) -> NDArray[np.int64]:
    """The first items of a run, in order, each answer heard before the next draw that depends on it."""
    rng, items = np.random.default_rng(seed), len(world.contest.preferences)
    if isinstance(make, str):
        assert make == "largest first"
        return np.lexsort((rng.random(items), -laplace(1.0)(world)))[:most]
    labels = walk(make(world), items, most, lambda choice: Verdict(world.contest.score(choice.position)), rng)
    return np.array([label.choice.position for label in labels])
