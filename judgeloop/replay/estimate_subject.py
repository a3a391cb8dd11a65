"""A recorded system, and the data that selectors get of it in a replay of estimates.

Holds scores, vectors and confidences that `estimate_inputs.py` reads, and computes clusters. Runs
no selector: `estimate.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.balanced_kmeans import balanced_kmeans
from judgeloop.methods.stats.strata import Floats, Strata
from judgeloop.questions.estimate.selector import most_clusters


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A recorded system: its scores on all items, and the data that selectors use.

    `scores` in [0, 1] and `confidence` have the shape (items,); no score is missing. `vectors`,
    `last` and `outputs` have the shape (items, dimensions). `last` holds vectors of the model's
    last layer, or the same as `vectors`; `outputs` those of the outputs alone. `earlier` holds
    other systems' scores, shape (systems, items), NaN where a score is missing. A field that
    nothing uses is None.
    """

    system: str
    scores: Floats
    confidence: Floats | None = None
    vectors: Floats | None = None
    last: Floats | None = None
    outputs: NDArray[np.floating] | None = None
    earlier: Floats | None = None

    @property
    def truth(self) -> float:
        """The mean score over all items."""
        return float(self.scores.mean())


@dataclass(frozen=True, eq=False)
class RecordedMaterial:
    """The data for selectors in a replay: recorded vectors and confidences, and random clusters.

    `seed` is the seed of the clusters, which differ between repetitions; None for selectors that do
    not cluster. `found` is the number of clusters that CluSearch found; None without a search.
    """

    subject: Subject
    seed: tuple[int, ...] | None = None
    found: int | None = None

    @property
    def items(self) -> int:
        """Number of items."""
        return len(self.subject.scores)

    def states(self, *, last: bool) -> Floats:
        """Return the system's vectors, shape (items, dimensions)."""
        return needed(self.subject.last if last else self.subject.vectors)

    def output_vectors(self) -> NDArray[np.floating]:
        """Return vectors of the system's outputs, shape (items, dimensions)."""
        assert self.subject.outputs is not None, "computed for every selector that uses them"
        return self.subject.outputs

    def confidence(self) -> Floats:
        """Return the system's confidences, shape (items,)."""
        return needed(self.subject.confidence)

    def clusters(self, count: int) -> Strata:
        """Return `count` balanced clusters, computed once for all selectors."""
        if count not in self._known:
            assert self.seed is not None, "given for selectors that cluster"
            rng = np.random.default_rng(self.seed)
            self._known[count] = Strata(balanced_kmeans(self.states(last=False), count, rng).labels)
        return self._known[count]

    def searched(self, most: int) -> Strata:
        """Return as many clusters as one search found for all repetitions (see `stratify`)."""
        del most
        assert self.found is not None, "found for selectors that search"
        return self.clusters(self.found)

    @cached_property
    def _known(self) -> dict[int, Strata]:
        """Clusters made so far, by their number."""
        return {}

    def search(self, size: int, rng: np.random.Generator) -> int:
        """Return the number of clusters that CluSearch finds for `size` judgments."""
        from judgeloop.methods.stats.cluster_search import strata_by_clusters

        vectors = self.states(last=False)
        most = most_clusters(size, self.items)
        return len(np.unique(strata_by_clusters(vectors, most, rng)[0]))


def needed(values: Floats | None) -> Floats:
    """Return values that were read because a selector uses them."""
    assert values is not None, "read for every selector that uses it"
    return values
