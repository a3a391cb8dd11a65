"""The exact rules beside hedged bets, on recorded verdicts: judgments, runs without an answer, wrong answers, widths.

    python benchmarks/one_test.py DATA [--pairs 300] [--limit 200] [--risk 0.1] [--about like-these]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like; no judge is asked. Three questions are asked about pairs of
systems drawn at random: which is better, which to choose up to a gap of 10 points, and whether the second is not worse
by 10 points. About items like these, verdicts are drawn from a pair's items with replacement; about these items, the
items come in a random order. Both ways read the same verdicts, but for the exact tables, whose chances are computed
from the pair's shares. "Width" is that of the gap's interval after all judgments that the limit allows, in 30 pairs.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from confidence_sequence import LowerBound
from hedged import HedgedBets
from numpy.typing import NDArray
from score_tables import TABLES, score_table
from what_each_question_costs import by_table, pairs_of

from judgeloop.core.records import UNLIMITED, Population
from judgeloop.methods.stats.betting import bound
from judgeloop.methods.stats.exact_tables import not_worse, within
from judgeloop.methods.stopping.sequential import Sequential

GAP, LEAST, MEASURED = 0.1, 5, 30


def hedged(
    draws: NDArray[np.int8],
    sizes: NDArray[np.int64] | None,
    nulls: tuple[float, float],
    zones: tuple[float, float],
    risk: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Follow runs, shape (runs, draws): the draw of each answer, or the last, and the side: 0, 1, or -1 without one."""
    runs, limit = draws.shape
    items = math.inf if sizes is None else sizes
    blank = {name: np.zeros(runs) for name in ("total", "square", "fourth")}
    start = {"wealth": np.ones(runs), "peak": np.ones(runs)}
    sides = [
        HedgedBets(risk, null, limit, float(np.min(items)), zone=zone, **blank, **start)
        for null, zone in zip(nulls, zones, strict=True)
    ]
    when, side = np.full(runs, limit), np.full(runs, -1)
    for t in range(limit):
        sides = [bets.after(sign * draws[:, t]) for bets, sign in zip(sides, (1, -1), strict=True)]
        for which, bets in enumerate(sides):
            new = bets.ruled_out & (side < 0) & (t + 1 >= LEAST)
            when[new], side[new] = t + 1, which
    return when, side


def line(
    name: str, about: str, question: str, today: tuple[float, float, float], ours: tuple[float, float, float]
) -> str:
    """A line of figures: judgments, share without an answer and wrong, today and ours, and the ratio of judgments."""
    figures = "".join(f"{judged:>8.1f}{none:>8.1%}{wrong:>8.2%}" for judged, none, wrong in (today, ours))
    return f"{name:<24}{about:<12}{question:<10}{figures}{ours[0] / today[0]:>8.3f}"


def measure(data: Path, pairs: int, limit: int, risk: float, about: list[str]) -> None:
    """Print a line for each table of recorded verdicts, population and question."""
    print(f"{pairs} pairs, at most {limit} judgments, risk {risk:g} a side, gap {GAP:g}")
    head = f"{'judged':>8}{'open':>8}{'wrong':>8}"
    print(f"{'verdicts':<24}{'about':<12}{'question':<10}{head}{head}{'ratio':>8}")
    for name, (file, tie, *_) in TABLES.items():
        found = pairs_of(score_table(data / file).scores, tie, pairs)
        gaps = np.array([float(pair.mean()) for pair in found])
        for population in about:
            these = population == Population.THESE_ITEMS
            rng = np.random.default_rng(7)
            most = min(limit, *map(len, found))
            if these:  # one size of pool, so that all runs go on together
                size = min(map(len, found))
                found = [rng.permutation(pair)[:size] for pair in found]
                gaps = np.array([float(pair.mean()) for pair in found])
            draws = np.array([rng.permutation(p)[:most] if these else rng.choice(p, most) for p in found])
            sizes = np.array([len(p) for p in found]) if these else None
            rule = Sequential(risk, len(found[0]) if these else UNLIMITED, most)
            met = rule.met_along_each(draws, rule.items, np.array([risk]))[0][:, LEAST - 1 :]
            when = np.where(met.any(axis=1), met.argmax(axis=1) + LEAST, most)
            lead = np.array([draws[i, :n].sum() for i, n in enumerate(when)])
            wrong = met.any(axis=1) & (lead * gaps <= 0)
            today = float(when.mean()), float(1 - met.any(axis=1).mean()), float(wrong.mean())
            asked = {"winner": ((0.0, 0.0), (0.0, 0.0), None)}
            asked["min gap"] = ((-GAP, -GAP), (GAP, GAP), within(GAP))
            # Passing, the second side, rules out that it is worse by the margin; failing, the first, that it is not.
            asked["not worse"] = ((0.0, -GAP), (GAP / 2, GAP / 2), not_worse(GAP))
            for question, (nulls, zones, zone) in asked.items():
                at, side = hedged(draws, sizes, nulls, zones, risk)
                true = np.where(side == 0, gaps > nulls[0], -gaps > nulls[1])
                ours = float(at.mean()), float((side < 0).mean()), float(((side >= 0) & ~true).mean())
                if zone is not None:
                    rows = [by_table(p, zone, most, len(p) if these else None) for p in found]
                    mean = np.mean(rows, axis=0)
                    today = float(mean[0]), float(1 - mean[1] - mean[2]), float(mean[3])
                print(line(name, population, question, today, ours), flush=True)
            widths = np.array([_widths(draws[i], len(found[i]) if these else None, risk) for i in range(MEASURED)])
            was, now = widths.mean(axis=0)
            print(
                f"{name:<24}{population:<12}{'width':<10}{was:>8.3f}{'':>16}{now:>8.3f}{'':>16}{now / was:>8.3f}",
                flush=True,
            )


def _widths(draws: NDArray[np.int8], items: int | None, risk: float) -> tuple[float, float]:
    """Widths of the gap's interval after all draws: by bets, and by the sequence for which a winner is asked."""
    today = -sum(bound(sign * draws, items or UNLIMITED, risk) for sign in (1, -1))
    ours = 0.0
    for sign in (1, -1):
        size = math.inf if items is None else float(items)
        low = LowerBound(risk, len(draws), size, asked=HedgedBets(risk, 0.0, len(draws), size))
        for score in (sign * draws).tolist():
            low = low.after(float(score))
        ours -= low.bound
    return today, ours


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--risk", type=float, default=0.1)
    parser.add_argument("--about", nargs="+", choices=list(Population), default=list(Population))
    given = parser.parse_args()
    measure(given.data, given.pairs, given.limit, given.risk, given.about)


if __name__ == "__main__":
    main()
