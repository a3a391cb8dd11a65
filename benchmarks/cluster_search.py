"""How long CluSearch takes, by number of items, beside plain k-means with the same numbers of clusters; vectors given.

    python benchmarks/cluster_search.py [--large] [--hidden FILE]

At a budget of a tenth of the items there may be a fortieth as many clusters. The vectors, 64 numbers each, are drawn around a few hundred
topics of unequal size; with `--hidden`, they are also the 64 principal components of each array of at least two dimensions in a
file of hidden states that NumPy can load. `--large` adds 100,000 items, which takes long. Inertia is given as a share of that of one cluster,
and the smallest and largest cluster of plain k-means by its number of items.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from judgeloop.stats.cluster_search import strata_by_clusters

ITEMS = (1000, 4000, 18_000)
LARGE = 100_000
DIMENSIONS = 64
TOPICS = 300


def around_topics(items: int) -> np.ndarray:
    """Points around topics of unequal size, shape (items, dimensions)."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(TOPICS, DIMENSIONS))
    topic = np.minimum(rng.geometric(0.01, size=items) - 1, TOPICS - 1)
    return (topics[topic] + rng.normal(size=(items, DIMENSIONS))).astype(np.float32)


def hidden_states(file: str) -> dict[str, np.ndarray]:
    """The principal components of each array of vectors in the file, by its name."""
    with np.load(file) as arrays:
        vectors = {name: arrays[name] for name in arrays.files if arrays[name].ndim == 2}
    return {
        name: PCA(min(DIMENSIONS, *states.shape), random_state=0).fit_transform(
            states.astype(np.float32)
        )
        for name, states in vectors.items()
    }


def measure(name: str, vectors: np.ndarray) -> None:
    """Print a line: how long both take, and what both say at the elbow."""
    began = time.perf_counter()
    labels, searched = strata_by_clusters(vectors, len(vectors) // 40, np.random.default_rng(0))
    middle = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer different vectors than clusters
        plain = {k: KMeans(k, n_init=1, random_state=0).fit(vectors) for k, _ in searched.curve}
    ended = time.perf_counter()
    total = float(((vectors - vectors.mean(axis=0)) ** 2).sum(dtype=np.float64))
    balanced, unbalanced = dict(searched.curve)[searched.clusters], plain[searched.clusters]
    sizes = np.bincount(unbalanced.labels_)
    assert np.ptp(np.bincount(labels)) <= 1
    print(
        f"{name:<10}{len(vectors):>9,}{len(vectors) // 40:>7,}{searched.clusters:>7}"
        f"{middle - began:>12.1f}{ended - middle:>9.1f}"
        f"{balanced / total:>11.3f}{unbalanced.inertia_ / total:>9.3f}{f'{sizes.min()}-{sizes.max()}':>12}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--hidden")
    arguments = parser.parse_args()
    print(f"{'':<10}{'':>9}{'':>7}{'':>7}{'seconds':>21}{'inertia':>20}")
    print(
        f"{'vectors':<10}{'items':>9}{'most':>7}{'elbow':>7}{'CluSearch':>12}{'k-means':>9}"
        f"{'balanced':>11}{'plain':>9}{'plain sizes':>12}"
    )
    for items in (*ITEMS, LARGE) if arguments.large else ITEMS:
        measure("topics", around_topics(items))
    for name, vectors in hidden_states(arguments.hidden).items() if arguments.hidden else ():
        measure(name, vectors)


if __name__ == "__main__":
    main()
