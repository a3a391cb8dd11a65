r"""How many calls a search for the best takes to its end, and how often it errs, on recorded verdicts.

    python benchmarks/race.py DATA [--runs 20] [--only calls,few,baseline] [--jobs 1]
    python benchmarks/race.py DATA --only least --runs 20000

DATA is the folder `alpacaeval`, with `verdicts-gpt4.csv.gz` and `verdicts-gpt4turbo.csv.gz`. In each run
the pool, its order and the systems are drawn anew. An abstention is taken for a tie, so that there is no
doubt which system is the best; the baseline of the verdicts is not a candidate but where `few` and
`baseline` say so. `least` needs no data: it draws the pools in which a guarantee is hardest to keep, with
one best system and all others just too far behind. `like` searches for the best of items like these.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from judgeloop.core.records import TIE, Label, Verdict
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.stats import levels
from judgeloop.replay.recorded_files import read_scores

Floats = NDArray[np.float64]
GAPS = (0.0, 0.02, 0.05, 0.1)
MANY = {"gpt4": (6, 10, 18, 36, 53), "gpt4turbo": (6, 10, 18, 36, 37)}
POOLS = (400, 805)
FIELDS = {"gpt4": "text_davinci_003", "gpt4turbo": "gpt4_1106_preview"}
GAMED = {"NullModel", "gpt4_gamed"}  # built to fool the judge
FAR_AHEAD = "FuseChat"
SEED = 11
ROUNDING = 1e-9


class Run(NamedTuple):
    """One search: calls and rounds, and whether it named the best, one too far behind, or nobody."""

    calls: int
    rounds: int
    best: bool
    bad: bool
    open: bool


def search(
    scores_of: Callable[[int, int, int], float],
    race: Racing,
    totals: Floats,
    items: int,
    seed: int,
    *,
    alone: bool = False,
) -> Run:
    """Search for the best; `scores_of` gives the score of an item, a system and its opponent.

    With `alone`, the baseline is no candidate: its level is taken to be 0.
    """
    state = race.init(items, np.random.default_rng(seed))
    if alone and state.levels is not None:
        *others, known = state.levels.each
        least = replace(known, upper=0.0, least=0.0, most=0.0)
        state = replace(state, levels=replace(state.levels, each=(*others, least)))
        totals = np.append(totals[:-1], 0.0)
    calls = rounds = 0
    while state.levels is None or not state.levels.within(race.gap):
        step, state = race.ask(state, np.random.default_rng(0))
        if step is None:
            break
        labels = [
            Label(choice, Verdict(scores_of(choice.position, *choice.systems)))
            for choice in step.choices
        ]
        state = race.tell(state, labels)
        calls, rounds = calls + len(labels), rounds + 1
    assert state.levels is not None
    ended, named = state.levels.within(race.gap), state.levels.leader
    behind = totals.max() - totals[named] if named is not None else np.inf
    bad = 2 * behind > race.gap * items + ROUNDING
    return Run(calls, rounds, ended and behind <= 0, ended and bad, not ended)


def fixed(scores: Floats, risk: float, gap: float, seed: int, *, alone: bool = False) -> Run:
    """Search among the systems of `scores`, shape (systems, items); the last is the baseline."""
    systems, items = scores.shape
    race = Racing(systems, systems - 1, risk, gap)
    return search(
        lambda item, system, _: float(scores[system, item]),
        race,
        scores.sum(axis=1),
        items,
        seed,
        alone=alone,
    )


def choosing(scores: Floats, baseline: int | None, risk: float, gap: float, seed: int) -> Run:
    """Search with a baseline of one's choice, or one that the search chooses.

    Comparisons with another system than that of the verdicts are derived from the scores of both.
    """
    systems, items = scores.shape

    def score(item: int, system: int, other: int) -> float:
        return float(TIE + np.sign(scores[system, item] - scores[other, item]) / 2)

    totals = np.zeros(systems)  # which system is the best depends on the baseline
    return search(score, Racing(systems, baseline, risk, gap), totals, items, seed)


def field(data: Path, name: str) -> tuple[list[str], Floats]:
    """Return the systems of a table and their scores against its baseline, shape (systems, items)."""
    table = read_scores(data / f"verdicts-{name}.csv.gz")
    left_out = GAMED | {FIELDS[name]}
    systems = sorted(system for system in table.systems if system not in left_out)
    scores = np.nan_to_num(table.scores(systems, table.items), nan=TIE)
    return systems, np.where(scores == TIE, TIE, (scores > TIE).astype(float))


def drawn(scores: Floats, systems: int, pool: int, runs: int) -> Iterator[Floats]:
    """Yield so many random fields of systems and items, with the baseline as the last system."""
    for run in range(runs):
        rng = np.random.default_rng([SEED, run])
        items = rng.permutation(scores.shape[1])[:pool]
        chosen = rng.permutation(len(scores))[:systems]
        yield np.vstack([scores[np.ix_(chosen, items)], np.full(len(items), TIE)])


def all_at_once(tasks: Iterable[tuple[Any, ...]], jobs: int, **same: Any) -> list[Run]:
    """Return the searches of `fixed` over the tasks' arguments, by so many processes."""
    return list(Parallel(n_jobs=jobs)(delayed(fixed)(*task, **same) for task in tasks))


