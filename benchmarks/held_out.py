"""How often the default rule errs on verdicts that no choice was made on; makes a line of docs/results/tables.md.

    python benchmarks/held_out.py DATA [--pairs 300] [--repetitions 10]

DATA holds `realsumm` with `items.jsonl` and `outputs/`. The judges are two metrics against the references,
whose scores are computed here. As in the tables, a repetition takes 80 of the 100 items for the whole set;
an error is a name of the system that does not lead on these. Risk 0.1.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from what_each_question_costs import RISK, pairs_of

from judgeloop.judges.metric import metric_named
from judgeloop.methods.stopping.bets import Bets

METRICS = ("token-f1", "rouge1")
ITEMS = 80


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def scores(data: Path, metric: str) -> NDArray[np.float64]:
    """Return the score of each system on each item, shape (systems, items)."""
    of = metric_named(metric)
    references = {row["id"]: row["reference"] for row in rows(data / "items.jsonl")}
    return np.array(
        [
            [of(references[row["id"]], row["output"]) for row in sorted(rows(path), key=lambda row: str(row["id"]))]
            for path in sorted((data / "outputs").iterdir())
        ]
    )  # fmt: skip


def errors(pairs: list[NDArray[np.int8]], repetitions: int) -> NDArray[np.bool_]:
    """Return which runs name the system that does not lead on the items of the repetition."""
    rng = np.random.default_rng(9)
    runs = np.array([rng.permutation(pair)[:ITEMS] for pair in pairs for _ in range(repetitions)])
    met = Bets(RISK, ITEMS, ITEMS).met_along_each(runs, ITEMS, np.array([RISK]))[0, :, 4:]
    leads = np.cumsum(runs, axis=1, dtype=np.int64)
    named = np.take_along_axis(leads[:, 4:], met.argmax(axis=1)[:, None], axis=1)[:, 0]
    wrong: NDArray[np.bool_] = met.any(axis=1) & (named * leads[:, -1] <= 0)
    return wrong


def main() -> None:
    """Print the share of errors on each set of verdicts, with its standard error over pairs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--repetitions", type=int, default=10)
    given = parser.parse_args()
    for metric in METRICS:
        pairs = pairs_of(scores(given.data / "realsumm", metric), 0.0, given.pairs)
        wrong = errors(pairs, given.repetitions).reshape(given.pairs, -1).mean(axis=1)
        print(f"REALSumm, {metric}: {wrong.mean():.2%} ± {wrong.std() / len(wrong) ** 0.5:.2%}")


if __name__ == "__main__":
    main()
