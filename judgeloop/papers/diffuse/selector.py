"""DiffUse: one representative of each cluster of the differences between two systems' outputs.

Ashury-Tahan et al. (2024), "Label-Efficient Model Selection for Text Generation", section 4 and algorithm 1; with
k-means in place of hierarchical clusters, and the rival that takes the longest differences: the preprint's appendices
A.3 and A.4. All take difference vectors (`tree.py`). The picked sample does not represent the other items (section
6.1); the report tells the user so. scikit-learn is imported on first use.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Step
from judgeloop.methods.selectors.ordered import Ordered, Picks, Unmoved, check_vectors
from judgeloop.papers.diffuse.tree import HIERARCHIES, Dendrogram, representative


@dataclass(frozen=True, slots=True)
class DiffUseState:
    """The dendrogram, a random order of the items, and the number of clusters that it is cut into so far."""

    tree: Dendrogram
    # Shape (items,): the item with the smallest value is the cluster's random representative.
    priority: NDArray[np.int64]
    clusters: int = 0


@final
@dataclass(frozen=True, eq=False)
class DiffUse(Unmoved):
    """Hierarchical clusters of difference vectors, each judged by its representative.

    `differences` has the shape (items, dimensions): the embedding of the first system's output minus that of the
    second system's. The first step cuts the dendrogram into `start` clusters (a run with a fixed number of judgments
    makes this step only). Each further step splits the next cluster of the dendrogram: the representatives of both
    parts enter, and the representative of the whole leaves (algorithm 1). `clustering` and `representative` are names
    of `tree.py`. With a single system in `systems`, the selector estimates that system's score, and `differences`
    holds vectors of its own outputs.
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
        """The first cut or the next split; None once every item is its own cluster."""
        del rng
        tree, items = state.tree, len(state.tree.leaves)
        if state.clusters == items:
            return None, state
        if state.clusters == 0:
            clusters = min(self.start, items)
            chosen = sorted(self._representative(state, node) for node in tree.cut(clusters))
            return self._step(chosen), replace(state, clusters=clusters)
        parent = tree.next_split(state.clusters)
        leaving = self._representative(state, parent)
        entering = [self._representative(state, int(child)) for child in tree.children[parent - items]]
        step = self._step([position for position in entering if position != leaving])
        if leaving not in entering:
            step = replace(step, leave=(leaving,))
        return step, replace(state, clusters=state.clusters + 1)

    def _step(self, positions: list[int]) -> Step:
        return Step(tuple(Choice(position, None, self.systems) for position in positions))

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
    """K-means clusters of difference vectors (Ashury-Tahan et al. 2024, the preprint's appendix A.3).

    The clusters are initialized by greedy k-means++. `differences` has the shape (items, dimensions). The first step
    makes `start` clusters, each further step one cluster more. New representatives enter; items that no longer
    represent a cluster leave.
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
        """The first clustering or the next; None once every item is a representative."""
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
        # With fewer distinct vectors than clusters, the first other items fill the number up.
        others = (position for position in range(len(self.differences)) if position not in chosen)
        chosen |= {next(others) for _ in range(clusters - len(chosen))}
        return tuple(sorted(chosen))


@final
@dataclass(frozen=True, eq=False)
class MaxNorm(Ordered):
    """Picks the item with the longest difference vector (Ashury-Tahan et al. 2024, the preprint's appendix A.4).

    `differences` has the shape (items, dimensions). Of equally long vectors, the first is picked.
    """

    differences: NDArray[np.floating]
    name: str = "max-norm"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """The items sorted by their vectors; nothing is random."""
        del rng
        check_vectors(self.differences, items)
        norms = np.linalg.norm(np.asarray(self.differences, dtype=np.float64), axis=1)
        return np.argsort(-norms, kind="stable")

    def step(self, position: int) -> Step:
        """Both systems are compared on an item."""
        return Step((Choice(position, None),))
