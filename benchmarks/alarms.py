"""How often the alarms of a run go off: drift of a judge, neighbours in a file, and flips.

    python benchmarks/alarms.py [DATA] [--runs 1500] [--pairs 1000]

Drift: of 200 draws the second half has another gap. Neighbours: 200 segments of DATA/mqm-news are drawn at random,
whose verdicts on two systems are those of people; beside them the same verdicts in random order, and a test of adjacent
lines alone. Flips: the recorded judges of DATA/llmbar, asked in both orders; how many of their verdicts change, and how
often draws of 60 items show more than a half, or more than a third. Without DATA there is drift alone.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from one_order import recorded_orders
from score_tables import score_table
from what_each_question_costs import pairs_of

from judgeloop.methods.stats import neighbours
from judgeloop.methods.stats.drift import drift
from judgeloop.methods.stats.intervals import chance_of_so_many
from judgeloop.report.facts import FLIPS_RISK

DRAWS, ITEMS = 200, 60


def of_drift(runs: int) -> None:
    """Print how often a change of the gap is seen, by the share of ties."""
    gaps = (0.0, 0.2, 0.4)
    print(f"Drift: {DRAWS} draws, of which the second half has another gap; seen in {runs:,} runs")
    print(f"{'ties':>6}" + "".join(f"{gap:>8g}" for gap in gaps))
    for tied in (0.0, 0.3, 0.6):
        cells = []
        for gap in gaps:
            rng = np.random.default_rng([round(100 * tied), round(100 * gap)])
            win = [(1 - tied) / 2 + sign * gap / 4 for sign in (1, -1)]
            halves = [rng.choice([1, 0, -1], size=(runs, DRAWS // 2), p=[one, tied, 1 - tied - one]) for one in win]
            seen = [drift(row.tolist(), DRAWS) is not None for row in np.concatenate(halves, axis=1)]
            cells.append(f"{np.mean(seen):>8.0%}")
        print(f"{tied:>6.0%}" + "".join(cells), flush=True)


def of_neighbours(data: Path, pairs: int) -> None:
    """Print how often verdicts of people on segments of documents are found to agree with their neighbours."""
    _, _, scores = score_table(data / "mqm-news" / "verdicts-mqm.csv.gz")
    seen: dict[str, list[bool]] = defaultdict(list)
    for seed, pair in enumerate(pairs_of(scores, 0.0, pairs)):
        rng = np.random.default_rng([9, seed])
        lines = rng.permutation(len(pair))[:DRAWS]
        values = pair[lines].astype(np.float64)
        for name, near, of in (("within ten lines", 10, values), ("adjacent alone", 1, values),
                               ("within ten lines, in random order", 10, rng.permutation(values))):  # fmt: skip
            neighbours.NEAR = near
            found = neighbours.neighbours_risk(lines, of, rng)
            seen[name].append(found is not None and found <= neighbours.ALARM)
    print(f"\nNeighbours: {DRAWS} of {scores.shape[1]} segments (MQM news), {pairs} pairs of systems")
    for name, each in seen.items():
        print(f"{name:<36}{np.mean(each):>6.1%}")


def by_set(folder: Path) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield the set and the judge of each prompt, with whether each of its verdicts changes with the order."""
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    groups = {row["id"]: row["group"] for row in map(json.loads, lines)}
    for judge, _, by_item in recorded_orders(folder):
        flips = defaultdict(list)
        for item, one in by_item.items():
            if len(one) == len({"1", "2"}):
                flips[groups[item]].append(one["1"] != one["2"])
        for name, each in flips.items():
            yield name, judge, np.array(each)


def of_flips(data: Path, runs: int) -> None:
    """Print the shares of flips of recorded judges, and how often they are shown to be too many."""
    found: dict[tuple[str, str], list[NDArray[np.bool_]]] = defaultdict(list)
    for name, judge, flips in by_set(data / "llmbar"):
        found[name, judge].append(flips)
    print(
        f"\nFlips: verdicts in both orders (LLMBar); the least and the most of each judge's prompts; {ITEMS} items a run"
    )
    print(f"{'set':<10}{'judge':<14}{'prompts':>8}{'flips':>14}{'more than 1/2':>15}{'more than 1/3':>15}")
    for (name, judge), prompts in sorted(found.items()):
        rng, shares, shown = np.random.default_rng(8), [100 * each.mean() for each in prompts], defaultdict(list)
        for each in prompts:
            for _ in range(runs // 10):
                some = rng.permutation(each)[:ITEMS]
                for most in (1 / 2, 1 / 3):
                    shown[most].append(chance_of_so_many(int(some.sum()), len(some), most) <= FLIPS_RISK)
        of = f"{min(shares):.0f} to {max(shares):.0f} %"
        print(
            f"{name:<10}{judge:<14}{len(prompts):>8}{of:>14}"
            + "".join(f"{np.mean(one):>15.0%}" for one in shown.values())
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="folder of the recorded verdicts")
    parser.add_argument("--runs", type=int, default=1500)
    parser.add_argument("--pairs", type=int, default=1000)
    given = parser.parse_args()
    of_drift(given.runs)
    if given.data:
        of_neighbours(given.data, given.pairs)
        of_flips(given.data, given.runs)


if __name__ == "__main__":
    main()
