"""Bets that a system is not the best of several that are scored on the same random queries.

Takes the scores of one query after another and returns the evidence against each system (`Race`).
`levels.py` uses it among few systems: it tells two systems apart with fewer scores than a bound of each.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.pool import UNLIMITED
from judgeloop.methods.stats.betting import BETS, mixed_wealth

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Of one query, shape (m,) each: the opponents, what was won on them, its mean, and whether a bet was placed.
Bets = tuple[NDArray[np.intp], Floats, Floats, Flags]
HALVINGS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """The bets against each of m systems after `drawn` of `items` queries.

    Queries are drawn at random without replacement. Before each query, the bet against a system b is
    placed on an opponent: the leader among the others. Suppose that b is the best over all items, or one
    of the best. Then the remaining items must make up for its deficit to the opponent. Given that, no such
    bet gains on average, whichever system leads. So the wealth of the bettor is a supermartingale, and it
    reaches 1/risk with probability at most the risk (Ville 1939). One system is the best, and only this
    system can be ruled out wrongly, so no correction for the number of systems is needed. The sizes of the
    bets are those of `methods/stats/betting.py` (Waudby-Smith & Ramdas 2024, equations 32 and 33).

    With a `gap` g, there is a row of bets for every system a that may be named. They are the same, but
    where the opponent is a: there the bet is against the claim that b is more than g ahead of a.

    **Theorem 2** (e-closure). Name a once, for every other b, the bets against b in the row of a, or for
    another gap of at most g, have reached 1/risk at any time. With probability at most the risk, the best
    is ever more than the stated gap ahead of a named system, for all a and all g at once.

    Proof. Let b be the best, and d(o) its true distance to each opponent o. Bet against b with d(o) in
    place of g wherever the opponent is o, with the same sizes c. The mean of opponent minus b over the
    remaining items is then as assumed, so this one wealth is a supermartingale. A factor
    1 + c (x - mean) / (1 + mean) falls as the mean rises. If a is named wrongly with g, then g < d(a), so
    every mean in the row of a is at least that of the one wealth, which has therefore reached 1/risk as
    well. Ville. There is no sum over the named, over the gaps, or over the rivals. ∎

    A system may be left out from some query on, if that depends on earlier queries only. Nothing is
    then bet on it or against it. If the queries are draws from a population without end, it may come back:
    each query is new, whatever was seen. Else its items are others than those of its opponents, and it
    stays out. An abstention counts in favour of the system that is bet against: 1 for that system, 0 for
    the leader.
    """

    items: int
    gap: float  # share won less share lost
    drawn: int
    least: Floats  # shape (m,): sums of scores, with 0 for every abstention
    most: Floats  # shape (m,): the same sums, with 1 for every abstention
    wealth: Floats  # shape (rows, m, bets): logarithm of the wealth, by size of the bet
    # Shape (rows, m): logarithm of the highest mixed wealth so far; infinite if certainly not the best.
    evidence: Floats
    running: Flags  # shape (m,): asked about on every query so far
    bets: tuple[Bets, ...] = ()

    def out(self, risk: float) -> Flags:
        """Return which systems are ruled out at `risk`, shape (m,).

        The best system is ever among them with probability at most `risk`.
        """
        most: Floats = self.evidence.diagonal() if self.gap else self.evidence[0]
        ruled: Flags = most >= -math.log(risk)
        return ruled

    def not_ahead(self, of: int, risk: float) -> Flags:
        """Return which systems are not more than `gap` ahead of one that may be named, shape (m,)."""
        shown: Flags = self.evidence[of if self.gap else 0] >= -math.log(risk)
        return shown

    def gaps(self, of: int, risk: float) -> Floats:
        """Return by how much each system may be ahead of one that may be named, shape (m,).

        By bisection, in share won less share lost.
        """
        low, high = np.zeros(len(self.least)), np.full(len(self.least), 2.0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            shown = self._most_against(of, middle) >= -math.log(risk)
            low, high = np.where(shown, low, middle), np.where(shown, middle, high)
        found: Floats = np.where(self.not_ahead(of, risk), np.minimum(high, self.gap), high)
        return np.where(self.out(risk), 0.0, found)

    def _most_against(self, of: int, gap: Floats) -> Floats:
        """Return the evidence in the row of one system if the gap to each rival were `gap`."""
        if not self.bets:
            return np.zeros(len(gap))
        opponent, won, mean, betted = map(np.array, zip(*self.bets, strict=True))
        left = self.items - np.arange(len(mean))[:, None]
        mean = mean - (opponent == of) * gap / 2 * (self.items / left)
        paths = np.cumsum(np.log1p(_gains(won, mean, betted)[..., None] * BETS), axis=0)
        most: Floats = mixed_wealth(paths).max(axis=0)
        return most


def start(items: int, systems: int, gap: float = 0.0) -> Race:
    """Return the race before the first query."""
    nothing, rows = np.zeros(systems), systems if gap else 1
    wealth = np.zeros((rows, systems, len(BETS)))
    running = np.ones(systems, dtype=bool)
    return Race(items, gap, 0, nothing, nothing, wealth, np.zeros((rows, systems)), running)


def after(race: Race, scores: Floats, asked: Flags) -> Race:
    """Return the race after one more query.

    `scores`, shape (m,), lie in [0, 1], NaN for an abstention. `asked`, shape (m,), says which
    systems were asked about; the others stop running, unless the population has no end.
    """
    running = asked if race.items == UNLIMITED else race.running & asked
    silent = np.isnan(scores)
    low, high = np.where(silent, 0.0, scores), np.where(silent, 1.0, scores)
    opponent, theirs = _rivals(np.where(running, race.least, -np.inf))
    betted = running & np.isfinite(theirs)
    behind = np.where(betted, race.least[opponent] - race.most, 0.0)
    won = np.where(betted, low[opponent] - high, 0.0)
    # The highest mean of opponent minus system over the remaining items if the system is the best, or more
    # than the gap ahead. A bet gains when the difference is above it.
    left = race.items - race.drawn
    plain = -behind / left
    rows = np.arange(len(race.wealth))[:, None]
    ahead = (opponent == rows) * (race.gap / 2 * race.items)
    mean = plain - ahead / left
    surely = betted & ((mean < -1) | ((mean == -1) & (won > -1)))
    wealth = race.wealth + np.log1p(_gains(won, mean, betted)[..., None] * BETS)
    least = race.least + np.where(running, low, 0.0)
    most = race.most + np.where(running, high, 0.0)
    opponent_now, theirs = _rivals(np.where(running, least, -np.inf))
    ahead = (opponent_now == rows) * (race.gap / 2 * race.items)
    surely |= running & (theirs + ahead - most > left - 1)
    evidence = np.maximum(race.evidence, np.where(surely, np.inf, mixed_wealth(wealth)))
    bets = (*race.bets, (opponent, won, plain, betted))
    drawn = race.drawn + 1
    return Race(race.items, race.gap, drawn, least, most, wealth, evidence, running, bets)


def _gains(won: Floats, mean: Floats, betted: Flags) -> Floats:
    """Return what a whole bet gains if the difference is `won` and its mean is assumed to be `mean`."""
    loss = 1 + mean
    gains: Floats = np.divide(won - mean, loss, out=np.zeros(mean.shape), where=betted & (loss > 0))
    return gains


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
