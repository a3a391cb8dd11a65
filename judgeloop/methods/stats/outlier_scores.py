"""Outlier scores of items from a tree of merges: how much denser is the densest place nearby.

Takes merges such as HDBSCAN's, of single linkage by mutual reachability distances. Returns a score
for each item. Does not decide which items are outliers: `methods/selectors/mmd_critic.py` reads that from
HDBSCAN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.int64]


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
    sizes = _sizes(children)
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


def _sizes(children: Positions) -> Positions:
    """Return the number of items under each node, shape (2n - 1,)."""
    items = len(children) + 1
    sizes = np.ones(2 * items - 1, dtype=np.int64)
    for merge, (one, other) in enumerate(children):
        sizes[items + merge] = sizes[one] + sizes[other]
    return sizes
