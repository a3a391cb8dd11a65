"""Measures the time of CluSearch, and of plain k-means with the same numbers of clusters.

    python benchmarks/cluster_search.py [--items 1000 4000 18000] [--large] [--hidden FILE]

There is a line for each number of items. The number of clusters is at most a fortieth of the number
of items: a cluster for every four judgments, with a tenth of the items judged. The vectors of 64
numbers are drawn around a few hundred topics of unequal size. With `--hidden`, the 64 principal
components of each two-dimensional array in FILE are added; NumPy must be able to load FILE.
`--large` adds 100,000 items, which takes long. The time of making the vectors does not count.

Inertia is a share of the inertia of one cluster. The last column has the numbers of items in the
smallest and in the largest cluster of plain k-means.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from judgeloop.papers.actracer.clusters import strata_by_clusters

ITEMS = [1000, 4000, 18_000]
LARGE = 100_000
DIMENSIONS = 64
TOPICS = 300


def around_topics(items: int) -> np.ndarray:
    """Draw vectors around topics of unequal size, shape (items, dimensions)."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(TOPICS, DIMENSIONS))
    topic = np.minimum(rng.geometric(0.01, size=items) - 1, TOPICS - 1)
    return (topics[topic] + rng.normal(size=(items, DIMENSIONS))).astype(np.float32)


def hidden_states(file: str) -> dict[str, np.ndarray]:
    """Return the principal components of each two-dimensional array in the file, by its name."""
    with np.load(file) as arrays:
        vectors = {name: arrays[name] for name in arrays.files if arrays[name].ndim == 2}
    return {
        name: PCA(min(DIMENSIONS, *states.shape), random_state=0).fit_transform(states.astype(np.float32))
        for name, states in vectors.items()
    }


def measure(name: str, vectors: np.ndarray) -> None:
    """Print a line: the seconds of both methods, and their inertia and sizes at the elbow."""
    began = time.perf_counter()
    labels, searched = strata_by_clusters(vectors, len(vectors) // 40, np.random.default_rng(0))
    middle = time.perf_counter()
    with warnings.catch_warnings():
        # k-means warns where there are fewer distinct vectors than clusters.
        warnings.simplefilter("ignore")
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=ITEMS)
    parser.add_argument("--large", action="store_true", help="add 100,000 items, which takes long")
    parser.add_argument("--hidden", help="file of hidden states, in NumPy's format")
    arguments = parser.parse_args()
    print(f"{'':<10}{'':>9}{'':>7}{'':>7}{'seconds':>21}{'inertia':>20}")
    print(
        f"{'vectors':<10}{'items':>9}{'most':>7}{'elbow':>7}{'CluSearch':>12}{'k-means':>9}"
        f"{'balanced':>11}{'plain':>9}{'plain sizes':>12}"
    )
    for items in (*arguments.items, LARGE) if arguments.large else arguments.items:
        measure("topics", around_topics(items))
    for name, vectors in hidden_states(arguments.hidden).items() if arguments.hidden else ():
        measure(name, vectors)


if __name__ == "__main__":
    main()
