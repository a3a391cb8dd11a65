"""The draws that `decisive_variants.py` tries: by a history, by lengths of outputs, and by what a run has seen.

What they come to is its business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.core.records import Verdict
from judgeloop.engine.walk import walk
from judgeloop.history.past import Past
from judgeloop.history.prospects import prospects_of
from judgeloop.replay.recordings import Contest
from judgeloop.selectors.decisive import Decisive, decisive
from judgeloop.selectors.random import Random
from judgeloop.stats.decision_patterns import patterns_of
from judgeloop.stats.decisiveness import (
    Prospects,
    agreements,
    counts_of_each,
    decisive_shares,
    exponent,
    prospects,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Meanings:
    """The words of outputs by system and item, None where there is none; and the cluster of each item."""

    words: list[list[frozenset[str] | None]]
    clusters: NDArray[np.int32]

    def distances(self, contest: Contest) -> Floats:
        """The share of the words of either output that the other does not have (Jaccard's distance), NaN where one is not known."""
        first, second = (
            [self.words[system][at] for at in contest.positions] for system in contest.pair
        )
        return np.array([_distance(*both) for both in zip(first, second, strict=True)])

    def patterns(self, contest: Contest) -> Floats:
        """Whether an item is in each cluster, shape (clusters, items), as if comparisons differed by that."""
        return (self.clusters[contest.positions] == np.arange(self.clusters.max() + 1)[:, None]) / 2


def _distance(first: frozenset[str] | None, second: frozenset[str] | None) -> float:
    if first is None or second is None:
        return np.nan
    return 1 - len(first & second) / max(1, len(first | second))


@dataclass(frozen=True, slots=True)
class World:
    """Two systems on their items, what went before, and how far the lengths of their outputs are apart: shape (items,)."""

    systems: tuple[str, ...]
    contest: Contest
    past: Past
    distances: Floats | None
    meanings: Meanings | None = None

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


@dataclass(frozen=True)
class Parts:
    """What draws look at beside history: which distances, if any, in what ways comparisons differed, clusters, and the run itself."""

    distances: str | None = "lengths"  # or "words"
    patterns: bool = True
    clusters: bool = False
    learning: bool = True

    def selector(self, known: Prospects, world: World) -> Selector[Any]:
        """The draws of `--selector decisive` by these."""
        patterns = [] if known.patterns is None or not self.patterns else [known.patterns]
        if self.clusters:
            patterns.append(_meanings(world).patterns(world.contest))
        known = known._replace(
            distances=self._distances(world),
            patterns=np.concatenate(patterns) if patterns else None,
        )
        selector = decisive(known)
        return (
            Decisive(selector.weights)
            if isinstance(selector, Decisive) and not self.learning
            else selector
        )

    def _distances(self, world: World) -> Floats | None:
        if self.distances == "words":
            return _meanings(world).distances(world.contest)
        return world.distances if self.distances == "lengths" else None


AS_BUILT = Parts()


def _meanings(world: World) -> Meanings:
    assert world.meanings is not None, "the setting gives them where a variant looks at them"
    return world.meanings


def built(power: float | None = None, parts: Parts = AS_BUILT) -> Make:
    """The draws of `--selector decisive`, or of what it would be with other parts."""

    def make(world: World) -> Selector[Any]:
        known = prospects_of(world.past.with_implied(), world.systems, power)
        return Random() if known is None else parts.selector(known, world)

    return make


def alone(parts: Parts) -> Make:
    """The same where nothing is known of the past: until the run says otherwise, every item decides as often as not."""

    def make(world: World) -> Selector[Any]:
        items = len(world.contest.positions)
        return parts.selector(Prospects(np.full(items, 0.5), np.ones(items), power=1.0), world)

    return make


def as_they_stand(world: World) -> Selector[Any]:
    """The same from the comparisons as they stand, though one of the two systems took part in them."""
    known = prospects(*world.known, len(world.past.systems))
    return Random() if known is None else AS_BUILT.selector(known, world)


def with_todays(*, counted: bool) -> Make:
    """As built, but that for how often an item decides comparisons with one of the two systems count as much as any, or not at all."""

    def make(world: World) -> Selector[Any]:
        past = world.past.with_implied()
        apart = past.apart_from(*world.systems)
        rows = np.ones(len(past), dtype=np.bool_) if counted else apart
        preferences, known = past.preferences[rows], past.known[rows]
        shares = decisive_shares(preferences, known)
        agreed = agreements(past.preferences[apart], past.known[apart])
        patterns = patterns_of(preferences != 0, known, shares, counts_of_each(known))
        power = exponent(past.systems_an_item)
        return AS_BUILT.selector(Prospects(shares, agreed, power, patterns=patterns), world)

    return make


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
    labels = walk(
        make(world), items, most, lambda choice: Verdict(world.contest.score(choice.position)), rng
    )
    return np.array([label.choice.position for label in labels])
