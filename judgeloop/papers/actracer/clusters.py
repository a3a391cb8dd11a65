"""AcTracer's clusters: k-means whose clusters all have the same size, and CluSearch for their number.

Huang et al. (2024), "Active Testing of Large Language Model via Multi-Stage Sampling", equations 3 and 4, algorithm 3.
CluSearch takes the inertia as a function of the number of clusters. Each evaluation of it is called a look; the looks
go where the curve changes most. scikit-learn is imported on first use.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import numpy as np
from numpy.typing import NDArray

STEPS = 10
FIRST_STEP = 0.3  # share of the mean regret of the items that want the cluster
FASTER, SLOWER = 1.2, 0.5  # Riedmiller & Braun (1993)
MOST_TRADES = 3
NOTHING = 1e-6  # share of the largest cost: a smaller gain can be a rounding error
BLOCK = 2**18  # costs computed at a time, so that they stay in the processor's cache
MOST_ROUNDS = 30
PATIENCE = 5  # rounds
WORTHWHILE = 1e-3  # share of the inertia
FIRST_LOOKS = 5
LOOKS = 20  # most evaluations of the inertia in CluSearch, by default
SAME = 1e-9  # depths below the chord that differ by less are equal

Costs = NDArray[np.float32]  # shape (items, clusters)
Prices = NDArray[np.float32]  # shape (clusters,), in the unit of the costs
Labels = NDArray[np.int64]  # shape (items,)
Curve = tuple[tuple[int, float], ...]


def fair_prices(costs: Costs, prices: Prices) -> Prices:
    """Find prices, shape (clusters,), at which about equally many items find each cluster cheapest.

    The search starts at `prices`. It climbs the dual of the transport problem, as in an auction
    (Bertsekas 1988), by the sign of the gradient. A price rises while more than a fair share of the
    items want the cluster, and falls while fewer do. Each price has its own step, which grows until
    the price overshoots (Rprop: Riedmiller & Braun 1993). Of all prices tried, the result is the
    prices at which the fewest items would have to leave their cheapest cluster.
    """
    items, clusters = costs.shape
    step = FIRST_STEP * _mean_regrets(*_choices(costs, prices), clusters)
    before = np.zeros(clusters)
    fairest, least = prices, np.inf
    for _ in range(STEPS):
        excess = np.bincount(_wanted(costs, prices), minlength=clusters) - items / clusters
        if np.abs(excess).sum() < least:
            fairest, least = prices, np.abs(excess).sum()
        turn = np.sign(excess)
        step *= np.where(turn * before > 0, FASTER, np.where(turn * before < 0, SLOWER, 1.0))
        prices = (prices + turn * step).astype(np.float32)
        before = turn
    return fairest


def share_out(costs: Costs, prices: Prices) -> Labels:
    """Assign a cluster to each item, shape (items,); cluster sizes differ by at most one.

    Every item asks for the cheapest cluster, price included, that has seats left. Where too many
    items ask for a cluster, the seats go to those with the largest regret, and the other items ask
    again. When every cluster has `items // clusters` items, each cluster offers one seat more for
    the items that remain.
    """
    items, clusters = costs.shape
    labels = np.full(items, -1, dtype=np.int64)
    for seats_each in (items // clusters, 1):
        seats = np.full(clusters, seats_each)
        waiting = np.flatnonzero(labels < 0)
        while len(waiting) and seats.any():
            asking = costs if len(waiting) == items else costs[waiting]
            choice, regret = _choices(asking, np.where(seats > 0, prices, np.float32(np.inf)))
            seated = _rank_within(choice, -regret) < seats[choice]
            labels[waiting[seated]] = choice[seated]
            seats -= np.bincount(choice[seated], minlength=clusters)
            waiting = waiting[~seated]
    return labels


def traded(costs: Costs, labels: Labels) -> Labels:
    """Lower the cost by letting pairs of clusters divide their items anew at the least cost.

    There are at most `MOST_TRADES` turns; they end earlier when no pair gains. In each turn, those
    pairs trade that have the most to gain from each other. Sizes that differ by at most one still
    do so afterwards.
    """
    for _ in range(MOST_TRADES):
        partner = _partners(costs, labels)
        trading = np.flatnonzero(partner[labels] != labels)
        if not len(trading):
            break
        labels = labels.copy()
        labels[trading] = _divided_anew(costs, trading, labels[trading], partner)
    return labels


def _partners(costs: Costs, labels: Labels) -> Labels:
    """Find the cluster that each cluster trades with, shape (clusters,); itself if with none.

    Two clusters trade if no trade with another cluster would gain more for either of them. The gain
    is that of the best single swap of two items, or of moving an item out of the larger cluster.
    """
    clusters = costs.shape[1]
    sizes = np.bincount(labels, minlength=clusters)
    by_cluster = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    cheapest_move = np.stack(
        [(costs[members] - costs[members, cluster, None]).min(axis=0) for cluster, members in enumerate(by_cluster)]
    )
    one_way = np.where(sizes[:, None] > sizes, cheapest_move, np.inf)
    loss = np.minimum(cheapest_move + cheapest_move.T, np.minimum(one_way, one_way.T))
    np.fill_diagonal(loss, 0.0)
    everyone = np.arange(clusters)
    best = loss.argmin(axis=1)
    largest = max(costs.max(), -costs.min())
    agreed = (best[best] == everyone) & (loss[everyone, best] < -NOTHING * largest)
    return np.where(agreed, best, everyone)


def _divided_anew(costs: Costs, trading: Labels, labels: Labels, partner: Labels) -> Labels:
    """New clusters for the `trading` items: each pair's items halved at the least cost.

    If a pair has an odd number of items, the middle item goes to the cluster where it is cheaper.
    """
    first = np.minimum(labels, partner[labels])
    second = partner[first]
    dearer = costs[trading, first] - costs[trading, second]
    place = 2 * _rank_within(first, dearer) + 1
    together = np.bincount(first, minlength=len(partner))[first]
    to_first = (place < together) | ((place == together) & (dearer < 0))
    return np.where(to_first, first, second)


def _mean_regrets(choice: Labels, regret: NDArray[np.float32], clusters: int) -> NDArray[np.float64]:
    """Average the regret of the items that want each cluster, shape (clusters,).

    A cluster that no item wants gets the mean regret of all items.
    """
    wanted = np.bincount(choice, minlength=clusters)
    total = np.bincount(choice, regret, minlength=clusters)
    overall = regret.mean(dtype=np.float64)
    return np.where(wanted > 0, total / np.maximum(wanted, 1), overall)


def _rank_within(group: Labels, values: NDArray[np.float32]) -> Labels:
    """Rank each value within its group, from 0 for the least."""
    order = np.lexsort((values, group))
    first = np.searchsorted(group[order], group[order])
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - first
    return rank


def _wanted(costs: Costs, prices: Prices) -> Labels:
    """Find the cheapest cluster of each item, price included."""
    return np.concatenate([(costs[rows] + prices).argmin(axis=1) for rows in _blocks(*costs.shape)])


def _choices(costs: Costs, prices: Prices) -> tuple[Labels, NDArray[np.float32]]:
    """Find each item's cheapest cluster, price included, and its regret.

    The regret is how much more the next cheapest cluster costs. Where only one cluster has a finite
    price, the regret is minus the cost: the items that fit this cluster best regret it most.
    """
    choice = np.empty(len(costs), dtype=np.int64)
    regret = np.empty(len(costs), dtype=np.float32)
    for rows in _blocks(*costs.shape):
        priced = costs[rows] + prices
        everyone = np.arange(len(priced))
        choice[rows] = cheapest = priced.argmin(axis=1)
        cost = priced[everyone, cheapest]
        priced[everyone, cheapest] = np.inf
        next_cost = priced.min(axis=1)
        regret[rows] = np.where(np.isfinite(next_cost), next_cost - cost, -cost)
    return choice, regret


def _blocks(items: int, clusters: int) -> Iterator[slice]:
    """Yield slices of rows that hold about `BLOCK` costs each."""
    rows = max(1, BLOCK // clusters)
    return (slice(begin, begin + rows) for begin in range(0, items, rows))


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """A clustering: each item's cluster, the clusters' means, and the inertia."""

    labels: NDArray[np.int64]  # shape (items,)
    centres: NDArray[np.float64]  # shape (clusters, dimensions)
    inertia: float  # sum of squared distances


def balanced_kmeans(vectors: NDArray[np.floating], clusters: int, rng: np.random.Generator) -> Clusters:
    """Make clusters of `vectors`, shape (items, dimensions), whose sizes differ by at most one.

    The centres start at those drawn by k-means++. Each round assigns the items to the centres and
    moves the centres to the means. The rounds end when no item changes its cluster, or when
    `PATIENCE` rounds together lower the inertia by less than the share `WORTHWHILE`, and after at
    most `MOST_ROUNDS`. The result is the round with the least inertia.

    The assignment is equation 3 of Huang et al. (2024). Its equal sizes are kept exactly, its
    optimum nearly (`fair_prices`; Gururangan et al. 2023 run an auction there).

    The inertia is that of equation 4 with every item's own cluster. The paper prints the nearest
    cluster there, which is the same for plain k-means. Here an item may have had to leave its
    nearest cluster to other items, so the inertia is no less than the printed one. (The paper also
    predicts with the nearest centre, so its final clusters are of nearly, not exactly, one size.)
    """
    items = len(vectors)
    if clusters == 1:
        return _measured(vectors, np.zeros(items, dtype=np.int64))
    if clusters == items:
        return _measured(vectors, np.arange(items))
    return _measured(vectors, _best_round(_standardised(vectors), clusters, rng))


def _best_round(vectors: NDArray[np.float32], clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    from sklearn.cluster import kmeans_plusplus

    # Vectors that are far apart: k-means++ (Arthur & Vassilvitskii 2007).
    seed = int(rng.integers(2**31))
    centres: NDArray[np.float32] = kmeans_plusplus(vectors, clusters, n_local_trials=1, random_state=seed)[0]
    prices = np.zeros(clusters, dtype=np.float32)
    rounds: list[Clusters] = []
    while len(rounds) < MOST_ROUNDS and not _settled(rounds):
        # Squared distances, less each vector's squared length, which is the same for all centres.
        costs = vectors @ (-2 * centres.T)
        costs += (centres**2).sum(axis=1)
        prices = fair_prices(costs, prices)
        rounds.append(_measured(vectors, traded(costs, share_out(costs, prices))))
        centres = rounds[-1].centres.astype(np.float32)
    return min(rounds, key=lambda clustering: clustering.inertia).labels


def _settled(rounds: list[Clusters]) -> bool:
    """Whether the rounds may end.

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


