"""The bill of a decision: calls and dollars, and what each switch takes off them.

    python benchmarks/bill.py DATA [--judge openai/gpt-5.4-mini] [--runs 300]

DATA holds `alpacaeval`: GPT-4's recorded verdicts, and the outputs that they are about. The rule is
The default rule at a risk of 0.1, with at most 200 judgments, on random draws. A call costs what the
judge quotes as likely for its real prompt with both outputs. The first row is the frozen baseline:
both orders of every item are asked. The rows that say so make the very same decisions.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from one_order import Run, Signs, better, recorded, run

from judgeloop.core.money import to_usd
from judgeloop.core.records import Call, Item
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.prompt import template_for

LIMIT = 200
Texts = dict[str, dict[str, str]]
Price = Callable[[str, str, str], int]  # of a call: the item, the first and the second system


def texts_of(folder: Path) -> tuple[dict[str, str], Texts]:
    """Return the prompts by item, and the outputs by system and item."""
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = {row["id"]: row["prompt"] for row in map(json.loads, lines)}
    ids = {prompt: item for item, prompt in prompts.items()}
    outputs = {
        path.stem: {
            ids[row["instruction"]]: row["output"]
            for row in json.loads(path.read_text(encoding="utf-8"))
            if row["instruction"] in ids
        }
        for path in (folder / "outputs").iterdir()
    }
    return prompts, outputs


def price_of(spec: str, prompts: dict[str, str], outputs: Texts, tier: str) -> Price:
    """Return what a call to the judge likely costs, in picodollars."""
    options = JudgeOptions(template=template_for("schema", None, None), tier=tier, offline=True)
    judge = judge_from_spec(spec, options)

    def price(item: str, first: str, second: str) -> int:
        # A few systems left an item out: their output is empty.
        shown = (outputs[first].get(item, ""), outputs[second].get(item, ""))
        return judge.quote(Call(Item(item, prompts[item]), (first, second), shown)).likely_cost_p

    return price


def dollars(ended: Run, pair: tuple[str, str], ids: list[str], price: Price) -> float:
    """Return what a run's calls likely cost; both orders of an item cost the same."""
    costs = np.array([price(ids[number], *pair) for number in ended.items])
    return float(to_usd(int(costs.sum() + costs[ended.second].sum())))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--judge", default="openai/gpt-5.4-mini")
    parser.add_argument("--runs", type=int, default=300)
    arguments = parser.parse_args()
    folder = arguments.data / "alpacaeval"
    texts = texts_of(folder)
    prices = {tier: price_of(arguments.judge, *texts, tier) for tier in ("standard", "flex")}
    rows = list(recorded(folder / "verdicts-gpt4.csv.gz", 0.0, arguments.runs))
    print(f"{arguments.judge}, {len(rows)} pairs, at most {LIMIT} judgments, risk 0.1\n")
    print("| | calls | dollars | of the baseline's | wrong | undecided |\n|---|---|---|---|---|---|")
    baseline = 0.0
    for name, way, tier in WAYS:
        ends = [end(way, row, prices[tier]) for row in rows]
        calls, spent, wrong, undecided = (np.mean(column) for column in zip(*ends, strict=True))
        baseline = baseline or spent
        print(f"| {name} | {calls:.0f} | ${spent:.4f} | {spent / baseline:.0%} | "
              f"{wrong:.1%} | {undecided:.0%} |")  # fmt: skip


def end(way: str, row: tuple[str, str, list[str], Signs], price: Price) -> tuple[int, float, bool, bool]:
    """Run a comparison; return its calls, dollars, whether it is wrong and whether undecided."""
    one, other, ids, signs = row
    verdicts = np.stack([signs, signs], axis=1)
    seed = [len(one), len(other), int(np.abs(signs).sum())]
    ended = run(way, verdicts, LIMIT, np.random.default_rng(seed))
    spent = dollars(ended, (one, other), ids, price)
    return ended.calls, spent, ended.named not in {0, better(way, verdicts)}, not ended.named


WAYS = (
    ("baseline: both orders of every item", "twice", "standard"),
    ("the second order only when it can matter; the same decisions", "both", "standard"),
    ("the same at the tier flex; the same decisions", "both", "flex"),
    ("one order, no flips", "one", "standard"),
    ("one order at the tier flex", "one", "flex"),
)

if __name__ == "__main__":
    main()
