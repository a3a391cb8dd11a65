"""How wide the bounds of the gap are, and how often they are wrong.

    python benchmarks/gap_bounds.py DATA [--runs 2000] [--pairs 200]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is asked.
Each run draws two systems and 200 items of theirs with replacement (REALSumm: 100), so that all items
of the table are the population. The default rule ends it at a risk of 0.1, and each bound has that risk, too.
The first table has how often a winner is named, and how often the bounds, and an interval for one look,
miss the gap at the end of the run. The second has the width after
a number of judgments, as a multiple of the width of that interval. This is Wilson's for a mean of
scores, with the same risk on each side (`methods/stats/intervals.py`); `--pairs` runs are measured.
The third has the same for 90 % intervals of scores of right and wrong, as `estimate` states them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from score_tables import TABLES, score_table
from what_each_question_costs import RISK, pairs_of

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.intervals import interval_at_once
from judgeloop.methods.stats.strata import Moments
from judgeloop.methods.stopping.bets import Bets, answers

NUMBERS = (20, 50, 100, 200)
Preferences = NDArray[np.int8]


def once(preferences: Preferences, risk: float = RISK) -> tuple[float, float]:
    """Return the interval of one look for the gap."""
    number, scores = len(preferences), (1 + preferences) / 2
    moments = Moments(float(scores.mean()), float(scores.var(ddof=1)) / number, number - 1)
    low, high = interval_at_once(moments, number, UNLIMITED, 2 * risk) or (0.0, 1.0)
    return 2 * low - 1, 2 * high - 1


def show_ends(name: str, drawn: Preferences, gaps: NDArray[np.float64]) -> None:
    """Print a line of the first table."""
    rule = Bets(RISK, UNLIMITED, drawn.shape[1])
    judged, sides = answers(rule.begin, drawn.astype(np.int64))
    runs = [one[:number] for one, number in zip(drawn, judged, strict=True)]
    both = np.array([_bounds(rule, one)[:, -1] * (1, -1) for one in runs])
    wrong = (both[:, 0] > gaps + 1e-9) | (both[:, 1] < gaps - 1e-9)
    looks = [once(one) for one in runs]
    plain = [not low <= gap <= high for (low, high), gap in zip(looks, gaps, strict=True)]
    shares = [np.mean(sides >= 0), np.mean(wrong), np.mean(plain)]
    print(f"| {name} | {judged.mean():.0f} | {' | '.join(f'{one:.1%}' for one in shares)} |", flush=True)


def _bounds(rule: Bets, preferences: Preferences) -> NDArray[np.float64]:
    """Lower bounds after each judgment, of the first system's gap and of the second's."""
    sides = [[replace(bets, null=float(np.asarray(bets.null)[side])) for bets in rule.begin] for side in (0, 1)]
    return lower_bounds(np.array([preferences, -preferences]), rule.threshold, rule.most, asked=sides)


def show_widths(name: str, drawn: Preferences, risk: float = RISK) -> None:
    """Print a line of the second or third table; `risk` is that of a bound."""
    rule = Bets(risk, UNLIMITED, drawn.shape[1])
    widths = -np.array([_bounds(rule, one).sum(axis=0) for one in drawn])
    cells = []
    for number in [number for number in NUMBERS if number <= drawn.shape[1]]:
        usual = np.mean([high - low for low, high in (once(one[:number], risk) for one in drawn)])
        own = widths[:, number - 1].mean()
        cells.append(f"{own:.2f}, {own / usual:.2f} times")
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
    print("| verdicts | judgments | winner | bounds miss | one look misses |\n" + "|---" * 5 + "|")
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
