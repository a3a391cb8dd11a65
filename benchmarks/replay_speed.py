"""Time of a DiffUse replay, against plain loops of NumPy and SciPy with one dendrogram, and with one for every number.

    python benchmarks/replay_speed.py [--items 400] [--pairs 6] [--seeds 3]

The replay cuts a dendrogram at several numbers of items judged (`sizes`). A plain loop computes it once in a
repetition, or a new linkage for each number, and nothing else. All give the same estimates, which is asserted. All are
timed in the same run, on random scores and vectors.
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


def plain(recordings: Recordings, pair: tuple[int, int], config: ReplayCompareSettings, *, anew: bool) -> list[float]:
    """Return the estimates of one pair, with one linkage in a repetition, or a new one for each number of items."""
    estimates = []
    for seed in range(config.seeds):
        contest = recordings.contest(pair, config.subset, np.random.default_rng([*pair, seed]))
        if contest.gap == 0:
            continue
        vectors = np.subtract(*recordings.output_vectors(contest))
        tree = None if anew else linkage(vectors, "ward")
        for budget in config.sizes:
            labels = fcluster(linkage(vectors, "ward") if tree is None else tree, budget, criterion="maxclust")
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
        selectors=("diffuse",), seeds=arguments.seeds, sizes=tuple(range(10, min(200, arguments.items) + 1, 10)),
    )  # fmt: skip
    spent = dict.fromkeys(("judgeloop", "one dendrogram", "new linkages"), 0.0)
    for pair in recordings.pairs(arguments.pairs, rng):
        found = []
        for name in spent:
            began = time.process_time()
            if name == "judgeloop":
                found.append([float(row["estimate"]) for row in run_pair(recordings, pair, config)])
            else:
                found.append(plain(recordings, pair, config, anew=name == "new linkages"))
            spent[name] += time.process_time() - began
        assert np.allclose(found[0], found[1])
        assert np.allclose(found[0], found[2])
    print(
        f"{arguments.pairs} pairs x {arguments.seeds} seeds x {len(config.sizes)}"
        f" numbers of items judged, {arguments.items} items; seconds of the processor, and times those of judgeloop"
    )
    for name, seconds in spent.items():
        print(f"{name:<16}{seconds:>8.2f} s{seconds / spent['judgeloop']:>8.2f} x")


if __name__ == "__main__":
    main()
