"""The number of clusters at the elbow of the inertia, found with few clusterings.

Takes the inertia as a function of the number of clusters. Each evaluation of it is called a look.
The looks go where the curve changes most. `strata_by_clusters` runs the search with balanced
k-means.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.balanced_kmeans import Clusters, balanced_kmeans

FIRST_LOOKS = 5
LOOKS = 20  # most evaluations of the inertia in CluSearch, by default
SAME = 1e-9  # depths below the chord that differ by less are equal

Curve = tuple[tuple[int, float], ...]


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
    """Return the middle of the interval with the largest loss; the first of several equal losses.

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
    """Return the number of clusters farthest below the straight line between the curve's ends.

    Of several that are equally far below, the fewest clusters are returned.

    Kneedle (Satopaa et al. 2011) places the knee of a convex decreasing curve at the same point:
    the peak of its difference curve, which then has a single peak. The inertia of k-means has this
    shape apart from noise, which makes false peaks. Kneedle smooths them away, or takes the first
    that is high enough. Here the inertia is that of the best clustering with at most this many
    clusters, and the highest of all peaks counts. There is thus always an answer, where Kneedle may
    have none: for a curve that does not bend or fall, it is the fewest clusters.
    """
    clusters, fallen = _scaled(tuple(zip((k for k, _ in curve), _running_minimum(curve), strict=True)))
    below = 1 - fallen - clusters
    return curve[int(np.argmax(below >= below.max() - SAME))][0]


def _running_minimum(curve: Curve) -> list[float]:
    return [float(least) for least in np.minimum.accumulate([inertia for _, inertia in curve])]


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
