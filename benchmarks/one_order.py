r"""Calls to a decision: both orders, the second only when it matters, and one order alone.

    python benchmarks/one_order.py DATA [--runs 300] [--limit 200]

DATA holds `alpacaeval` (recorded verdicts; flips are simulated) and `llmbar` (six judge models,
each pair asked in both orders; the two systems are the output that people prefer and the other).
The rule is the default rule at a risk of 0.1. In every table:

- *twice* asks both orders of every item; *both* asks the second only after a verdict that prefers
  a system, as `--order both` does; *one* asks one order, drawn for each item (`--order random`);
- *calls* is the mean number of calls, *wrong* how often the named system is not the better one over
  all items (for *one*: over all items in both orders), *undecided* how often nobody is named.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import UNLIMITED, preference
from judgeloop.methods.stopping.bets import Bets

RISK = 0.1
LEAST = 5  # the fewest judgments of a run
FLIPS = (0.0, 0.1, 0.2, 0.3)
CLASSES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9)  # of real shares of flips
WAYS = ("twice", "both", "one")
Signs = NDArray[np.int8]


@dataclass
class Ends:
    """How the runs of one way ended."""

    calls: list[int]
    wrong: int = 0
    undecided: int = 0

    def cells(self) -> str:
        """Return the cells of a table's row."""
        runs = len(self.calls)
        spread = np.std(self.calls) / np.sqrt(runs)
        return f"{np.mean(self.calls):.0f} ± {spread:.0f} | {self.wrong / runs:.1%} | {self.undecided / runs:.0%}"


@dataclass
class Run:
    """How a run went: who is named (1, -1 or 0 for nobody), and its items in the order judged.

    `second` says for which of the items the second call was made.
    """

    named: int
    items: NDArray[np.int64]
    second: NDArray[np.bool_]

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len(self.items) + int(self.second.sum())


def run(way: str, verdicts: Signs, limit: int, rng: np.random.Generator) -> Run:
    """Run one comparison on `verdicts`, shape (items, orders)."""
    items = len(verdicts)
    order = rng.permutation(items)
    drawn, coins = verdicts[order], rng.integers(2, size=items)
    first = np.take_along_axis(drawn, coins[:, None], axis=1)[:, 0]
    second = np.take_along_axis(drawn, 1 - coins[:, None], axis=1)[:, 0]
    agreed = np.where(first == second, first, 0).astype(np.int8)
    preferences, twice = {
        "twice": (agreed, np.ones(items, dtype=np.bool_)),
        "both": (agreed, first != 0),
        "one": (first, np.zeros(items, dtype=np.bool_)),
    }[way]
    most = min(limit, items)
    rule = Bets(RISK, items=UNLIMITED if way == "one" else items, limit=most)
    met = rule.met_along_each(preferences[None, :most], rule.items, np.array([RISK]))[0, 0]
    met[: LEAST - 1] = False
    whole = way != "one" and most == items
    at = int(met.argmax()) + 1 if met.any() else most
    named = int(np.sign(preferences[:at].sum())) if met.any() or whole else 0
    return Run(named, order[:at], twice[:at])


def better(way: str, verdicts: Signs) -> int:
    """Return the better system over all items, as `run` names it; 0 if they are level."""
    if way == "one":
        return int(np.sign(verdicts.sum()))
    return int(np.sign(verdicts[verdicts[:, 0] == verdicts[:, 1], 0].sum()))


def ends_of(way: str, tables: list[Signs], limit: int, seed: int) -> Ends:
    """Run a comparison on each of `tables`."""
    ends, rng = Ends([]), np.random.default_rng(seed)
    for verdicts in tables:
        ended = run(way, verdicts, limit, rng)
        ends.calls.append(ended.calls)
        ends.undecided += not ended.named
        ends.wrong += ended.named not in {0, better(way, verdicts)}
    return ends


