"""Bets that a system is not the best of several which are scored on the same random queries.

Whom to ask next, and what lost bets mean for a run, is the business of a selector and a stopping rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.betting import BETS, STAKES

LEAST_ROOM = 1e-12  # where less is left, a system is surely out
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """How the bets against each of m systems stand after `drawn` of `items` queries, drawn at random without replacement.

    Against a system is always bet on whoever led the others before the query. Were the system the best, or one of the best, of all
    over all items, the rest of the items would have to make up for what it is behind; given that, no such bet gains on average,
    whoever leads. So the wealth of who bets is a supermartingale, and reaches 1/risk with a chance of at most the risk (Ville 1939).
    One system is the best: it alone can be wronged, so that nothing is paid for the number of systems. The bets are those of
    `betting.py` (Waudby-Smith & Ramdas 2024, equations 32 and 33).

    A system may be left out from some query on, if that depends on nothing but the queries before; it is not bet on or against then.
    An abstention counts in favour of the system that is bet against: 1 for it, 0 for the leader.
    """

    items: int
    drawn: int
    least: Floats  # shape (m,): sum of scores with 0 for every abstention
    most: Floats  # the same with 1
    wealth: Floats  # shape (m, bets): logarithm, by size of the bets
    evidence: Floats  # shape (m,): logarithm of the most mixed wealth so far; infinite for what is surely not the best
    running: Flags  # shape (m,): asked on every query so far

    @property
    def left(self) -> int:
        """Queries not drawn so far."""
        return self.items - self.drawn

    def out(self, risk: float) -> Flags:
        """Which systems are not the best; the best is ever among them with a chance of at most `risk`."""
        return self.evidence >= -math.log(risk)

    def behind(self) -> Floats:
        """How far each running system is behind the best of the other running ones, at least; minus infinity where there is no other."""
        return _rivals(np.where(self.running, self.least, -np.inf))[1] - self.most


def start(items: int, systems: int) -> Race:
    """Before the first query."""
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
    """The race after one more query: `scores` in [0, 1], shape (m,), NaN for an abstention; only the `asked` go on running."""
    running = race.running & asked
    silent = np.isnan(scores)
    low, high = np.where(silent, 0.0, scores), np.where(silent, 1.0, scores)
    sums = np.where(running, race.least, -np.inf)
    opponent, theirs = _rivals(sums)
    betted = running & np.isfinite(theirs)
    gap = np.where(betted, race.least[opponent] - race.most, 0.0)
    won = np.where(betted, low[opponent] - high, 0.0)
    # What the rest would have to average, from the view of the leader, were the system as good as it; a bet wins beyond that.
    mean = -gap / race.left
    room = 1 + mean
    surely = betted & ((room < 0) | ((room == 0) & (won > -1)))
    gain = np.divide(won - mean, room, out=np.zeros(len(scores)), where=betted & (room > 0))
    wealth = race.wealth + np.log1p(gain[:, None] * BETS)
    least = race.least + np.where(running, low, 0.0)
    most = race.most + np.where(running, high, 0.0)
    moved = Race(race.items, race.drawn + 1, least, most, wealth, race.evidence, running)
    surely |= running & (moved.behind() > moved.left)
    evidence = np.maximum(race.evidence, np.where(surely, np.inf, _mixed(wealth)))
    return Race(race.items, moved.drawn, least, most, wealth, evidence, running)


def could_be_out(race: Race, queries: int, risk: float) -> Flags:
    """Which running systems `queries` further ones could show not to be the best, whatever their answers."""
    queries = min(queries, race.left)
    behind = np.where(race.running, race.behind(), -np.inf)
    apart = behind > -np.inf
    if not queries:
        return race.out(risk)
    ahead = np.arange(queries)
    left = race.left - ahead
    mean = -np.add.outer(np.where(apart, behind, 0.0), ahead) / left
    room = np.maximum(1 + mean, LEAST_ROOM)
    gain = (1 - mean) / room
    wealth = race.wealth + np.log1p(gain[:, :, None] * BETS).sum(axis=1)
    surely = behind + queries > race.left - queries
    return race.out(risk) | (apart & (surely | (_mixed(wealth) >= -math.log(risk))))


def _rivals(sums: Floats) -> tuple[NDArray[np.intp], Floats]:
    """For each system who leads the others, and that one's sum; for the leader itself who comes second, if anybody does."""
    leader = int(np.argmax(sums))
    others = sums.copy()
    others[leader] = -np.inf
    opponents = np.full(len(sums), leader)
    opponents[leader] = int(np.argmax(others))
    theirs = sums[opponents]
    theirs[leader] = others.max()
    return opponents, theirs


def _mixed(wealth: Floats) -> Floats:
    """The logarithm of the wealth when the first unit of money is spread over the sizes of the bets."""
    top = wealth.max(axis=1)
    mixed: Floats = top + np.log(np.exp(wealth - top[:, None]) @ STAKES)
    return mixed
