"""The selector of a comparison, made of what it looks at: alike for a live run and for a replay.

Which selector looks at what stands in the catalogue (`selectors/catalogue.py`). Vectors are
computed here for a live run; a replay brings its own (`replay/compare.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from judgeloop.compare.config import CompareConfig
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.represent.embed import embed
from judgeloop.selectors.catalogue import Need, SelectorRow
from judgeloop.selectors.ingredients import ForTwo, Variant
from judgeloop.stats.combining import combined
from judgeloop.stats.decision_model import length_distances
from judgeloop.stats.decisiveness import Prospects

Vectors = NDArray[np.floating]


class Material(Protocol):
    """What selectors may look at; each is asked for only where the catalogue says so."""

    def outputs(self) -> tuple[Vectors, Vectors]:
        """The vectors of both systems' outputs, each of shape (items, dimensions)."""
        ...

    def prompts(self) -> Vectors:
        """The vectors of the prompts, shape (items, dimensions)."""
        ...

    def prospects(self) -> Prospects | None:
        """How likely each item is to tell the systems apart; None where nothing says so."""
        ...


def make_selector(
    row: SelectorRow, material: Material, *, start: int, variant: Variant
) -> Selector[Any]:
    """The selector of `row`; one that clusters begins with `start` clusters."""
    vectors = None
    if Need.OUTPUT_VECTORS in row.needs:
        vectors = combined(variant.combine, *material.outputs())
    elif Need.PROMPT_VECTORS in row.needs:
        vectors = material.prompts()
    prospects = material.prospects() if Need.HISTORY in row.needs else None
    selector: Selector[Any] = row.make(ForTwo(start, variant, vectors, prospects))
    return selector


def variant_of(config: CompareConfig) -> Variant:
    """How a selector that clusters is told to do it."""
    return Variant(config.combine, config.clustering, config.representative)


@dataclass(frozen=True, slots=True)
class LiveMaterial:
    """What selectors look at in a live run: its texts, and what its history says of the items."""

    config: CompareConfig
    pool: Pool
    known: Prospects | None

    def outputs(self) -> tuple[Vectors, Vectors]:
        """The vectors of both systems' outputs."""
        first, second = self.pool.outputs
        both = self._embedded([*first, *second])
        return both[: len(first)], both[len(first) :]

    def prompts(self) -> Vectors:
        """The vectors of the prompts."""
        return self._embedded([item.prompt for item in self.pool.items])

    def prospects(self) -> Prospects | None:
        """What the history says, with how far the two outputs are apart.

        Not for a rule that past comparisons calibrate: their outputs are not kept, so that it could
        not be calibrated with such distances.
        """
        if self.known is None or self.config.rule_row.by_past:
            return self.known
        first, second = (np.array([len(text) for text in outputs]) for outputs in self.pool.outputs)
        return self.known._replace(distances=length_distances(first, second))

    def _embedded(self, texts: list[str]) -> Vectors:
        return embed(
            texts, self.config.represent, seed=self.config.seed, cache_dir=self.config.cache_dir
        )
