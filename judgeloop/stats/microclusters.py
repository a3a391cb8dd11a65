"""Ward's clustering where memory does not hold all distances: micro-clusters by k-means, then weighted Ward on their centres.

An approximation: the first cuts look at micro-clusters only, and what is inside one is clustered exactly but apart from the others.
scikit-learn is imported on first use.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 64
MOST_CLUSTERS = 2048
ITEMS_A_CLUSTER = 4  # at least, in the mean
SAMPLE = 50_000  # items that the centres are learnt from
ROWS_AT_A_TIME = 65_536
LARGEST_INSIDE = 4096  # a micro-cluster larger than this is not clustered inside, but joined in the order of the items

Merges = NDArray[np.float64]  # shape (merges, 3): the two nodes joined, and the distance at which


def projected(vectors: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.floating]:
    """The vectors in `DIMENSIONS` dimensions, where they have more: distances stay within some per cent (Johnson & Lindenstrauss 1984)."""
    if vectors.shape[1] <= DIMENSIONS:
        return vectors
    directions = rng.normal(size=(vectors.shape[1], DIMENSIONS)).astype(np.float32) / np.sqrt(
        DIMENSIONS
    )
    rows = [
        np.asarray(vectors[begin : begin + ROWS_AT_A_TIME], dtype=np.float32) @ directions
        for begin in range(0, len(vectors), ROWS_AT_A_TIME)
    ]
    return np.concatenate(rows)


def micro_clusters(vectors: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """A micro-cluster for each vector, shape (items,), numbered from 0 without gaps.

    K-means on a sample (Sculley 2010, mini-batches), every item then with the nearest centre.
    """
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.exceptions import ConvergenceWarning

    clusters = max(1, min(MOST_CLUSTERS, len(vectors) // ITEMS_A_CLUSTER))
    sample = np.sort(rng.permutation(len(vectors))[:SAMPLE])
    means = MiniBatchKMeans(
        clusters,
        init="random",
        n_init=1,
        batch_size=4096,
        max_iter=20,
        random_state=int(rng.integers(2**31)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # of fewer different vectors than clusters
        means.fit(np.asarray(vectors[sample], dtype=np.float32))
    nearest = [
        means.predict(np.asarray(vectors[begin : begin + ROWS_AT_A_TIME], dtype=np.float32))
        for begin in range(0, len(vectors), ROWS_AT_A_TIME)
    ]
    return np.unique(np.concatenate(nearest), return_inverse=True)[1].ravel().astype(np.int64)


def weighted_ward(centres: NDArray[np.float64], weights: NDArray[np.int64]) -> Merges:
    """Ward's clustering of `centres`, shape (n, d), each of which stands for so many items as `weights` says.

    The same as Ward's on the items themselves, were those of a centre all at its place. Nearest-neighbour chains and the
    Lance-Williams update: Müllner (2011), sections 2.2 and 3.1.
    """
    count = len(centres)
    size = np.asarray(weights, dtype=np.float64).copy()
    squares = (centres**2).sum(axis=1)
    between = squares[:, None] + squares[None, :] - 2 * centres @ centres.T
    squared = 2 * np.outer(size, size) / np.add.outer(size, size) * np.maximum(between, 0.0)
    np.fill_diagonal(squared, np.inf)
    place = np.arange(count)  # the node that now stands in each row
    merges = np.empty((count - 1, 3))
    chain: list[int] = []
    alive = np.ones(count, dtype=bool)
    for made in range(count - 1):
        if not chain:
            chain.append(int(np.argmax(alive)))
        while True:
            tip = chain[-1]
            nearest = int(np.argmin(squared[tip]))
            if len(chain) > 1 and squared[tip, nearest] >= squared[tip, chain[-2]]:
                break  # each is the other's nearest
            chain.append(nearest)
        one, other = chain.pop(), chain.pop()
        merges[made] = place[one], place[other], np.sqrt(squared[one, other])
        _join(squared, size, one, other)
        alive[one] = False
        place[other] = count + made
    return _by_height(merges, count)


def _join(squared: NDArray[np.float64], size: NDArray[np.float64], one: int, other: int) -> None:
    """Let the row of `other` stand for both."""
    both = size[one] + size[other]
    apart = squared[one, other]
    with np.errstate(invalid="ignore"):  # rows that are gone are infinitely far
        joined = (
            (size[one] + size) * squared[one] + (size[other] + size) * squared[other] - size * apart
        ) / (both + size)
    joined[np.isinf(squared[one]) | np.isinf(squared[other])] = np.inf
    squared[other, :] = squared[:, other] = joined
    squared[one, :] = squared[:, one] = np.inf
    squared[other, other] = np.inf
    size[other] = both


def _by_height(merges: Merges, leaves: int) -> Merges:
    """The merges in ascending order of distance, with the nodes numbered anew."""
    order = np.argsort(merges[:, 2], kind="stable")
    renamed = np.arange(leaves + len(merges))
    renamed[leaves + order] = leaves + np.arange(len(merges))
    sorted_merges = merges[order]
    sorted_merges[:, :2] = renamed[sorted_merges[:, :2].astype(np.int64)]
    return sorted_merges


def micro_ward(vectors: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Which two nodes each merge joins, shape (n - 1, 2), as in a dendrogram: the last merges are those of micro-clusters."""
    items = len(vectors)
    vectors = projected(vectors, rng)
    cluster_of = micro_clusters(vectors, rng)
    by_cluster = np.argsort(cluster_of, kind="stable")
    sizes = np.bincount(cluster_of)
    members = np.split(by_cluster, np.cumsum(sizes)[:-1])
    inside = [_inside(vectors, group) for group in members]
    merges, roots = _numbered(items, members, inside)
    if len(members) > 1:
        centres = np.stack([vectors[group].mean(axis=0, dtype=np.float64) for group in members])
        outer = weighted_ward(centres, sizes)[:, :2].astype(np.int64)
        names = np.concatenate([roots, items + len(merges) + np.arange(len(outer))])
        merges = np.concatenate([merges, names[outer]])
    return merges


def _inside(vectors: NDArray[np.floating], group: NDArray[np.int64]) -> Merges:
    """The merges inside one micro-cluster, its nodes numbered from 0."""
    from scipy.cluster.hierarchy import linkage

    if len(group) == 1:
        return np.empty((0, 3))
    if len(group) <= LARGEST_INSIDE:
        merged: Merges = linkage(np.asarray(vectors[group], dtype=np.float64), method="ward")[:, :3]
        return merged
    steps = np.arange(len(group) - 1)
    left = np.where(steps == 0, 0, len(group) + steps - 1)
    return np.stack([left, steps + 1, np.zeros(len(steps))], axis=1)


def _numbered(
    items: int, members: list[NDArray[np.int64]], inside: list[Merges]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All inner merges in ascending order of distance, with the nodes of the whole; and the node of each micro-cluster."""
    heights = np.concatenate([merges[:, 2] for merges in inside])
    # Stable, and equal heights of one micro-cluster stand in order already, so that no merge comes before its parts.
    order = np.argsort(heights, kind="stable")
    node = np.empty(len(order), dtype=np.int64)
    node[order] = items + np.arange(len(order))
    pairs, roots, begin = [], [], 0
    for group, merges in zip(members, inside, strict=True):
        names = np.concatenate([group, node[begin : begin + len(merges)]])
        pairs.append(names[merges[:, :2].astype(np.int64)])
        roots.append(names[-1])
        begin += len(merges)
    return np.concatenate(pairs)[order], np.array(roots)