def cells(found: list[Run]) -> str:
    """Format runs: mean calls and their error, the 90th percentile, rounds, best, too far behind."""
    calls = np.array([run.calls for run in found])
    error = calls.std() / np.sqrt(len(calls))
    best, bad = (100 * np.mean([getattr(run, name) for run in found]) for name in ("best", "bad"))
    rounds = np.mean([run.rounds for run in found])
    return f"{calls.mean():,.0f} ± {error:.0f} | {np.quantile(calls, 0.9):,.0f} | {rounds:.0f} | {best:.0f} % | {bad:.1f} %"


HEAD = "mean calls | 90th percentile | rounds | best named | too far behind"


def calls_table(
    data: Path, runs: int, names: list[str], pools: list[int], risks: list[float], *, jobs: int
) -> None:
    """Print the calls to the end by verdicts, systems, pool, risk and gap."""
    print(f"| verdicts | systems | pool | risk | gap | {HEAD} |\n|{'---|' * 10}")
    for name in names:
        systems, scores = field(data, name)
        plain = [at for at, system in enumerate(systems) if FAR_AHEAD not in system]
        for many in MANY[name]:
            among = scores if many > len(plain) or name == "gpt4" else scores[plain]
            for pool in pools:
                for risk in risks:
                    for gap in GAPS:
                        fields = enumerate(drawn(among, many, pool, runs))
                        tasks = ((one, risk, gap, run) for run, one in fields)
                        found = all_at_once(tasks, jobs, alone=True)
                        line = f"| {name} | {many} | {pool} | {risk} | {gap} | {cells(found)} |"
                        print(line, flush=True)


def few_table(data: Path, runs: int, names: list[str]) -> None:
    """Print the calls with and without comparisons in pairs, by systems, the baseline among them."""
    print(f"| verdicts | systems | gap | pairs | {HEAD} |\n|{'---|' * 9}")
    most = levels.FEW
    for name in names:
        systems, scores = field(data, name)
        plain = scores[[at for at, system in enumerate(systems) if FAR_AHEAD not in system]]
        for many in (3, 4, 6, 8, 10):
            for gap in (0.0, 0.05):
                for pairs in (True, False):
                    levels.FEW = many if pairs else 2
                    found = [
                        fixed(one, 0.1, gap, run)
                        for run, one in enumerate(drawn(plain, many - 1, 400, runs))
                    ]
                    print(f"| {name} | {many} | {gap} | {pairs} | {cells(found)} |", flush=True)
    levels.FEW = most


def baseline_table(data: Path, runs: int, names: list[str]) -> None:
    """Print the calls with a chosen baseline, and with the best, middle and worst system as baseline."""
    print("| verdicts | systems | gap | baseline | mean calls |\n|---|---|---|---|---|")
    for name in names:
        _, scores = field(data, name)
        for many in (6, 18):
            for gap in (0.0, 0.05):
                found: dict[str, list[int]] = {}
                for run, one in enumerate(drawn(scores, many, 400, runs)):
                    ranked = np.argsort(one[:-1].sum(axis=1)).tolist()
                    kinds = {
                        "chosen": None,
                        "best": ranked[-1],
                        "middle": ranked[many // 2],
                        "worst": ranked[0],
                    }
                    for kind, number in kinds.items():
                        calls = choosing(one[:-1], number, 0.1, gap, run).calls
                        found.setdefault(kind, []).append(calls)
                for kind, calls in found.items():
                    print(
                        f"| {name} | {many} | {gap} | {kind} | {np.mean(calls):,.0f} |", flush=True
                    )


def picture(data: Path, place: Path) -> None:
    """Draw the upper bounds of 53 systems by calls, in one race, and what the leader is sure to have."""
    scores = next(drawn(field(data, "gpt4")[1], 53, 400, 1))
    race = Racing(54, 53, 0.1)
    state, calls = race.init(400, np.random.default_rng(0)), 0
    paths: list[list[tuple[int, float]]] = [[] for _ in range(54)]
    sure = []
    while not (state.levels and state.levels.within(0.0)):
        step, state = race.ask(state, np.random.default_rng(0))
        assert step is not None
        labels = [
            Label(choice, Verdict(float(scores[choice.systems[0], choice.position])))
            for choice in step.choices
        ]
        state, calls = race.tell(state, labels), calls + len(labels)
        assert state.levels is not None
        sure.append((calls, state.levels.lower / 400))
        for path, upper in zip(paths, state.levels.uppers / 400, strict=True):
            if not path or path[-1][1] != upper:
                path.append((calls, float(upper)))
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" font-family="sans-serif" font-size="12">'
    ]

    def line(path: list[tuple[int, float]], look: str) -> None:
        steps = [f"{50 + 570 * at / calls:.0f} {290 - 270 * share:.1f}" for at, share in path]
        moves = "".join("H{}V{}".format(*step.split()) for step in steps[1:])
        lines.append(f'<path d="M{steps[0]}{moves}H620" fill="none" {look}/>')

    for path in paths[:53]:
        line(path, 'stroke="#7a8aa0" stroke-width="0.7"')
    line(paths[state.levels.leader or 0], 'stroke="#0a6" stroke-width="2"')
    line(sure, 'stroke="#0a6" stroke-width="2" stroke-dasharray="4 3"')
    lines += [
        f'<text x="44" y="{294 - 270 * share:.0f}" text-anchor="end">{100 * share:.0f} %</text>'
        for share in (0, 0.5, 1)
    ]
    lines.append(
        f'<text x="50" y="308">0</text><text x="620" y="308" text-anchor="end">{calls:,} calls</text>'
    )
    lines.append('<text x="50" y="324">upper bounds of the win rates; green: the system that is named, '
                 "dashed: what the leader is sure to have</text></svg>")  # fmt: skip
    place.write_text("\n".join(lines) + "\n")


