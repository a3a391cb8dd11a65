"""What `decisive` takes at 5 % wrong and 5 % undecided where threshold and `--give-up` are chosen on other systems than they are tried on.

    python benchmarks/decisive_held_out.py DATA [--runs 16800] [--splits 200] [--power 1.6 1.8 2 2.2]

The systems of AlpacaEval's table by GPT-4 are cut in half again and again. Among the pairs of one half the threshold of `calibrated`'s
statistic and the chance under which a run is given up are taken that need the fewest judgments with at most 5 % wrong and 5 % undecided; the
pairs of the other half say what these come to. The histories, of 16 systems, are never of a pair's own two. Beside it the pairs are cut in
half, and nothing is held out. With several exponents of the weights each is tried, and then that is chosen too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from decisive_curves import PREDICTIVE, Runs
from decisive_variants import Setting, built, read, run
from decisive_weights import Floats
from numpy.typing import NDArray

from judgeloop.stats.decisiveness import exponent

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
    parser.add_argument(
        "--power", type=float, nargs="+", help="exponents, in place of the built one"
    )
    given = parser.parse_args()
    recordings = read(given.data / "alpacaeval" / "verdicts-gpt4.csv.gz", 0.0)
    powers = given.power or [exponent(HISTORY)]
    drawn = run(
        Setting("GPT-4", recordings, HISTORY, {f"{power:g}": built(power) for power in powers}),
        given.runs,
    )
    ends = {name: ends_of(runs) for name, runs in drawn.items()}
    if len(ends) > 1:
        ends["chosen too"] = np.concatenate(list(ends.values()))
    pairs = np.array([(head["first"], head["second"]) for head in next(iter(drawn.values())).heads])
    print(
        "| exponent | held out | splits | judgments | wrong % | undecided % |\n" + "|---" * 6 + "|"
    )
    for held_out, splits in cuts(pairs, len(recordings.systems), given.splits).items():
        for name, ways in ends.items():
            print(f"| {name} " + line(held_out, ways, splits), flush=True)


def cuts(
    pairs: NDArray[np.int64], systems: int, splits: int
) -> dict[str, list[tuple[Chosen, Chosen]]]:
    """Which runs, of these `pairs`, to choose on and which to try on: nothing held out, half of the pairs, half of the systems."""
    rng = np.random.default_rng(0)
    everything = np.ones(len(pairs), dtype=np.bool_)
    _, number = np.unique(pairs, axis=0, return_inverse=True)
    halves = [rng.permutation(number.max() + 1)[number.ravel()] % 2 == 0 for _ in range(splits)]
    sides = [rng.permutation(systems)[pairs] % 2 for _ in range(splits)]
    apart = [((side == 0).all(axis=1), (side == 1).all(axis=1)) for side in sides]
    return {
        "nothing": [(everything, everything)],
        "half of the pairs": [one for half in halves for one in ((half, ~half), (~half, half))],
        "half of the systems": [one for a, b in apart for one in ((a, b), (b, a))],
    }


def ends_of(runs: Runs) -> Floats:
    """Judgments, wrong and undecided of every run by every way to end it: shape (ways, 3, runs)."""
    found = [runs.ended(PREDICTIVE, THRESHOLDS, give_up) for give_up in GIVE_UP]
    return np.stack(found, axis=1).reshape(-1, 3, len(runs.heads))


def line(name: str, ends: Floats, splits: list[tuple[Chosen, Chosen]]) -> str:
    """What was chosen on the first of each two sets of runs, tried on the second: means, and standard deviations over the splits."""
    found = []
    for chosen_on, tried_on in splits:
        means = ends[:, :, chosen_on].mean(axis=2)
        good = np.flatnonzero((means[:, 1:] <= MOST).all(axis=1))
        if len(good):
            found.append(ends[good[np.argmin(means[good, 0])]][:, tried_on].mean(axis=1))
    means, deviations = (
        np.mean(found, axis=0) * (1, 100, 100),
        np.std(found, axis=0) * (1, 100, 100),
    )
    cells = [
        f"{mean:.1f} (± {deviation:.1f})" for mean, deviation in zip(means, deviations, strict=True)
    ]
    return f"| {name} | {len(found)} of {len(splits)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
