"""How often each stopping rule names a wrong winner between level and nearly level systems.

    python benchmarks/level_systems.py [--orders 1500] [--items 240]

Items are drawn at random, at most 200 judgments, from a population with a fixed share of wins for
each system. Between two level systems every winner is wrong. A guaranteed rule names each of
them with at most its stated risk; the figures, which count both, may be up to twice that.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from judgeloop.catalogue import rules_of
from judgeloop.engine.session import Limits
from judgeloop.methods.rows import Draft, RuleRow

# Shares of items that the first and the second system win; the rest are ties.
POPULATIONS = {"50:50": (0.5, 0.5), "55:45": (0.55, 0.45), "25:25, half ties": (0.25, 0.25), "60:40": (0.6, 0.4)}
RISKS = (0.1, 0.05, 0.01)


def winners(orders: NDArray[np.int8], rule: RuleRow, risk: float) -> NDArray[np.int64]:
    """Return the winner of each order of the items: 1 the first system, -1 the second, 0 if undecided."""
    limits, items = Limits(), orders.shape[1]
    looked = orders[:, : limits.max_judgments]
    met = rule.make(Draft(items, limits.max_judgments, risk)).met_along_each(looked, items, np.array([risk]))[0]
    met[:, : limits.min_judgments - 1] = False
    leads = np.take_along_axis(np.cumsum(looked, axis=1, dtype=np.int64), met.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(met.any(axis=1), np.sign(leads), 0)


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
        population = np.repeat(np.array([1, -1, 0], dtype=np.int8), [*wins, arguments.items - sum(wins)])
        orders = np.array([np.random.default_rng(seed).permutation(population) for seed in range(arguments.orders)])
        of_wrong = {-1, 1} if wins[0] == wins[1] else {-1}
        for rule in [row for row in rules_of("compare") if not row.recorded]:
            shown = [np.isin(winners(orders, rule, risk), list(of_wrong)).mean() for risk in RISKS]
            print(f"{name:<20}{rule.name:<16}" + "".join(f"{one:>{10 + (at > 0)}.1%}" for at, one in enumerate(shown)))


if __name__ == "__main__":
    main()
