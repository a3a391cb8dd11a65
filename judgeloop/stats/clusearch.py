"""CluSearch of AcTracer (Huang et al. 2024, section 3.1.2): as many balanced clusters as the elbow of their inertia says.

It divides the items; how many are drawn from each part is the selector's business.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.balanced_kmeans import Clusters, balanced_kmeans
from judgeloop.stats.cluster_search import Searched, search_clusters

LOOKS = 20


def strata_by_clusters(
    vectors: NDArray[np.floating], most: int, rng: np.random.Generator, looks: int = LOOKS
) -> tuple[NDArray[np.int64], Searched]:
    """The stratum of each of `vectors`, shape (items,), and the search that found how many there are: from 2 to `most`.

    The strata are those that the search itself made at the elbow. With `most` less than 2 everything is one stratum.
    """
    seed = int(rng.integers(2**63))
    made: dict[int, Clusters] = {}

    def inertia(clusters: int) -> float:
        made[clusters] = balanced_kmeans(vectors, clusters, np.random.default_rng([seed, clusters]))
        return made[clusters].inertia

    high = max(1, most)
    searched = search_clusters(inertia, min(2, high), high, looks)
    return made[searched.clusters].labels, searched
