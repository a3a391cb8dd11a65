"""Decisions about these items and about items like these, on recorded verdicts of sets of each size.

    python benchmarks/populations.py DATA [--pairs 1000] [--sizes 25 50 100 200 400 600 805]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is
asked. Each run draws two systems and so many of the items at random; the default rule looks at the
verdicts one after another, at a risk of 0.1, up to 200 judgments. A decision is contradicted
if the other system leads on the items that were left out; of a whole set none are. A system that
leads on all items of the set without a decision is not named in a run about items like these; in a
run about these items it is, if the limit covers them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from score_tables import TABLES, score_table
from what_each_question_costs import RISK, pairs_of

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stopping.bets import Bets

LIMIT = 200
VERDICTS = {name: (file, tie) for name, (file, tie, _) in TABLES.items()}
VERDICTS["REALSumm ROUGE-L"] = "realsumm/verdicts-rougeL.csv.gz", 0.0


def sets_of(scores: NDArray[np.float64], tie: float, size: int, pairs: int) -> list[NDArray[np.int8]]:
    """Return the preferences between pairs of systems, in random orders; those with enough items."""
    rng = np.random.default_rng([3, size])
    return [rng.permutation(pair) for pair in pairs_of(scores, tie, pairs) if len(pair) >= size]


def named(sets: NDArray[np.int8], size: int, items: int) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return the side that each run names, 1, -1 or 0, and its number of judgments."""
    most = min(LIMIT, size)
    rule = Bets(RISK, items, most)
    met = rule.met_along_each(sets[:, :most], items, np.array([RISK]))[0]
    decided, first = met.any(axis=1), met.argmax(axis=1)
    leads = np.sign(np.cumsum(sets[:, :size], axis=1, dtype=np.int64)).astype(np.int8)
    sides = np.where(decided, np.take_along_axis(leads, first[:, None], axis=1)[:, 0], 0)
    if items == size == most:  # the last item decides
        sides = np.where(decided, sides, leads[:, -1])
    return sides.astype(np.int8), np.where(decided, first + 1, most)


def show(name: str, size: int, whole: list[NDArray[np.int8]]) -> None:
    """Print a line for each population."""
    sets = np.array([pair[:size] for pair in whole])
    rest = np.array([np.sign(pair[size:].sum(dtype=np.int64)) for pair in whole])
    left_out = any(len(pair) > size for pair in whole)
    for about, items in (("items", size), ("like-these", UNLIMITED)):
        sides, judged = named(sets, size, items)
        decided = sides != 0
        wrong = decided & (rest == -sides)
        columns = f"{judged.mean():>10.0f}{1 - decided.mean():>10.1%}"
        if left_out:
            columns += f"{wrong.mean():>12.1%}{wrong.sum() / max(1, decided.sum()):>16.1%}"
        print(f"{name:<26}{size:>6}  {about:<12}{columns}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25, 50, 100, 200, 400, 600, 805])
    given = parser.parse_args()
    head = f"{'judgments':>10}{'undecided':>10}{'contradicted':>13}{'of the decided':>15}"
    print(f"{given.pairs} pairs, risk {RISK}, at most {LIMIT} judgments")
    print(f"{'verdicts':<26}{'items':>6}  {'about':<12}{head}")
    for name, (file, tie) in VERDICTS.items():
        _, _, scores = score_table(given.data / file)
        for size in given.sizes:
            whole = sets_of(scores, tie, size, given.pairs)
            if whole:
                show(name, size, whole)


if __name__ == "__main__":
    main()
