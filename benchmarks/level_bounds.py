"""What two refinements of a race's bounds would save, on recorded verdicts. Neither is built.

    python benchmarks/level_bounds.py DATA [--runs 40]

DATA is the folder `alpacaeval`. The first table counts how often the wealth against a system's true total
ever reaches 1/risk (`methods/stats/levels.py`), which it may with at most the risk, and at which wealth it
would be exactly the risk: what an exact calibration by counting could use. `race.py --risks 0.137` says
what that saves. The second table has the calls that it takes to rule out all rivals of the best, when
their answers are seen beside those of others that are known on all items (covariates).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from race import field

from judgeloop.core.records import TIE
from judgeloop.methods.stats.betting import BETS
from judgeloop.methods.stats.levels import STAKES

Floats = NDArray[np.float64]
ITEMS, RISKS = 400, (0.1, 0.2)
SLOPES = (0.0, 0.1, 0.2, 0.3, 0.5)


def wealth(
    scores: Floats, total: float, beside: Floats | None = None, slope: float = 0.0
) -> Floats:
    """Return the wealth of bets that the total of `scores` is below `total`, by draw.

    `beside`, of the same shape, is known on all items: what it foretells is taken off, times `slope`.
    """
    left = ITEMS - np.arange(len(scores))
    mean = (total - (np.cumsum(scores) - scores)) / left
    foretold = np.zeros(len(scores))
    rest = np.zeros(len(scores))
    if beside is not None:
        rest = slope * (beside.sum() - (np.cumsum(beside) - beside)) / left
        foretold = slope * beside - rest
    most_lost = 1 - mean + rest
    possible = (mean < 1) & (most_lost > 0)
    gain = np.divide(mean - scores + foretold, most_lost, out=np.zeros(len(scores)), where=possible)
    paths = np.cumprod(1 + np.maximum(gain, -1)[:, None] * BETS, axis=0) @ STAKES
    return np.where(np.maximum.accumulate(mean > 1), np.inf, paths)


def calibration_table(runs: int) -> None:
    """Print how often a bound fails, and the wealth at which it would fail just as often as stated."""
    print(
        "| win rate | ties | fails at 0.1 | at 0.2 | wealth for 0.1 | for 0.2 |\n|---|---|---|---|---|---|"
    )
    rng = np.random.default_rng(1)
    for level in (0.3, 0.5, 0.7, 0.9):
        for ties in (0.0, 0.2):
            tied = round(ties * ITEMS)
            won = round(level * ITEMS - tied / 2)
            scores = np.repeat([1.0, TIE, 0.0], [won, tied, ITEMS - won - tied])
            peaks = np.array(
                [wealth(rng.permutation(scores), scores.sum()).max() for _ in range(runs)]
            )
            fails = [f"{np.mean(peaks >= 1 / risk):.3f}" for risk in RISKS]
            needed = [f"{np.quantile(peaks, 1 - risk):.1f}" for risk in RISKS]
            print(f"| {level} | {ties} | {' | '.join(fails + needed)} |", flush=True)


def calls_until(path: Floats, risk: float = 0.1) -> int:
    """Return the calls after which the wealth first reaches 1/risk; all items if it never does."""
    reached = np.flatnonzero(path >= 1 / risk)
    return int(reached[0]) + 1 if len(reached) else ITEMS


def covariates_table(data: Path, runs: int) -> None:
    """Print the calls for all rivals of the best, whose total and answers are known, by slope."""
    scores, rng = field(data, "gpt4")[1], np.random.default_rng(2)
    print(
        f"| gap | {' | '.join(f'slope {slope}' for slope in SLOPES)} |\n|{'---|' * (1 + len(SLOPES))}"
    )
    for gap in (0.0, 0.05):
        calls = np.zeros(len(SLOPES))
        for _ in range(runs):
            pool = scores[:, rng.permutation(scores.shape[1])[:ITEMS]]
            best = int(pool.sum(axis=1).argmax())
            total = pool[best].sum() + gap / 2 * ITEMS
            for rival in np.delete(pool, best, axis=0):
                calls += [calls_until(wealth(rival, total, pool[best], slope)) for slope in SLOPES]
        print(f"| {gap} | {' | '.join(f'{each:,.0f}' for each in calls / runs)} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    given = parser.parse_args()
    calibration_table(100 * given.runs)
    covariates_table(given.data, given.runs)


if __name__ == "__main__":
    main()
