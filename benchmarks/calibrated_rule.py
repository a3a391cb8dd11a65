r"""Measures judgments and errors of the rule `calibrated`, on systems that its past does not hold.

    python benchmarks/calibrated_rule.py DATA [--histories 60] [--pairs 12] [--past SYSTEMS] \
        [--give-up CHANCE]

DATA holds the folders `alpacaeval` and `realsumm` with their `verdicts-*.csv.gz` (item_id, model,
score). Some systems are drawn as the past, and all of them are compared with each other. The rule
is calibrated on this past. Then it names the winners of fresh pairs: of a system of the past with a
new system, or of two new systems. Pairs that are level on all items are left out.

± is one standard error over random pasts. The last two columns are the share of pasts with too few
comparisons for the risk, and the median of the value under which the statistic must fall to end a
run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from score_tables import score_table

from judgeloop.calibration.threshold import TooLittle, calibrate
from judgeloop.core.records import TIE, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.history.past import past_of_scores, prospects_of, signs
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.decisive import decisive
from judgeloop.methods.stats.decisiveness import Floats, Prospects
from judgeloop.methods.stopping.calibrated import Calibrated
from judgeloop.methods.stopping.giving_up import GivingUp

RISKS = (0.1, 0.2)
SELECTORS = ("random", "decisive")


@dataclass(frozen=True)
class Data:
    """Recorded scores, and the settings of the comparisons on them.

    `scores` has the shape (systems, items), NaN where a score is missing. Scores that differ by at
    most `tie_margin` tie. `past` is the number of systems in the past. `give_up` is the chance of a
    decision under which a run ends undecided.
    """

    title: str
    systems: tuple[str, ...]
    scores: Floats
    tie_margin: float
    past: int
    limits: Limits
    give_up: float | None = None


@dataclass(frozen=True)
class Setting:
    """The settings of a row of the table."""

    kind: str  # of the fresh pairs: "baseline" or "two new"
    risk: float
    selector: str


@dataclass(frozen=True)
class Run:
    """The end of a fresh comparison."""

    judgments: int
    wrong: bool
    undecided: bool


def read(path: Path, title: str, *, tie_margin: float, past: int, most: int) -> Data:
    """Read a table of scores, without the systems that were built to fool the judge.

    `past` is the number of systems in the past, `most` the maximum number of judgments.
    """
    systems, _, scores = score_table(path)
    return Data(title, systems, scores, tie_margin, past, Limits(max_judgments=most))


def fresh_run(data: Data, pair: tuple[int, int], foreseen: Prospects | None, rule: Calibrated, seed: int) -> Run | None:
    """Run a session on the items that both systems have; None for level systems."""
    known = np.flatnonzero(~np.isnan(data.scores[list(pair)]).any(axis=0))
    preferences = signs(data.scores[pair[0], known], data.scores[pair[1], known], data.tie_margin)
    better = int(np.sign(preferences.sum(dtype=np.int64)))
    if not better:
        return None
    session = Session(
        items=len(known),
        selector=decisive(foreseen and foreseen.at(known)),
        estimator=Preferences(),
        rule=rule,
        check=None if data.give_up is None else GivingUp(rule, data.give_up, data.limits.max_judgments),
        limits=data.limits,
        rng=np.random.default_rng(seed),
    )
    outcome = replay(session, lambda choice: Verdict(TIE + preferences[choice.position] / 2))
    wrong = outcome.winner is not None and outcome.winner != (0 if better > 0 else 1)
    return Run(outcome.estimate.tally.judged, wrong, outcome.winner is None)


def pairs_of(kind: str, order: list[int], past: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield at most `most` fresh pairs: a past system with new systems, or disjoint new pairs.

    `order` holds all systems; the first `past` of them are the past.
    """
    new = order[past:]
    if kind == "baseline":
        yield from ((order[0], system) for system in new[:most])
    else:
        yield from zip(new[::2][:most], new[1::2], strict=False)


