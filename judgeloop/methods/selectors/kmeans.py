"""DiffUse with k-means in place of hierarchical clustering: a variant from the paper's appendix.

The clusters of two steps are not nested, so each step clusters anew. scikit-learn is imported on
first use.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.methods.stats.representatives import representative


@dataclass(frozen=True, slots=True)
class KMeansState:
    """The seed of every clustering, a random order of the items, and the representatives so far."""

    seed: int
    # Shape (items,): the item with the smallest value is the cluster's random representative.
    priority: NDArray[np.int64]
    representatives: tuple[int, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class KMeansDiffUse:
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
            ValueError: the number of vectors is not `items`.
        """
        if len(self.differences) != items:
            raise ValueError(f"{len(self.differences)} difference vectors for {items} items")
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

    def tell(self, state: KMeansState, labels: Sequence[Label]) -> KMeansState:
        """Return the state unchanged: the clusters do not depend on answers."""
        del labels
        return state

    def _representatives(self, clusters: int, state: KMeansState) -> tuple[int, ...]:
        """Return the positions of `clusters` items, one for each cluster, ascending.

        If there are fewer distinct vectors than clusters, the first other items fill the number up.
        """
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # It warns of fewer distinct vectors than clusters, which is handled below.
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = KMeans(clusters, n_init=1, random_state=state.seed).fit_predict(
                self.differences
            )
        chosen = {
            representative(
                self.representative,
                self.differences,
                np.flatnonzero(labels == label),
                state.priority,
            )
            for label in np.unique(labels)
        }
        others = (position for position in range(len(self.differences)) if position not in chosen)
        chosen |= {next(others) for _ in range(clusters - len(chosen))}
        return tuple(sorted(chosen))
