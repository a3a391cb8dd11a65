"""The selector of a search for the best of many, made of what it looks at: alike for a live run and for a replay.

Which selector looks at what stands in the catalogue (`selectors/catalogue.py`). Weak judges are
asked here for a live run; a replay brings its own material (`replay/select.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.select.config import SelectConfig
from judgeloop.selectors.catalogue import Need, SelectorRow
from judgeloop.selectors.ingredients import ForMany
from judgeloop.stats.information import Epsilons, choose_epsilons


class Material(Protocol):
    """What selectors may look at; each is asked for only where the catalogue says so."""

    @property
    def systems(self) -> int:
        """How many systems there are, the baseline included."""
        ...

    @property
    def baseline(self) -> int:
        """The number of the system that all others are compared with."""
        ...

    def lengths(self) -> NDArray[np.int64]:
        """The lengths of the outputs in characters, shape (systems, items)."""
        ...

    def opinions(self) -> NDArray[np.int8]:
        """What weak judges think, shape (judges, items, systems)."""
        ...

    def epsilons(self, opinions: NDArray[np.int8]) -> Epsilons:
        """How often the best system loses to and ties with the baseline."""
        ...


@dataclass(frozen=True, slots=True)
class Made:
    """A selector, and what LLM Selector takes for the losses and draws of the best; None for all others."""

    selector: Selector[Any]
    epsilons: Epsilons | None = None


def make_selector(row: SelectorRow, material: Material, *, level: float | None, limit: int) -> Made:
    """The selector of `row`; `level` is the risk at which a race drops a system, `limit` the judgments at most."""
    lengths = material.lengths() if Need.LENGTHS in row.needs else None
    opinions = material.opinions() if Need.OPINIONS in row.needs else None
    epsilons = None
    if Need.EPSILONS in row.needs:
        assert opinions is not None, "epsilons are chosen by opinions"
        epsilons = material.epsilons(opinions)
    ingredients = ForMany(
        material.systems, material.baseline, level, limit, lengths, opinions, epsilons
    )
    return Made(row.make(ingredients), epsilons)


@dataclass(frozen=True, slots=True)
class LiveMaterial:
    """What selectors look at in a live run: its outputs."""

    config: SelectConfig
    pool: Pool
    baseline: int

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return len(self.pool.systems)

    def lengths(self) -> NDArray[np.int64]:
        """The lengths of the outputs."""
        return np.array([[len(text) for text in outputs] for outputs in self.pool.outputs])

    def opinions(self) -> NDArray[np.int8]:
        """What weak judges think; their work is kept in the cache."""
        from judgeloop.represent.weak_judges import weak_opinions

        folder = self.config.cache_dir / "weak-judges"
        return weak_opinions(self.pool.outputs, self.baseline, self.config.weak_judges, folder)

    def epsilons(self, opinions: NDArray[np.int8]) -> Epsilons:
        """Those given, or else the ones that suit the weak judges' opinions best."""
        config = self.config
        if config.epsilon is not None:
            return config.epsilon
        queries = max(1, min(len(self.pool), config.max_judgments // (self.systems - 1)))
        return choose_epsilons(opinions, queries, np.random.default_rng([config.seed, queries]))
