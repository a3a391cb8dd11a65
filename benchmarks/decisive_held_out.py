r"""Measures what `decisive` needs when its settings are chosen on other systems than tested on.

    python benchmarks/decisive_held_out.py DATA [--runs 16800] [--splits 200] \
        [--power 1.6 1.8 2 2.2]

The settings are the threshold of `calibrated`'s statistic and the chance under which a run gives up
(`--give-up`). The systems of AlpacaEval's table by GPT-4 are split in half many times. On the pairs
of one half, the script chooses the settings that need the fewest judgments with at most 5 % wrong
and at most 5 % undecided. It tests them on the pairs of the other half. A history has 16 systems,
never one of the pair's own two. For comparison, the pairs are split in half, and nothing is held
out. With several exponents of the weights, each is tested, and then the exponent is chosen too.

DATA is as for `benchmarks/results.py`; no judge is asked.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from decisive_curves import PREDICTIVE, Runs
from decisive_variants import Setting, built, read, run
from decisive_weights import Floats
from numpy.typing import NDArray

from judgeloop.methods.stats.decisiveness import exponent

HISTORY = 16  # number of systems
THRESHOLDS = np.geomspace(0.08, 0.35, 16)
GIVE_UP = (0.0, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5)
MOST = 0.05  # highest share of wrong runs, and of undecided runs

Chosen = NDArray[np.bool_]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--runs", type=int, default=16_800, help="number of runs of each exponent")
    parser.add_argument("--splits", type=int, default=200, help="number of random halves")
    parser.add_argument(
        "--power", type=float, nargs="+", help="exponents of the weights, in place of the exponent of `decisive`"
    )
    given = parser.parse_args()
    recordings = read(given.data / "alpacaeval" / "verdicts-gpt4.csv.gz", 0.0)
    powers = given.power or [exponent(HISTORY)]
    drawn = run(Setting("GPT-4", recordings, HISTORY, {f"{power:g}": built(power) for power in powers}), given.runs)
    ends = {name: ends_of(runs) for name, runs in drawn.items()}
    if len(ends) > 1:
        ends["chosen too"] = np.concatenate(list(ends.values()))
    pairs = np.array([(head["first"], head["second"]) for head in next(iter(drawn.values())).heads])
    print("| exponent | held out | splits | judgments | wrong % | undecided % |\n" + "|---" * 6 + "|")
    for held_out, splits in cuts(pairs, len(recordings.systems), given.splits).items():
        for name, ways in ends.items():
            print(f"| {name} " + line(held_out, ways, splits), flush=True)


def cuts(pairs: NDArray[np.int64], systems: int, splits: int) -> dict[str, list[tuple[Chosen, Chosen]]]:
    """Split the runs into those to choose on and those to test on, in three ways.

    `pairs`, shape (runs, 2), are the two systems of each run. Held out are no runs, half of the
    pairs, or half of the systems. Each half is chosen on once and tested on once. Pairs with one
    system in each half of the systems are left out.
    """
    rng = np.random.default_rng(0)
    everything = np.ones(len(pairs), dtype=np.bool_)
    _, number = np.unique(pairs, axis=0, return_inverse=True)
    halves = [rng.permutation(number.max() + 1)[number.ravel()] % 2 == 0 for _ in range(splits)]
    sides = [rng.permutation(systems)[pairs] % 2 for _ in range(splits)]
    apart = [((side == 0).all(axis=1), (side == 1).all(axis=1)) for side in sides]
    return {
        "nothing": [(everything, everything)],
        "half of the pairs": [split for half in halves for split in ((half, ~half), (~half, half))],
        "half of the systems": [split for a, b in apart for split in ((a, b), (b, a))],
    }


def ends_of(runs: Runs) -> Floats:
    """Return judgments, wrong and undecided of every run, shape (ways, 3, runs).

    A way to end a run is a threshold with a chance under which the run gives up.
    """
    found = [runs.ended(PREDICTIVE, THRESHOLDS, give_up) for give_up in GIVE_UP]
    return np.stack(found, axis=1).reshape(-1, 3, len(runs.heads))


def line(name: str, ends: Floats, splits: list[tuple[Chosen, Chosen]]) -> str:
    """Choose on the first set of runs of each split, and test on the second set.

    Returns a line with means and standard deviations over the splits.
    """
    found = []
    for chosen_on, tried_on in splits:
        means = ends[:, :, chosen_on].mean(axis=2)
        good = np.flatnonzero((means[:, 1:] <= MOST).all(axis=1))
        if len(good):
            found.append(ends[good[np.argmin(means[good, 0])]][:, tried_on].mean(axis=1))
    means, deviations = (np.mean(found, axis=0) * (1, 100, 100), np.std(found, axis=0) * (1, 100, 100))
    cells = [f"{mean:.1f} (± {deviation:.1f})" for mean, deviation in zip(means, deviations, strict=True)]
    return f"| {name} | {len(found)} of {len(splits)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
