"""Fifteen nights of a release pipeline: each night's candidate against the system in production, on the same test set.

    python examples/nightly/nightly.py FOLDER [--seed 15]

Candidates and verdicts are made up, with a fixed seed, in FOLDER; no key is needed. An answer is right or wrong; a verdict, at a cent, says
which of two is right, and ties where both are or neither is, as for four items in five. Nine nights are judged whole. They teach which items
tell systems apart, and how far evidence from so few of them can be trusted; from the tenth on a night costs a fraction, at a risk of 0.2 on
average. Beside it stands what the same night takes by the default rule, which remembers nothing and promises 0.2 for each pair.

Over the seeds 0 to 15 the nights from the tenth took 38 judgments where the default rule took 114; 15 % of them named the wrong winner and 8 % none,
against 4 % and 31 %. A promise on average is spent, a guarantee for every pair hardly. Nine whole nights are dear: at that rate they pay for
themselves after 46 more (`benchmarks/nights.py`; docs/history.md says how to begin with less).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from judgeloop import Result, compare, compare_config

ITEMS = 500
NIGHTS, WHOLE = 15, 9
DOLLARS = 0.01  # a verdict
RISK = 0.2


def main() -> None:
    """Make the files, run the nights, print what each took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=15, help="of the candidates and their answers")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print(f"night  over all {ITEMS}  winner      judgments    cost   by the default rule")
    nights = []
    for night in all_nights(given.folder, given.seed):
        nights.append(night)
        print(
            f"{len(nights):>5}  {night.better:<12}  {named(night.remembering):<11}{night.remembering.judged:>10}{dollars([night.remembering]):>8}"
            f"   {named(night.forgetting):<11}{night.forgetting.judged:>4}{dollars([night.forgetting]):>7}"
        )
    for some in (nights[:WHOLE], nights[WHOLE:]):
        remembering, forgetting = (summary(some, how) for how in ("remembering", "forgetting"))
        print(f"{len(some)} nights: {remembering}; by the default rule {forgetting}")


class Night(NamedTuple):
    """Who is better over all items, and the night's result: by what the nights before taught, and by the default rule."""

    better: str
    remembering: Result
    forgetting: Result

    def is_wrong(self, how: str) -> bool:
        """Whether somebody was named who is not better."""
        return getattr(self, how).winner not in {None, self.better}


def all_nights(folder: Path, seed: int) -> Iterator[Night]:
    """Make the files and run the nights, one after the other."""
    make_files(folder, np.random.default_rng(seed))
    right = rights(folder)
    for number in range(1, NIGHTS + 1):
        remembering, forgetting = (
            run(folder, number, remember=remember) for remember in (True, False)
        )
        yield Night(better(right, f"night-{number}"), remembering, forgetting)


def summary(nights: Sequence[Night], how: str) -> str:
    """What some nights took, and how they ended."""
    results = [getattr(night, how) for night in nights]
    wrong = sum(night.is_wrong(how) for night in nights)
    undecided = sum(result.winner is None for result in results)
    return f"{dollars(results)}, {wrong} wrong, {undecided} undecided"


def run(folder: Path, night: int, *, remember: bool) -> Result:
    """One night's comparison: with what the nights before taught, or by the default rule; each with a ledger of its own."""
    how = {}
    if remember:
        how = (
            {"min_judgments": ITEMS, "max_judgments": ITEMS}
            if night <= WHOLE
            else {"rule": "calibrated"}
        )
    return compare(
        compare_config(
            first=folder / "production.jsonl",
            second=folder / f"night-{night}.jsonl",
            judge=f"replay:{folder / 'verdicts.csv'}",
            risk=RISK,
            budget="10.00",
            ledger=folder / ("remembering" if remember else "forgetting") / "ledger.sqlite",
            **how,
        )
    )


def named(result: Result) -> str:
    """Who won."""
    return result.winner or "undecided"


def dollars(results: Sequence[Result]) -> str:
    """What the verdicts would have cost; they are recorded, so nothing was spent."""
    return f"${sum(result.spend.rehearsed_p for result in results) / 10**12:.2f}"


def rights(folder: Path) -> Counter[str]:
    """How many items each system has right."""
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return Counter(row["model"] for row in csv.DictReader(file) if row["score"] == "1")


def better(right: Counter[str], candidate: str) -> str:
    """Who has more items right, the candidate or the system in production."""
    ahead = right[candidate] - right["production"]
    return candidate if ahead > 0 else "production" if ahead < 0 else "neither"


def make_files(folder: Path, rng: np.random.Generator) -> None:
    """Outputs of all systems, and who is right on what."""
    systems = {"production": 0.0} | {
        f"night-{night}": rng.normal(0, 0.9) for night in range(1, NIGHTS + 1)
    }
    difficulty = rng.normal(0, 5, ITEMS)  # most items are right, or wrong, whoever answers
    rows = []
    for name, skill in systems.items():
        right = skill + rng.logistic(size=ITEMS) > difficulty
        outputs = [
            {"id": f"q{item}", "prompt": f"question {item}", "output": f"{name} on question {item}: {'right' if so else 'wrong'}"}
            for item, so in enumerate(right)
        ]  # fmt: skip
        text = "".join(json.dumps(output) + "\n" for output in outputs)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
        rows += [(f"q{item}", name, int(so), DOLLARS / 2) for item, so in enumerate(right)]
    with (folder / "verdicts.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("item_id", "model", "score", "cost_usd"), *rows])


if __name__ == "__main__":
    main()
