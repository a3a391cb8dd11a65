"""Decisions about these items and about items like these, on recorded verdicts of sets of each size.

    python benchmarks/populations.py DATA [--pairs 1000] [--sizes 25 50 100 200 400 600 805] [--only "MQM news"]

DATA holds `alpacaeval/verdicts-gpt4.csv.gz` and the like (item_id, model, score); no judge is
asked. Each run draws two systems and so many of the items at random; the default rule looks at the
verdicts one after another, at a risk of 0.1, up to 200 judgments. A decision is contradicted
if the other system leads on the items that were left out; of a whole set none are. A system that
leads on all items of the set without a decision is not named in a run about items like these; in a
run about these items it is, if the limit covers them.

Of verdicts on documents, the sets are also of consecutive items, as people cut test sets: then the items
are no independent draws. A last table is about sets of some of the documents, with each item a draw, and with each
document a draw, of which so many items are judged (`family-members`). A decision is then contradicted if the other
system leads on the documents that were left out, each of which counts once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
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
VERDICTS["MQM news"] = "mqm-news/verdicts-mqm.csv.gz", 0.0
DOCUMENTS = {"MQM news": "mqm-news/items.jsonl"}  # with a family for each item, in the order of the items
MEMBERS = 1, 3, 6


def sets_of(scores: NDArray[np.float64], tie: float, size: int, pairs: int) -> list[NDArray[np.int8]]:
    """Return the preferences between pairs of systems, in random orders; those with enough items."""
    rng = np.random.default_rng([3, size])
    return [rng.permutation(pair) for pair in pairs_of(scores, tie, pairs) if len(pair) >= size]


def consecutive_sets_of(scores: NDArray[np.float64], tie: float, size: int, pairs: int) -> list[NDArray[np.int8]]:
    """Return the same, but each begins with consecutive items, in random order."""
    rng, found = np.random.default_rng([4, size]), []
    for pair in pairs_of(scores, tie, pairs):
        if len(pair) >= size:
            turned = np.roll(pair, -int(rng.integers(len(pair) - size + 1)))
            found.append(np.concatenate([rng.permutation(turned[:size]), turned[size:]]))
    return found


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


def of_documents(scores: NDArray[np.float64], tie: float, families: Sequence[str], pairs: int) -> None:
    """Print decisions on a random half of the documents, which the other half may contradict."""
    documents = [np.flatnonzero(np.array(families) == family) for family in dict.fromkeys(families)]
    outcomes: dict[str, list[tuple[int, int, int]]] = {}
    for seed, pair in enumerate(pairs_of(scores, tie, pairs)):
        rng = np.random.default_rng([5, seed])
        order = [documents[at] for at in rng.permutation(len(documents))]
        half, rest = order[: len(order) // 2], order[len(order) // 2 :]
        against = int(np.sign(sum(pair[document].mean() for document in rest)))
        draws = [("items", rng.permutation(pair[np.concatenate(half)])[:LIMIT].astype(np.float64), 1)]
        for most in MEMBERS:
            means = [pair[rng.permutation(document)[:most]].mean() for document in half]
            draws.append((f"documents, {most} of each", np.array(means), most))
        for what, each, most in draws:
            side, judged = by_bets(each)
            outcomes.setdefault(what, []).append((side, judged * most, against))
    print(f"\nA random half of {len(documents)} documents, about items like these; bets at a risk of {RISK}")
    print(f"{'a draw is':<26}{'judgments':>10}{'undecided':>10}{'contradicted':>13}{'of the decided':>15}")
    for what, found in outcomes.items():
        sides, judged, against = np.array(found).T
        wrong, decided = (sides != 0) & (sides == -against), sides != 0
        shares = f"{1 - decided.mean():>10.1%}{wrong.mean():>13.1%}{wrong.sum() / max(1, decided.sum()):>15.1%}"
        print(f"{what:<26}{judged.mean():>10.0f}{shares}")


def by_bets(scores: NDArray[np.float64]) -> tuple[int, int]:
    """Return the side that the rule's bets on the mean of draws name, 1, -1 or 0, and after how many draws."""
    bets = Bets(RISK, UNLIMITED, len(scores)).begin[-1]
    for number, score in enumerate(scores.tolist(), start=1):
        bets = bets.after(np.array([score, -score]))
        if bets.ruled_out.any():
            return (1 if bets.ruled_out[0] else -1), number
    return 0, len(scores)


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
    parser.add_argument("--only", default="", help="the name of one table of verdicts")
    parser.add_argument("--sizes", type=int, nargs="+", default=[25, 50, 100, 200, 400, 600, 805])
    given = parser.parse_args()
    head = f"{'judgments':>10}{'undecided':>10}{'contradicted':>13}{'of the decided':>15}"
    print(f"{given.pairs} pairs, risk {RISK}, at most {LIMIT} judgments")
    print(f"{'verdicts':<26}{'items':>6}  {'about':<12}{head}")
    for name, (file, tie) in VERDICTS.items():
        if given.only not in {"", name}:
            continue
        _, _, scores = score_table(given.data / file)
        for size in given.sizes:
            whole = sets_of(scores, tie, size, given.pairs)
            if whole:
                show(name, size, whole)
            if whole and name in DOCUMENTS:
                show(f"{name}, consecutive", size, consecutive_sets_of(scores, tie, size, given.pairs))
        if name in DOCUMENTS:
            lines = (given.data / DOCUMENTS[name]).read_text().splitlines()
            of_documents(scores, tie, [json.loads(line)["family"] for line in lines], given.pairs)


if __name__ == "__main__":
    main()
