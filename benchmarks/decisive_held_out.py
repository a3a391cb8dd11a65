"""What `decisive` takes at 5 % wrong and 5 % undecided where threshold and `--give-up` are chosen on other systems than they are tried on.

    python benchmarks/decisive_held_out.py DATA [--runs 16800] [--splits 200]

The systems of AlpacaEval's table by GPT-4 are cut in half again and again. Among the pairs of one half the threshold of `calibrated`'s
statistic and the chance under which a run is given up are taken that need the fewest judgments with at most 5 % wrong and 5 % undecided; the
pairs of the other half say what these come to. The histories, of 16 systems, are never of a pair's own two. Beside it the pairs are cut in
half, and nothing is held out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from decisive_curves import Predictive, Runs, predictive
from decisive_variants import Setting, built, read, run
from decisive_weights import Floats
from numpy.typing import NDArray

HISTORY = 16
THRESHOLDS = np.geomspace(0.08, 0.35, 16)
GIVE_UP = (0.0, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5)
MOST = 0.05  # wrong, and undecided

Chosen = NDArray[np.bool_]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=16_800)
    parser.add_argument("--splits", type=int, default=200)
    given = parser.parse_args()
    recordings = read(given.data / "alpacaeval" / "verdicts-gpt4.csv.gz", 0.0)
    runs = run(Setting("GPT-4", recordings, HISTORY, {"decisive": built()}), given.runs)["decisive"]
    ends = ends_of(runs)
    pairs = np.array([(head["first"], head["second"]) for head in runs.heads])
    rng = np.random.default_rng(0)
    print("| held out | splits | judgments | wrong % | undecided % |\n|---|---|---|---|---|")
    everything = np.ones(len(pairs), dtype=np.bool_)
    print(line("nothing", ends, [(everything, everything)]))
    _, number = np.unique(pairs, axis=0, return_inverse=True)
    halves = [rng.permutation(number.max() + 1)[number.ravel()] % 2 == 0 for _ in range(given.splits)]
    print(line("half of the pairs", ends, [side for half in halves for side in ((half, ~half), (~half, half))]))  # fmt: skip
    sides = [rng.permutation(len(recordings.systems))[pairs] % 2 for _ in range(given.splits)]
    cut = [((side == 0).all(axis=1), (side == 1).all(axis=1)) for side in sides]
    print(line("half of the systems", ends, [one for a, b in cut for one in ((a, b), (b, a))]))


def ends_of(runs: Runs) -> Floats:
    """Judgments, wrong and undecided of every run by every way to end it: shape (ways, 3, runs)."""
    risks, leads = runs.paths(predictive)
    found = []
    for threshold in THRESHOLDS:
        chances = runs.chances(Predictive(threshold))
        for give_up in GIVE_UP:
            asked, named = runs.stopped(risks, leads, threshold, chances < give_up)
            found.append([asked, named == -1, named == 0])
    return np.array(found, dtype=np.float64)


def line(name: str, ends: Floats, splits: list[tuple[Chosen, Chosen]]) -> str:
    """What was chosen on the first of each two sets of runs, tried on the second: means, and standard deviations over the splits."""
    found = []
    for chosen_on, tried_on in splits:
        means = ends[:, :, chosen_on].mean(axis=2)
        good = np.flatnonzero((means[:, 1:] <= MOST).all(axis=1))
        if len(good):
            found.append(ends[good[np.argmin(means[good, 0])]][:, tried_on].mean(axis=1))
    means, deviations = np.mean(found, axis=0) * (1, 100, 100), np.std(found, axis=0) * (1, 100, 100)
    cells = [f"{mean:.1f} (± {deviation:.1f})" for mean, deviation in zip(means, deviations, strict=True)]
    return f"| {name} | {len(found)} of {len(splits)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