@dataclass(frozen=True, slots=True)
class Searched:
    """The number of clusters at the elbow, and the curve as (clusters, inertia), ascending."""

    clusters: int
    curve: Curve


def search_clusters(inertia: Callable[[int], float], low: int, high: int, looks: int) -> Searched:
    """Find the elbow of `inertia` between `low` and `high` clusters, both included.

    Algorithm 3 of Huang et al. (2024). `inertia` is evaluated at most `looks` times, and never
    twice at the same number of clusters. The first numbers are equally spaced and include both
    ends. Each later number is in the middle of the interval with the largest loss (`next_look`).
    `elbow` then reads the answer from the curve.
    """
    spaced = np.linspace(low, high, min(FIRST_LOOKS, looks)).round().astype(int)
    seen = {clusters: inertia(clusters) for clusters in dict.fromkeys(spaced.tolist())}
    while len(seen) < looks and (clusters := next_look(curve := tuple(sorted(seen.items())))) is not None:
        seen[clusters] = inertia(clusters)
    curve = tuple(sorted(seen.items()))
    return Searched(elbow(curve), curve)


def next_look(curve: Curve) -> int | None:
    """The middle of the interval with the largest loss; the first of several equal losses.

    The result is None if no interval has a number inside. The loss is the straight distance between
    an interval's ends (equation 6 of Huang et al. 2024). The paper does not say in which units. As
    in the default loss of the package `adaptive` (Nijholt et al. 2019), both axes are scaled to
    [0, 1].
    """
    scaled = list(zip(*_scaled(curve), strict=True))
    losses = {
        (left[0] + right[0]) // 2: hypot(there[0] - here[0], there[1] - here[1])
        for (left, right), (here, there) in zip(pairwise(curve), pairwise(scaled), strict=True)
        if right[0] - left[0] > 1
    }
    return max(losses, key=lambda middle: losses[middle], default=None)


