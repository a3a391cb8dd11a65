"""DiffUse: one representative of each cluster of the differences between two systems' outputs.

Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation", section 4 and
algorithm 1; with k-means in place of hierarchical clusters, appendix A.4. It takes difference
vectors; the embedding of the outputs is in `represent/`. The picked sample does not represent the
other items (section 6.1); the report tells the user so. scikit-learn is imported on first use.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.core.records import ONE_SYSTEM, Choice, Step
from judgeloop.methods.selectors.ingredients import ForOne, ForTwo
from judgeloop.methods.selectors.ordered import Unmoved, check_vectors
from judgeloop.methods.stats.dendrogram import HIERARCHIES, Dendrogram
from judgeloop.methods.stats.diffuse_variants import representative


@dataclass(frozen=True, slots=True)
class DiffUseState:
    """The dendrogram, a random order of the items, and the current number of clusters.

    `clusters` is the number of clusters into which the steps so far cut the dendrogram.
    """

    tree: Dendrogram
    # Shape (items,): the item with the smallest value is the cluster's random representative.
    priority: NDArray[np.int64]
    clusters: int = 0


@final
@dataclass(frozen=True, eq=False)
class DiffUse(Unmoved):
    """Hierarchical clusters of difference vectors, each judged by its representative.

    `differences` has the shape (items, dimensions): the embedding of the first system's output
    minus that of the second system's. The first step cuts the dendrogram into `start` clusters (a
    run with a fixed number of judgments makes this step only). Each further step splits the next
    cluster of the dendrogram: the representatives of both parts enter, and the representative of
    the whole leaves (algorithm 1). `clustering` is "ward" (Euclidean) or "cosine". `representative`
    is the item closest to the centre ("cosine" or "euclidean" distance), the item with the largest
    norm ("largest-norm"), or a random item ("random"). With a single system in `systems`, the
    selector estimates that system's score, and `differences` holds vectors of its own outputs.
    """

    differences: NDArray[np.floating]
    start: int
    clustering: str = "ward"
    representative: str = "cosine"
    name: str = "diffuse"
    draws: Draws = Draws.PICKED
    systems: tuple[int, ...] = (0, 1)

    def init(self, items: int, rng: np.random.Generator) -> DiffUseState:
        """Cluster the items; the random generator only orders them for random representatives.

        Raises:
            ValueError: there is not exactly one finite vector for each item.
        """
        check_vectors(self.differences, items)
        return DiffUseState(self._tree, rng.permutation(items))

    @cached_property
    def _tree(self) -> Dendrogram:
        """The dendrogram, computed once for all runs on these vectors."""
        return HIERARCHIES[self.clustering](self.differences)

    def ask(self, state: DiffUseState, rng: np.random.Generator) -> tuple[Step | None, DiffUseState]:
        """Return the first cut or the next split; None once every item is its own cluster."""
        del rng
        if state.clusters == len(state.tree.leaves):
            return None, state
        return self._cut(state) if state.clusters == 0 else self._split(state)

    def _cut(self, state: DiffUseState) -> tuple[Step, DiffUseState]:
        clusters = min(self.start, len(state.tree.leaves))
        chosen = sorted(self._representative(state, node) for node in state.tree.cut(clusters))
        step = Step(tuple(Choice(position, None, self.systems) for position in chosen))
        return step, replace(state, clusters=clusters)

    def _split(self, state: DiffUseState) -> tuple[Step, DiffUseState]:
        tree = state.tree
        parent = tree.next_split(state.clusters)
        leaving = self._representative(state, parent)
        entering = [self._representative(state, int(child)) for child in tree.children[parent - len(tree.leaves)]]
        step = Step(
            choices=tuple(Choice(position, None, self.systems) for position in entering if position != leaving),
            leave=() if leaving in entering else (leaving,),
        )
        return step, replace(state, clusters=state.clusters + 1)

    def _representative(self, state: DiffUseState, node: int) -> int:
        if node < len(state.tree.leaves):
            return node
        known = {} if self.representative == "random" else self._known  # it differs between runs
        if node not in known:
            members = state.tree.members(node)
            known[node] = representative(self.representative, self.differences, members, state.priority)
        return known[node]

    @cached_property
    def _known(self) -> dict[int, int]:
        """Representatives by node: each is computed once, though it enters and leaves."""
        return {}


def for_two(given: ForTwo) -> DiffUse | KMeansDiffUse:
    """Make the selector that compares two systems by vectors of the outputs or of the prompts."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    variant = given.variant
    if variant.clustering == "kmeans":
        return KMeansDiffUse(given.vectors, given.start, variant.representative)
    return DiffUse(given.vectors, given.start, variant.clustering, variant.representative)


def for_one(given: ForOne) -> DiffUse:
    """Make the selector that rates one system by the vectors of its outputs."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    return DiffUse(given.vectors, given.start, systems=ONE_SYSTEM)


@dataclass(frozen=True, slots=True)
class KMeansState:
    """The seed of every clustering, a random order of the items, and the representatives so far."""

    seed: int
    # Shape (items,): the item with the smallest value is the cluster's random representative.
    priority: NDArray[np.int64]
    representatives: tuple[int, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class KMeansDiffUse(Unmoved):
    """K-means clusters of difference vectors (Ashury-Tahan et al. 2024, appendix A.4).

    The clusters are initialized by greedy k-means++. `differences` has the shape (items,
    dimensions). The first step makes `start` clusters, each further step one cluster more. New
    representatives enter; items that no longer represent a cluster leave.
    """

    differences: NDArray[np.floating]
    start: int
    representative: str = "cosine"
    name: str = "diffuse"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> KMeansState:
        """Draw the seed of the clusterings, and the order for random representatives.

        Raises:
            ValueError: there is not exactly one finite vector for each item.
        """
        check_vectors(self.differences, items)
        return KMeansState(int(rng.integers(2**31)), rng.permutation(items))

    def ask(self, state: KMeansState, rng: np.random.Generator) -> tuple[Step | None, KMeansState]:
        """Return the first clustering or the next; None once every item is a representative."""
        del rng
        before, items = state.representatives, len(self.differences)
        if len(before) == items:
            return None, state
        clusters = len(before) + 1 if before else self.start
        chosen = self._representatives(min(items, clusters), state)
        entering = [position for position in chosen if position not in before]
        leaving = tuple(position for position in before if position not in chosen)
        step = Step(tuple(Choice(position, None) for position in entering), leaving)
        return step, replace(state, representatives=chosen)

    def _representatives(self, clusters: int, state: KMeansState) -> tuple[int, ...]:
        """Return the positions of `clusters` items, one for each cluster, ascending.

        If there are fewer distinct vectors than clusters, the first other items fill the number up.
        """
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # It warns of fewer distinct vectors than clusters, which is handled below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = KMeans(clusters, n_init=1, random_state=state.seed).fit_predict(self.differences)
        chosen = {
            representative(self.representative, self.differences, np.flatnonzero(labels == label), state.priority)
            for label in np.unique(labels)
        }
        others = (position for position in range(len(self.differences)) if position not in chosen)
        chosen |= {next(others) for _ in range(clusters - len(chosen))}
        return tuple(sorted(chosen))
