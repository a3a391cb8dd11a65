"""PACE: prototypes of each cluster of a system's hidden states, by its size, and a fifth outliers.

Chen et al. (2020), "Practical Accuracy Estimation for Efficient Deep Neural Network Testing". The
prototypes are those of MMD-critic: Kim et al. (2016), "Examples are not Enough, Learn to
Criticize!". What is as in the authors' program (github.com/pace2019/pace) and what is not is listed
in docs/results/tables.md. The vectors, from the model's last hidden layer, are not computed here.
scikit-learn is imported on first use; its HDBSCAN takes time quadratic in the number of items,
about a minute for 100,000.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.methods.selectors.ordered import Ordered, Picks, check_vectors
from judgeloop.methods.stats.dendrogram import sizes_of

# `DIMENSIONS`, `SMALLEST_SHARE`, `DENSE` and `OUTLIERS` are those of the authors' program for
# 10,000 items: `dec_dim` 8, `min_cluster_size` 80, `min_samples` 4, `a_unoise` 0.8.
DIMENSIONS = 8  # number of components that the vectors are reduced to
SMALLEST_SHARE = 0.008  # smallest cluster, as a share of the pool
SMALLEST = 5  # smallest cluster, in items, in a pool of any size
# Items within a distance that make a place dense. scikit-learn's `min_samples` counts the item
# itself, that of the program's package (hdbscan) does not.
DENSE = 5
OUTLIERS = 0.2  # share of the judgments that go to outliers
NEGLIGIBLE = 1e-4  # a spread under this share of the largest component's is rounding error
COMPARED = 4096  # members of a larger cluster that each member is compared with
ROWS_AT_A_TIME = 1024
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


def reduced(vectors: NDArray[np.floating]) -> Floats:
    """Return the principal components with variance 1, shape (items, at most `DIMENSIONS`).

    Every dimension is scaled to [0, 1] first. The original uses independent components (ICA). They
    are the same components, rotated, and a rotation changes neither distances nor kernels.
    """
    from sklearn.utils.extmath import randomized_svd

    low = vectors.min(axis=0).astype(np.float32)
    width = vectors.max(axis=0) - low
    scaled = (vectors - low) / np.where(width > 0, width, 1)
    scaled -= scaled.mean(axis=0)
    scores, spreads, _ = randomized_svd(scaled, min(DIMENSIONS, *scaled.shape), random_state=0)
    kept = spreads > NEGLIGIBLE * spreads[0]
    if not kept.any():  # all vectors are equal
        return np.zeros((len(scores), 1))
    return np.asarray(scores[:, kept] * np.sqrt(len(scores)), dtype=np.float64)


def clusters_of(points: Floats) -> tuple[list[Positions], Positions]:
    """Return the positions in each cluster, and the outliers' positions (HDBSCAN).

    The outliers are in the order of their scores, the highest first. If HDBSCAN finds no cluster,
    the whole pool is a single cluster.
    """
    from sklearn.cluster import HDBSCAN

    everything = np.arange(len(points))
    if len(points) < SMALLEST:
        return [everything], everything[:0]
    smallest = max(SMALLEST, round(SMALLEST_SHARE * len(points)))
    found = HDBSCAN(min_cluster_size=smallest, min_samples=DENSE, copy=True).fit(points)
    labels = found.labels_
    if labels.max() < 0:
        return [everything], everything[:0]
    clusters = [np.flatnonzero(labels == label) for label in range(labels.max() + 1)]
    # scikit-learn computes no outlier scores, and shows the tree of merges only here.
    tree = found._single_linkage_tree_
    children = np.column_stack([tree["left_node"], tree["right_node"]]).astype(np.int64)
    scores = outlier_scores(children, tree["value"].astype(np.float64), smallest)
    apart = np.flatnonzero(labels < 0)
    return clusters, apart[np.argsort(-scores[apart], kind="stable")]


def kernel(points: Floats, others: Floats) -> Floats:
    """Return the similarity of points to others, shape (points, others).

    It is exp(-d² / dimensions) at distance d; the components have variance 1.
    """
    return np.asarray(np.exp(-squared_distances(points, others) / points.shape[1]))


def squared_distances(points: Floats, others: Floats) -> Floats:
    """Return the squared Euclidean distances, shape (points, others)."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * points @ others.T
    return np.asarray(np.maximum(squares, 0.0))


def mean_likeness(points: Floats) -> Floats:
    """Return the mean similarity of each point to all points, shape (points,).

    With more than `COMPARED` points, each is compared with `COMPARED` of them at equal steps. The
    work is done in blocks, so that no matrix of all pairs is made.
    """
    steps = np.linspace(0, len(points), min(COMPARED, len(points)), endpoint=False).astype(np.int64)
    blocks = [
        kernel(points[begin : begin + ROWS_AT_A_TIME], points[steps]).mean(axis=1)
        for begin in range(0, len(points), ROWS_AT_A_TIME)
    ]
    return np.concatenate(blocks)