def elbow(curve: Curve) -> int:
    """The number of clusters farthest below the straight line between the curve's ends.

    Of several that are equally far below, the fewest clusters are returned.

    Kneedle (Satopaa et al. 2011) places the knee of a convex decreasing curve at the same point:
    the peak of its difference curve, which then has a single peak. The inertia of k-means has this
    shape apart from noise, which makes false peaks. Kneedle smooths them away, or takes the first
    that is high enough. Here the inertia is that of the best clustering with at most this many
    clusters, and the highest of all peaks counts. There is thus always an answer, where Kneedle may
    have none: for a curve that does not bend or fall, it is the fewest clusters.
    """
    least = np.minimum.accumulate([inertia for _, inertia in curve]).tolist()
    clusters, fallen = _scaled(tuple((k, inertia) for (k, _), inertia in zip(curve, least, strict=True)))
    below = 1 - fallen - clusters
    return curve[int(np.argmax(below >= below.max() - SAME))][0]


def _scaled(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale each axis of the curve to [0, 1]; an axis without extent becomes zeros."""
    axes = np.array(curve, dtype=np.float64).T
    extent = np.ptp(axes, axis=1, keepdims=True)
    clusters, inertia = (axes - axes.min(axis=1, keepdims=True)) / np.where(extent > 0, extent, 1.0)
    return clusters, inertia


def strata_by_clusters(
    vectors: NDArray[np.floating], most: int, rng: np.random.Generator, looks: int = LOOKS
) -> tuple[NDArray[np.int64], Searched]:
    """Cluster `vectors` into strata, and search for their number from 2 to `most`.

    The first result has the shape (items,): each item's stratum, in the clustering that the search
    itself made at the elbow. The second result is the search. If `most` is less than 2, all items
    are in one stratum.
    """
    seed = int(rng.integers(2**63))
    made: dict[int, Clusters] = {}

    def inertia(clusters: int) -> float:
        made[clusters] = balanced_kmeans(vectors, clusters, np.random.default_rng([seed, clusters]))
        return made[clusters].inertia

    high = max(1, most)
    searched = search_clusters(inertia, min(2, high), high, looks)
    return made[searched.clusters].labels, searched