def recorded(path: Path, margin: float, runs: int) -> Iterator[tuple[str, str, list[str], Signs]]:
    """Yield `runs` pairs of systems, drawn at random: names, ids of the items, and preferences.

    The outputs that were built to fool the judge are left out.
    """
    scores: dict[str, dict[str, float]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["score"] and row["model"] not in {"NullModel", "gpt4_gamed"}:
                scores.setdefault(row["model"], {})[row["item_id"]] = float(row["score"])
    pairs = list(combinations(sorted(scores), 2))
    for number in np.random.default_rng(0).permutation(len(pairs))[:runs]:
        one, other = pairs[number]
        shared = [item for item in scores[one] if item in scores[other]]
        gaps = np.array([scores[one][item] - scores[other][item] for item in shared])
        signs = preference(gaps, margin).astype(np.int8)
        yield one, other, shared, signs


def flipped(preferences: Signs, share: float, rng: np.random.Generator) -> Signs:
    """Return verdicts in both orders; for a share of the items what stands first always wins."""
    both = np.stack([preferences, preferences], axis=1)
    both[rng.random(len(preferences)) < share] = (1, -1)
    return both


def recorded_orders(folder: Path) -> Iterator[tuple[str, str, dict[str, dict[str, int]]]]:
    """Yield each judge and prompt with its verdicts by item and by what stood first: 1 for the people's choice."""
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    labels = {row["id"]: str(row["label"]) for row in map(json.loads, lines)}
    found: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
    with gzip.open(folder / "verdicts.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["winner"]:
                verdict = 1 if row["winner"] == labels[row["item_id"]] else -1
                by_item = found.setdefault((row["judge"], row["prompt"]), {})
                by_item.setdefault(row["item_id"], {})[row["shown_first"]] = verdict
    for (judge, prompt), by_item in sorted(found.items()):
        yield judge, prompt, by_item


def real(folder: Path) -> Iterator[tuple[str, str, Signs]]:
    """Yield each judge and prompt with its verdicts in both orders: 1 for the people's choice."""
    for judge, prompt, by_item in recorded_orders(folder):
        both = [(one["1"], one["2"]) for one in by_item.values() if len(one) == 2]
        yield judge, prompt, np.array(both, dtype=np.int8)


def by_flips(folder: Path, runs: int) -> Iterator[tuple[str, list[Signs]]]:
    """Yield the judges and prompts in classes by their share of flips, each run as often."""
    found = [(np.mean(both[:, 0] != both[:, 1]), judge, both) for judge, _, both in real(folder)]
    for low, high in pairwise(CLASSES):
        own = [(judge, both) for flips, judge, both in found if low <= flips < high]
        judges = ", ".join(sorted({judge for judge, _ in own}))
        name = f"{low:.0%} to {high:.0%} flips: {len(own)} prompts of {judges}"
        yield name, [both for _, both in own for _ in range(max(1, runs // len(own)))]


def table(title: str, rows: list[tuple[str, list[Signs]]], limit: int) -> None:
    """Print a table with a row for each setting and way."""
    print(f"\n{title}\n\n| | asks | calls | wrong | undecided |\n|---|---|---|---|---|")
    for name, tables in rows:
        for way in WAYS:
            print(f"| {name if way == WAYS[0] else ''} | {way} | {ends_of(way, tables, limit, 1).cells()} |")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--limit", type=int, default=200, help="most judgments of a run")
    arguments = parser.parse_args()
    rng = np.random.default_rng(2)
    for name, margin in (("gpt4", 0.0), ("gpt4turbo", 0.05)):
        path = arguments.data / "alpacaeval" / f"verdicts-{name}.csv.gz"
        pairs = [signs for *_, signs in recorded(path, margin, arguments.runs)]
        ties = np.mean([np.mean(pair == 0) for pair in pairs])
        table(
            f"AlpacaEval, {name}, margin {margin:g}, {ties:.0%} ties, simulated flips",
            [(f"{share:.0%} flips", [flipped(pair, share, rng) for pair in pairs]) for share in FLIPS],
            arguments.limit,
        )
    table(
        "LLMBar, real flips: the people's choice against the other output",
        list(by_flips(arguments.data / "llmbar", arguments.runs)),
        arguments.limit,
    )


if __name__ == "__main__":
    main()