def one_history(data: Data, setting: Setting, seed: int, most: int) -> tuple[list[Run], float] | TooLittle:
    """Calibrate on a random past, and run its fresh pairs.

    Returns the runs, and the value of the statistic under which the stated risk is low enough: NaN
    if there is none. Level pairs are left out.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.systems)).tolist()
    old = order[: data.past]
    past = past_of_scores([data.systems[system] for system in old], data.scores[old], data.tie_margin)
    fresh = list(pairs_of(setting.kind, order, data.past, most))
    pair = (data.systems[fresh[0][0]], data.systems[fresh[0][1]])
    weighted = setting.selector == "decisive"
    found = calibrate(past, pair, risk=setting.risk, limits=data.limits, weighted=weighted, rng=rng)
    if isinstance(found, TooLittle):
        return found
    # All fresh pairs have the same prospects, because the past has no new system.
    foreseen = prospects_of(past, pair) if weighted else None
    rule = Calibrated(setting.risk, *found.threshold)
    runs = [fresh_run(data, compared, foreseen, rule, seed) for compared in fresh]
    threshold = found.bounds.below(setting.risk)
    return [run for run in runs if run], np.nan if threshold is None else min(1.0, threshold)


def row(data: Data, setting: Setting, histories: int, most: int) -> str:
    """Return a line of the table."""
    found = [one_history(data, setting, seed, most) for seed in range(histories)]
    enough = [runs for runs in found if not isinstance(runs, TooLittle)]
    head = f"| {data.title} | {data.past} | {setting.kind} | {setting.risk:g} | {setting.selector} |"
    short = f"{1 - len(enough) / histories:.0%} |"
    if not enough:
        return f"{head} - | - | - | {short} - |"
    cells = [
        shown(enough, lambda run: run.judgments),
        shown(enough, lambda run: 100 * run.wrong),
        shown(enough, lambda run: 100 * run.undecided),
    ]
    middle = np.median([threshold for _, threshold in enough])
    return f"{head} {' | '.join(cells)} | {short} {middle:.3f} |"


def shown(histories: list[tuple[list[Run], float]], pick: Callable[[Run], float]) -> str:
    """Return the mean of `pick` over pasts, with its standard error."""
    means = np.array([np.mean([pick(run) for run in runs]) for runs, _ in histories])
    return f"{means.mean():.1f} ± {means.std(ddof=1) / np.sqrt(len(means)):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of the recorded verdicts")
    parser.add_argument("--histories", type=int, default=60, help="number of random pasts")
    parser.add_argument("--pairs", type=int, default=12, help="maximum number of fresh pairs for each past")
    parser.add_argument("--past", type=int, help="maximum number of systems in the past")
    parser.add_argument(
        "--give-up", type=float, help="end a run undecided once the chance of a decision is under this, between 0 and 1"
    )
    arguments = parser.parse_args()
    alpaca, realsumm = arguments.data / "alpacaeval", arguments.data / "realsumm"
    tables = [
        read(alpaca / "verdicts-gpt4.csv.gz", "GPT-4", tie_margin=0, past=28, most=200),
        read(alpaca / "verdicts-gpt4turbo.csv.gz", "GPT-4-turbo, margin 0.05", tie_margin=0.05, past=24, most=200),
        read(realsumm / "verdicts-human-pyramid.csv.gz", "REALSumm pyramid", tie_margin=0, past=16, most=80),
    ]
    tables = [
        replace(data, past=min(data.past, arguments.past or data.past), give_up=arguments.give_up) for data in tables
    ]
    columns = ["data", "past systems", "fresh pair", "risk", "selector", "judgments", "error %", "undecided %", "too little",
               "statistic under"]  # fmt: skip
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    settings = [Setting(*cell) for cell in product(("baseline", "two new"), RISKS, SELECTORS)]
    for data, setting in product(tables, settings):
        print(row(data, setting, arguments.histories, arguments.pairs), flush=True)


if __name__ == "__main__":
    main()
