"""What the stopping rules do on recorded verdicts: judgments, realised error, undecided, by rule and stated risk.

    python benchmarks/stopping_rules.py VERDICTS [--pairs 300] [--seeds 5] [--tie-margin 0] [--leave-out NAME …]

Random selection. Every pair of systems in the table that differ over all their common items is a comparison with a known
winner; so many of them are drawn. Error is naming the other one; it is given with its standard error over the pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.estimators.preferences import Preferences
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.judges.metric import preference
from judgeloop.records import Verdict
from judgeloop.replay.driver import replay
from judgeloop.selectors.random import Random
from judgeloop.session import Limits, Session
from judgeloop.stopping import RULES, make_rule


def comparisons(arguments: argparse.Namespace) -> Iterator[NDArray[np.float64]]:
    """Scores in {0, 0.5, 1} of each drawn pair on its common items; the pair's first system is the winner."""
    table = read_verdicts(arguments.verdicts)
    by_system: dict[str, dict[str, float]] = {}
    for (item, system), record in table.rows.items():
        if record.score is not None and system not in arguments.leave_out:
            by_system.setdefault(system, {})[item] = record.score
    pairs = list(combinations(sorted(by_system), 2))
    np.random.default_rng(0).shuffle(pairs)
    found = 0
    for first, second in pairs:
        one, other = by_system[first], by_system[second]
        scores = np.array(
            [
                preference(one[item], other[item], arguments.tie_margin)
                for item in sorted(one.keys() & other.keys())
            ]
        )
        distance = (scores > 0.5).mean() - (scores < 0.5).mean()
        if distance != 0:
            yield scores if distance > 0 else 1 - scores
            found += 1
        if found == arguments.pairs:
            return


def outcome(scores: NDArray[np.float64], rule: str, risk: float, seed: int) -> tuple[int, int | None]:
    """Judgments and winner of one run."""
    session = Session(
        items=len(scores),
        selector=Random(),
        estimator=Preferences(),
        rule=make_rule(rule, risk=risk, items=len(scores), limit=Limits().max_judgments),
        limits=Limits(),
        rng=np.random.default_rng(seed),
    )
    result = replay(session, lambda position: Verdict(float(scores[position])))
    return result.asked, result.winner


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("verdicts", type=Path)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tie-margin", type=float, default=0.0)
    parser.add_argument("--leave-out", nargs="*", default=[])
    arguments = parser.parse_args()
    pairs = list(comparisons(arguments))
    ties = np.mean([np.mean(scores == 0.5) for scores in pairs])
    print(
        f"{arguments.verdicts.name}: {len(pairs)} pairs x {arguments.seeds} seeds, {ties:.0%} ties, limit 200"
    )
    print(f"{'rule':<16}{'risk':>6}{'judgments':>11}{'error':>9}{'± s.e.':>9}{'success':>9}{'undecided':>11}")
    for rule in RULES:
        for risk in (0.1, 0.2):
            runs = np.array(
                [
                    [_figures(outcome(scores, rule, risk, seed)) for seed in range(arguments.seeds)]
                    for scores in pairs
                ]
            )
            judged, wrong, right = runs.mean(axis=(0, 1))
            error_of_error = runs[:, :, 1].mean(axis=1).std(ddof=1) / np.sqrt(len(pairs))
            print(
                f"{rule:<16}{risk:>6}{judged:>11.1f}{wrong:>9.1%}{error_of_error:>9.1%}{right:>9.1%}"
                f"{1 - wrong - right:>11.1%}"
            )


def _figures(run: tuple[int, int | None]) -> tuple[int, bool, bool]:
    asked, winner = run
    return asked, winner == 1, winner == 0


if __name__ == "__main__":
    main()
