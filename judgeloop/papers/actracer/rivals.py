"""The rivals of AcTracer: PACE, cross-entropy sampling, and a systematic sample by confidence.

Huang et al. (2024), section 4.3, compare AcTracer with them.

- PACE: Chen et al. (2020), "Practical Accuracy Estimation for Efficient Deep Neural Network Testing", with the
  prototypes of MMD-critic: Kim et al. (2016), "Examples are not Enough, Learn to Criticize!". What is as in the
  authors' program (github.com/pace2019/pace) and what is not is listed in docs/results/tables.md. scikit-learn is
  imported on first use; its HDBSCAN takes time quadratic in the number of items, about a minute for 100,000.
- Cross-entropy sampling (CES): Li et al. (2019), "Boosting Operational DNN Testing Efficiency through Conditioning".
  The constants are those of the authors' program.
- The systematic sample is drawn at random from bins of the confidence in the paper. Here the bins get finer with every
  item.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Draws
from judgeloop.methods.selectors.ordered import Ordered, Picks, check_vectors
from judgeloop.papers.diffuse.tree import sizes_of

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
POINTS_AT_A_TIME = 1024

# Of cross-entropy sampling.
FIRST = 30  # items drawn at random before the first group
GROUP = 5  # items in a group
TRIED = 30  # groups compared; the best enters the sample
# Intervals that each dimension is cut into, by 30 equidistant bounds; the number is stored in a byte.
SECTIONS = 29
ROWS_AT_A_TIME = 4096

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


def components(vectors: NDArray[np.floating]) -> Floats:
    """The principal components with variance 1, shape (items, at most `DIMENSIONS`).

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
    """The positions in each cluster, and the outliers' positions (HDBSCAN).

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
    """The similarity of points to others, shape (points, others).

    It is exp(-d² / dimensions) at distance d; the components have variance 1.
    """
    return np.asarray(np.exp(-squared_distances(points, others) / points.shape[1]))


def squared_distances(points: Floats, others: Floats) -> Floats:
    """The squared Euclidean distances, shape (points, others)."""
    squares = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * points @ others.T
    return np.asarray(np.maximum(squares, 0.0))


def mean_likeness(points: Floats) -> Floats:
    """The mean similarity of each point to all points, shape (points,).

    With more than `COMPARED` points, each is compared with `COMPARED` of them at equal steps. The
    work is done in blocks, so that no matrix of all pairs is made.
    """
    steps = np.linspace(0, len(points), min(COMPARED, len(points)), endpoint=False).astype(np.int64)
    blocks = [
        kernel(points[begin : begin + POINTS_AT_A_TIME], points[steps]).mean(axis=1)
        for begin in range(0, len(points), POINTS_AT_A_TIME)
    ]
    return np.concatenate(blocks)


@final
@dataclass(frozen=True, eq=False)
class MMDCritic(Ordered):
    """PACE: picks MMD-critic prototypes from each HDBSCAN cluster, and the farthest of the outliers.

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
        """The group that the next item comes from; the last group holds the outliers."""
        clusters, apart = self._split
        in_clusters = given[: len(clusters)]
        picked = in_clusters.sum()
        if len(apart) and given[-1] < len(apart):
            due = OUTLIERS * (given.sum() + 1) - given[-1]
            if due >= 1 / 2 or picked == self._sizes.sum():
                return len(clusters)
        # The entries sum to 1, and that of an exhausted cluster is at most 0: it is not the largest.
        behind = self._sizes / self._sizes.sum() * (picked + 1) - in_clusters
        return int(behind.argmax())

    def _gain(self, near: Floats, members: Positions, given: int) -> Floats:
        """What a cluster's members add as prototypes: the greedy step of Kim et al. (2016).

        J_b(S) = 2 / (n |S|) Σ k(x, s) - 1 / |S|² Σ k(s, s'). All k(x, x) are 1. So the member whose
        addition gives the largest J_b is the member that maximizes its mean similarity to the
        cluster minus the sum of its similarities to the prototypes divided by |S| + 1.
        """
        gain: Floats = self._likeness[members] - near[members] / (given + 1)
        return gain

    @cached_property
    def _points(self) -> Floats:
        return components(self.vectors)

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
    """The GLOSH score of each of n items, shape (n,): 0 for a core, towards 1 for outliers.

    `children`, shape (n - 1, 2), holds the two nodes that each merge joins, at the distance in
    `heights`, shape (n - 1,), ascending. Nodes 0 to n - 1 are the items, node n + i is merge i. A
    cluster has at least `smallest` items. The score is 1 - least / left (Campello et al. 2015,
    "Hierarchical density estimates", section 7): `left` is the distance at which the item leaves
    its last cluster when the tree is cut ever lower, `least` the distance at which the last part of
    that cluster falls apart.
    """
    items = len(heights) + 1
    sizes = sizes_of(children)
    cluster = np.zeros(2 * items - 1, dtype=np.int64)  # the last cluster of each node
    left = np.full(2 * items - 1, np.nan)  # the distance at which a node leaves it; not a number: still in it
    least, parents = [np.inf], [-1]  # of each cluster
    for merge in range(items - 2, -1, -1):  # from the last to the first: clusters split, or lose items
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
    of_items, fallen = left[:items], np.array(least)[cluster[:items]]
    scores: Floats = 1 - np.divide(fallen, of_items, out=np.ones_like(of_items), where=of_items > 0)
    return scores


