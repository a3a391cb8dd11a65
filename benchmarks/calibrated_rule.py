"""What the rule `calibrated` needs and how often it errs, on recorded verdicts of systems that its past does not hold.

    python benchmarks/calibrated_rule.py DATA [--histories 60] [--pairs 12] [--past SYSTEMS] [--give-up CHANCE]

DATA holds the folders `alpacaeval` and `realsumm` with their `verdicts-*.csv.gz` (item_id, model, score). Some systems are drawn as the past,
all compared with each other; the rule is calibrated on it, and names winners among fresh pairs: of a system of the past with a
new one, or of two new ones. Pairs that are level on all items are left out. Standard errors are over histories. The last columns: how often
there was too little past, and the bound's threshold for the statistic, in the median.
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
from judgeloop.estimators.preferences import Preferences
from judgeloop.history.past import past_of_scores, signs
from judgeloop.history.prospects import prospects_of
from judgeloop.selectors.decisive import decisive
from judgeloop.stats.decisiveness import Floats, Prospects
from judgeloop.stopping.calibrated import Calibrated
from judgeloop.stopping.giving_up import GivingUp

RISKS = (0.1, 0.2)
SELECTORS = ("random", "decisive")


@dataclass(frozen=True)
class Data:
    """Recorded scores, how many systems to take as the past, and how many judgments are allowed."""

    title: str
    systems: tuple[str, ...]
    scores: Floats
    tie_margin: float
    past: int
    limits: Limits
    give_up: float | None = None


@dataclass(frozen=True)
class Setting:
    """A row of the table."""

    kind: str  # of the fresh pairs
    risk: float
    selector: str


@dataclass(frozen=True)
class Run:
    """One fresh comparison."""

    judgments: int
    wrong: bool
    undecided: bool


def read(path: Path, title: str, *, tie_margin: float, past: int, most: int) -> Data:
    """The table of scores, systems by items, without the systems that were built to fool the judge."""
    systems, _, scores = score_table(path)
    return Data(title, systems, scores, tie_margin, past, Limits(max_judgments=most))


def fresh_run(
    data: Data, pair: tuple[int, int], foreseen: Prospects | None, rule: Calibrated, seed: int
) -> Run | None:
    """A session on the items that both systems have; None for level systems."""
    known = np.flatnonzero(~np.isnan(data.scores[list(pair)]).any(axis=0))
    preferences = signs(data.scores[pair[0], known], data.scores[pair[1], known], data.tie_margin)
    better = int(np.sign(preferences.sum(dtype=np.int64)))
    if not better:
        return None
    session = Session(
        items=len(known),
        selector=decisive(foreseen and foreseen.at(known)),
        estimator=Preferences(),
        rule=rule
        if data.give_up is None
        else GivingUp(rule, data.give_up, data.limits.max_judgments),
        limits=data.limits,
        rng=np.random.default_rng(seed),
    )
    outcome = replay(session, lambda choice: Verdict(TIE + preferences[choice.position] / 2))
    wrong = outcome.winner is not None and outcome.winner != (0 if better > 0 else 1)
    return Run(outcome.estimate.tally.judged, wrong, outcome.winner is None)


def pairs_of(kind: str, order: list[int], past: int, most: int) -> Iterator[tuple[int, int]]:
    """Fresh pairs: a system of the past with new ones, or disjoint pairs of new ones."""
    new = order[past:]
    if kind == "baseline":
        yield from ((order[0], one) for one in new[:most])
    else:
        yield from zip(new[::2][:most], new[1::2], strict=False)


def one_history(
    data: Data, setting: Setting, seed: int, most: int
) -> tuple[list[Run], float] | TooLittle:
    """Calibrate on one past, and run its fresh pairs; the statistic's threshold too."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.systems)).tolist()
    old = order[: data.past]
    past = past_of_scores([data.systems[one] for one in old], data.scores[old], data.tie_margin)
    fresh = list(pairs_of(setting.kind, order, data.past, most))
    pair = (data.systems[fresh[0][0]], data.systems[fresh[0][1]])
    weighted = setting.selector == "decisive"
    found = calibrate(past, pair, risk=setting.risk, limits=data.limits, weighted=weighted, rng=rng)
    if isinstance(found, TooLittle):
        return found
    foreseen = prospects_of(past, pair) if weighted else None  # the same for all fresh pairs
    rule = Calibrated(setting.risk, *found.threshold)
    runs = [fresh_run(data, one, foreseen, rule, seed) for one in fresh]
    threshold = found.bounds.below(setting.risk)
    return [run for run in runs if run], np.nan if threshold is None else min(1.0, threshold)


def row(data: Data, setting: Setting, histories: int, most: int) -> str:
    """A line of the table."""
    found = [one_history(data, setting, seed, most) for seed in range(histories)]
    enough = [one for one in found if not isinstance(one, TooLittle)]
    head = (
        f"| {data.title} | {data.past} | {setting.kind} | {setting.risk:g} | {setting.selector} |"
    )
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
    """A mean over histories with its standard error."""
    means = np.array([np.mean([pick(run) for run in runs]) for runs, _ in histories])
    return f"{means.mean():.1f} ± {means.std(ddof=1) / np.sqrt(len(means)):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--histories", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=12, help="fresh ones of each history")
    parser.add_argument("--past", type=int, help="systems of the past, at most")
    parser.add_argument("--give-up", type=float, help="as of judgeloop compare")
    arguments = parser.parse_args()
    alpaca, realsumm = arguments.data / "alpacaeval", arguments.data / "realsumm"
    tables = [
        read(alpaca / "verdicts-gpt4.csv.gz", "GPT-4", tie_margin=0, past=28, most=200),
        read(
            alpaca / "verdicts-gpt4turbo.csv.gz",
            "GPT-4-turbo, margin 0.05",
            tie_margin=0.05,
            past=24,
            most=200,
        ),
        read(
            realsumm / "verdicts-human-pyramid.csv.gz",
            "REALSumm pyramid",
            tie_margin=0,
            past=16,
            most=80,
        ),
    ]
    tables = [
        replace(one, past=min(one.past, arguments.past or one.past), give_up=arguments.give_up)
        for one in tables
    ]
    columns = ["data", "past systems", "fresh pair", "risk", "selector", "judgments", "error %", "undecided %", "too little",
               "statistic under"]  # fmt: skip
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    settings = [Setting(*one) for one in product(("baseline", "two new"), RISKS, SELECTORS)]
    for data, setting in product(tables, settings):
        print(row(data, setting, arguments.histories, arguments.pairs), flush=True)


if __name__ == "__main__":
    main()
