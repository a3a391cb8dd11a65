"""How wide the bounds of the gap are, and how often 0 is within them where a winner is named.

    python benchmarks/gap_bounds.py DATA [--runs 2000] [--pairs 200]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is asked.
Each run draws two systems and 200 items of theirs with replacement (REALSumm: 100), so that all items
of the table are the population. `sequential` ends it at a risk of 0.1, and each bound has that risk, too.
The first table has what share of the runs with a winner has 0 within the bounds, and how often the
bounds, and an interval for one look, miss the gap at the end of the run. The second has the width after
a number of judgments, as a multiple of the width of that interval. This is Wilson's for a mean of
scores, with the same risk on each side (`methods/stats/intervals.py`); `--pairs` runs are measured.
The third has the same for 90 % intervals of scores of right and wrong, as `estimate` states them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from score_tables import TABLES, score_table
from what_each_question_costs import RISK, pairs_of

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.betting import interval_of_bounds, risk_by_bets
from judgeloop.methods.stats.intervals import interval_at_once
from judgeloop.methods.stats.strata import Moments
from judgeloop.methods.stopping.sequential import Sequential

NUMBERS = (20, 50, 100, 200)
Preferences = NDArray[np.int8]


def once(preferences: Preferences, risk: float = RISK) -> tuple[float, float]:
    """Return the interval of one look for the gap."""
    number, scores = len(preferences), (1 + preferences) / 2
    moments = Moments(float(scores.mean()), float(scores.var(ddof=1)) / number, number - 1)
    low, high = interval_at_once(moments, number, UNLIMITED, 2 * risk) or (0.0, 1.0)
    return 2 * low - 1, 2 * high - 1


def ends(drawn: Preferences) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return after how many judgments each run ends, and which side it names: 1, -1, or 0 for none."""
    met = Sequential(RISK, UNLIMITED, drawn.shape[1]).met_along_each(drawn, UNLIMITED, np.array([RISK]))[0]
    first = np.where(met.any(axis=1), met.argmax(axis=1), drawn.shape[1] - 1)
    leads = np.cumsum(drawn, axis=1, dtype=np.int64)[np.arange(len(drawn)), first]
    return first + 1, np.sign(leads) * met.any(axis=1)


def missed(preferences: Preferences, gap: float) -> bool:
    """Return whether a bound is wrong: bets against the true gap have reached 1/risk."""
    return any(risk_by_bets(side * preferences, UNLIMITED, side * gap + 1e-9) <= RISK for side in (1, -1))


def show_ends(name: str, drawn: Preferences, gaps: NDArray[np.float64]) -> None:
    """Print a line of the first table."""
    judged, sides = ends(drawn)
    runs = [one[:number] for one, number in zip(drawn, judged, strict=True)]
    zero = [risk_by_bets(np.sign(side) * one, UNLIMITED) > RISK for one, side in zip(runs, sides, strict=True) if side]
    wrong = [missed(one, gap) for one, gap in zip(runs, gaps, strict=True)]
    looks = [once(one) for one in runs]
    plain = [not low <= gap <= high for (low, high), gap in zip(looks, gaps, strict=True)]
    shares = [np.mean(sides != 0), np.mean(zero), np.mean(wrong), np.mean(plain)]
    print(f"| {name} | {judged.mean():.0f} | {' | '.join(f'{one:.1%}' for one in shares)} |", flush=True)


def show_widths(name: str, drawn: Preferences, risk: float = RISK) -> None:
    """Print a line of the second or third table; `risk` is that of a bound."""
    cells = []
    for number in [number for number in NUMBERS if number <= drawn.shape[1]]:
        own = [interval_of_bounds(one[:number], -one[:number], UNLIMITED, risk) for one in drawn]
        other = [once(one[:number], risk) for one in drawn]
        widths, usual = (np.mean([high - low for low, high in found]) for found in (own, other))
        cells.append(f"{widths:.2f}, {widths / usual:.2f} times")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=200)
    given = parser.parse_args()
    sets: dict[str, tuple[Preferences, NDArray[np.float64]]] = {}
    for name, (file, tie, _) in TABLES.items():
        found = pairs_of(score_table(given.data / file).scores, tie, given.runs)
        rng, most = np.random.default_rng(13), 100 if name.startswith("REAL") else max(NUMBERS)
        drawn = np.array([rng.choice(pair, most) for pair in found])
        sets[name] = drawn, np.array([pair.mean() for pair in found])
    print("| verdicts | judgments | winner | 0 within | bounds miss | one look misses |\n" + "|---" * 6 + "|")
    for name, both in sets.items():
        show_ends(name, *both)
    print("\n| verdicts | " + " | ".join(map(str, NUMBERS)) + " |\n" + "|---" * 5 + "|")
    for name, (drawn, _) in sets.items():
        show_widths(name, drawn[: given.pairs])
    print("\n| right | " + " | ".join(map(str, NUMBERS)) + " |\n" + "|---" * 5 + "|")
    for right in (0.5, 0.7, 0.9):
        rng = np.random.default_rng(17)
        drawn = np.where(rng.random((given.pairs, max(NUMBERS))) < right, 1, -1).astype(np.int8)
        show_widths(f"{right:.0%}", drawn, RISK / 2)


if __name__ == "__main__":
    main()
