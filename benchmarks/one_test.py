"""Hedged bets on the draws on which they were measured beside exact tables: judgments, runs without an answer, wrong.

    python benchmarks/one_test.py DATA [--pairs 300] [--about like-these]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like; no judge is asked. The program of this name at commit
1d75f0b, the last one with the exact tables, has the same draws for each table of recorded verdicts and population: of
300 pairs of systems, at most 200 judgments (REALSumm: 100). The risk is 0.1, gap and margin are 10 points.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from score_tables import TABLES, score_table
from what_each_question_costs import RISK, pairs_of

from judgeloop.core.records import UNLIMITED, Population
from judgeloop.methods.stopping.bets import Bets, answers

GAP, LIMIT = 0.1, 200
ASKED: dict[str, dict[str, float]] = {"winner": {}, "min gap": {"min_gap": GAP}, "not worse": {"not_worse": GAP}}


def main() -> None:
    """Print a line for each table of recorded verdicts, population and question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--about", nargs="+", choices=list(Population), default=list(Population))
    given = parser.parse_args()
    print("| verdicts | about | question | judgments | open | wrong |\n" + "|---" * 6 + "|")
    for name, (file, tie, *_) in TABLES.items():
        found = pairs_of(score_table(given.data / file).scores, tie, given.pairs)
        for population in given.about:
            these, rng = population == Population.THESE_ITEMS, np.random.default_rng(7)
            size = min(map(len, found))
            most = min(LIMIT, size)
            if these:  # one size of pool, which the other population keeps
                found = [rng.permutation(pair)[:size] for pair in found]
            draws = np.array([rng.permutation(pair)[:most] if these else rng.choice(pair, most) for pair in found])
            gaps = np.array([pair.mean() for pair in found])
            for question, asked in ASKED.items():
                rule = Bets(RISK, size if these else UNLIMITED, most, **asked)
                when, which = answers(rule.begin, draws.astype(np.int64))
                first, second = (-asked.get("min_gap", 0.0), asked.get("min_gap", asked.get("not_worse", 0.0)))
                wrong = ((which == 0) & (gaps <= first)) | ((which == 1) & (gaps >= second))
                shares = f"{np.mean(which < 0):.1%} | {wrong.mean():.1%}"
                print(f"| {name} | {population} | {question} | {when.mean():.1f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
