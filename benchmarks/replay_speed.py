"""Time of a DiffUse replay with a shared dendrogram, against a new one for every number of items.

    python benchmarks/replay_speed.py [--items 400] [--pairs 6] [--seeds 3]

The replay cuts a dendrogram at several numbers of items judged (`sizes`). The baseline computes a
new linkage and a new cut for each of them. Both give the same estimates, which is asserted. Both
are timed in the same run, on random scores and vectors.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

from judgeloop.papers.diffuse.tree import closest_in_cosine
from judgeloop.replay.compare import Recordings, run_pair
from judgeloop.replay.settings import ReplayCompareSettings

SYSTEMS, DIMENSIONS = 5, 384


def plain(recordings: Recordings, pair: tuple[int, int], config: ReplayCompareSettings) -> list[float]:
    """Return the estimates of one pair, with a new linkage for each number of items judged."""
    estimates = []
    for seed in range(config.seeds):
        contest = recordings.contest(pair, config.subset, np.random.default_rng([*pair, seed]))
        if contest.gap == 0:
            continue
        for budget in config.sizes:
            vectors = np.subtract(*recordings.output_vectors(contest))
            labels = fcluster(linkage(vectors, "ward"), budget, criterion="maxclust")
            chosen = [closest_in_cosine(vectors, np.flatnonzero(labels == label)) for label in np.unique(labels)]
            estimates.append(float(contest.preferences[chosen].mean()))
    return estimates


def main() -> None:
    """Print both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(SYSTEMS, arguments.items))
    outputs = rng.normal(size=(SYSTEMS, arguments.items, DIMENSIONS))
    recordings = Recordings(tuple("abcde"), scores, outputs)
    config = ReplayCompareSettings(
        outputs=Path(), items=Path(), verdicts=Path(), output=Path(),  # nothing is read
        selectors=("diffuse",), seeds=arguments.seeds, sizes=tuple(range(10, 201, 10)),
    )  # fmt: skip
    ours = others = 0.0
    for pair in recordings.pairs(arguments.pairs, rng):
        began = time.perf_counter()
        rows = run_pair(recordings, pair, config)
        between = time.perf_counter()
        estimates = plain(recordings, pair, config)
        ours, others = ours + between - began, others + time.perf_counter() - between
        assert np.allclose([row["estimate"] for row in rows], estimates)
    print(
        f"{arguments.pairs} pairs x {arguments.seeds} seeds x {len(config.sizes)}"
        f" numbers of items judged, {arguments.items} items"
    )
    print(f"shared dendrogram {ours:.1f} s, new linkages {others:.1f} s: {others / ours:.1f} x")


if __name__ == "__main__":
    main()
