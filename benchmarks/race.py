r"""How many calls a search for the best takes to its end, and how often it errs, on recorded verdicts.

    python benchmarks/race.py DATA [--runs 20] [--only calls,few,baseline] [--jobs 1]
    python benchmarks/race.py --only least --runs 20000
    python benchmarks/race.py DATA --picture FILE

DATA holds `alpacaeval`, with `verdicts-gpt4.csv.gz` and `verdicts-gpt4turbo.csv.gz`. In each run
the pool, its order and the systems are drawn anew. An abstention is taken for a tie, so that there is no
doubt which system is the best; the baseline of the verdicts is not a candidate but where `few` and
`baseline` say so. `least` needs no data: it draws the pools in which a guarantee is hardest to keep, with
one best system and all others just too far behind. `beside` tries comparisons in pairs beside the levels
of many systems. `forecast` prints the table that forecasts go by. `like` searches
for the best of items like these, and `like-few` does it in both ways.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from judgeloop.core.records import TIE, Label, Verdict, as_score, preference
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import WinRates
from judgeloop.methods.selectors.race import Racing
from judgeloop.methods.stats import levels
from judgeloop.methods.stopping.best_of_many import Separated
from judgeloop.questions.select.page import course_of
from judgeloop.replay.data import read_scores
from judgeloop.report.pictures import Chart
from judgeloop.report.svg import Drawing

Floats = NDArray[np.float64]
GAPS = (0.0, 0.02, 0.05, 0.1)
MANY = {"gpt4": (6, 10, 18, 36, 53), "gpt4turbo": (6, 10, 18, 36, 37)}
POOLS = (400, 805)
FEW = (3, 5)  # systems, with the baseline, in the table of the forecast
FIELDS = {"gpt4": "text_davinci_003", "gpt4turbo": "gpt4_1106_preview"}
GAMED = {"NullModel", "gpt4_gamed"}  # built to fool the judge
FAR_AHEAD = "FuseChat"
# Of the least favourable pools: systems, items, win rate of the best, ties, and whether they are alike.
LEAST = [
    (2, 40, 0.6, 0.0, False),
    (2, 40, 0.95, 0.0, False),
    (6, 40, 0.6, 0.3, False),
    (10, 40, 0.8, 0.0, False),
    (6, 40, 0.3, 0.0, False),
    (6, 40, 0.6, 0.3, True),
    (10, 40, 0.8, 0.0, True),
    (30, 40, 0.3, 0.0, False),
    (30, 40, 0.8, 0.0, False),
    (30, 40, 0.8, 0.0, True),
]
NO_PAIRS = 2  # systems, up to which there are never pairs
SYNTHETIC_TIES = 0.2
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
        labels = [Label(choice, Verdict(scores_of(choice.position, *choice.systems))) for choice in step.choices]
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
        lambda item, system, _: float(scores[system, item]), race, scores.sum(axis=1), items, seed, alone=alone
    )


def choosing(scores: Floats, baseline: int | None, risk: float, gap: float, seed: int) -> Run:
    """Search with a baseline of one's choice, or one that the search chooses.

    Comparisons with another system than that of the verdicts are derived from the scores of both.
    """
    systems, items = scores.shape

    def score(item: int, system: int, other: int) -> float:
        return as_score(preference(float(scores[system, item] - scores[other, item])))

    totals = np.zeros(systems)  # which system is the best depends on the baseline
    return search(score, Racing(systems, baseline, risk, gap), totals, items, seed)


def field(data: Path, name: str) -> tuple[list[str], Floats]:
    """Return the systems of a table and their scores against its baseline, shape (systems, items)."""
    table = read_scores(data / f"verdicts-{name}.csv.gz")
    left_out = GAMED | {FIELDS[name]}
    systems = sorted(system for system in table.systems if system not in left_out)
    scores = np.nan_to_num(table.scores(systems, table.items), nan=TIE)
    return systems, TIE + preference(scores - TIE) / 2


def without_far_ahead(systems: list[str], scores: Floats) -> Floats:
    """Return the scores of all systems but the one that is far ahead of GPT-4-turbo's others."""
    return scores[[at for at, system in enumerate(systems) if FAR_AHEAD not in system]]


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


