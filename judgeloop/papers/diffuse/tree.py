"""What DiffUse clusters, how, and which item stands for a cluster.

Ashury-Tahan et al. (2024): the difference vectors of section 4, clustered by Ward's method; the variants are the
ablations of the preprint's appendix A.3. Which items are judged, `selector.py` says. SciPy and scikit-learn are
imported on first use.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.floating]  # shape (items, dimensions)
Members = NDArray[np.int64]  # positions
MOST_EXACT = 20_000  # items; their distances and a copy take 3.2 GB
SAMPLE = 5_000  # items that are clustered where there are more

# How the vectors of both systems' outputs become one vector per item (section 4; the others: appendix A.3, preprint).
COMBINED: dict[str, Callable[[Vectors, Vectors], Vectors]] = {
    "difference": np.subtract,
    "concatenation": lambda first, second: np.concatenate([first, second], axis=1),
    "addition": np.add,
}


class Dendrogram(NamedTuple):
    """A binary tree of merges over n items, in which every node is a slice of one array.

    Nodes 0 to n-1 are the items. Node n+i is the i-th merge, so that the last node, 2n-2, holds all items.
    """

    children: NDArray[np.int64]  # shape (n - 1, 2): the two nodes that each merge joined
    leaves: NDArray[np.int64]  # shape (n,): items, ordered so that each node's are neighbours
    start: NDArray[np.int64]  # shape (2n - 1,): where a node's items begin in `leaves`
    size: NDArray[np.int64]  # shape (2n - 1,): how many items a node holds

    def members(self, node: int) -> NDArray[np.int64]:
        """The items under `node`, ascending."""
        begin = self.start[node]
        return np.sort(self.leaves[begin : begin + self.size[node]])

    def cut(self, clusters: int) -> list[int]:
        """The nodes left when all but the last `clusters` - 1 merges are made."""
        nodes = {2 * len(self.leaves) - 2}
        for made in range(1, clusters):
            parent = self.next_split(made)
            nodes.remove(parent)
            nodes.update(int(child) for child in self.children[parent - len(self.leaves)])
        return sorted(nodes)

    def next_split(self, clusters: int) -> int:
        """The node to split next of `clusters` nodes: the last merge not yet undone."""
        return 2 * len(self.leaves) - 1 - clusters


def ward(vectors: Vectors) -> Dendrogram:
    """Cluster by Ward's method with Euclidean distance.

    Müllner (2011), "Modern hierarchical, agglomerative clustering algorithms", through SciPy. Memory is that of
    n(n-1)/2 distances, twice: about 0.8 GB for 10,000 items.
    """
    return _from_children(_ward_merges(vectors))


def _ward_merges(vectors: Vectors) -> NDArray[np.int64]:
    """The two nodes that each merge joins, shape (n - 1, 2)."""
    if len(vectors) == 1:
        return np.empty((0, 2), dtype=np.int64)
    from scipy.cluster.hierarchy import linkage

    merges = linkage(np.asarray(vectors, dtype=np.float64), method="ward", metric="euclidean")
    joined: NDArray[np.int64] = merges[:, :2].astype(np.int64)
    return joined


def sampled_ward(vectors: Vectors, sample: int) -> Dendrogram:
    """Cluster a random sample by `ward`, with every other item under its nearest.

    An item joins the nearest item of the sample before the sample is clustered, nearer items first. The draw depends
    on the number of items alone, so that all runs on the same vectors share a tree.
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


def ward_by_size(vectors: Vectors) -> Dendrogram:
    """Cluster by Ward's method: all up to `MOST_EXACT` items, else a sample of them."""
    return ward(vectors) if len(vectors) <= MOST_EXACT else sampled_ward(vectors, SAMPLE)


def quarter_ward(vectors: Vectors) -> Dendrogram:
    """Cluster a quarter of the items by Ward's method, to measure what a sample costs."""
    return sampled_ward(vectors, max(1, len(vectors) // 4))


def average_cosine(vectors: Vectors) -> Dendrogram:
    """Cluster by the mean cosine distance between two clusters' members.

    A zero vector is orthogonal to all others, and the same as another zero vector. Memory as for `ward`.
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


# The hierarchical clusterings of the preprint's appendix A.3, by name. `quarter-ward` clusters as `ward` does beyond
# `MOST_EXACT` items, on few items.
HIERARCHIES = {"ward": ward_by_size, "cosine": average_cosine, "quarter-ward": quarter_ward}


def sizes_of(children: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of items under each node, shape (2n - 1,)."""
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


def closest_in_cosine(vectors: Vectors, members: Members) -> int:
    """The member whose vector is closest in cosine to the members' mean; of equally close members, the first.

    A zero vector has no direction and counts as orthogonal to everything.
    """
    inside = vectors[members]
    centre = inside.mean(axis=0, dtype=np.float64).astype(inside.dtype)
    norms = np.sqrt(np.einsum("ij,ij->i", inside, inside)) * np.linalg.norm(centre)
    similarity = np.divide(inside @ centre, norms, out=np.zeros(len(members)), where=norms > 0)
    return int(members[np.argmax(similarity)])


def closest_in_distance(vectors: Vectors, members: Members) -> int:
    """The member closest in Euclidean distance to the members' mean; of equally close members, the first."""
    inside = np.asarray(vectors[members], dtype=np.float64)
    return int(members[np.argmin(np.linalg.norm(inside - inside.mean(axis=0), axis=1))])


def largest_norm(vectors: Vectors, members: Members) -> int:
    """The member whose vector is longest; of equally long vectors, the first."""
    return int(members[np.argmax(np.linalg.norm(np.asarray(vectors[members], dtype=np.float64), axis=1))])


# The choices of the preprint's appendix A.3 that need no random numbers.
NAMED: dict[str, Callable[[Vectors, Members], int]] = {
    "cosine": closest_in_cosine,
    "euclidean": closest_in_distance,
    "largest-norm": largest_norm,
}


def representative(name: str, vectors: Vectors, members: Members, priority: NDArray[np.int64]) -> int:
    """The member that stands for a cluster, by the choice called `name` (the preprint's appendix A.3).

    `priority`, shape (items,), is a random order of all items, for the choice `random`.
    """
    if name == "random":
        return int(members[np.argmin(priority[members])])
    return NAMED[name](vectors, members)
