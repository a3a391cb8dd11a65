"""What the statistics and the plan of a verdict take of the processor, for a level pair whose verdicts are there.

    python benchmarks/planning.py [--judgments 200 805] [--rules bets near-tie not-worse tie-aware] [--places 64]

A session asks, with so many places for calls, and is told one verdict after another; there is no ledger, no judge and
no disk. Each row is one run, and tells its judgments, seconds, and milliseconds a judgment.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from judgeloop.core.records import UNLIMITED, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stopping.bets import Bets
from judgeloop.papers.diffuse.rules import TieAware

RISK, TIES = 0.05, 0.3
ASKED: dict[str, dict[str, float]] = {"bets": {}, "near-tie": {"near_tie": 0.1}, "not-worse": {"not_worse": 0.1}}
RULES = (*ASKED, "tie-aware")


def measured(name: str, judgments: int, places: int) -> tuple[int, float]:
    """The judgments of a run, and its seconds of the processor."""
    rule: Any = TieAware(1e-6) if name == "tie-aware" else Bets(RISK, UNLIMITED, judgments, **ASKED[name])
    scores = np.random.default_rng(2).choice([1, 0.5, 0], size=judgments, p=[(1 - TIES) / 2, TIES, (1 - TIES) / 2])
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


if __name__ == "__main__":
    main()
