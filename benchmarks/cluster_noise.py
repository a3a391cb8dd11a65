"""How far balanced clusters hang on the last digits of the vectors; makes a table of docs/results/tables.md.

    python benchmarks/cluster_noise.py VECTORS [--layer middle] [--clusters 8,20,39,64]

VECTORS is a file of hidden states (`.npz`). Each number is multiplied by 1 and noise of a millionth, as much as
another processor or build rounds otherwise. Printed is how many items are in another cluster then.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.papers.actracer.clusters import balanced_kmeans
from judgeloop.papers.recorded import read_vectors
from judgeloop.papers.vectors import reduced

NOISE = 1e-6
REPETITIONS = 3


def clustered(states: NDArray[np.floating], clusters: int) -> NDArray[np.int64]:
    """Return each item's cluster, with the same draws each time."""
    return balanced_kmeans(reduced(states), clusters, np.random.default_rng(clusters)).labels


def main() -> None:
    """Print a line for each number of clusters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--layer", default="middle")
    parser.add_argument("--clusters", default="8,20,39,64")
    given = parser.parse_args()
    states = read_vectors(given.vectors).at_layer(given.layer).astype(np.float64)
    print("clusters   items in another cluster, in repetitions with other noise")
    for clusters in map(int, given.clusters.split(",")):
        exact, moved = clustered(states, clusters), []
        for seed in range(REPETITIONS):
            noise = NOISE * np.random.default_rng(seed).standard_normal(states.shape)
            moved.append(int((clustered(states * (1 + noise), clusters) != exact).sum()))
        print(f"{clusters:>8}   " + ", ".join(f"{one:,}" for one in moved), flush=True)


if __name__ == "__main__":
    main()
