"""K-means whose clusters all have the same size.

`methods/stats/cluster_search.py` finds the number of clusters. scikit-learn is imported on first use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.balanced_assignment import fair_prices, share_out, traded

MOST_ROUNDS = 30
PATIENCE = 5  # rounds
WORTHWHILE = 1e-3  # share of the inertia


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A clustering: each item's cluster, the clusters' means, and the inertia."""

    labels: NDArray[np.int64]  # shape (items,)
    centres: NDArray[np.float64]  # shape (clusters, dimensions)
    inertia: float  # sum of squared distances


def balanced_kmeans(
    vectors: NDArray[np.floating], clusters: int, rng: np.random.Generator
) -> Clusters:
    """Make clusters of `vectors`, shape (items, dimensions), whose sizes differ by at most one.

    The centres start at those drawn by k-means++. Each round assigns the items to the centres and
    moves the centres to the means. The rounds end when no item changes its cluster, or when
    `PATIENCE` rounds together lower the inertia by less than the share `WORTHWHILE`, and after at
    most `MOST_ROUNDS`. The result is the round with the least inertia.

    The assignment is equation 3 of Huang et al. (2024). Its equal sizes are kept exactly, its
    optimum nearly: see `methods/stats/balanced_assignment.py` (Gururangan et al. 2023 run an auction
    there).

    The inertia is that of equation 4 with every item's own cluster. The paper prints the nearest
    cluster there, which is the same for plain k-means. Here an item may have had to leave its
    nearest cluster to other items, so the inertia is no less than the printed one. (The paper also
    predicts with the nearest centre, so its final clusters are of nearly, not exactly, one size.)

    Raises:
        ValueError: `clusters` is less than 1 or more than the number of items.
    """
    items = len(vectors)
    if not 1 <= clusters <= items:
        raise ValueError(
            f"expected between 1 and {items} clusters for {items} items, found {clusters}"
        )
    if clusters == 1:
        return _measured(vectors, np.zeros(items, dtype=np.int64))
    if clusters == items:
        return _measured(vectors, np.arange(items))
    return _measured(vectors, _best_round(_standardised(vectors), clusters, rng))


def _best_round(
    vectors: NDArray[np.float32], clusters: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    centres = _first_centres(vectors, clusters, rng)
    prices = np.zeros(clusters, dtype=np.float32)
    rounds: list[Clusters] = []
    while len(rounds) < MOST_ROUNDS and not _settled(rounds):
        costs = _squared_distances(vectors, centres)
        prices = fair_prices(costs, prices)
        rounds.append(_measured(vectors, traded(costs, share_out(costs, prices))))
        centres = rounds[-1].centres.astype(np.float32)
    return min(rounds, key=lambda clustering: clustering.inertia).labels


def _settled(rounds: list[Clusters]) -> bool:
    """Return whether the rounds may end.

    They may when the last round changed no label, or when the last `PATIENCE` rounds together
    lowered the inertia by less than the share `WORTHWHILE`.
    """
    if len(rounds) > 1 and np.array_equal(rounds[-1].labels, rounds[-2].labels):
        return True
    inertias = [clustering.inertia for clustering in rounds]
    before, lately = inertias[:-PATIENCE], inertias[-PATIENCE:]
    return bool(before) and min(lately) > (1 - WORTHWHILE) * min(before)


def _standardised(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Centre the vectors on their mean and scale them to a mean squared length of 1.

    Single precision is then enough.
    """
    around = np.asarray(vectors, dtype=np.float64)
    around = around - around.mean(axis=0)
    spread = np.sqrt((around**2).sum(axis=1).mean()) or 1.0
    standardised: NDArray[np.float32] = (around / spread).astype(np.float32)
    return standardised


def _first_centres(
    vectors: NDArray[np.float32], clusters: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw vectors that are far apart: k-means++ (Arthur & Vassilvitskii 2007)."""
    from sklearn.cluster import kmeans_plusplus

    seed = int(rng.integers(2**31))
    centres: NDArray[np.float32] = kmeans_plusplus(
        vectors, clusters, n_local_trials=1, random_state=seed
    )[0]
    return centres


def _squared_distances(
    vectors: NDArray[np.float32], centres: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Compute the squared distances to the centres, less each vector's squared length.

    The result has the shape (items, clusters). The squared length is the same for all centres, so
    that leaving it out changes no assignment.
    """
    costs = vectors @ (-2 * centres.T)
    costs += (centres**2).sum(axis=1)
    return costs


def _measured(vectors: NDArray[np.floating], labels: NDArray[np.int64]) -> Clusters:
    """Compute the means and the inertia of the clustering that `labels` describe.

    Every label from 0 to the largest must occur.
    """
    exact = np.asarray(vectors, dtype=np.float64)
    sizes = np.bincount(labels)
    together = exact[np.argsort(labels, kind="stable")]
    centres = np.add.reduceat(together, np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
    apart = together - np.repeat(centres, sizes, axis=0)
    return Clusters(labels, centres, float(np.einsum("ij,ij->", apart, apart)))
