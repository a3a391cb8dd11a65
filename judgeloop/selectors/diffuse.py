"""DiffUse: one representative of each cluster of the differences between two systems' outputs.

Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation", section 4 and algorithm 1.
Embedding the outputs is not done here (`represent/`); a picked sample does not stand for the others (section
6.1), and saying so is the report's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import ONE_SYSTEM, Choice, Draws, Label, Step
from judgeloop.selectors.ingredients import ForOne, ForTwo
from judgeloop.selectors.kmeans import KMeansDiffUse
from judgeloop.stats.dendrogram import HIERARCHIES, Dendrogram
from judgeloop.stats.representatives import representative


@dataclass(frozen=True, slots=True)
class DiffUseState:
    """The dendrogram, the number of clusters that the steps given so far cut it into, and an order of the items drawn at random."""

    tree: Dendrogram
    priority: NDArray[
        np.int64
    ]  # shape (items,): the least of a cluster is its random representative
    clusters: int = 0


@final
@dataclass(frozen=True, eq=False)
class DiffUse:
    """Hierarchical clusters of difference vectors, each with a representative.

    `differences` has the shape (items, dimensions): embedding of the first system's output minus that of the
    second. The first step cuts the dendrogram into `start` clusters (a fixed budget is a cut and nothing after);
    each further step splits the next cluster in the dendrogram, lets the representatives of both parts enter and
    that of the whole leave (algorithm 1). `clustering` is ward (Euclidean) or cosine; `representative` is the closest to the centre
    in cosine or euclidean distance, or that of the largest-norm, or random. To estimate the score of one of the `systems`
    alone, `differences` holds what represents its own outputs.
    """

    differences: NDArray[np.floating]
    start: int
    clustering: str = "ward"
    representative: str = "cosine"
    name: str = "diffuse"
    draws: Draws = Draws.PICKED
    systems: tuple[int, ...] = (0, 1)

    def init(self, items: int, rng: np.random.Generator) -> DiffUseState:
        """Cluster; random is only the order for random representatives."""
        if len(self.differences) != items:
            raise ValueError(f"{len(self.differences)} difference vectors for {items} items")
        if not np.isfinite(self.differences).all():
            raise ValueError("the difference vectors hold values that are not finite")
        return DiffUseState(self._tree, rng.permutation(items))

    @cached_property
    def _tree(self) -> Dendrogram:
        """The same for every run on these vectors."""
        return HIERARCHIES[self.clustering](self.differences)

    def ask(
        self, state: DiffUseState, rng: np.random.Generator
    ) -> tuple[Step | None, DiffUseState]:
        """The first cut, or the next split."""
        del rng
        if state.clusters == len(state.tree.leaves):
            return None, state
        return self._cut(state) if state.clusters == 0 else self._split(state)

    def tell(self, state: DiffUseState, labels: Sequence[Label]) -> DiffUseState:
        """The dendrogram does not depend on answers."""
        del labels
        return state

    def _cut(self, state: DiffUseState) -> tuple[Step, DiffUseState]:
        clusters = min(self.start, len(state.tree.leaves))
        chosen = sorted(self._representative(state, node) for node in state.tree.cut(clusters))
        step = Step(tuple(Choice(position, None, self.systems) for position in chosen))
        return step, replace(state, clusters=clusters)

    def _split(self, state: DiffUseState) -> tuple[Step, DiffUseState]:
        tree = state.tree
        parent = tree.next_split(state.clusters)
        leaving = self._representative(state, parent)
        entering = [
            self._representative(state, int(child))
            for child in tree.children[parent - len(tree.leaves)]
        ]
        step = Step(
            choices=tuple(
                Choice(position, None, self.systems) for position in entering if position != leaving
            ),
            leave=() if leaving in entering else (leaving,),
        )
        return step, replace(state, clusters=state.clusters + 1)

    def _representative(self, state: DiffUseState, node: int) -> int:
        if node < len(state.tree.leaves):
            return node
        if self.representative == "random":  # another one in every run
            return representative(
                "random", self.differences, state.tree.members(node), state.priority
            )
        if node not in self._known:
            members = state.tree.members(node)
            self._known[node] = representative(
                self.representative, self.differences, members, state.priority
            )
        return self._known[node]

    @cached_property
    def _known(self) -> dict[int, int]:
        """Representatives by node: each is looked for once, though it enters and leaves."""
        return {}


def for_two(given: ForTwo) -> DiffUse | KMeansDiffUse:
    """To compare two systems by the vectors of their outputs, or of the prompts."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    variant = given.variant
    if variant.clustering == "kmeans":
        return KMeansDiffUse(given.vectors, given.start, variant.representative)
    return DiffUse(given.vectors, given.start, variant.clustering, variant.representative)


def for_one(given: ForOne) -> DiffUse:
    """To rate one system by the vectors of its items."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    return DiffUse(given.vectors, given.start, systems=ONE_SYSTEM)