def calls_table(data: Path, runs: int, names: list[str], pools: list[int], risks: list[float], *, jobs: int) -> None:
    """Print the calls to the end by verdicts, systems, pool, risk and gap."""
    print(f"| verdicts | systems | pool | risk | gap | {HEAD} |\n|{'---|' * 10}")
    for name in names:
        systems, scores = field(data, name)
        plain = without_far_ahead(systems, scores)
        for many in MANY[name]:
            among = scores if many > len(plain) or name == "gpt4" else plain
            for pool in pools:
                for risk in risks:
                    for gap in GAPS:
                        fields = enumerate(drawn(among, many, pool, runs))
                        tasks = ((one, risk, gap, run) for run, one in fields)
                        found = all_at_once(tasks, jobs, alone=True)
                        line = f"| {name} | {many} | {pool} | {risk} | {gap} | {cells(found)} |"
                        print(line, flush=True)


@contextmanager
def pairs_up_to(systems: int, share: float = levels.PAIRS_SHARE) -> Iterator[None]:
    """Compare in pairs, too, up to so many systems, at a share of the risk."""
    usual = levels.FEW, levels.FEW_LIKE_THESE, levels.PAIRS_SHARE
    levels.FEW, levels.FEW_LIKE_THESE, levels.PAIRS_SHARE = systems, systems, share
    try:
        yield
    finally:
        levels.FEW, levels.FEW_LIKE_THESE, levels.PAIRS_SHARE = usual


def few_table(data: Path, runs: int, names: list[str]) -> None:
    """Print the calls with and without comparisons in pairs, by systems, the baseline among them."""
    print(f"| verdicts | systems | gap | pairs | {HEAD} |\n|{'---|' * 9}")
    for name in names:
        plain = without_far_ahead(*field(data, name))
        for many, gap in itertools.product((3, 4, 6, 8, 10), (0.0, 0.05)):
            for pairs in (True, False):
                fields = enumerate(drawn(plain, many - 1, 400, runs))
                with pairs_up_to(many if pairs else NO_PAIRS):
                    found = [fixed(one, 0.1, gap, run) for run, one in fields]
                print(f"| {name} | {many} | {gap} | {pairs} | {cells(found)} |", flush=True)


def spread_out(systems: int, best: float, spread: float, runs: int) -> Iterator[Floats]:
    """Yield pools of systems with win rates evenly from `best` down by `spread`, and a fifth ties."""
    rates = np.linspace(best, best - spread, systems)[:, None]
    for run in range(runs):
        rng = np.random.default_rng([SEED, run])
        scores = (rng.random((systems, 400)) < rates).astype(float)
        scores[rng.random(scores.shape) < SYNTHETIC_TIES] = TIE
        yield np.vstack([scores, np.full(400, TIE)])


def beside_table(data: Path, runs: int) -> None:
    """Print the mean calls of levels alone, and with pairs beside them at two shares of the risk.

    The baseline is a candidate, as it takes part in the pairs.
    """
    gpt4, turbo = field(data, "gpt4")[1], field(data, "gpt4turbo")[1]
    kinds: dict[str, Callable[[], Iterator[Floats]]] = {
        "GPT-4-turbo, one far ahead of 36": lambda: drawn(turbo, 37, 400, runs),
        "GPT-4, 18": lambda: drawn(gpt4, 18, 400, runs),
        "GPT-4, 53": lambda: drawn(gpt4, 53, 400, runs),
    }
    for many, best, spread in itertools.product((6, 18), (0.6, 0.9), (0.1, 0.5)):
        kinds[f"drawn, {many}, {best} to {best - spread:.1f}"] = partial(spread_out, many, best, spread, runs)
    ways = ("levels alone", "pairs at half the risk", "at three quarters")
    print(f"| systems | gap | {' | '.join(ways)} |\n|{'---|' * 5}")
    for (kind, fields), gap in itertools.product(kinds.items(), (0.0, 0.05)):
        means = []
        for most, share in ((NO_PAIRS, 0.5), (99, 0.5), (99, 0.75)):
            with pairs_up_to(most, share):
                found = [fixed(one, 0.1, gap, run) for run, one in enumerate(fields())]
            calls = [run.calls for run in found]
            means.append(f"{np.mean(calls):,.0f} ± {np.std(calls) / np.sqrt(runs):.0f}")
        print(f"| {kind} | {gap} | {' | '.join(means)} |", flush=True)


