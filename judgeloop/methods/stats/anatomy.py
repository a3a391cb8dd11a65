"""Figures that describe DiffUse's clusters and picks: cluster sizes, vector norms, picked items.

The analyses of Ashury-Tahan et al. (2024), section 7.2. Takes vectors, returns arrays, draws no
pictures (`replay/pictures.py` does).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.dendrogram import Dendrogram, ward_by_size

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of one cut: share of the items and mean norm of each, shape (clusters,)."""

    shares: Floats
    mean_norms: Floats


@dataclass(frozen=True, slots=True)
class Anatomy:
    """Sizes and norms of one clustering.

    Norms are in units of their mean over all items, so that several pairs of systems can be
    compared. `shares` and `mean_norms` have the shape (clusters,): each cluster's share of the
    items, and the mean norm of its items (figure 8). `norms` has the shape (items,). `picked` holds
    the norms of the picked items (figure 9).
    """

    shares: Floats
    mean_norms: Floats
    norms: Floats
    picked: Floats


def relative_norms(vectors: NDArray[np.floating]) -> Floats:
    """Compute the vectors' lengths in units of their mean, shape (items,).

    All are 0 if every length is 0.
    """
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    relative: Floats = norms / norms.mean() if norms.any() else norms
    return relative


def anatomy(vectors: NDArray[np.floating], clusters: int, picked: NDArray[np.int64]) -> Anatomy:
    """Cut Ward's dendrogram of `vectors` into `clusters` clusters and describe them.

    `vectors` has the shape (items, dimensions). `picked` holds the positions of the judged items.
    """
    norms = relative_norms(vectors)
    clusters_at = _clusters_of(ward_by_size(vectors), norms, clusters)
    return Anatomy(clusters_at.shares, clusters_at.mean_norms, norms=norms, picked=norms[picked])


def clusters_by_number(
    vectors: NDArray[np.floating], numbers: Sequence[int]
) -> dict[int, Clusters]:
    """Cut Ward's dendrogram of `vectors` into each of several `numbers` of clusters (figure 15)."""
    norms, tree = relative_norms(vectors), ward_by_size(vectors)
    return {number: _clusters_of(tree, norms, number) for number in numbers}


def _clusters_of(tree: Dendrogram, norms: Floats, number: int) -> Clusters:
    groups = [tree.members(node) for node in tree.cut(min(number, len(norms)))]
    return Clusters(
        shares=np.array([len(group) / len(norms) for group in groups]),
        mean_norms=np.array([norms[group].mean() for group in groups]),
    )


def named_by_norm_bin(
    norms: Floats, preferences: NDArray[np.int8], bins: int, draws: int, rng: np.random.Generator
) -> Floats:
    """Sample items from bins of ascending norm and return whether each sample names the winner.

    There are `bins` bins with equally many items; `draws` items are drawn from each (figure 10).
    `preferences` has the shape (items,) and is seen from the winner over all items: 1 where the
    verdict prefers the winner, -1 where it prefers the loser, 0 for a tie. The result has the shape
    (bins,): 1 where the sample names the winner, else 0.
    """
    order = np.argsort(norms, kind="stable")
    drawn = [rng.permutation(group)[:draws] for group in np.array_split(order, bins)]
    return np.array([float(preferences[group].sum(dtype=np.int64) > 0) for group in drawn])


def projection(vectors: NDArray[np.floating], seed: int) -> Floats:
    """Project the vectors onto a plane by t-SNE (van der Maaten & Hinton 2008); shape (items, 2).

    Only for a picture (figure 7). scikit-learn is imported on first use.
    """
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    plane: Floats = TSNE(perplexity=perplexity, random_state=seed, init="pca").fit_transform(
        np.asarray(vectors, dtype=np.float32)
    )
    return plane
