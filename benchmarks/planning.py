"""What the statistics and the plan of a verdict take of the processor, for a level pair whose verdicts are there.

    python benchmarks/planning.py [--judgments 200 805] [--rules bets near-tie …] [--places 64]

A session asks, with so many places for calls, and is told one verdict after another; there is no ledger, no judge and
no disk. Each row is one run, and tells its judgments, seconds, and milliseconds a judgment.

The second table has the rule's chance to stop within as many verdicts as there are places, at three moments of the
plan: its milliseconds, and how many times the bets on one verdict that is. Then the milliseconds of these bets, against
both nulls of a near-tie. Each is the least of ten.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.memory import Growing
from judgeloop.core.outcomes import Tally
from judgeloop.core.records import UNLIMITED, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.bets import Bets
from judgeloop.papers.diffuse.rules import TieAware

RISK, TIES = 0.05, 0.3
ASKED: dict[str, dict[str, float]] = {
    "bets": {}, "near-tie": {"near_tie": 0.1}, "not-worse": {"not_worse": 0.1}, "min-gap": {"min_gap": 0.1},
}  # fmt: skip
RULES = (*ASKED, "tie-aware")
MOMENTS, TURNS = (0.0, 0.5, 0.9), 10  # of a plan, and verdicts at each


def rule_of(name: str, judgments: int) -> Any:
    """The rule that a row is about."""
    return TieAware(1e-6) if name == "tie-aware" else Bets(RISK, UNLIMITED, judgments, **ASKED[name])


def level(judgments: int) -> NDArray[np.float64]:
    """The verdicts on a level pair."""
    return np.random.default_rng(2).choice([1, 0.5, 0], size=judgments, p=[(1 - TIES) / 2, TIES, (1 - TIES) / 2])


def measured(name: str, judgments: int, places: int) -> tuple[int, float]:
    """The judgments of a run, and its seconds of the processor."""
    rule, scores = rule_of(name, judgments), level(judgments)
    session = Session(
        items=judgments,
        selector=Random(),
        estimator=Preferences(sampled=name in ASKED),
        rule=rule,
        limits=Limits(5, judgments),
        rng=np.random.default_rng(1),
        ahead=None,
    )
    began = time.process_time()
    ended = replay(session, lambda choice: Verdict(float(scores[choice.position])), places=places)
    return len(ended.labels), time.process_time() - began


def of_a_chance(name: str, judgments: int, within: int, moment: float) -> tuple[float, float]:
    """The seconds of a chance to stop within so many, once a verdict is there, and those of the bets on a verdict."""
    rule, times = rule_of(name, judgments), []
    scores = (2 * level(judgments) - 1).astype(int).tolist()
    verdicts = Growing(scores[: round(moment * (judgments - TURNS))])
    for score in scores[len(verdicts) : len(verdicts) + TURNS]:
        seen = Counter(verdicts := verdicts.extended([score]))
        tally, began = Tally(judgments, (seen[1], seen[-1]), seen[0], preferences=verdicts), time.perf_counter()
        rule.chance(tally, within)
        foreseen = time.perf_counter()
        for bets in rule.begin:
            bets.after(np.array([1.0, -1.0]))
        times.append((foreseen - began, time.perf_counter() - foreseen))
    chance, verdict = np.min(times, axis=0)
    return chance, verdict


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, nargs="+", default=[200, 805])
    parser.add_argument("--rules", nargs="+", choices=RULES, default=list(RULES))
    parser.add_argument("--places", type=int, default=64)
    given = parser.parse_args()
    print("| rule | at most | judgments | seconds | ms a judgment |\n|---|---|---|---|---|")
    for name in given.rules:
        for most in given.judgments:
            judged, seconds = measured(name, most, given.places)
            print(f"| {name} | {most:,} | {judged:,} | {seconds:.2f} | {1000 * seconds / judged:.2f} |", flush=True)
    print(
        "\n| chance to stop, of | at most | at the beginning | half way | near the end | bets |\n|---|---|---|---|---|---|"
    )
    for name in (name for name in given.rules if name in ASKED):
        for most in given.judgments:
            each = [of_a_chance(name, most, given.places, moment) for moment in MOMENTS]
            cells = (f"{1000 * chance:.2f} ms, {chance / verdict:.1f}" for chance, verdict in each)
            bets = min(verdict for _, verdict in each)
            print(f"| {name} | {most:,} | {' | '.join(cells)} | {1000 * bets:.3f} ms |", flush=True)


if __name__ == "__main__":
    main()