def least_favourable(systems: int, items: int, mean: float, ties: float, gap: float) -> Floats:
    """Return one best system, and all others half a point more than the gap behind; not shuffled."""
    scores = np.zeros((systems, items))
    best = round(2 * items * mean)
    for row, halves in zip(
        scores, [best] + [best - int(gap * items) - 1] * (systems - 1), strict=True
    ):
        tied = min(round(ties * items), halves, 2 * items - halves)
        tied += (halves - tied) % 2
        row[:tied], row[tied : tied + (halves - tied) // 2] = TIE, 1.0
    return np.vstack([scores, np.full(items, TIE)])


def like_table(data: Path, runs: int, names: list[str], pools: list[int]) -> None:
    """Print the calls of searches about items like these: the pools are drawn with replacement."""
    print(f"| verdicts | systems | pool | gap | {HEAD} | open |\n|{'---|' * 10}")
    for name in names:
        _, scores = field(data, name)
        for many, pool, gap in itertools.product(MANY[name], pools, (*GAPS, 0.2)):
            found = []
            for run in range(runs):
                rng = np.random.default_rng([SEED, run])
                chosen = rng.permutation(len(scores))[:many]
                items = rng.integers(scores.shape[1], size=pool)
                one = np.vstack([scores[np.ix_(chosen, items)], np.full(pool, TIE)])
                levels_of = pool * np.append(scores[chosen].mean(axis=1), TIE)
                race = Racing(many + 1, many, 0.1, gap, sampled=True)
                found.append(
                    search(lambda item, system, _, s=one: float(s[system, item]), race, levels_of, pool, run)
                )  # fmt: skip
            left = 100 * np.mean([run.open for run in found])
            print(
                f"| {name} | {many} | {pool} | {gap} | {cells(found)} | {left:.0f} % |", flush=True
            )


def least_table(runs: int, risks: list[float], jobs: int) -> None:
    """Print how often one is named that is too far behind, in the least favourable pools."""
    print(
        "| systems | items | mean | ties | gap | risk | too far behind |\n|---|---|---|---|---|---|---|"
    )
    kinds = [(2, 40, 0.6, 0.0), (2, 40, 0.95, 0.0), (6, 40, 0.6, 0.3), (10, 40, 0.8, 0.0)]
    for systems, items, mean, ties in kinds:
        for gap in (0.0, 0.1):
            for risk in risks:
                rng = np.random.default_rng(SEED)
                pool = least_favourable(systems, items, mean, ties, gap)
                tasks = ((rng.permuted(pool, axis=1), risk, gap, run) for run in range(runs))
                bad = sum(run.bad for run in all_at_once(tasks, jobs))
                cell = f"{systems} | {items} | {mean} | {ties} | {gap} | {risk}"
                print(f"| {cell} | {bad / runs:.4f} |", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default="calls,few,baseline")
    parser.add_argument("--verdicts", default="gpt4,gpt4turbo")
    parser.add_argument("--pools", default="400")
    parser.add_argument("--risks", default="0.1")
    parser.add_argument("--systems", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    names, tables = given.verdicts.split(","), given.only.split(",")
    if given.systems:
        MANY.update(dict.fromkeys(MANY, tuple(map(int, given.systems.split(",")))))
    pools, risks = list(map(int, given.pools.split(","))), list(map(float, given.risks.split(",")))
    if "calls" in tables:
        calls_table(given.data, given.runs, names, pools, risks, jobs=given.jobs)
    if "like" in tables:
        like_table(given.data, given.runs, names, pools)
    if "few" in tables:
        few_table(given.data, given.runs, names)
    if "baseline" in tables:
        baseline_table(given.data, given.runs, names)
    if given.picture:
        picture(given.data, given.picture)
    if "least" in tables:
        least_table(given.runs, risks, given.jobs)


if __name__ == "__main__":
    main()
