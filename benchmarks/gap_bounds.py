"""How wide the bounds of the gap are, and how often they are wrong.

    python benchmarks/gap_bounds.py DATA [--runs 2000] [--pairs 200]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is asked.
Each run draws two systems and 200 items of theirs with replacement (REALSumm: 100), so that all items
of the table are the population. The default rule ends it at a risk of 0.1, and each bound has that risk, too.
The first table has how often a winner is named, and how often the bounds, and an interval for one look,
miss the gap at the end of the run. The second has the width after
a number of judgments, as a multiple of the width of that interval. This is Wilson's for a mean of
scores, with the same risk on each side (`methods/stats/intervals.py`); `--pairs` runs are measured.
The third has the widths of 90 % intervals of scores, as `estimate` states them: exact, of scores of 0 and 1 after a
number of judgments that was fixed beforehand; the confidence sequence, whose stakes aim at that number, and one that
aims at the last; constant bets alone, without a plan; and Wilson's for one look, which misses too often. Bounds that
hold at every look were missed in at most so many runs ("ever missed").
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from score_tables import TABLES, score_table
from what_each_question_costs import RISK, pairs_of

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.betting import bound
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.intervals import exact_interval, interval_at_once
from judgeloop.methods.stats.strata import Moments
from judgeloop.methods.stopping.bets import Bets, answers

NUMBERS = (20, 50, 100, 200)
Preferences = NDArray[np.int8]


def once(preferences: Preferences | NDArray[np.float64], risk: float = RISK) -> tuple[float, float]:
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
    return lower_bounds(np.array([preferences, -preferences]), rule.threshold, rule.most, asked=rule.begin)


def show_widths(name: str, drawn: Preferences) -> None:
    """Print a line of the second table."""
    rule = Bets(RISK, UNLIMITED, drawn.shape[1])
    widths = -np.array([_bounds(rule, one).sum(axis=0) for one in drawn])
    cells = []
    for number in [number for number in NUMBERS if number <= drawn.shape[1]]:
        usual = np.mean([high - low for low, high in (once(one[:number]) for one in drawn)])
        own = widths[:, number - 1].mean()
        cells.append(f"{own:.2f}, {own / usual:.2f} times")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


# Scores of an estimate, and their mean.
SCORES: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]], float]] = {
    "right in 50 %": (lambda rng, shape: (rng.random(shape) < 0.5).astype(np.float64), 0.5),
    "right in 90 %": (lambda rng, shape: (rng.random(shape) < 0.9).astype(np.float64), 0.9),
    "right in 3 %": (lambda rng, shape: (rng.random(shape) < 0.03).astype(np.float64), 0.03),
    "1 to 10, mean 0.67": (lambda rng, shape: np.round(rng.beta(6, 3, shape) * 9) / 9, 2 / 3),
    "graded, mean 0.03": (lambda rng, shape: rng.beta(0.6, 19.4, shape), 0.03),
}


def show_scores(name: str, drawn: NDArray[np.float64], mean: float) -> None:
    """Print the lines of the third table for these scores."""
    signed = 2 * drawn - 1
    whole = [lower_bounds(np.array([one, -one]), RISK / 2, drawn.shape[1]) for one in signed]
    missed = [bool((low > 2 * mean - 1).any() or (high > 1 - 2 * mean).any()) for low, high in whole]
    for number in NUMBERS:
        own = [lower_bounds(np.array([one, -one])[:, :number], RISK / 2, number)[:, -1] for one in signed]
        constant = [bound(sign * one[:number], UNLIMITED, RISK / 2) for one in signed for sign in (1, -1)]
        ones = drawn[:, :number].sum(axis=1).round().astype(int).tolist()
        binary = np.isin(drawn, (0, 1)).all()
        exact = np.mean([np.diff(exact_interval(one, number, UNLIMITED, RISK)) for one in ones]) if binary else np.nan
        widths = (
            exact,
            -np.sum(own, axis=1).mean() / 2,
            -np.mean([one[:, number - 1].sum() for one in whole]) / 2,
            np.mean(missed),
            -np.mean(constant),
            np.mean([np.diff(once(one[:number], RISK / 2)) for one in signed]) / 2,
        )
        print(f"| {name} | {number} | " + " | ".join(f"{one:.3f}" for one in widths) + " |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--scores", action="store_true", help="the third table alone")
    given = parser.parse_args()
    sets: dict[str, tuple[Preferences, NDArray[np.float64]]] = {}
    for name, (file, tie, _) in () if given.scores else TABLES.items():
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
    ways = ("judgments", "exact", "sequence", "aims at the last", "ever missed", "constant bets", "one look")
    print("\n| scores | " + " | ".join(ways) + " |\n" + "|---" * (len(ways) + 1) + "|")
    for name, (draw, mean) in SCORES.items():
        show_scores(name, draw(np.random.default_rng(17), (given.pairs, max(NUMBERS))), mean)


if __name__ == "__main__":
    main()
