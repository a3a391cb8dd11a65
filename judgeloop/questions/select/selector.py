"""Makes the selector of a search for the best of many, for live runs and replays alike.

The catalogue (`methods/selectors/catalogue.py`) says which data a selector needs. `LiveMaterial` computes
them for a live run, `RecordedMaterial` in `replay/select.py` for a replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.methods.selectors.catalogue import Need, SelectorRow
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.information import Epsilons, choose_epsilons
from judgeloop.questions.select.config import SelectConfig


class Material(Protocol):
    """The data that selectors may use; a method is called only if the catalogue row needs it."""

    @property
    def systems(self) -> int:
        """Number of systems, the baseline included."""
        ...

    @property
    def baseline(self) -> int:
        """Number of the system that all others are compared with."""
        ...

    @property
    def sampled(self) -> bool:
        """Whether the pool is a sample of the population that the result is about."""
        ...

    def lengths(self) -> NDArray[np.int64]:
        """Return the lengths of the outputs in characters, shape (systems, items)."""
        ...

    def opinions(self) -> NDArray[np.int8]:
        """Return the opinions of the weak judges, shape (judges, items, systems)."""
        ...

    def epsilons(self, opinions: NDArray[np.int8]) -> Epsilons:
        """Return the probabilities that the best system loses to and ties with the baseline."""
        ...


@dataclass(frozen=True, slots=True)
class Made:
    """A selector, and the `epsilons` that LLM Selector uses; None for other selectors.

    `epsilons` are the probabilities that the best system loses to and ties with the baseline.
    """

    selector: Selector[Any]
    epsilons: Epsilons | None = None


def make_selector(row: SelectorRow, material: Material, *, level: float | None, limit: int) -> Made:
    """Make the selector of `row`.

    `level` is the risk at which a race drops a system. `limit` is the maximum number of judgments.
    """
    lengths = material.lengths() if Need.LENGTHS in row.needs else None
    opinions = material.opinions() if Need.OPINIONS in row.needs else None
    epsilons = None
    if Need.EPSILONS in row.needs:
        assert opinions is not None, "epsilons are chosen by opinions"
        epsilons = material.epsilons(opinions)
    ingredients = ForMany(
        material.systems,
        material.baseline,
        level,
        limit,
        lengths,
        opinions,
        epsilons,
        material.sampled,
    )
    return Made(row.make(ingredients), epsilons)


@dataclass(frozen=True, slots=True)
class LiveMaterial:
    """The data for selectors in a live run, computed from its outputs."""

    config: SelectConfig
    pool: Pool
    baseline: int
    sampled: bool = False

    @property
    def systems(self) -> int:
        """Number of systems."""
        return len(self.pool.systems)

    def lengths(self) -> NDArray[np.int64]:
        """Return the lengths of the outputs."""
        return np.array([[len(text) for text in outputs] for outputs in self.pool.outputs])

    def opinions(self) -> NDArray[np.int8]:
        """Return the opinions of the weak judges; they are kept in the cache."""
        from judgeloop.represent.weak_judges import weak_opinions

        folder = self.config.cache_dir / "weak-judges"
        return weak_opinions(self.pool.outputs, self.baseline, self.config.weak_judges, folder)

    def epsilons(self, opinions: NDArray[np.int8]) -> Epsilons:
        """Return the epsilons of the settings, or else choose them by the `opinions`."""
        config = self.config
        if config.epsilon is not None:
            return config.epsilon
        queries = max(1, min(len(self.pool), config.max_judgments // (self.systems - 1)))
        return choose_epsilons(opinions, queries, np.random.default_rng([config.seed, queries]))
