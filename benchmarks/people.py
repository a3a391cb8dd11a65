"""What a cheap judge saves of people's labels, and that the risk stays what it is.

    python benchmarks/people.py DATA [--runs 600]
    python benchmarks/people.py DATA --errors [--runs 20000]
    python benchmarks/people.py DATA --limits [--runs 2000]
    python benchmarks/people.py DATA --select [--runs 30]
    python benchmarks/people.py DATA --select-errors [--runs 2000]

DATA holds `pandalm`, `llmbar`, `realsumm` and `alpacaeval`; no judge is asked. All runs are decided by the rule bets at
a risk of 0.1, within 200 labels. The first table has real pairs of systems, whose items are all that the decision is
about and all have a cheap verdict: labels by people alone, with the judge, and with the judge's verdicts in random
order, which say nothing. The second has items of LLMBar, 400 drawn with replacement, on which the second system wins by
a gap that is planted: the labels and the judge's verdict stay together. The third has items like these of LLMBar, where
each label comes with a block of fresh cheap verdicts. With `--errors` both systems are level, or just at the margin.
With `--limits` no judge helps: how often a system is named within a limit that was planned, and within one that is
raised after some of the planned draws, by bets that go on. `--select` searches for the best of many: among REALSumm's
summarisers by people, beside ROUGE-2, and among AlpacaEval's systems by GPT-4's verdicts, 400 items, beside a judge
that says the same in a share of the items and guesses else. `--select-errors` does so among systems of which all but
one are half a point behind the best, on 40 items: the pools in which a guarantee is hardest to keep.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from race import Run, drawn, field, least_favourable, search
from scipy.stats import beta
from score_tables import score_table

from judgeloop.core.records import TIE, UNLIMITED, preference
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.stats.corrected import Aside
from judgeloop.methods.stopping.bets import Bets, answers

RISK, LIMIT, ITEMS, SEED = 0.1, 200, 400, 11
MOST_PAIRS = 60
Scores = NDArray[np.float64]


class Found(NamedTuple):
    """Labels and answers of runs, 1 for the system that is better in truth, -1 for the other one, 0 for none."""

    labels: Scores
    sides: Scores


class Pair(NamedTuple):
    """What people and a judge say of each item, the system first that is better by people."""

    dear: Scores
    cheap: Scores

    @property
    def r2(self) -> float:
        """The squared correlation of both."""
        return float(np.corrcoef(self.dear, self.cheap)[0, 1] ** 2) if self.cheap.std() and self.dear.std() else 0.0


def on_every_item(dear: Scores, cheap: Scores | None, limit: int = LIMIT, **asked: float) -> Found:
    """Runs on all items of each row, in the order given; `cheap` rates all of them."""
    items = dear.shape[1]
    limit, beside = min(limit, items), None
    if cheap is not None:
        left = cheap.sum(axis=1, keepdims=True) - np.cumsum(cheap, axis=1) + cheap
        means = np.clip(left / np.arange(items, 0, -1), -1, 1)
        beside = Aside(cheap[:, :limit], means[:, :limit])
    when, which = answers(Bets(RISK, items, limit, **asked).begin, dear[:, :limit], beside)
    return Found(when.astype(float), np.select([which == 0, which == 1], [1.0, -1.0], 0.0))


def in_blocks(dear: Scores, cheap: Scores | None, limit: int = LIMIT, **asked: float) -> Found:
    """Runs on items like these; `dear` has the labels, and `cheap`, of one dimension more, the blocks."""
    beside = None if cheap is None else Aside(cheap[..., 0], cheap.mean(axis=-1), cheap.shape[-1])
    when, which = answers(Bets(RISK, UNLIMITED, limit, **asked).begin, dear, beside)
    return Found(when.astype(float), np.select([which == 0, which == 1], [1.0, -1.0], 0.0))


def pandalm(data: Path, judge: str) -> Iterator[Pair]:
    """The pairs of PandaLM's systems: the majority of three people, and a judge, or the first of them."""
    said: dict[str, dict[str, float]] = {}
    with gzip.open(data / "pandalm/verdicts.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            said.setdefault(row["item_id"], {})[row["judge"]] = 2 * float(row["score"] or 0.5) - 1
    groups: dict[str, list[tuple[float, float]]] = {}
    for line in (data / "pandalm/items.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        own = said[item["id"]]
        votes = [own[f"person-{n}"] for n in (1, 2, 3)]
        majority = next((vote for vote in (1.0, 0.0, -1.0) if votes.count(vote) > 1), 0.0)
        groups.setdefault(item["group"], []).append((majority, own.get(judge, 0.0)))
    for rows in groups.values():
        yield _ahead(*np.array(rows).T)


def of_tables(dear: Path, cheap: Path, margin: float, rng: np.random.Generator) -> Iterator[Pair]:
    """Pairs of systems that both tables have, at most `MOST_PAIRS`."""
    known, other = score_table(dear), score_table(cheap)
    systems = [name for name in known.systems if name in other.systems]
    items = [item for item in known.items if item in other.items]
    both = [
        np.array(
            [[table.scores[table.systems.index(name), table.items.index(item)] for item in items] for name in systems]
        )
        for table in (known, other)
    ]
    pairs = list(combinations(range(len(systems)), 2))
    for at in rng.permutation(len(pairs))[:MOST_PAIRS]:
        first, second = pairs[at]
        apart = [scores[first] - scores[second] for scores in both]
        there = ~np.isnan(apart[0]) & ~np.isnan(apart[1])
        signs, graded = preference(apart[0][there], margin).astype(float), apart[1][there]
        yield _ahead(signs, np.clip(graded / max(2 * graded.std(), 1e-9), -1, 1))


def _ahead(dear: Scores, cheap: Scores) -> Pair:
    sign = 1.0 if dear.sum() >= 0 else -1.0
    return Pair(sign * dear, sign * cheap)


def llmbar(data: Path, group: str, judge: str, prompt: str) -> Scores:
    """For each item of a part of LLMBar whether a judge agrees with people: 1, -1, or 0 where it has no opinion."""
    truth = {}
    for line in (data / "llmbar/items.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item["group"] == group:
            truth[item["id"]] = item["label"]
    said: dict[str, list[str]] = {item: [] for item in truth}
    with gzip.open(data / "llmbar/verdicts.csv.gz", "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["judge"], row["prompt"]) == (judge, prompt) and row["item_id"] in said:
                said[row["item_id"]].append(row["winner"])
    found = []
    for item, winners in said.items():
        both = len(winners) == 2 and winners[0] == winners[1] != ""
        found.append(0.0 if not both else 1.0 if int(winners[0]) == truth[item] else -1.0)
    return np.array(found)


def planted(agrees: Scores, gap: float, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Scores, Scores]:
    """Labels with this gap, and what a judge says that agrees with them as it agrees with people on LLMBar."""
    if len(shape) == 2:
        wins = round(shape[1] * (1 + gap) / 2)
        dear = rng.permuted(np.tile(np.repeat([1.0, -1.0], [wins, shape[1] - wins]), (shape[0], 1)), axis=1)
    else:
        dear = np.where(rng.random(shape) < (1 + gap) / 2, 1.0, -1.0)
    return dear, dear * agrees[rng.integers(len(agrees), size=shape)]


def show_real(name: str, pairs: list[Pair], runs: int, rng: np.random.Generator) -> None:
    """Print a line of the first table."""
    each = max(1, runs // len(pairs))
    found: list[list[Found]] = [[], [], []]
    for pair in pairs:
        order = np.array([rng.permutation(len(pair.dear)) for _ in range(each)])
        dear, cheap = pair.dear[order], pair.cheap[order]
        found[0].append(on_every_item(dear, None))
        found[1].append(on_every_item(dear, cheap))
        found[2].append(on_every_item(dear, rng.permuted(cheap, axis=1)))
    alone, helped, useless = (Found(*map(np.concatenate, zip(*one, strict=True))) for one in found)
    ratios = [_ratio(one.labels, alone.labels) for one in (helped, useless)]
    r2 = np.mean([pair.r2 for pair in pairs])
    print(
        f"| {name} | {r2:.2f} | {alone.labels.mean():.1f} | {helped.labels.mean():.1f} ({ratios[0]}) | {ratios[1]} | "
        f"{np.mean(alone.sides == 0):.1%} | {np.mean(helped.sides == 0):.1%} | {np.mean(helped.sides < 0):.2%} |",
        flush=True,
    )


def show_planted(name: str, agrees: Scores, runs: int, rng: np.random.Generator) -> None:
    """Print a line of the second table."""
    cells = []
    for gap in (0.1, 0.2, 0.4):
        dear, cheap = planted(agrees, gap, (runs, ITEMS), rng)
        alone, helped = on_every_item(dear, None), on_every_item(dear, cheap)
        cells.append(f"{alone.labels.mean():.0f} → {helped.labels.mean():.0f} ({_ratio(helped.labels, alone.labels)})")
    dear, cheap = planted(agrees, 0.0, (20_000,), rng)
    print(f"| {name} | {Pair(dear, cheap).r2:.2f} | {' | '.join(cells)} |", flush=True)


def show_blocks(name: str, agrees: Scores, gap: float, runs: int, rng: np.random.Generator) -> None:
    """Print a line of the third table."""
    dear, cheap = planted(agrees, gap, (runs, LIMIT, 16), rng)
    found = [in_blocks(dear[..., 0], None), *(in_blocks(dear[..., 0], cheap[..., :each]) for each in (2, 4, 8, 16))]
    cells = [f"{one.labels.mean():.1f}, {np.mean(one.sides == 0):.1%}" for one in found]
    print(f"| {name}, gap {gap} | {' | '.join(cells)} |", flush=True)


def show_errors(runs: int, rng: np.random.Generator) -> None:
    """Print how often the wrong system is named, in so many runs of which each could."""
    print("| case | first | second |\n|---|---|---|")
    chances = [0.35, 0.3, 0.35]
    for agrees in (0.0, 0.7, 1.0):
        for items in (100, 400):
            wins = round(0.35 * items)
            truth = np.repeat([1.0, 0.0, -1.0], [wins, items - 2 * wins, wins])
            dear = rng.permuted(np.tile(truth, (runs, 1)), axis=1)
            cheap = np.where(rng.random(dear.shape) < agrees, dear, rng.choice([1.0, 0.0, -1.0], size=dear.shape))
            _show(f"{items} items, all rated, agrees in {agrees:.0%}", on_every_item(dear, cheap))
        for asked, gap, name in (
            ({}, 0.0, ""),
            ({"min_gap": 0.1}, -0.1, ", min gap 0.1"),
            ({"not_worse": 0.1}, 0.0, ", not worse 0.1"),
        ):
            shares = [chances[0] + gap / 2, chances[1], chances[2] - gap / 2]
            dear = rng.choice([1.0, 0.0, -1.0], size=(runs, LIMIT, 4), p=shares)
            cheap = np.where(rng.random(dear.shape) < agrees, dear, rng.choice([1.0, 0.0, -1.0], size=dear.shape))
            _show(f"like these, blocks of 4, agrees in {agrees:.0%}{name}", in_blocks(dear[..., 0], cheap, **asked))


def show_limits(runs: int, rng: np.random.Generator) -> None:
    """Print how often a system is named at a gap of 0.1, by the limit that was planned and the one it was raised to."""
    draws = rng.choice([1.0, 0.0, -1.0], size=(runs, 2 * LIMIT), p=[0.4, 0.3, 0.3])
    print("| limit | named | labels |\n|---|---|---|")
    raised = ((after, 2 * LIMIT) for after in (LIMIT, 3 * LIMIT // 4, LIMIT // 2, LIMIT // 4))
    for after, limit in ((LIMIT, LIMIT), *raised, (0, 2 * LIMIT)):
        (bets,) = Bets(RISK, UNLIMITED, limit, limits=((0, LIMIT), (after, limit)) if after else ()).begin
        when = np.full(runs, limit)
        for at, scores in enumerate(draws[:, :limit].T, start=1):
            bets = bets.after(np.stack([scores, -scores], axis=-1))
            when = np.where(bets.ruled_out.any(axis=-1), np.minimum(when, at), when)
        named = bets.ruled_out.any(axis=-1).mean()
        print(
            f"| {limit} from draw {after + 1} on | {named:.1%} ± {(named * (1 - named) / runs) ** 0.5:.1%} | {when.mean():.0f} |"
        )


def searched(scores: Scores, cheap: Scores | None, gap: float, seed: int) -> Run:
    """Search for the best by `scores`, shape (systems, items), the last the baseline, beside `cheap` ones."""
    systems, items = scores.shape
    beside = None
    if cheap is not None:
        beside = {
            (system, systems - 1): ProxyVerdicts(items, scores=dict(enumerate(cheap[system].tolist())))
            for system in range(systems - 1)
        }
    race = Racing(systems, systems - 1, RISK, gap, proxy=beside)
    return search(lambda item, system, _: float(scores[system, item]), race, scores.sum(axis=1), items, seed)


def guessed(scores: Scores, agrees: float, rng: np.random.Generator) -> Scores:
    """What a judge says that agrees in a share of the items, and guesses else; in [-1, 1]."""
    return np.where(rng.random(scores.shape) < agrees, 2 * scores - 1, rng.choice([1.0, 0.0, -1.0], size=scores.shape))


def explained(scores: Scores, cheap: Scores) -> float:
    """The mean R² of the systems beside the baseline."""
    return float(np.mean([Pair(*pair).r2 for pair in zip(scores[:-1], cheap[:-1], strict=True)]))


def show_searches(data: Path, runs: int) -> None:
    """Print the labels of searches by people alone, with a cheap judge, and with one that says nothing."""
    print("| search | systems | gap | alone | R², with a judge |\n|---|---|---|---|---|")
    tables = [score_table(data / "realsumm" / f"verdicts-{name}.csv.gz") for name in ("human-pyramid", "rouge2")]
    pyramid, rouge = (
        np.array(
            [[one.scores[one.systems.index(s), one.items.index(i)] for i in tables[0].items] for s in tables[0].systems]
        )
        for one in tables
    )
    for many in (4, 10):
        rows = []
        for run in range(2 * runs):
            rng = np.random.default_rng([SEED, run])
            *others, base = rng.permutation(len(pyramid))[:many].tolist()
            dear, cheap = (
                preference(np.vstack([table[others], table[base]]) - table[base]).astype(float)
                for table in (pyramid, rouge)
            )
            rows.append((TIE + dear / 2, [cheap, rng.permuted(cheap, axis=1)], run))
        _show_searches("REALSumm pyramid, ROUGE-2", many, 0.0, rows)
    _, known = field(data / "alpacaeval", "gpt4")
    for many, gap, times in ((4, 0.0, 1), (4, 0.05, 1), (4, 0.1, 1), (10, 0.0, 0.5)):
        rows = []
        for run, scores in enumerate(drawn(known, many - 1, ITEMS, round(times * runs))):
            rng = np.random.default_rng([SEED, run, 1])
            rows.append((scores, [guessed(scores, agrees, rng) for agrees in (0.9, 0.7, 0.0)], run))
        _show_searches("AlpacaEval, GPT-4", many, gap, rows)


def _show_searches(name: str, many: int, gap: float, rows: list[tuple[Scores, list[Scores], int]]) -> None:
    """Print a line of searches, each alone and beside the cheap judges that it has."""
    alone = np.array([searched(scores, None, gap, run).calls for scores, _, run in rows], dtype=float)
    cells = []
    for at in range(len(rows[0][1])):
        labels = np.array([searched(scores, cheap[at], gap, run).calls for scores, cheap, run in rows], dtype=float)
        r2 = np.mean([explained(scores, cheap[at]) for scores, cheap, _ in rows])
        cells.append(f"{r2:.2f}: {labels.mean():,.0f} ({_ratio(labels, alone)})")
    print(f"| {name} | {many} | {gap:g} | {alone.mean():,.0f} | {'; '.join(cells)} |", flush=True)


def show_search_errors(runs: int) -> None:
    """Print how often a search names a system that is not the best, where that is the easiest."""
    print("| systems | judge agrees | wrong | 95 % bound | labels |\n|---|---|---|---|---|")
    for many, agrees in ((2, 0.7), (2, 0.0), (2, 1.0), (6, 0.7)):
        rng = np.random.default_rng([SEED, many, round(10 * agrees)])
        bad = calls = 0
        for run in range(runs):
            scores = rng.permuted(least_favourable(many, 40, 0.7, 0.2, 0.0), axis=1)
            found = searched(scores, guessed(scores, agrees, rng), 0.0, run)
            bad, calls = bad + found.bad, calls + found.calls
        bound = float(beta.ppf(0.95, bad + 1, runs - bad))
        print(f"| {many + 1} | {agrees:.0%} | {bad / runs:.4f} | {bound:.4f} | {calls / runs:.1f} |", flush=True)


def _show(name: str, found: Found) -> None:
    print(f"| {name} | {np.mean(found.sides > 0):.4f} | {np.mean(found.sides < 0):.4f} |", flush=True)


def _ratio(labels: Scores, alone: Scores) -> str:
    """The ratio of two means of the same runs, and its standard error."""
    ratio = labels.mean() / alone.mean()
    error = (labels - ratio * alone).std() / alone.mean() / len(labels) ** 0.5
    return f"{ratio:.2f} ± {error:.2f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("--select", action="store_true")
    parser.add_argument("--select-errors", action="store_true")
    given = parser.parse_args()
    data, rng = given.data, np.random.default_rng(1)
    if given.errors:
        show_errors(given.runs or 20_000, rng)
        return
    if given.limits:
        show_limits(given.runs or 2_000, rng)
        return
    if given.select:
        show_searches(data, given.runs or 30)
        return
    if given.select_errors:
        show_search_errors(given.runs or 2_000)
        return
    runs = given.runs or 600
    print(
        "| people, judge | R² | people alone | with the judge | useless judge | open, alone | open, with it | wrong |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for judge in ("gpt-3.5-turbo", "pandalm-7b", "person-1"):
        show_real(f"PandaLM, {judge}", list(pandalm(data, judge)), 5 * runs, rng)
    tables = {
        "REALSumm pyramid, ROUGE-L": ("realsumm/verdicts-human-pyramid.csv.gz", "realsumm/verdicts-rougeL.csv.gz", 0.0),
        "AlpacaEval GPT-4-turbo, GPT-4": (
            "alpacaeval/verdicts-gpt4turbo.csv.gz",
            "alpacaeval/verdicts-gpt4.csv.gz",
            0.05,
        ),
    }
    for name, (dear, cheap, margin) in tables.items():
        show_real(name, list(of_tables(data / dear, data / cheap, margin, rng)), 2 * runs, rng)
    print("\n| LLMBar | R² | gap 0.1 | gap 0.2 | gap 0.4 |\n|---|---|---|---|---|")
    plain, with_reference = "Vanilla_NoRules", "Metrics_Reference"
    show_planted("Natural, GPT-4 with a reference", llmbar(data, "Natural", "GPT-4", with_reference), runs, rng)
    for group in ("Natural", "MT-Bench", "FairEval"):
        for judge in ("GPT-4", "ChatGPT"):
            show_planted(f"{group}, {judge}", llmbar(data, group, judge, plain), runs, rng)
    print("\n| items like these | people alone | k = 2 | 4 | 8 | 16 |\n|---|---|---|---|---|---|")
    for judge, gap in (("GPT-4", 0.1), ("GPT-4", 0.2), ("ChatGPT", 0.2)):
        show_blocks(f"MT-Bench, {judge}", llmbar(data, "MT-Bench", judge, plain), gap, runs, rng)


if __name__ == "__main__":
    main()
