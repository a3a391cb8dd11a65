"""How near the bets come to the exact boundary that their stakes copy: judgments, runs left open, and wrong names.

    python benchmarks/exact_boundary.py [--runs 20000] [--limits 20 200 800] [--ties 0 0.3 0.7] [--gaps 0 0.1 0.2]

The boundary is one of leads after so many verdicts that are no ties. It spends the risk of each system by the root of
the share of the plan that is over (`methods/stats/spending.py`), and is told how many verdicts of the plan will be no
ties, which bets have to guess. Its figures are sums over all leads. Those of the bets are of simulated runs about items
like these, with their standard errors. A wrong name is that of the system behind, and of level systems the first one's.
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.spending import Spending
from judgeloop.methods.stopping.bets import Bets, answers

RISK, CHUNK = 0.1, 2000


class Ends(NamedTuple):
    """How runs end: the mean number of judgments, and the shares that are left open and are wrong."""

    judgments: float
    open: float
    wrong: float


def bars(coins: int) -> list[int]:
    """The least leads at which a system is named, after 1, 2, … of so many verdicts that are no ties."""
    boundary = Spending(UNLIMITED, coins, np.array([2 * RISK]), shape=0.5)
    return boundary.barriers(np.ones(coins, dtype=np.bool_))[:, 0].tolist()


def of_the_boundary(limit: int, ties: float, gap: float) -> Ends:
    """What the boundary does, over all numbers of verdicts that may be no ties but the least likely."""
    total, chance = np.zeros(3), (1 + gap / (1 - ties)) / 2
    decisive = np.arange(limit + 1)
    weights = binom.pmf(decisive, limit, 1 - ties)
    for coins in decisive[weights > 1e-6].tolist():
        at, judged, wrong = np.array([1.0]), 0.0, 0.0
        for tossed, bar in enumerate(bars(coins), start=1):
            at = np.append(at, 0.0) * (1 - chance) + np.append(0.0, at) * chance
            leads = 2 * np.arange(tossed + 1) - tossed
            first, second = at[leads >= bar].sum(), at[leads <= -bar].sum()
            # The draw at which so many of all are no ties, in the mean.
            judged += (first + second) * tossed * (limit + 1) / (coins + 1)
            wrong += second if gap else first
            at[np.abs(leads) >= bar] = 0.0
        total += weights[coins] * np.array([judged + at.sum() * limit, at.sum(), wrong])
    return Ends(*(total / weights[weights > 1e-6].sum()).tolist())


def of_the_bets(limit: int, ties: float, gap: float, runs: int) -> tuple[Ends, Ends]:
    """What simulated runs of bets do, and the standard errors."""
    rule, rng = Bets(RISK, UNLIMITED, limit), np.random.default_rng(round(1000 * (limit + ties + gap / 10)))
    shares = (1 - ties + gap) / 2, ties, (1 - ties - gap) / 2
    each = [
        answers(rule.begin, rng.choice(np.array([1, 0, -1]), (min(CHUNK, runs - begun), limit), p=shares))
        for begun in range(0, runs, CHUNK)
    ]
    when, which = (np.concatenate(found) for found in zip(*each, strict=True))
    figures: NDArray[np.float64] = np.array([when, which < 0, which == (1 if gap else 0)], dtype=np.float64)
    return Ends(*figures.mean(axis=1)), Ends(*figures.std(axis=1) / math.sqrt(runs))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--limits", type=int, nargs="+", default=[20, 200, 800])
    parser.add_argument("--ties", type=float, nargs="+", default=[0, 0.3, 0.7])
    parser.add_argument("--gaps", type=float, nargs="+", default=[0, 0.1, 0.2])
    given = parser.parse_args()
    head = ("limit", "ties", "gap", "judgments, boundary", "bets", "of the boundary", "open, boundary", "bets")
    print(f"| {' | '.join((*head, 'wrong, boundary', 'bets'))} |\n{'|---' * 10}|", flush=True)
    for limit, ties, gap in product(given.limits, given.ties, given.gaps):
        exact, (found, error) = of_the_boundary(limit, ties, gap), of_the_bets(limit, ties, gap, given.runs)
        cells = [f"{limit}", f"{ties:.0%}", f"{gap:g}", f"{exact.judgments:.1f}"]
        cells += [f"{found.judgments:.1f} ± {error.judgments:.1f}", f"{found.judgments / exact.judgments:.3f}"]
        for boundary, bets, spread in zip(exact[1:], found[1:], error[1:], strict=True):
            cells += [f"{boundary:.1%}", f"{bets:.1%} ± {100 * spread:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
