"""What groups of the items take off the width of an estimate's interval, and how often it misses.

    python benchmarks/estimate_groups.py DATA [--runs 20]

DATA holds `tiny-lm`, `mqm-news`, `alpacaeval` and `llmbar`; no judge is asked. Each run draws items of a table, or of
1,000 simulated ones, in random order, and has two intervals for every look from the same scores: one with the groups as
controls and one without. A line has the share of the variance that lies between the groups, and for each limit the mean
ratio of both widths after half of it and at it, with its standard error. `misses` are the runs whose interval with
groups leaves out the mean at either look, at a stated risk of 0.1.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from score_tables import score_table
from sklearn.cluster import KMeans

from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.stats.strata import Strata, centred
from judgeloop.methods.stopping.precise import Precise

RISK, LIMITS, ITEMS, CLUSTERS = 0.1, (100, 200), 1000, 40
Scores = NDArray[np.float64]


class Pool(NamedTuple):
    """Scores in [0, 1] of items, and the group of each."""

    scores: Scores
    groups: Strata

    @property
    def between(self) -> float:
        """The share of the variance between the groups, without what chance makes of it."""
        number, groups = len(self.scores), len(self.groups.sizes)
        within = centred(self.groups.labels, self.scores, groups) ** 2
        return 1 - float(within.sum() / (number - groups)) / float(self.scores.var(ddof=1))


def pool(scores: Scores, names: list[str] | NDArray[np.int64]) -> Pool:
    """Return the pool of these scores."""
    return Pool(scores, Strata(np.unique(names, return_inverse=True)[1].astype(np.int64)))


def recorded(data: Path) -> Iterator[tuple[str, list[Pool]]]:
    """Return the tables, a pool for each system or judge."""
    vectors = np.load(data / "tiny-lm/hidden.npz")
    exact = score_table(data / "tiny-lm/verdicts-exact.csv.gz")
    task = by_id(data / "tiny-lm/outputs.jsonl", "group")
    yield "tiny-lm, 8 tasks", [pool(exact.scores[0], [task[item] for item in exact.items])]
    states = vectors["layer2"].astype(float)[[list(vectors["ids"]).index(item) for item in exact.items]]
    clusters = KMeans(CLUSTERS, n_init=1, random_state=0).fit(states).labels_
    yield f"tiny-lm, {CLUSTERS} clusters of hidden states", [pool(exact.scores[0], clusters)]
    for name, file, most, column in (
        ("mqm-news, 32 documents", "mqm-news/verdicts-mqm.csv.gz", 25, "family"),
        ("AlpacaEval by GPT-4, 5 sources", "alpacaeval/verdicts-gpt4.csv.gz", 1, "group"),
    ):
        table, of = score_table(data / file), by_id(data / file.split("/", maxsplit=1)[0] / "items.jsonl", column)
        known = [(row[~np.isnan(row)], np.flatnonzero(~np.isnan(row))) for row in table.scores]
        yield name, [pool(row / most, [of[table.items[at]] for at in places]) for row, places in known if row.std()]
    truth, part = (by_id(data / "llmbar/items.jsonl", column) for column in ("label", "group"))
    said: dict[tuple[str, ...], dict[str, float]] = {}
    with gzip.open(data / "llmbar/verdicts.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            judge = said.setdefault((row["judge"], row["prompt"], row["shown_first"]), {})
            judge[row["item_id"]] = float(row["winner"] == truth[row["item_id"]])
    whole = [judge for judge in said.values() if len(judge) == len(truth)]
    yield (
        "LLMBar, a judge is right, 3 parts",
        [pool(np.array([*judge.values()]), [part[item] for item in judge]) for judge in whole],
    )


def by_id(path: Path, column: str) -> dict[str, str]:
    """Return a column of a file of items."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: str(row[column]) for row in rows}


def simulated(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], Pool]]]:
    """Return what makes a pool of items in 8 groups, or in 40."""
    for said, rates in (
        ("right in 5 to 95 %, 8 groups", np.linspace(0.05, 0.95, 8)),
        ("right in 30 to 90 %, 8 groups", np.linspace(0.3, 0.9, 8)),
        ("right in 70 %, 8 groups", np.full(8, 0.7)),
        ("right in 70 %, 40 groups", np.full(40, 0.7)),
    ):

        def made(rates: Scores = rates) -> Pool:
            groups = rng.integers(len(rates), size=ITEMS)
            return pool((rng.random(ITEMS) < rates[groups]).astype(float), groups)

        yield said, made
    for said, apart in (("1 to 10, 8 groups 0.1 apart", 0.1), ("1 to 10, 8 groups alike", 0.0)):

        def graded(apart: float = apart) -> Pool:
            groups = rng.integers(8, size=ITEMS)
            means = 0.65 + rng.normal(0, apart, 8)[groups]
            return pool(np.clip(np.round((means + rng.normal(0, 0.2, ITEMS)) * 9) / 9, 0, 1), groups)

        yield said, graded


def widths(drawn: Pool, limit: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], bool]:
    """Return the ratio of both widths after half of the limit and at it, and whether that with groups ever misses."""
    items, found, missed = len(drawn.scores), [], False
    order = rng.permutation(items)[:limit]
    for groups in (drawn.groups, None):
        rule = Precise(RISK, items, any_look=True, even=True, limit=limit)
        for number in (limit // 2, limit):
            at = order[:number]
            interval = rule.interval(Ratings(Strata.single(items), at, drawn.scores[at], groups=groups))
            assert interval is not None, "the draws are uniform"
            found.append(interval[1] - interval[0])
            missed |= groups is not None and not interval[0] - 1e-9 <= drawn.scores.mean() <= interval[1] + 1e-9
    return np.array(found[:2]) / found[2:], missed


def show(name: str, make: Callable[[int], Pool], runs: int, rng: np.random.Generator) -> None:
    """Print the line of a table, or of a simulation."""
    cells, between = [], np.mean([make(run).between for run in range(min(runs, 50))])
    for limit in LIMITS:
        if limit <= len(make(0).scores):
            found = [widths(make(run), limit, rng) for run in range(runs)]
            ratios, missed = np.array([one for one, _ in found]), np.mean([one for _, one in found])
            error = ratios.std(axis=0, ddof=1) / np.sqrt(runs)
            half, end = (f"{one:.3f} ± {wrong:.3f}" for one, wrong in zip(ratios.mean(axis=0), error, strict=True))
            cells.append(f"{half}, {end} ({missed:.1%})")
    print(f"| {name} | {between:.2f} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    print(f"| scores | between groups | {' | '.join(f'limit {one}: half, end (misses)' for one in LIMITS)} |")
    print("|---" * (len(LIMITS) + 2) + "|")
    rng = np.random.default_rng(53)
    for name, pools in recorded(given.data):
        show(name, lambda run, pools=pools: pools[run % len(pools)], given.runs, rng)
    for name, make in simulated(rng):
        show(name, lambda _, make=make: make(), given.runs, rng)


if __name__ == "__main__":
    main()
