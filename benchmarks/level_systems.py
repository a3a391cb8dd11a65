"""How often each stopping rule names a wrong winner between level and nearly level systems.

    python benchmarks/level_systems.py [--orders 1500] [--items 240]

Items are drawn at random, at most 200 judgments, from a population with a fixed share of wins for
each system. Between two level systems every winner is wrong. A guaranteed rule names each of
them with at most its stated risk; the figures, which count both, may be up to twice that.
"""

from __future__ import annotations

import argparse

import numpy as np

from judgeloop.catalogue import rules_of
from judgeloop.core.records import Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.rows import Draft, RuleRow
from judgeloop.methods.selectors.random import Random

# Shares of items that the first and the second system win; the rest are ties.
POPULATIONS = {"50:50": (0.5, 0.5), "55:45": (0.55, 0.45), "25:25, half ties": (0.25, 0.25), "60:40": (0.6, 0.4)}


def winner(scores: list[float], rule: RuleRow, risk: float, seed: int) -> int | None:
    """Return the winner of one run, None if undecided; 0 is the better system unless level."""
    session = Session(
        items=len(scores),
        selector=Random(),
        estimator=Preferences(),
        rule=rule.make(Draft(len(scores), Limits().max_judgments, risk)),
        limits=Limits(),
        rng=np.random.default_rng(seed),
    )
    return replay(session, lambda choice: Verdict(scores[choice.position])).winner


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=1500)
    parser.add_argument("--items", type=int, default=240)
    arguments = parser.parse_args()
    print(f"{arguments.orders} random orders of {arguments.items} items; runs with a wrong winner")
    print(f"{'wins':<20}{'rule':<16}{'risk 0.1':>10}{'risk 0.05':>11}{'risk 0.01':>11}")
    for name, shares in POPULATIONS.items():
        wins = [round(share * arguments.items) for share in shares]
        scores = [1.0] * wins[0] + [0.0] * wins[1] + [0.5] * (arguments.items - sum(wins))
        for rule in [row for row in rules_of("compare") if not row.recorded]:
            wrong = []
            for risk in (0.1, 0.05, 0.01):
                winners = [winner(scores, rule, risk, seed) for seed in range(arguments.orders)]
                is_level = wins[0] == wins[1]
                wrong.append(np.mean([w == 1 or (is_level and w == 0) for w in winners]))
            print(
                f"{name:<20}{rule.name:<16}" + "".join(f"{share:>{10 + (i > 0)}.1%}" for i, share in enumerate(wrong))
            )


if __name__ == "__main__":
    main()