def baseline_table(data: Path, runs: int, names: list[str]) -> None:
    """Print the calls with a chosen baseline, and with the best, middle and worst system as baseline."""
    print("| verdicts | systems | gap | chosen | best | middle | worst |\n|---|---|---|---|---|---|---|")
    for name in names:
        _, scores = field(data, name)
        for many in (6, 18):
            for gap in (0.0, 0.05):
                found: dict[str, list[int]] = {}
                for run, one in enumerate(drawn(scores, many, 400, runs)):
                    ranked = np.argsort(one[:-1].sum(axis=1)).tolist()
                    kinds = {"chosen": None, "best": ranked[-1], "middle": ranked[many // 2], "worst": ranked[0]}
                    for kind, number in kinds.items():
                        calls = choosing(one[:-1], number, 0.1, gap, run).calls
                        found.setdefault(kind, []).append(calls)
                told = (f"{np.mean(calls):,.0f} ± {np.std(calls) / np.sqrt(runs):.0f}" for calls in found.values())
                print(f"| {name} | {many} | {gap} | {' | '.join(told)} |", flush=True)


def forecast_table(data: Path, runs: int) -> None:
    """Print the mean calls that the forecast of a search goes by; up to five systems the baseline is one of them."""
    _, scores = field(data, "gpt4")
    print(f"| pool | systems | {' | '.join(map(str, GAPS))} |\n|{'---|' * (2 + len(GAPS))}")
    for pool, many in itertools.product((100, *POOLS), (*FEW, *MANY["gpt4"])):
        among = many - 1 if many in FEW else many
        fields = list(drawn(scores, among, pool, runs))
        found = [
            [fixed(one, 0.1, gap, run, alone=many not in FEW).calls for run, one in enumerate(fields)] for gap in GAPS
        ]
        means = (f"{np.mean(calls):,.0f} ± {np.std(calls) / np.sqrt(runs):.0f}" for calls in found)
        print(f"| {pool} | {many} | {' | '.join(means)} |", flush=True)


def picture(data: Path, place: Path) -> None:
    """Draw the bounds of 53 systems in one race as a report draws them."""
    names, scores = field(data, "gpt4")
    scores = scores[:, np.random.default_rng([SEED, 0]).permutation(scores.shape[1])[:400]]
    everybody = [*names, FIELDS["gpt4"]]
    estimator = WinRates(len(everybody), len(names), 0.1)
    session = Session(
        items=400,
        selector=Racing(len(everybody), len(names), 0.1),
        estimator=estimator,
        rule=Separated(0.1),
        limits=Limits(1, scores.size, 1.0),
        rng=np.random.default_rng(0),
    )
    end = replay(session, lambda one: Verdict(float(scores[one.systems[0], one.position])))
    lines = course_of(end.labels, estimator, end.estimate.tally, everybody, 400)
    said = f"How the bounds of {len(names)} systems narrowed"
    chart = Chart(said, said, "judgments", lines, band=(lines[-2].points, lines[-1].points), unit=" %")
    place.write_text(f"{Drawing(chart)}\n")


def least_favourable(systems: int, items: int, mean: float, ties: float, gap: float, *, alike: bool = False) -> Floats:
    """Return one best system, and all others half a point more than the gap behind; not shuffled.

    With `alike`, the others have the scores of the best but for what they are behind.
    """
    scores = np.zeros((systems, items))
    best = round(2 * items * mean)
    behind = int(gap * items) + 1
    for row, halves in zip(scores, [best] + [best - behind] * (systems - 1), strict=True):
        tied = min(round(ties * items), halves, 2 * items - halves)
        tied += (halves - tied) % 2
        row[:tied], row[tied : tied + (halves - tied) // 2] = TIE, 1.0
    if alike:
        worse = np.repeat(scores[:1], systems - 1, axis=0)
        for _ in range(behind):
            at = worse.argmax(axis=1)
            worse[np.arange(systems - 1), at] -= TIE
        scores[1:] = worse
    return np.vstack([scores, np.full(items, TIE)])


def of_a_sample(scores: Floats, many: int, pool: int, gap: float, run: int) -> Run:
    """Search for the best of items like these: the pool is drawn with replacement."""
    rng = np.random.default_rng([SEED, run])
    chosen = rng.permutation(len(scores))[:many]
    items = rng.integers(scores.shape[1], size=pool)
    one = np.vstack([scores[np.ix_(chosen, items)], np.full(pool, TIE)])
    totals = pool * np.append(scores[chosen].mean(axis=1), TIE)
    race = Racing(many + 1, many, 0.1, gap, sampled=True)
    return search(lambda item, system, _: float(one[system, item]), race, totals, pool, run)


def like_table(data: Path, runs: int, names: list[str], pools: list[int]) -> None:
    """Print the calls of searches about items like these."""
    print(f"| verdicts | systems | pool | gap | {HEAD} | open |\n|{'---|' * 10}")
    for name in names:
        _, scores = field(data, name)
        for many, pool, gap in itertools.product(MANY[name], pools, (*GAPS, 0.2)):
            found = [of_a_sample(scores, many, pool, gap, run) for run in range(runs)]
            left = 100 * np.mean([run.open for run in found])
            cell = f"{name} | {many} | {pool} | {gap}"
            print(f"| {cell} | {cells(found)} | {left:.0f} % |", flush=True)


def like_few_table(data: Path, runs: int) -> None:
    """Print the calls in pairs and by levels for items like these, the baseline among the systems."""
    print("| systems | gap | in pairs | by levels |\n|---|---|---|---|")
    _, scores = field(data, "gpt4")
    for many, gap in itertools.product((4, 8, 12, 14, 18), (0.1, 0.2)):
        ways = []
        for most in (many, NO_PAIRS):
            with pairs_up_to(most):
                found = [of_a_sample(scores, many - 1, 805, gap, run) for run in range(runs)]
            calls = [run.calls for run in found]
            left = 100 * np.mean([run.open for run in found])
            error = np.std(calls) / np.sqrt(runs)
            ways.append(f"{np.mean(calls):,.0f} ± {error:.0f} ({left:.0f} % open)")
        print(f"| {many} | {gap} | {' | '.join(ways)} |", flush=True)


def least_run(kind: tuple[Any, ...], risk: float, gap: float, run: int) -> Run:
    """Search in one least favourable pool; where the systems are alike, their items move together."""
    *shape, alike = kind
    below = shape[2] < TIE  # the baseline, with its win rate of a half, is then no candidate
    pool, rng = least_favourable(*shape, gap, alike=alike), np.random.default_rng([SEED, run])
    moved = pool[:, rng.permutation(pool.shape[1])] if alike else rng.permuted(pool, axis=1)
    return fixed(moved, risk, gap, run, alone=below)


def least_table(runs: int, risks: list[float], jobs: int) -> None:
    """Print how often one is named that is too far behind, in the least favourable pools."""
    print(f"| systems | items | mean | ties | alike | gap | risk | too far behind |\n|{'---|' * 8}")
    for kind, gap, risk in itertools.product(LEAST, (0.0, 0.1), risks):
        found = Parallel(n_jobs=jobs)(delayed(least_run)(kind, risk, gap, run) for run in range(runs))
        cell = " | ".join(map(str, (*kind, gap, risk)))
        print(f"| {cell} | {np.mean([run.bad for run in found]):.4f} |", flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default="calls,few,baseline")
    parser.add_argument("--verdicts", default="gpt4,gpt4turbo")
    parser.add_argument("--pools", default="400")
    parser.add_argument("--risks", default="0.1")
    parser.add_argument("--systems", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    names, runs, jobs = given.verdicts.split(","), given.runs, given.jobs
    data = given.data and given.data / "alpacaeval"
    if given.systems:
        many = tuple(map(int, given.systems.split(",")))
        MANY.update(dict.fromkeys(MANY, many))
        LEAST[:] = [kind for kind in LEAST if kind[0] in many]
    pools, risks = list(map(int, given.pools.split(","))), list(map(float, given.risks.split(",")))
    tables: dict[str, Callable[[], None]] = {
        "calls": lambda: calls_table(data, runs, names, pools, risks, jobs=jobs),
        "like": lambda: like_table(data, runs, names, pools),
        "like-few": lambda: like_few_table(data, runs),
        "few": lambda: few_table(data, runs, names),
        "beside": lambda: beside_table(data, runs),
        "baseline": lambda: baseline_table(data, runs, names),
        "forecast": lambda: forecast_table(data, runs),
        "least": lambda: least_table(runs, risks, jobs),
    }
    wanted = [] if given.picture else given.only.split(",")
    if data is None and wanted != ["least"]:
        parser.error("DATA is needed for all tables but `--only least`")
    for name in wanted:
        tables[name]()
    if given.picture:
        picture(data, given.picture)


if __name__ == "__main__":
    main()
