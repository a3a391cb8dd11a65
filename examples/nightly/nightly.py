"""Fifteen nights of a release pipeline: compares each night's candidate with production.

    python examples/nightly/nightly.py FOLDER [--seed 15]

The script makes up the candidates and the verdicts, with a fixed seed, and writes them to FOLDER.
It needs no key. All nights use the same test set. An answer is right or wrong. A verdict costs a
cent and says which of two answers is right. It is a tie if both are right or both are wrong, which
holds for four items in five.

Nine nights are judged on all items. They show which items tell systems apart, and how far evidence
from few of these items can be trusted. From the tenth night on, a night costs a fraction of that,
at a risk of 0.2 on average. The last columns show the same night with the default rule, which uses
no earlier verdicts and promises a risk of 0.2 for each pair.

Means over the seeds 0 to 15, for the nights from the tenth on:

- 38 judgments a night, 15 % of the nights with the wrong winner and 8 % undecided;
- by the default rule 114 judgments, 4 % with the wrong winner and 31 % undecided.

A rule that promises its risk on average uses most of it. A rule that guarantees its risk for every
pair uses little of it. Nine whole nights are expensive: at that rate they pay for themselves after
46 more nights (`benchmarks/nights.py`; docs/how-to/nightly.md: how to begin with fewer judgments).
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

from judgeloop import Result, compare

ITEMS = 500
NIGHTS, WHOLE = 15, 9
DOLLARS = 0.01  # price of a verdict
RISK = 0.2


def main() -> None:
    """Make the files, run the nights, and print the judgments and the cost of each night."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder for all files of the example")
    parser.add_argument("--seed", type=int, default=15, help="seed of the made-up candidates and answers")
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
    """The better system over all items, and the night's result with history and without.

    `better` is "neither" for level systems. `remembering` is the result with the earlier nights as
    history; `forgetting` is the result of the default rule, which uses no history.
    """

    better: str
    remembering: Result
    forgetting: Result

    def is_wrong(self, how: str) -> bool:
        """Return whether a system was named that is not better; `how` names the result."""
        return getattr(self, how).winner not in {None, self.better}


def all_nights(folder: Path, seed: int) -> Iterator[Night]:
    """Make the files, then run the nights in order."""
    make_files(folder, np.random.default_rng(seed))
    right = rights(folder)
    for number in range(1, NIGHTS + 1):
        remembering, forgetting = (run(folder, number, remember=remember) for remember in (True, False))
        yield Night(better(right, f"night-{number}"), remembering, forgetting)


def summary(nights: Sequence[Night], how: str) -> str:
    """Return the total cost of `nights`, and how many ended wrong or undecided."""
    results = [getattr(night, how) for night in nights]
    wrong = sum(night.is_wrong(how) for night in nights)
    undecided = sum(result.winner is None for result in results)
    return f"{dollars(results)}, {wrong} wrong, {undecided} undecided"


def run(folder: Path, night: int, *, remember: bool) -> Result:
    """Compare one night's candidate with production, by the earlier nights or by the default rule.

    Each of the two ways has its own ledger.
    """
    how = {}
    if remember:
        how = {"min_judgments": ITEMS, "max_judgments": ITEMS} if night <= WHOLE else {"rule": "calibrated"}
    return compare(
        folder / "production.jsonl",
        folder / f"night-{night}.jsonl",
        judge=f"replay:{folder / 'verdicts.csv'}",
        risk=RISK,
        budget="10.00",
        ledger=folder / ("remembering" if remember else "forgetting") / "ledger.sqlite",
        **how,
    )


def named(result: Result) -> str:
    """Return the name of the winner, or "undecided"."""
    return result.winner or "undecided"


def dollars(results: Sequence[Result]) -> str:
    """Return what the verdicts would have cost; recorded verdicts cost nothing."""
    return f"${sum(result.spend.rehearsed_p for result in results) / 10**12:.2f}"


def rights(folder: Path) -> Counter[str]:
    """Count the items that each system answers correctly."""
    with (folder / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        return Counter(row["model"] for row in csv.DictReader(file) if row["score"] == "1")


def better(right: Counter[str], candidate: str) -> str:
    """Return which system has more correct answers: `candidate`, "production" or "neither"."""
    ahead = right[candidate] - right["production"]
    return candidate if ahead > 0 else "production" if ahead < 0 else "neither"


def make_files(folder: Path, rng: np.random.Generator) -> None:
    """Write the outputs of all systems, and the verdicts on them."""
    systems = {"production": 0.0} | {f"night-{night}": rng.normal(0, 0.9) for night in range(1, NIGHTS + 1)}
    # The spread is so large that all systems agree on most items: all are right or all are wrong.
    difficulty = rng.normal(0, 5, ITEMS)
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
