"""How many clusters to make: the elbow of the inertia, looked at where the curve bends.

What is looked at, and what a look costs, is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import hypot

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.balanced_kmeans import Clusters, balanced_kmeans

FIRST_LOOKS = 5
LOOKS = 20  # of CluSearch
SAME = 1e-9  # bends closer than this are equally far below the chord

Curve = tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Searched:
    """The number of clusters at the elbow, and all that was looked at: (clusters, inertia), fewest clusters first."""

    clusters: int
    curve: Curve


def search_clusters(inertia: Callable[[int], float], low: int, high: int, looks: int) -> Searched:
    """The elbow of `inertia` between `low` and `high` clusters, both included, found with at most `looks` looks at it.

    Algorithm 3 of Huang et al. (2024): first at equally spaced numbers, both ends among them, then always in the middle of the
    interval of largest loss (`next_look`), never at the same number twice; then the elbow (`elbow`).

    Raises:
        ValueError: there is no number between the bounds, or no look to spend.
    """
    if not 1 <= low <= high:
        raise ValueError(f"expected bounds with 1 <= low <= high, found {low} and {high}")
    if looks < 1:
        raise ValueError(f"expected at least one look, found {looks}")
    spaced = np.linspace(low, high, min(FIRST_LOOKS, looks)).round().astype(int)
    seen = {clusters: inertia(clusters) for clusters in dict.fromkeys(spaced.tolist())}
    while (
        len(seen) < looks
        and (clusters := next_look(curve := tuple(sorted(seen.items())))) is not None
    ):
        seen[clusters] = inertia(clusters)
    curve = tuple(sorted(seen.items()))
    return Searched(elbow(curve), curve)


def next_look(curve: Curve) -> int | None:
    """The middle of the interval of largest loss, the first of equally large ones; None if there is no number inside any.

    The loss is the straight distance between an interval's ends (equation 6 of Huang et al. 2024). The paper does not say in which
    units; as in the default loss of the package `adaptive` (Nijholt et al. 2019), both axes are scaled to [0, 1].
    """
    scaled = list(zip(*_scaled(curve), strict=True))
    losses = {
        (left[0] + right[0]) // 2: hypot(there[0] - here[0], there[1] - here[1])
        for (left, right), (here, there) in zip(pairwise(curve), pairwise(scaled), strict=True)
        if right[0] - left[0] > 1
    }
    return max(losses, key=lambda middle: losses[middle], default=None)


def elbow(curve: Curve) -> int:
    """The number of clusters farthest below the straight line between the curve's ends; the fewest of those equally far.

    This is where Kneedle (Satopaa et al. 2011) sees the knee of a convex decreasing curve: at the peak of its difference curve, of
    which such a curve has one. The inertia of k-means is such a curve but for its noise, which makes false peaks; Kneedle
    smooths them away, or takes the first that is high enough. Here the inertia is that of the best clustering with so many
    clusters or fewer, and of all peaks the highest counts. So there is an answer in every case, where Kneedle may have none: for a
    curve that does not bend or fall, the fewest clusters.
    """
    clusters, fallen = _scaled(
        tuple(zip((k for k, _ in curve), _running_minimum(curve), strict=True))
    )
    below = 1 - fallen - clusters
    return curve[int(np.argmax(below >= below.max() - SAME))][0]


def _running_minimum(curve: Curve) -> list[float]:
    return [float(least) for least in np.minimum.accumulate([inertia for _, inertia in curve])]


def _scaled(curve: Curve) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The curve's two axes, each in [0, 1]; zeros for one that has no extent."""
    axes = np.array(curve, dtype=np.float64).T
    extent = np.ptp(axes, axis=1, keepdims=True)
    clusters, inertia = (axes - axes.min(axis=1, keepdims=True)) / np.where(extent > 0, extent, 1.0)
    return clusters, inertia


def strata_by_clusters(
    vectors: NDArray[np.floating], most: int, rng: np.random.Generator, looks: int = LOOKS
) -> tuple[NDArray[np.int64], Searched]:
    """The stratum of each of `vectors`, shape (items,), and the search that found how many there are: from 2 to `most`.

    The strata are those that the search itself made at the elbow. With `most` less than 2 everything is one stratum.
    """
    seed = int(rng.integers(2**63))
    made: dict[int, Clusters] = {}

    def inertia(clusters: int) -> float:
        made[clusters] = balanced_kmeans(vectors, clusters, np.random.default_rng([seed, clusters]))
        return made[clusters].inertia

    high = max(1, most)
    searched = search_clusters(inertia, min(2, high), high, looks)
    return made[searched.clusters].labels, searched
