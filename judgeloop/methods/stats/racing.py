"""Bets that a system is not the best of several that are scored on the same random queries.

Takes the scores of one query after another and returns the evidence against each system (`Race`).
`levels.py` uses it among few systems: it tells two systems apart with fewer scores than a bound of each.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.betting import BETS, STAKES

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """The bets against each of m systems after `drawn` of `items` queries.

    Queries are drawn at random without replacement. Before each query, the bet against a system is
    placed on the leader among the others. Suppose that the system is the best over all items, or
    one of the best. Then the remaining items must make up for its deficit to the leader. Given
    that, no such bet gains on average, whichever system leads. So the wealth of the bettor is a
    supermartingale, and it reaches 1/risk with probability at most the risk (Ville 1939). One
    system is the best, and only this system can be ruled out wrongly, so no correction for the
    number of systems is needed. The sizes of the bets are those of `methods/stats/betting.py` (Waudby-Smith
    & Ramdas 2024, equations 32 and 33).

    A system may be left out from some query on, if that depends on earlier queries only. Nothing is
    then bet on it or against it. An abstention counts in favour of the system that is bet against:
    1 for that system, 0 for the leader.
    """

    items: int
    drawn: int
    least: Floats  # shape (m,): sums of scores, with 0 for every abstention
    most: Floats  # shape (m,): the same sums, with 1 for every abstention
    wealth: Floats  # shape (m, bets): logarithm of the wealth, by size of the bet
    # Shape (m,): logarithm of the highest mixed wealth so far; infinite if certainly not the best.
    evidence: Floats
    running: Flags  # shape (m,): asked about on every query so far

    def out(self, risk: float) -> Flags:
        """Return which systems are ruled out at `risk`, shape (m,).

        The best system is ever among them with probability at most `risk`.
        """
        return self.evidence >= -math.log(risk)


def start(items: int, systems: int) -> Race:
    """Return the race before the first query."""
    nothing = np.zeros(systems)
    return Race(
        items,
        0,
        nothing,
        nothing,
        np.zeros((systems, len(BETS))),
        nothing,
        np.ones(systems, dtype=bool),
    )


def after(race: Race, scores: Floats, asked: Flags) -> Race:
    """Return the race after one more query.

    `scores`, shape (m,), lie in [0, 1], NaN for an abstention. `asked`, shape (m,), says which
    systems were asked about; the others stop running.
    """
    running = race.running & asked
    silent = np.isnan(scores)
    low, high = np.where(silent, 0.0, scores), np.where(silent, 1.0, scores)
    sums = np.where(running, race.least, -np.inf)
    opponent, theirs = _rivals(sums)
    betted = running & np.isfinite(theirs)
    gap = np.where(betted, race.least[opponent] - race.most, 0.0)
    won = np.where(betted, low[opponent] - high, 0.0)
    # The highest mean of leader minus system over the remaining items if the system is the best. A
    # bet gains when the difference is above it.
    left = race.items - race.drawn
    mean = -gap / left
    largest_loss = 1 + mean
    surely = betted & ((largest_loss < 0) | ((largest_loss == 0) & (won > -1)))
    gain = np.divide(
        won - mean, largest_loss, out=np.zeros(len(scores)), where=betted & (largest_loss > 0)
    )
    wealth = race.wealth + np.log1p(gain[:, None] * BETS)
    least = race.least + np.where(running, low, 0.0)
    most = race.most + np.where(running, high, 0.0)
    surely |= running & (_rivals(np.where(running, least, -np.inf))[1] - most > left - 1)
    evidence = np.maximum(race.evidence, np.where(surely, np.inf, _mixed(wealth)))
    return Race(race.items, race.drawn + 1, least, most, wealth, evidence, running)


def _rivals(sums: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the opponent of each system, and the opponent's sum; both of shape (m,).

    The opponent is the leader. The leader's own opponent is the system in second place, with sum
    -inf if there is none.
    """
    leader = int(np.argmax(sums))
    others = sums.copy()
    others[leader] = -np.inf
    opponents = np.full(len(sums), leader)
    opponents[leader] = int(np.argmax(others))
    theirs = sums[opponents]
    theirs[leader] = others.max()
    return opponents, theirs


def _mixed(wealth: Floats) -> Floats:
    """Return the logarithm of the wealth if the first unit of money is spread over the bets."""
    top = wealth.max(axis=1)
    mixed: Floats = top + np.log(np.exp(wealth - top[:, None]) @ STAKES)
    return mixed
