"""Hierarchical clustering, stored as a tree in which every node is a slice of one array.

Takes vectors, returns a `Dendrogram` that can be cut into clusters. Does not choose which items to
judge: `methods/selectors/diffuse.py` does. SciPy is imported on first use.
"""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_EXACT = 20_000  # items; their distances and a copy take 3.2 GB
DIMENSIONS = 64
MOST_CLUSTERS = 2048
ITEMS_A_CLUSTER = 4  # minimum, on average
SAMPLE = 50_000  # items from which k-means learns the centres
ROWS_AT_A_TIME = 65_536
# The items of a larger micro-cluster are not clustered, but merged in their order.
LARGEST_INSIDE = 4096
Merges = NDArray[np.float64]  # shape (merges, 3): the two nodes joined, and their distance


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
    if len(vectors) == 1:
        return _from_children(np.empty((0, 2), dtype=np.int64))
    from scipy.cluster.hierarchy import linkage

    merges = linkage(np.asarray(vectors, dtype=np.float64), method="ward", metric="euclidean")
    return _from_children(merges[:, :2].astype(np.int64))


def approximate_ward(vectors: NDArray[np.floating]) -> Dendrogram:
    """Cluster `vectors` by Ward's method approximately, for more items than `ward` has memory for.

    Groups the items into micro-clusters first (`micro_ward`).
    """
    if len(vectors) == 1:
        return _from_children(np.empty((0, 2), dtype=np.int64))
    return _from_children(micro_ward(vectors, np.random.default_rng(len(vectors))))


def ward_by_size(vectors: NDArray[np.floating]) -> Dendrogram:
    """Cluster `vectors` by Ward's method: exactly up to `MOST_EXACT` items, else approximately."""
    return ward(vectors) if len(vectors) <= MOST_EXACT else approximate_ward(vectors)


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


# The hierarchical clusterings of Ashury-Tahan et al. (2024), appendix A.4, by name. `micro-ward` is
# the approximation that `ward` uses beyond `MOST_EXACT` items.
HIERARCHIES = {"ward": ward_by_size, "cosine": average_cosine, "micro-ward": approximate_ward}


def _from_children(children: NDArray[np.int64]) -> Dendrogram:
    items = len(children) + 1
    size = np.ones(2 * items - 1, dtype=np.int64)
    for merge, (left, right) in enumerate(children):
        size[items + merge] = size[left] + size[right]
    start = np.zeros(2 * items - 1, dtype=np.int64)
    for merge in range(items - 2, -1, -1):  # parents before children
        left, right = children[merge]
        start[left] = start[items + merge]
        start[right] = start[items + merge] + size[left]
    leaves = np.empty(items, dtype=np.int64)
    leaves[start[:items]] = np.arange(items)
    return Dendrogram(children, leaves, start, size)


def projected(vectors: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.floating]:
    """Return the vectors projected to `DIMENSIONS` dimensions, or as they are if they have no more.

    The projection is random and keeps distances within a few per cent (Johnson & Lindenstrauss
    1984).
    """
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
    """Return the micro-cluster of each vector, shape (items,), numbered from 0 without gaps.

    Mini-batch k-means on a sample of the items (Sculley 2010). Then every item goes to its nearest
    centre.
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
        # Fewer distinct vectors than clusters raise it; the numbering below skips empty clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(np.asarray(vectors[sample], dtype=np.float32))
    nearest = [
        means.predict(np.asarray(vectors[begin : begin + ROWS_AT_A_TIME], dtype=np.float32))
        for begin in range(0, len(vectors), ROWS_AT_A_TIME)
    ]
    return np.unique(np.concatenate(nearest), return_inverse=True)[1].ravel().astype(np.int64)


def weighted_ward(centres: NDArray[np.float64], weights: NDArray[np.int64]) -> Merges:
    """Return Ward's clustering of weighted `centres`: the merges in ascending order of distance.

    `centres` has the shape (n, d). `weights`, shape (n,), holds the number of items that each
    centre stands for. The result is that of Ward's clustering of the items if all items of a centre
    lay at its place. Nearest-neighbour chains and the Lance-Williams update: Müllner (2011),
    sections 2.2 and 3.1.
    """
    count = len(centres)
    size = np.asarray(weights, dtype=np.float64).copy()
    squares = (centres**2).sum(axis=1)
    between = squares[:, None] + squares[None, :] - 2 * centres @ centres.T
    squared = 2 * np.outer(size, size) / np.add.outer(size, size) * np.maximum(between, 0.0)
    np.fill_diagonal(squared, np.inf)
    place = np.arange(count)  # the node that each row stands for now
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
                break  # each is the nearest neighbour of the other
            chain.append(nearest)
        one, other = chain.pop(), chain.pop()
        merges[made] = place[one], place[other], np.sqrt(squared[one, other])
        _join(squared, size, one, other)
        alive[one] = False
        place[other] = count + made
    return _by_height(merges, count)


def _join(squared: NDArray[np.float64], size: NDArray[np.float64], one: int, other: int) -> None:
    """Merge row `one` into the row of `other`, which then stands for both."""
    both = size[one] + size[other]
    apart = squared[one, other]
    with np.errstate(invalid="ignore"):  # rows merged before are infinitely far
        joined = (
            (size[one] + size) * squared[one] + (size[other] + size) * squared[other] - size * apart
        ) / (both + size)
    joined[np.isinf(squared[one]) | np.isinf(squared[other])] = np.inf
    squared[other, :] = squared[:, other] = joined
    squared[one, :] = squared[:, one] = np.inf
    squared[other, other] = np.inf
    size[other] = both


def _by_height(merges: Merges, leaves: int) -> Merges:
    """Return the merges in ascending order of distance, with their nodes renumbered."""
    order = np.argsort(merges[:, 2], kind="stable")
    renamed = np.arange(leaves + len(merges))
    renamed[leaves + order] = leaves + np.arange(len(merges))
    sorted_merges = merges[order]
    sorted_merges[:, :2] = renamed[sorted_merges[:, :2].astype(np.int64)]
    return sorted_merges


def micro_ward(vectors: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the two nodes that each merge joins, shape (n - 1, 2), numbered as in a dendrogram.

    Merges inside micro-clusters come first, merges of micro-clusters last.
    """
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
    """Return the merges inside one micro-cluster, with its nodes numbered from 0."""
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
    """Return all inner merges by ascending distance, and the root node of each micro-cluster.

    Both use the node numbers of the whole tree.
    """
    heights = np.concatenate([merges[:, 2] for merges in inside])
    # A stable sort keeps equal heights of one micro-cluster in order, so that no merge comes before
    # the merges of its parts.
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
