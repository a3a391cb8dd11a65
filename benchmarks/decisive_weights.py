"""The selectors and draw weights that `decisive_variants.py` tries.

They use a history, the outputs' lengths or words, clusters of the prompts, or the verdicts of the
run so far. `decisive_curves.py` measures the runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.history.past import Past, prospects_of
from judgeloop.methods.selectors.decisive import Decisive, decisive
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.decisiveness import (
    Prospects,
    agreements,
    counts_of_each,
    decisive_shares,
    exponent,
    patterns_of,
    prospects,
)
from judgeloop.replay.compare import Contest

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.walking import walk

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Meanings:
    """The words of the outputs, and the cluster of each item.

    `words` is by system, then item, None where there is no output. `clusters` has the shape
    (items,).
    """

    words: list[list[frozenset[str] | None]]
    clusters: NDArray[np.int32]

    def distances(self, contest: Contest) -> Floats:
        """Return the Jaccard distances of the two outputs' words, shape (items of the contest,).

        This is the share of their words that only one of the outputs has; NaN where an output is
        missing.
        """
        first, second = ([self.words[system][at] for at in contest.positions] for system in contest.pair)
        return np.array([_distance(*both) for both in zip(first, second, strict=True)])

    def patterns(self, contest: Contest) -> Floats:
        """Return the clusters as if they were patterns of a history, shape (clusters, items).

        An entry is 1/2 for an item in the cluster, else 0.
        """
        return (self.clusters[contest.positions] == np.arange(self.clusters.max() + 1)[:, None]) / 2


def _distance(first: frozenset[str] | None, second: frozenset[str] | None) -> float:
    if first is None or second is None:
        return np.nan
    return 1 - len(first & second) / max(1, len(first | second))


@dataclass(frozen=True, slots=True)
class World:
    """Two systems on their items, their history, and the distances of their outputs' lengths.

    `distances` has the shape (items,); it is None if the lengths are not known.
    """

    systems: tuple[str, ...]
    contest: Contest
    past: Past
    distances: Floats | None
    meanings: Meanings | None = None

    @property
    def known(self) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        """The arguments of the functions in `methods/stats/decisiveness.py`: preferences and `known`."""
        return self.past.preferences, self.past.known

    @property
    def power(self) -> float:
        """The exponent of the weights for the number of systems in the history."""
        return exponent(len(self.past.systems))


Make = Callable[[World], Selector[Any]]
Weigh = Callable[[World], Floats]


def evenly(world: World) -> Selector[Any]:
    """Draw as the selector `random` does."""
    del world
    return Random()


@dataclass(frozen=True)
class Parts:
    """What the draws use besides the history's shares and agreements.

    `distances` are of the two outputs: "lengths", "words" or None. `patterns` are the contrasts
    between past comparisons, and `clusters` are of the prompts. `learning` means that the weights
    change with the verdicts of the run.
    """

    distances: str | None = "lengths"
    patterns: bool = True
    clusters: bool = False
    learning: bool = True

    def selector(self, known: Prospects, world: World) -> Selector[Any]:
        """Make the selector `decisive` with these parts."""
        patterns = [] if known.patterns is None or not self.patterns else [known.patterns]
        if self.clusters:
            patterns.append(_meanings(world).patterns(world.contest))
        known = known._replace(
            distances=self._distances(world), patterns=np.concatenate(patterns) if patterns else None
        )
        selector = decisive(known)
        return Decisive(selector.weights) if isinstance(selector, Decisive) and not self.learning else selector

    def _distances(self, world: World) -> Floats | None:
        if self.distances == "words":
            return _meanings(world).distances(world.contest)
        return world.distances if self.distances == "lengths" else None


AS_BUILT = Parts()


def _meanings(world: World) -> Meanings:
    assert world.meanings is not None, "a setting whose variants use texts names their folder"
    return world.meanings


def built(power: float | None = None, parts: Parts = AS_BUILT) -> Make:
    """Make the draws of `--selector decisive`, or these with another exponent or other parts."""

    def make(world: World) -> Selector[Any]:
        known = prospects_of(world.past.with_implied(), world.systems, power)
        return Random() if known is None else parts.selector(known, world)

    return make


def alone(parts: Parts) -> Make:
    """Make the draws of `--selector decisive` without a history.

    Before the first verdicts, each item is decisive with probability 1/2.
    """

    def make(world: World) -> Selector[Any]:
        items = len(world.contest.positions)
        return parts.selector(Prospects(np.full(items, 0.5), np.ones(items), power=1.0), world)

    return make


def as_they_stand(world: World) -> Selector[Any]:
    """Draw as built, but count comparisons with one of the two systems like all others.

    Implied comparisons are not added.
    """
    known = prospects(*world.known, len(world.past.systems))
    return Random() if known is None else AS_BUILT.selector(known, world)


def with_todays(*, counted: bool) -> Make:
    """Make draws as built, but with other shares of decisive verdicts.

    For these shares, comparisons with one of the two systems count as much as the others if
    `counted`, and not at all otherwise.
    """

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
    """Make draws by weights that do not change during a run."""
    return lambda world: Decisive(weigh(world))


def laplace(power: float) -> Weigh:
    """Make weights h^power; h is the share of decisive verdicts, with one of each kind added."""

    def weigh(world: World) -> Floats:
        preferences, known = world.known
        h = ((known & (preferences != 0)).sum(axis=0) + 1) / (known.sum(axis=0) + 2)
        weights: Floats = h**power
        return weights

    return weigh


def no_even_tenth(world: World) -> Floats:
    """Return weights by the history alone, (h² c)^p, without the even share."""
    weights: Floats = (decisive_shares(*world.known) ** 2 * agreements(*world.known)) ** world.power
    return weights


def share_alone(world: World) -> Floats:
    """Return weights by the shares of decisive verdicts alone, without the agreement."""
    weights: Floats = decisive_shares(*world.known) ** (3 * world.power)
    return weights


def agreement_alone(world: World) -> Floats:
    """Return weights by the agreement with the winner alone, without the shares."""
    weights: Floats = agreements(*world.known) ** (2 * world.power)
    return weights


def drawn(make: Make | str, world: World, most: int, seed: Sequence[int]) -> NDArray[np.int64]:
    """Return the positions of the first `most` items of a run, in the order drawn, shape (most,).

    The selector is told each verdict before the next draw that depends on it.
    """
    rng, items = np.random.default_rng(seed), len(world.contest.preferences)
    if isinstance(make, str):
        assert make == "largest first"
        return np.lexsort((rng.random(items), -laplace(1.0)(world)))[:most]
    labels = walk(make(world), items, most, world.contest.verdict, rng)
    return np.array([label.choice.position for label in labels])
