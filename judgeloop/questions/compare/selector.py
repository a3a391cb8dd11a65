"""Makes the selector of a comparison from the data it needs, for live runs and replays alike.

The catalogue (`methods/selectors/catalogue.py`) says which data a selector needs. `LiveMaterial` computes
them for a live run, `RecordedMaterial` in `replay/compare.py` for a replay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Selector
from judgeloop.methods.selectors.catalogue import Need, SelectorRow
from judgeloop.methods.selectors.ingredients import ForTwo, Variant
from judgeloop.methods.stats.decision_model import length_distances
from judgeloop.methods.stats.decisiveness import Prospects
from judgeloop.methods.stats.diffuse_variants import combined
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.represent.embed import embed

Vectors = NDArray[np.floating]


class Material(Protocol):
    """The data that selectors may use; a method is called only if the catalogue row needs it."""

    def outputs(self) -> tuple[Vectors, Vectors]:
        """Return the vectors of both systems' outputs, each of shape (items, dimensions)."""
        ...

    def prompts(self) -> Vectors:
        """Return the vectors of the prompts, shape (items, dimensions)."""
        ...

    def prospects(self) -> Prospects | None:
        """Return how likely each item is to tell the systems apart; None without evidence."""
        ...


def make_selector(
    row: SelectorRow, material: Material, *, start: int, variant: Variant
) -> Selector[Any]:
    """Make the selector of `row`; a selector that clusters begins with `start` clusters."""
    vectors = None
    if Need.OUTPUT_VECTORS in row.needs:
        vectors = combined(variant.combine, *material.outputs())
    elif Need.PROMPT_VECTORS in row.needs:
        vectors = material.prompts()
    prospects = material.prospects() if Need.HISTORY in row.needs else None
    selector: Selector[Any] = row.make(ForTwo(start, variant, vectors, prospects))
    return selector


def variant_of(config: CompareConfig) -> Variant:
    """Return the settings of a selector that clusters."""
    return Variant(config.combine, config.clustering, config.representative)


@dataclass(frozen=True, slots=True)
class LiveMaterial:
    """The data for selectors in a live run: vectors of its texts, and `known` from its history."""

    config: CompareConfig
    pool: Pool
    known: Prospects | None

    def outputs(self) -> tuple[Vectors, Vectors]:
        """Return the vectors of both systems' outputs."""
        first, second = self.pool.outputs
        both = self._embedded([*first, *second])
        return both[: len(first)], both[len(first) :]

    def prompts(self) -> Vectors:
        """Return the vectors of the prompts."""
        return self._embedded([item.prompt for item in self.pool.items])

    def prospects(self) -> Prospects | None:
        """Return what the history says of the items, with the distances of the output lengths.

        The distances are left out for a rule that is calibrated on earlier comparisons. The outputs
        of those are not kept, so the rule could not be calibrated with distances.
        """
        if self.known is None or self.config.rule_row.by_past:
            return self.known
        first, second = (np.array([len(text) for text in outputs]) for outputs in self.pool.outputs)
        return self.known._replace(distances=length_distances(first, second))

    def _embedded(self, texts: list[str]) -> Vectors:
        return embed(
            texts, self.config.represent, seed=self.config.seed, cache_dir=self.config.cache_dir
        )
