"""Items shared out among clusters of equal size: prices that make the clusters equally wanted, then seats given out one choice at a time.

Near the least cost, not at it: the exact answer is `scipy.optimize.linear_sum_assignment`, whose time grows with the cube of the items.
In balanced k-means the labels were found to cost at most 3 % more than that (300 items, 2 to 60 clusters, vectors without ties).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

STEPS = 10
FIRST_STEP = 0.3  # of the mean regret of those who want the cluster
FASTER, SLOWER = 1.2, 0.5  # Riedmiller & Braun (1993)
MOST_TRADES = 3
NOTHING = 1e-6  # of the largest cost: gains that rounding can feign
BLOCK = 2**18  # costs at a time, so that they stay in the processor's cache

Costs = NDArray[np.float32]  # shape (items, clusters)
Prices = NDArray[np.float32]  # shape (clusters,), in the unit of the costs
Labels = NDArray[np.int64]  # shape (items,)


def fair_prices(costs: Costs, prices: Prices) -> Prices:
    """Prices, shape (clusters,), at which about equally many items find each cluster cheapest; the search begins at `prices`.

    The dual of the transport problem, as in an auction (Bertsekas 1988), climbed by the sign of its gradient: a price rises while
    more than a fair share want the cluster and falls while fewer do, by a step of its own that grows until it overshoots
    (Riedmiller & Braun 1993, Rprop). Of all prices tried, those at which the fewest items would have to give way.
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
    """A cluster for each item, shape (items,); the clusters' sizes differ by at most one.

    Everybody asks for the cheapest cluster, price included, that has seats left; where too many ask for one, those who would lose
    most elsewhere get the seats, and the others ask again. The seats that not all clusters have are given out last.
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
    """The labels after trade: pairs of clusters divide their items anew, as cheaply as can be, while any pair gains by it.

    In each of at most `MOST_TRADES` turns those pairs trade that have most to gain from each other. Sizes stay within one of each other.
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
    """The cluster that each trades with, shape (clusters,); itself, for one that does not.

    Two trade that would gain most from each other, by the best single swap, or by moving an item out of the larger.
    """
    clusters = costs.shape[1]
    sizes = np.bincount(labels, minlength=clusters)
    by_cluster = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    cheapest_move = np.stack(
        [
            (costs[members] - costs[members, cluster, None]).min(axis=0)
            for cluster, members in enumerate(by_cluster)
        ]
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
    """The clusters of the items that are `trading`, each pair's halved at the least cost; a middle one goes where it is cheaper."""
    one = np.minimum(labels, partner[labels])
    other = partner[one]
    dearer = costs[trading, one] - costs[trading, other]
    place = 2 * _rank_within(one, dearer) + 1
    together = np.bincount(one, minlength=len(partner))[one]
    to_one = (place < together) | ((place == together) & (dearer < 0))
    return np.where(to_one, one, other)


def _mean_regrets(
    choice: Labels, regret: NDArray[np.float32], clusters: int
) -> NDArray[np.float64]:
    """The mean regret of those who want each cluster; of all items, for a cluster that nobody wants."""
    wanted = np.bincount(choice, minlength=clusters)
    total = np.bincount(choice, regret, minlength=clusters)
    overall = regret.mean(dtype=np.float64)
    return np.where(wanted > 0, total / np.maximum(wanted, 1), overall)


def _rank_within(group: Labels, values: NDArray[np.float32]) -> Labels:
    """The place of each value among those of its group, from 0 for the least."""
    order = np.lexsort((values, group))
    first = np.searchsorted(group[order], group[order])
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - first
    return rank


def _wanted(costs: Costs, prices: Prices) -> Labels:
    """The cheapest cluster of each item, price included."""
    return np.concatenate([(costs[rows] + prices).argmin(axis=1) for rows in _blocks(*costs.shape)])


def _choices(costs: Costs, prices: Prices) -> tuple[Labels, NDArray[np.float32]]:
    """The cheapest cluster of each item, price included, and the regret: how much dearer the next one is.

    Where there is no next one, those whom the only one fits best regret it most.
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
    """The rows, in turn, that make about `BLOCK` costs."""
    rows = max(1, BLOCK // clusters)
    return (slice(begin, begin + rows) for begin in range(0, items, rows))
