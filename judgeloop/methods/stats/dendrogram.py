"""Hierarchical clustering, stored as a tree in which every node is a slice of one array.

Takes vectors, returns a `Dendrogram` that can be cut into clusters. Does not choose which items to
judge: `methods/selectors/diffuse.py` does. SciPy is imported on first use.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_EXACT = 20_000  # items; their distances and a copy take 3.2 GB
SAMPLE = 5_000  # items that are clustered where there are more


class Dendrogram(NamedTuple):
    """A binary tree of merges over n items.

    Nodes 0 to n-1 are the items. Node n+i is the i-th merge, so that the last node, 2n-2, holds all
    items.
    """

    children: NDArray[np.int64]  # shape (n - 1, 2): the two nodes that each merge joined
    leaves: NDArray[np.int64]  # shape (n,): items, ordered so that each node's are neighbours
    start: NDArray[np.int64]  # shape (2n - 1,): where a node's items begin in `leaves`
    size: NDArray[np.int64]  # shape (2n - 1,): how many items a node holds

    def members(self, node: int) -> NDArray[np.int64]:
        """Return the items under `node`, ascending."""
        begin = self.start[node]
        return np.sort(self.leaves[begin : begin + self.size[node]])

    def cut(self, clusters: int) -> list[int]:
        """Return the nodes left when all but the last `clusters` - 1 merges are made."""
        nodes = {2 * len(self.leaves) - 2}
        for made in range(1, clusters):
            parent = self.next_split(made)
            nodes.remove(parent)
            nodes.update(int(child) for child in self.children[parent - len(self.leaves)])
        return sorted(nodes)

    def next_split(self, clusters: int) -> int:
        """Return the node to split next of `clusters` nodes: the last merge not yet undone."""
        return 2 * len(self.leaves) - 1 - clusters


def ward(vectors: NDArray[np.floating]) -> Dendrogram:
    """Cluster `vectors`, shape (n, d), by Ward's method with Euclidean distance.

    Müllner (2011), "Modern hierarchical, agglomerative clustering algorithms", through SciPy.
    Memory is that of n(n-1)/2 distances, twice: about 0.8 GB for 10,000 items.
    """
    return _from_children(_ward_merges(vectors))


def _ward_merges(vectors: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the two nodes that each merge joins, shape (n - 1, 2)."""
    if len(vectors) == 1:
        return np.empty((0, 2), dtype=np.int64)
    from scipy.cluster.hierarchy import linkage

    merges = linkage(np.asarray(vectors, dtype=np.float64), method="ward", metric="euclidean")
    joined: NDArray[np.int64] = merges[:, :2].astype(np.int64)
    return joined


def sampled_ward(vectors: NDArray[np.floating], sample: int) -> Dendrogram:
    """Cluster a random sample of `vectors` by `ward`, with every other item under its nearest.

    An item joins the nearest item of the sample before the sample is clustered, nearer items first.
    The draw depends on the number of items alone, so that all runs on the same vectors share a tree.
    """
    from sklearn.metrics import pairwise_distances_argmin_min

    items = len(vectors)
    order = np.random.default_rng(items).permutation(items)
    drawn, others = order[:sample], order[sample:]
    node = np.arange(items)  # the node that an item of the sample stands for by now
    joined = np.empty((len(others), 2), dtype=np.int64)
    if len(others):
        near, distances = pairwise_distances_argmin_min(vectors[others], vectors[drawn])
        for made, at in enumerate(np.argsort(distances, kind="stable")):
            place = drawn[near[at]]
            joined[made] = node[place], others[at]
            node[place] = items + made
    names = np.concatenate([node[drawn], items + np.arange(len(others), items - 1)])
    return _from_children(np.concatenate([joined, names[_ward_merges(vectors[drawn])]]))


def ward_by_size(vectors: NDArray[np.floating]) -> Dendrogram:
    """Cluster `vectors` by Ward's method: all up to `MOST_EXACT` items, else a sample of them."""
    return ward(vectors) if len(vectors) <= MOST_EXACT else sampled_ward(vectors, SAMPLE)


def quarter_ward(vectors: NDArray[np.floating]) -> Dendrogram:
    """Cluster a quarter of `vectors` by Ward's method, to measure what a sample costs."""
    return sampled_ward(vectors, max(1, len(vectors) // 4))


def average_cosine(vectors: NDArray[np.floating]) -> Dendrogram:
    """Cluster `vectors`, shape (n, d), by the mean cosine distance between two clusters' members.

    A zero vector is orthogonal to all others, and the same as another zero vector. Memory as for
    `ward`.
    """
    if len(vectors) == 1:
        return _from_children(np.empty((0, 2), dtype=np.int64))
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist, squareform

    exact = np.asarray(vectors, dtype=np.float64)
    empty = np.linalg.norm(exact, axis=1) == 0
    distances = squareform(pdist(np.where(empty[:, None], 1.0, exact), metric="cosine"))
    distances[empty, :] = distances[:, empty] = 1.0
    distances[np.ix_(empty, empty)] = 0.0
    np.fill_diagonal(distances, 0.0)
    merges = linkage(squareform(np.maximum(distances, 0.0), checks=False), method="average")
    return _from_children(merges[:, :2].astype(np.int64))


# The hierarchical clusterings of Ashury-Tahan et al. (2024), appendix A.4, by name. `quarter-ward`
# clusters as `ward` does beyond `MOST_EXACT` items, on few items.
HIERARCHIES = {"ward": ward_by_size, "cosine": average_cosine, "quarter-ward": quarter_ward}


def sizes_of(children: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of items under each node, shape (2n - 1,)."""
    items = len(children) + 1
    sizes = np.ones(2 * items - 1, dtype=np.int64)
    for merge, (one, other) in enumerate(children):
        sizes[items + merge] = sizes[one] + sizes[other]
    return sizes


def _from_children(children: NDArray[np.int64]) -> Dendrogram:
    items, size = len(children) + 1, sizes_of(children)
    start = np.zeros(2 * items - 1, dtype=np.int64)
    for merge in range(items - 2, -1, -1):  # parents before children
        left, right = children[merge]
        start[left] = start[items + merge]
        start[right] = start[items + merge] + size[left]
    leaves = np.empty(items, dtype=np.int64)
    leaves[start[:items]] = np.arange(items)
    return Dendrogram(children, leaves, start, size)