@final
@dataclass(frozen=True, eq=False)
class CrossEntropy(Ordered):
    """Adds groups of items, each the best of some random groups at matching the pool's histograms.

    `vectors` has the shape (items, dimensions). Each dimension is cut into `sections` equal
    intervals from its smallest to its largest value. The first items are drawn at random. Then
    `tried` random groups are compared, and the group enters that minimizes the mean over the
    dimensions of the cross-entropy from sample to pool minus the sample's entropy. That is the
    Kullback-Leibler divergence, as in the authors' program. The cross-entropy alone would be
    smallest for a sample that holds nothing but the most common values. The probability with which
    an item enters is not known, so the choices count as picked.
    """

    vectors: NDArray[np.floating]
    sections: int = SECTIONS
    tried: int = TRIED
    name: str = "cross-entropy"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Draw the first items and the seed for the groups; groups are added as they are needed."""
        check_vectors(self.vectors, items)
        return self._sample(rng.permutation(items), int(rng.integers(2**31)))

    def _sample(self, shuffled: NDArray[np.int64], seed: int) -> Iterator[int]:
        """Yield the first items, then the best of the groups tried, until none is left."""
        first, left = shuffled[:FIRST], np.sort(shuffled[FIRST:])
        counts = self._histograms(first[None, :])[0]
        yield from first.tolist()
        while len(left):
            rng = np.random.default_rng((seed, len(left)))
            size = min(GROUP, len(left))
            places = np.stack([rng.choice(len(left), size, replace=False) for _ in range(self.tried)])
            groups = left[places]
            tried = counts + self._histograms(groups)
            best = int(self._divergences(tried, len(shuffled) - len(left) + size).argmin())
            counts, left = tried[best], np.delete(left, places[best])
            yield from groups[best].tolist()

    def _histograms(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count how often each cell is hit by the items of each group, shape (groups, cells).

        `groups` holds positions, shape (groups, size).
        """
        dimensions = self._intervals.shape[1]
        cells = dimensions * self.sections
        hit = self._intervals[groups] + np.arange(dimensions) * self.sections
        hit += np.arange(len(groups))[:, None, None] * cells
        return np.bincount(hit.ravel(), minlength=len(groups) * cells).reshape(len(groups), cells)

    def _divergences(self, counts: NDArray[np.int64], size: int) -> NDArray[np.float64]:
        """The divergence of each sample of `size` items from the pool, in nats.

        It is summed over the dimensions; `counts` has the shape (groups, cells), the result
        (groups,).
        """
        from scipy.special import xlogy

        shares = counts / size
        return np.asarray(xlogy(shares, shares).sum(axis=1) - shares @ self._log_pool)

    @cached_property
    def _intervals(self) -> NDArray[np.uint8]:
        """The number of each value's interval, shape (items, dimensions)."""
        low = self.vectors.min(axis=0).astype(np.float64)
        width = self.vectors.max(axis=0) - low
        width[width == 0] = 1.0
        found = np.empty(self.vectors.shape, dtype=np.uint8)
        for begin in range(0, len(found), ROWS_AT_A_TIME):
            rows = slice(begin, begin + ROWS_AT_A_TIME)
            section = (self.vectors[rows] - low) / width * self.sections
            # The last interval includes the largest value.
            found[rows] = np.minimum(section, self.sections - 1)
        return found

    @cached_property
    def _log_pool(self) -> NDArray[np.float64]:
        """The logarithms of the pool's shares, shape (cells,).

        They are 0 for an empty cell: no sample has an item there either.
        """
        offsets = np.arange(self._intervals.shape[1]) * self.sections
        counts = np.zeros(len(offsets) * self.sections)
        for begin in range(0, len(self._intervals), ROWS_AT_A_TIME):
            hit = self._intervals[begin : begin + ROWS_AT_A_TIME] + offsets
            counts += np.bincount(hit.ravel(), minlength=len(counts))
        return np.log(counts / len(self._intervals), out=np.zeros_like(counts), where=counts > 0)


def spread_ranks(items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The ranks 0 to `items` - 1, shape (items,); every prefix is spread evenly.

    The order is a scrambled van der Corput sequence (Owen 1995): each of 2^k equal cells is visited
    once before any is visited again, in a random half of the cell. A random shift round the circle
    of ranks then makes every rank equally likely at every place. Sequences that differ only in
    their start, such as multiples of the golden ratio, are as even. But they visit nearly the same
    neighbours together from every start.
    """
    cells = np.zeros(1, dtype=np.int64)
    while len(cells) < items:
        half = rng.integers(2, size=len(cells))
        cells = np.concatenate([2 * cells + half, 2 * cells + 1 - half])
    ranks = np.empty(items, dtype=np.int64)
    ranks[np.argsort(cells[:items])] = np.arange(items)
    return (ranks + rng.integers(max(items, 1))) % max(items, 1)


@final
@dataclass(frozen=True, eq=False)
class ConfidenceSystematic(Ordered):
    """Picks items so that those judged so far are spread evenly over the ranks of the confidence.

    `confidence` has the shape (items,); items of equal confidence come in random order. Every item
    is equally likely at every place, so the mean of the judged items is unbiased. But neighbours
    hardly ever come together, so the variance of that mean cannot be estimated from one sample. No
    interval can be justified, and the choices count as picked.
    """

    confidence: NDArray[np.floating]
    name: str = "confidence-systematic"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Sort the items by confidence, and draw the order in which the ranks are visited.

        Raises:
            ValueError: there is not exactly one finite confidence for each item.
        """
        if self.confidence.shape != (items,):
            raise ValueError(f"confidence of the shape {self.confidence.shape} for {items} items")
        if not np.isfinite(self.confidence).all():
            raise ValueError("the confidence holds values that are not finite")
        shuffled = rng.permutation(items)
        ascending = shuffled[np.argsort(self.confidence[shuffled], kind="stable")]
        return ascending[spread_ranks(items, rng)]
