"""Which judges pass their controls: broken and counting ones, and recorded ones put to the same test.

    python benchmarks/controls.py DATA [--judges 300]

DATA holds `alpacaeval` (items and outputs of models) and `llmbar` (verdicts of six judge models in
both orders, and people's labels). No judge is asked.

The first table has judges that are functions of the texts shown. Controls are drawn from a model's
outputs as `judgeloop compare` draws them, in both orders of presentation, for so many judges of each kind. The
second has the recorded judges: how often each prefers the output that people prefer, in an order by coin, and the
exact chance of passing the test with this share; the least and the most of its prompts. Both outputs
answer the question there, so this is agreement with people, and no control. A call without a verdict
counts against the judge.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from judgeloop.core.outcomes import Control, ControlTally
from judgeloop.core.records import Item, JudgeIdentity, Query
from judgeloop.engine.controls import NAME, control_queries, is_short
from judgeloop.methods.stats.controls import counted

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.control_chances import chances

MODELS = ("gpt4_1106_preview", "claude-2", "vicuna-7b", "text_davinci_001")
FEWEST = 60  # calls of a recorded judge on a set
Blind = Callable[[Query], int]  # 1 for the first output, -1 for the second, 0 for a tie


def sign(number: float) -> int:
    """Return the sign of a number."""
    return (number > 0) - (number < 0)


def words(text: str) -> set[str]:
    """Return the words of at least three characters."""
    return set(re.findall(r"[a-z0-9]{3,}", text.lower()))


class CountsWords:
    """Prefers the output that shares more words with the question; rare words count more."""

    def __init__(self, prompts: list[str]) -> None:
        """Weigh each word by the share of the questions that have it."""
        found = Counter(word for prompt in prompts for word in words(prompt))
        self.weights = {word: math.log(len(prompts) / number) for word, number in found.items()}

    def __call__(self, query: Query) -> int:
        """Return the preference."""
        asked = words(query.item.prompt)
        shared = [
            sum(self.weights.get(word, 0.0) for word in asked & own) / math.sqrt(1 + len(own))
            for own in map(words, query.outputs)
        ]
        return sign(shared[0] - shared[1])


def broken(prompts: list[str]) -> dict[str, Blind]:
    """Return the judges of the first table."""
    coin = random.Random(7)
    return {
        "always says A": lambda _: 1,
        "always says tie": lambda _: 0,
        "tosses a coin": lambda _: coin.choice((1, -1)),
        "does not see the question, likes some words": lambda query: sign(
            query.outputs[0].count("the") - query.outputs[1].count("the")
        ),
        "prefers the longer": lambda query: sign(len(query.outputs[0]) - len(query.outputs[1])),
        "prefers the shorter": lambda query: sign(len(query.outputs[1]) - len(query.outputs[0])),
        "counts the words shared with the question": CountsWords(prompts),
    }


def results(queries: tuple[Query, ...], judge: Blind) -> list[int]:
    """Return what a judge makes of controls in both orders: 1 for the question's own answer, -1, or 0."""
    found = []
    for query in queries:
        swapped = replace(query, systems=query.systems[::-1], outputs=query.outputs[::-1])
        first, second = judge(query), -judge(swapped)
        found.append((first if first == second else 0) * (-1 if query.systems[0] == NAME else 1))
    return found


def of_texts(data: Path, judges: int) -> None:
    """Print how often judges that are functions of the texts pass."""
    items = [Item(**json.loads(line)) for line in (data / "items.jsonl").read_text().splitlines()]
    print("| judge | outputs of | right | ties | passed | failed | not shown | calls |")
    print("|---|---|---|---|---|---|---|---|")
    for model in MODELS:
        path = data / "outputs" / f"{model}.json"
        outputs = {row["instruction"]: row["output"] for row in json.loads(path.read_text())}
        rows = [(item, outputs.get(item.prompt, "")) for item in items]
        answered = [row for row in rows if not is_short(row[1])]
        drawn = [
            control_queries(model, answered, JudgeIdentity("some", str(number)), 0, 10**6) for number in range(judges)
        ]
        for name, judge in broken([item.prompt for item in items]).items():
            found = [results(queries, judge) for queries in drawn]
            print(f"| {name} | {model} | {_cells(found)} |", flush=True)


def _cells(found: list[list[int]]) -> str:
    every = Counter(result for own in found for result in own)
    tallies: list[ControlTally] = [counted(own) for own in found]
    ends = Counter(tally.end for tally in tallies)
    shares = [every[1] / every.total(), every[0] / every.total()]
    shares += [ends[end] / len(found) for end in Control]
    return " | ".join([*(f"{share:.1%}" for share in shares), f"{_mean(tallies):.1f}"])


def _mean(tallies: list[ControlTally]) -> float:
    return sum(tally.asked for tally in tallies) / len(tallies)


def of_people(data: Path) -> None:
    """Print how often recorded judges agree with people, and would pass the same test."""
    items = {}
    for line in (data / "items.jsonl").read_text().splitlines():
        row = json.loads(line)
        items[row["id"]] = (row["group"], str(row["label"]))
    found: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    with gzip.open(data / "verdicts.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            group, label = items[row["item_id"]]
            kind = {"": "none", label: "right"}.get(row["winner"], "wrong")
            found[row["judge"], group, row["prompt"]][kind] += 1
    by_set: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (judge, group, _), kinds in sorted(found.items()):
        if kinds.total() >= FEWEST:
            by_set[judge, group].append(kinds["right"] / kinds.total())
    print("\n| judge | set | prompts | agrees with people | would pass |")
    print("|---|---|---|---|---|")
    for (judge, group), shares in by_set.items():
        passes = [chances(share).passed for share in shares]
        ends = [f"{min(of):.0%} to {max(of):.0%}" for of in (shares, passes)]
        print(f"| {judge} | {group} | {len(shares)} | {' | '.join(ends)} |")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--judges", type=int, default=300)
    args = parser.parse_args()
    of_texts(args.data / "alpacaeval", args.judges)
    of_people(args.data / "llmbar")


if __name__ == "__main__":
    main()
