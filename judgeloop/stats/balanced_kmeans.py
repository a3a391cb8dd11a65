"""K-means whose clusters all have the same size.

It clusters; how many clusters to make is the business of `stats/cluster_search.py`. scikit-learn is imported on first use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.balanced_assignment import fair_prices, share_out, traded

MOST_ROUNDS = 30
PATIENCE = 5  # rounds
WORTHWHILE = 1e-3  # of the inertia


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A clustering: the cluster of each item, the clusters' means, and how far the items are from them."""

    labels: NDArray[np.int64]  # shape (items,)
    centres: NDArray[np.float64]  # shape (clusters, dimensions)
    inertia: float  # sum of squared distances


def balanced_kmeans(
    vectors: NDArray[np.floating], clusters: int, rng: np.random.Generator
) -> Clusters:
    """Clusters of `vectors`, shape (items, dimensions), whose sizes differ by at most one.

    Begins at centres drawn by k-means++; then, by turns, shares the items out (equation 3 of Huang et al. 2024, its equal sizes kept
    exactly, its optimum nearly: see `stats/balanced_assignment.py`; Gururangan et al. 2023 run an auction there) and moves the
    centres to the means, until no item changes its cluster, or `PATIENCE` rounds together lower the inertia by less than `WORTHWHILE`
    of it; at most `MOST_ROUNDS` times. The round of least inertia counts.

    The inertia is that of equation 4 with every item's own cluster. The paper prints the nearest cluster there, which is the same for
    plain k-means; here an item may have had to leave its nearest cluster to others, so that the inertia is no less than the printed one.
    (The paper also predicts with the nearest centre, so that its final clusters are of nearly, not exactly, one size.)

    Raises:
        ValueError: `clusters` is less than 1 or more than there are items.
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
    return min(rounds, key=lambda one: one.inertia).labels


def _settled(rounds: list[Clusters]) -> bool:
    """Whether the last round changed nothing, or the last `PATIENCE` rounds together hardly anything."""
    if len(rounds) > 1 and np.array_equal(rounds[-1].labels, rounds[-2].labels):
        return True
    inertias = [one.inertia for one in rounds]
    before, lately = inertias[:-PATIENCE], inertias[-PATIENCE:]
    return bool(before) and min(lately) > (1 - WORTHWHILE) * min(before)


def _standardised(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """The vectors around their mean, of mean squared length 1, so that single precision is enough."""
    around = np.asarray(vectors, dtype=np.float64)
    around = around - around.mean(axis=0)
    spread = np.sqrt((around**2).sum(axis=1).mean()) or 1.0
    standardised: NDArray[np.float32] = (around / spread).astype(np.float32)
    return standardised


def _first_centres(
    vectors: NDArray[np.float32], clusters: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Some of the vectors, drawn far apart: k-means++ (Arthur & Vassilvitskii 2007)."""
    from sklearn.cluster import kmeans_plusplus

    seed = int(rng.integers(2**31))
    centres: NDArray[np.float32] = kmeans_plusplus(
        vectors, clusters, n_local_trials=1, random_state=seed
    )[0]
    return centres


def _squared_distances(
    vectors: NDArray[np.float32], centres: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Less the squared length of each vector, which is the same for all centres."""
    costs = vectors @ (-2 * centres.T)
    costs += (centres**2).sum(axis=1)
    return costs


def _measured(vectors: NDArray[np.floating], labels: NDArray[np.int64]) -> Clusters:
    """The clustering that these labels make, none of them missing."""
    exact = np.asarray(vectors, dtype=np.float64)
    sizes = np.bincount(labels)
    together = exact[np.argsort(labels, kind="stable")]
    centres = np.add.reduceat(together, np.cumsum(sizes) - sizes, axis=0) / sizes[:, None]
    apart = together - np.repeat(centres, sizes, axis=0)
    return Clusters(labels, centres, float(np.einsum("ij,ij->", apart, apart)))
