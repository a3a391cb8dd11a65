"""What DiffUse's clusters and picks look like: how large clusters are, how long their vectors, and which items are picked.

The analyses of Ashury-Tahan et al. (2024), section 7.2. Drawing them is not done here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.dendrogram import ward_by_size

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Anatomy:
    """One clustering. Norms are in units of their mean over all items, so that those of several pairs compare.

    `shares` and `mean_norms` have the shape (clusters,): the share of the items in a cluster, and their mean norm (figure 8).
    `norms` has the shape (items,), `picked` those of the picked items (figure 9).
    """

    shares: Floats
    mean_norms: Floats
    norms: Floats
    picked: Floats


def relative_norms(vectors: NDArray[np.floating]) -> Floats:
    """The vectors' lengths in units of their mean, shape (items,); all 0 where every vector is."""
    norms = np.linalg.norm(np.asarray(vectors, dtype=np.float64), axis=1)
    relative: Floats = norms / norms.mean() if norms.any() else norms
    return relative


def anatomy(vectors: NDArray[np.floating], clusters: int, picked: NDArray[np.int64]) -> Anatomy:
    """Cut Ward's dendrogram of `vectors` into `clusters` and look at it; `picked` are the positions of the judged items."""
    norms = relative_norms(vectors)
    tree = ward_by_size(vectors)
    groups = [tree.members(node) for node in tree.cut(min(clusters, len(vectors)))]
    return Anatomy(
        shares=np.array([len(group) / len(vectors) for group in groups]),
        mean_norms=np.array([norms[group].mean() for group in groups]),
        norms=norms,
        picked=norms[picked],
    )


def named_by_norm_bin(
    norms: Floats, preferences: NDArray[np.int8], bins: int, draws: int, rng: np.random.Generator
) -> Floats:
    """For each of `bins` bins of ascending norm, equally full, whether `draws` items drawn from it name the winner: figure 10.

    `preferences` are from the view of the winner over all items. 1 where it is named, else 0; shape (bins,).
    """
    order = np.argsort(norms, kind="stable")
    drawn = [rng.permutation(group)[:draws] for group in np.array_split(order, bins)]
    return np.array([float(preferences[group].sum(dtype=np.int64) > 0) for group in drawn])


def projection(vectors: NDArray[np.floating], seed: int) -> Floats:
    """The vectors on a plane, shape (items, 2), by t-SNE (van der Maaten & Hinton 2008): figure 7. For the eye alone.

    scikit-learn is imported here.
    """
    from sklearn.manifold import TSNE

    perplexity = min(30.0, (len(vectors) - 1) / 3)
    plane: Floats = TSNE(perplexity=perplexity, random_state=seed, init="pca").fit_transform(
        np.asarray(vectors, dtype=np.float32)
    )
    return plane
