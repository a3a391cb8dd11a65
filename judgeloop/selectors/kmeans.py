"""DiffUse with k-means in place of hierarchical clustering: the variant of the papers' appendix.

Its clusters are not nested, so that every further cluster is a clustering of its own. scikit-learn is imported on first use.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.stats.representatives import representative


@dataclass(frozen=True, slots=True)
class KMeansState:
    """The seed of every clustering, an order of the items drawn at random, and the representatives given so far."""

    seed: int
    priority: NDArray[
        np.int64
    ]  # shape (items,): the least of a cluster is its random representative
    representatives: tuple[int, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class KMeansDiffUse:
    """K-means clusters of difference vectors, started by greedy k-means++ (Ashury-Tahan et al. 2024, appendix A.4).

    `differences` has the shape (items, dimensions). The first step has `start` clusters, each further step one more: the new
    representatives enter and those that represent nothing any more leave.
    """

    differences: NDArray[np.floating]
    start: int
    representative: str = "cosine"
    name: str = "diffuse"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> KMeansState:
        """Draw the seed of the clusterings, and the order for random representatives."""
        if len(self.differences) != items:
            raise ValueError(f"{len(self.differences)} difference vectors for {items} items")
        return KMeansState(int(rng.integers(2**31)), rng.permutation(items))

    def ask(self, state: KMeansState, rng: np.random.Generator) -> tuple[Step | None, KMeansState]:
        """The first clustering, or the next."""
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
        """The clusters do not depend on answers."""
        del labels
        return state

    def _representatives(self, clusters: int, state: KMeansState) -> tuple[int, ...]:
        """One item a cluster, ascending; where there are fewer different vectors than clusters, the first others too."""
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ConvergenceWarning
            )  # of fewer different vectors than clusters
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