@final
@dataclass(frozen=True, eq=False)
class MMDCritic(Ordered):
    """Picks MMD-critic prototypes from each HDBSCAN cluster, and the farthest of the outliers.

    `vectors` has the shape (items, dimensions). A group is a cluster or all outliers. The outliers
    get the share `OUTLIERS` of the picks, rounded, until none is left. The other picks are the
    clusters': the next is of the cluster whose share of them is furthest behind its share of the
    clustered items. The first outlier is that with the highest score, the next is the farthest from
    those picked (adaptive random testing). Nothing is random.
    """

    vectors: NDArray[np.floating]
    name: str = "mmd-critic"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Cluster the items, and pick from the clusters as picks are needed."""
        del rng
        check_vectors(self.vectors, items)
        return self._picks(items)

    def _picks(self, items: int) -> Iterator[int]:
        """Yield the picks.

        `near` says how near each item is to the picked items of its group: in a cluster, the sum of
        the kernels with them; among the outliers, the squared distance to the nearest.
        """
        near, picked = np.zeros(items), np.zeros(items, dtype=bool)
        near[self._apart] = np.inf
        given = np.zeros(len(self._groups), dtype=np.int64)  # picks of each group
        for _ in range(items):
            group = self._next_group(given)
            members = self._groups[group]
            apart = members is self._apart
            worth = near[members] if apart else self._gain(near, members, int(given[group]))
            position = int(members[np.where(picked[members], -np.inf, worth).argmax()])
            here, there = self._points[members], self._points[position : position + 1]
            if apart:
                near[members] = np.minimum(near[members], squared_distances(here, there)[:, 0])
            else:
                near[members] += kernel(here, there)[:, 0]
            picked[position] = True
            given[group] += 1
            yield position

    def _next_group(self, given: NDArray[np.int64]) -> int:
        """Return the group that the next item comes from; the last group holds the outliers."""
        clusters, apart = self._split
        in_clusters = given[: len(clusters)]
        picked = in_clusters.sum()
        if len(apart) and given[-1] < len(apart):
            due = OUTLIERS * (given.sum() + 1) - given[-1]
            if due >= 1 / 2 or picked == self._sizes.sum():
                return len(clusters)
        # The entries sum to 1, and that of an exhausted cluster is at most 0: it is not the
        # largest.
        behind = self._sizes / self._sizes.sum() * (picked + 1) - in_clusters
        return int(behind.argmax())

    def _gain(self, near: Floats, members: Positions, given: int) -> Floats:
        """Return what a cluster's members add as prototypes: the greedy step of Kim et al. (2016).

        J_b(S) = 2 / (n |S|) Σ k(x, s) - 1 / |S|² Σ k(s, s'). All k(x, x) are 1. So the member whose
        addition gives the largest J_b is the member that maximizes its mean similarity to the
        cluster minus the sum of its similarities to the prototypes divided by |S| + 1.
        """
        gain: Floats = self._likeness[members] - near[members] / (given + 1)
        return gain

    @cached_property
    def _points(self) -> Floats:
        return reduced(self.vectors)

    @cached_property
    def _split(self) -> tuple[list[Positions], Positions]:
        return clusters_of(self._points)

    @cached_property
    def _groups(self) -> list[Positions]:
        """The clusters, then the outliers if there are any."""
        clusters, apart = self._split
        return [*clusters, apart] if len(apart) else clusters

    @property
    def _apart(self) -> Positions:
        return self._split[1]

    @cached_property
    def _sizes(self) -> NDArray[np.int64]:
        """The number of items in each cluster, shape (clusters,)."""
        return np.array([len(cluster) for cluster in self._split[0]], dtype=np.int64)

    @cached_property
    def _likeness(self) -> Floats:
        """The mean similarity of each item to its cluster, shape (items,); 0 for outliers."""
        likeness = np.zeros(len(self.vectors))
        for members in self._split[0]:
            likeness[members] = mean_likeness(self._points[members])
        return likeness


def outlier_scores(children: Positions, heights: Floats, smallest: int) -> Floats:
    """Return the GLOSH score of each of n items, shape (n,): 0 for a core, towards 1 for outliers.

    `children`, shape (n - 1, 2), holds the two nodes that each merge joins, at the distance in
    `heights`, shape (n - 1,), ascending. Nodes 0 to n - 1 are the items, node n + i is merge i. A
    cluster has at least `smallest` items. The score is 1 - least / left (Campello et al. 2015,
    "Hierarchical density estimates", section 7): `left` is the distance at which the item leaves
    its last cluster when the tree is cut ever lower, `least` the distance at which the last part of
    that cluster falls apart.
    """
    tree = _condensed(children, heights, smallest)
    least, left = np.array(tree.least)[tree.cluster], tree.left
    scores: Floats = 1 - np.divide(least, left, out=np.ones_like(left), where=left > 0)
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class _Condensed:
    """The last cluster of each item and the distance at which it leaves; what each cluster reaches.

    `cluster` and `left` have the shape (items,). `least` holds, for each cluster, the distance at
    which it or the last cluster within it falls apart.
    """

    cluster: Positions
    left: Floats
    least: list[float]


def _condensed(children: Positions, heights: Floats, smallest: int) -> _Condensed:
    """Walk the merges from the last to the first, and note where clusters split or lose items."""
    items = len(heights) + 1
    sizes = sizes_of(children)
    cluster = np.zeros(2 * items - 1, dtype=np.int64)
    left = np.full(2 * items - 1, np.nan)  # not a number: still in its cluster
    least, parents = [np.inf], [-1]
    for merge in range(items - 2, -1, -1):
        node, below, height = items + merge, children[merge], float(heights[merge])
        cluster[below], left[below] = cluster[node], left[node]
        if not np.isnan(left[node]):
            continue
        own = int(cluster[node])
        least[own] = min(least[own], height)
        large = below[sizes[below] >= smallest]
        left[below[sizes[below] < smallest]] = height
        if len(large) > 1:
            cluster[large] = len(least), len(least) + 1
            least += [np.inf, np.inf]
            parents += [own, own]
    for child in range(len(least) - 1, 0, -1):
        least[parents[child]] = min(least[parents[child]], least[child])
    return _Condensed(cluster[:items], left[:items], least)
