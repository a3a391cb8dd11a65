"""Bounds of the level of each of many systems, bets on pairs of few, and whom a race asks next.

A system's level is the sum of its scores over all items of the population. `Level` takes a system's scores in random
order and bounds its level. `Levels` takes the bounds of all systems and says which may be named, how far it may be
behind, and who is to be asked (`methods/selectors/race.py` asks, `methods/stopping/best_of_many.py` stops the run).
Among few systems `Race` tells two apart with fewer scores than a bound of each, by bets that a system is not the best.

**A cheap judge beside the scores** takes off each of them what it foresees. Say that its verdicts on all N items are
known for a system against the baseline. The control of the system's next score is k = b (c - g): c is the cheap verdict
on the item, g the mean of those on the items that are left in the system's order, and b, in [0, 1], is a slope by the
scores of this system alone that came before. What follows about bets without a control holds with it.

*Proof.* Given the items before it, the next one is uniform on those that are left, so k is 0 on average whatever the
judge is worth (theorem 1 of `corrected.py`). A factor 1 + c (t - x + k) / (1 - t + m), m the most that -k could be,
is never negative, has the same mean of 1, and still increases in t: its derivative has the sign of 1 + m - x + k >= 0.
As b reads no other system, the wealth is still fixed by the order of this system's items, however far it is read.
In pairs the control of a difference is the difference of both controls, which reads the queries before alone; a factor
1 + c (x - k - mean) / (1 + mean + m) still falls as the mean rises, which is all that theorem 2 needs. ∎ A slope by the
scores of all systems would be wrong: another one may be ahead in the order, and tell of the items to come.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.memory import grown
from judgeloop.core.records import TIE, UNLIMITED
from judgeloop.methods.stats.betting import BETS, Controls, bound, mixed_wealth, risk_by_bets
from judgeloop.methods.stats.corrected import Aside, Slope

# How the first unit of money is spread over the bets against a high level: Beta(1, 2). The guarantee does
# not depend on it. Beta(3, 2), as in `betting.py`, took a fifth more calls where the best wins nearly always.
STAKES = (1 - BETS) / (1 - BETS).sum()
MOST_TOTALS = 1600  # of the grid of totals; with more items than half of it, a bound is rounded up
FOLLOWED = 48  # totals at a time
# From 3 to so many systems are compared in pairs, too, at this share of the risk (docs/results).
FEW = 6
PAIRS_SHARE = 0.75
# The share of the rest for lower bounds: small where the leader is judged on nearly all items.
LOWER_SHARE, LOWER_SHARE_SHORT = 0.05, 0.4
# A leader is one with a high rate so far, if few scores are known of it: (sum + 3) / (number + 3.2).
PRIOR_SUM, PRIOR_NUMBER = 3.0, 3.2
# Of items like these no leader's level is ever known, so that pairs tell more about more systems. Among many,
# levels alone take fewer calls from this gap on (docs/results).
FEW_LIKE_THESE, LEVELS_FROM = 12, 0.1
FIRST = 2  # items on which every system is asked at first
AT_ONCE = 20  # a system in the way is asked on one further item for every so many before
CALLS_AT_ONCE = 8  # at least so many calls are made at a time of the leader, or of few systems
ROUNDING = 1e-9
HALVINGS = 12  # of a gap, to find the least that the bets in pairs show
# The gap of the baseline before the first verdict: it wins half of what a system can win at most.
NOTHING_PROVED = 1.0

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
# Of one query, shape (m,) each: the opponents, what was won on them less the controls, its mean, whether a bet was
# placed, and the most that controls could have taken off.
Bets = tuple[NDArray[np.intp], Floats, Floats, Flags, Floats]


class Drawn(NamedTuple):
    """A score, NaN for an abstention; what a cheap judge says of the item, in [-1, 1], and of all items in sum."""

    score: float
    cheap: float = 0.0
    total: float = 0.0


class Taken(NamedTuple):
    """What is taken off a score: 0 on average, and between -`least` and `most`, as was known before the draw."""

    value: float = 0.0
    most: float = 0.0
    least: float = 0.0


NOTHING_TAKEN = Taken()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """What is known of one system's total over a population of `items`, from `judged` of them.

    Items come in an order that is uniformly random for this system. Scores are 0, ½ or 1, and NaN for
    an abstention, which counts 1 in the upper bound and 0 in the lower one.

    For a total τ, let S be the sum of the first k scores, and t = (τ - S) / (items - k) the mean of
    those that remain if the total is τ. A bet of c that the total is smaller multiplies the wealth by

        1 + c (t - x) / (1 - t)

    at a score x (Waudby-Smith & Ramdas 2024, equations 32 and 33, for 1 - x). If the total is τ, the
    mean of the next score, given those so far, is t, so the expectation of the factor is 1: the wealth,
    spread over the bets c by `STAKES`, is a nonnegative martingale in the scores of this system alone.
    It reaches 1/`risk` at any time with probability at most `risk` (Ville 1939). The totals at which it
    did, or which are out of reach, are ruled out. Along any path the wealth increases in τ, so they are
    the totals from some value on, and `upper` is the largest that is left: it is below the true total
    at any time, of all times together, with probability at most `risk`.

    `totals`, ascending, are the highest not ruled out, as lower ones need not be followed before these are;
    `wealth` has the shape (totals, bets).
    """

    items: int
    risk: float
    totals: Floats
    wealth: Floats
    upper: float
    judged: int = 0
    least: float = 0.0  # sum of the scores, 0 for every abstention
    most: float = 0.0  # the same sum, 1 for every abstention
    seen: Sequence[Drawn] = ()
    slope: Slope | None = None  # of the scores by those of a cheap judge; None without one
    cheap: float = 0.0  # sum of what it said of the items so far
    controls: Sequence[Taken] = ()

    def control(self, seen: Drawn) -> Taken:
        """What is taken off the next score, if it is this one."""
        if self.slope is None:
            return NOTHING_TAKEN
        mean = (seen.total - self.cheap) / (self.items - self.judged)
        aside, slope = Aside(seen.cheap, min(1.0, max(-1.0, mean))), self.slope.value
        most, least = aside.most(slope)
        return Taken(float(aside.control(slope)) / 2, float(most) / 2, float(least) / 2)

    def after(self, seen: Drawn) -> Level:
        """The level after one more score; NaN for an abstention."""
        score, control = seen.score, self.control(seen)
        low, high = (0.0, 1.0) if math.isnan(score) else (score, score)
        slope = self.slope
        if slope is not None and not math.isnan(score):
            slope = slope.after(2 * score - 1, seen.cheap)
        mean = (self.totals - self.most) / (self.items - self.judged)
        betted = (mean > 0) & (mean < 1)
        gain = np.divide(mean - high + control.value, 1 - mean + control.least, out=np.zeros(len(mean)), where=betted)
        wealth = gain[:, None] * BETS
        wealth += 1
        wealth *= self.wealth
        judged, least, most = self.judged + 1, self.least + low, self.most + high
        within = self.totals - most <= self.items - judged + ROUNDING
        kept = int((within & (wealth @ STAKES < 1 / self.risk)).sum())
        if not kept and len(self.totals):
            begin = None if self.slope is None else Slope()
            return _below(float(self.totals[0]), self.items, self.risk, grown(self.seen, [seen]), begin)
        # Totals between the last that is kept and the first that is ruled out are not ruled out.
        upper = self.upper if kept == len(self.totals) else self.totals[kept] - TIE
        return Level(
            self.items,
            self.risk,
            self.totals[:kept],
            wealth[:kept],
            max(least, min(float(upper), most + self.items - judged)),  # if less, the bound has failed
            judged,
            least,
            most,
            grown(self.seen, [seen]),
            slope,
            self.cheap + seen.cheap,
            self.controls if slope is None else grown(self.controls, [control]),
        )

    @property
    def hope(self) -> float:
        """The total that is expected of a system while it may still lead."""
        if self.judged >= self.items:
            return self.least
        return self.items * (self.least + PRIOR_SUM) / (self.judged + PRIOR_NUMBER)

    def reaches(self, total: float, risk: float) -> bool:
        """Whether a total of less than `total` is ruled out at `risk`, at all times together."""
        if self.least >= total - ROUNDING:
            return True
        if self.judged >= self.items:
            return False
        drawn = np.arange(self.judged)
        most_won = np.log((self.items - drawn) / np.maximum(total - drawn, ROUNDING)).sum()
        if self.slope is None and most_won < -math.log(risk):  # as many wins in a row would not be enough
            return False
        mean = 2 * total / self.items - 1
        return risk_by_bets(self._signed(0.0), self.items, mean, controls=self._controls(1)) <= risk

    def lower(self, risk: float) -> float:
        """A lower bound of the total at `risk`, at all times together."""
        if not self.judged or self.judged >= self.items:
            return self.least
        mean = bound(self._signed(0.0), self.items, risk, controls=self._controls(1))
        return max(self.least, self.items * (1 + mean) / 2)

    def highest(self, risk: float) -> float:
        """An upper bound of the total at another risk than that of `upper`."""
        most = self.most + self.items - self.judged
        if not self.judged or self.judged >= self.items:
            return most
        mean = -bound(-self._signed(1.0), self.items, risk, STAKES, self._controls(-1))
        return min(most, self.items * (1 + mean) / 2)

    def _signed(self, silent: float) -> Floats:
        """The scores in [-1, 1], with `silent` for every abstention."""
        scores = np.fromiter((one.score for one in self.seen), dtype=np.float64, count=len(self.seen))
        return 2 * np.where(np.isnan(scores), silent, scores) - 1

    def _controls(self, sign: int) -> Controls | None:
        """What is taken off the signed scores, or off their negatives; None without a cheap judge."""
        if self.slope is None:
            return None
        value, most, least = 2 * np.array(self.controls, dtype=np.float64).reshape(-1, 3).T
        return Controls(sign * value, most if sign > 0 else least)


def _below(ruled_out: float, items: int, risk: float, seen: Sequence[Drawn] = (), slope: Slope | None = None) -> Level:
    """The level after what was `seen` if all totals from one on are known to be ruled out."""
    grid = np.unique(np.ceil(np.linspace(0, 2 * items, min(2 * items, MOST_TOTALS) + 1))) / 2
    totals = grid[grid < ruled_out][-FOLLOWED:]
    level = Level(items, risk, totals, np.ones((len(totals), len(BETS))), ruled_out - TIE, slope=slope)
    for one in seen:
        level = level.after(one)
    return level


@final
@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The levels of m systems, of which `pool` items of a population of `items` can be judged.

    **Theorem 1.** Choose by any rule, and by everything seen, whom to ask next (each system along one
    random order), when to stop, and whom to name. Name system a only if L_a + h ≥ U_s for every other
    system s, with upper bounds U at the risk A each, and lower bounds L at the risk B / (m - 2) each; the
    baseline's total is known. With probability at least 1 - A - B, the total of a is at most h below the
    highest, whatever the scores, their ties and their dependence are.

    Proof. Let b be the best system; of several, a fixed one. U_b is below its total T_b at any time with
    probability at most A (`Level`): the rule only chooses how far the path of b's scores is read, and the
    order fixes the path. Of the m - 2 systems beside b and the baseline, some L_a is above T_a at any
    time with probability at most B. Else T_a + h ≥ L_a + h ≥ U_b ≥ T_b if a is not b, and nothing is wrong
    if it is. The upper bounds of the other systems may be wrong, so there is no sum over them. If b is
    the baseline, U_b is exact, and one of m - 1 lower bounds fails with probability at most 2 B ≤ A + B
    (m > 2). If m = 2, either U_b or L_a is exact, so that both may have the whole risk. ∎

    **Corollary 1.** At any time, for every a and all h at once, the total of a is at most
    max(0, max of U_s over s ≠ a, - L_a) below the highest, and the best is a, or among the systems with
    U_s ≥ L_a. Proof: U_b and all L_a hold together, as above, whatever a and h are. So both may be chosen
    afterwards. A run that is cut off names the system with the least h; a race ends as soon as any system
    is known within its gap, which need not be the favourite; and the best is among the systems
    with an upper bound of at least the highest lower one.

    Among few systems, and for items without end up to a gap of `LEVELS_FROM`, all are asked on the
    same items, and `pairs` shows of some that they are not more than the gap ahead of the leader, at a risk
    of its own, which is a part of `risk` (`Race`, theorem 2): such a system is not in the way. Whichever of
    all bounds fails, the probabilities add up to at most `risk`.

    Of items like these, `pool` are a sample of a population without end. The mean t of the next score is then
    the level itself, whatever was drawn before, and the proof is the same; but no total is ever known.

    To ask whose upper bound is in the way is LUCB (Kalyanakrishnan et al. 2012), with fewer unions.
    """

    each: tuple[Level, ...]
    baseline: int
    pool: int
    lower_risk: float  # of one lower bound
    pairs: Race | None = None
    pairs_risk: float = 0.0

    def after(self, rows: Iterable[Mapping[int, Drawn]]) -> Levels:
        """The levels after further items, each with the scores of the systems asked on it."""
        each, pairs = list(self.each), self.pairs
        for row in rows:
            if pairs is not None:
                scores, controls = np.full(len(each), math.nan), np.zeros((len(each), 3))
                scores[self.baseline] = TIE
                for system, seen in row.items():
                    scores[system], controls[system] = seen.score, each[system].control(seen)
                asked = np.isin(range(len(each)), [*row, self.baseline])
                pairs = raced(pairs, scores, asked, controls)
            for system, seen in row.items():
                each[system] = each[system].after(seen)
        return replace(self, each=tuple(each), pairs=pairs)

    @property
    def items(self) -> int:
        """Number of items of the population."""
        return self.each[self.baseline].items

    @property
    def judged(self) -> NDArray[np.int64]:
        """Number of scores by system; that of the baseline is `pool`."""
        return np.array([min(level.judged, self.pool) for level in self.each])

    @property
    def places(self) -> NDArray[np.int64]:
        """The place in the order of the items at which each system is asked next; `pool` for none."""
        if self.pairs is None:
            return self.judged
        return np.where(self.judged < self.pool, self.pairs.drawn, self.pool)

    @property
    def uppers(self) -> Floats:
        """The upper bounds by system; minus infinity for a system that is ruled out in pairs."""
        uppers = np.array([level.upper for level in self.each])
        if self.pairs is not None:
            uppers[self.pairs.out(self.pairs_risk)] = -math.inf
        return uppers

    @property
    def favourite(self) -> int | None:
        """The system with the most hope, of several the one judged most; None before all are asked.

        A race asks whoever is in its way, and then the system itself. Its own gap may still be wide.
        """
        judged, uppers = self.judged, self.uppers
        if not judged.min():
            return None
        hopes = np.array([level.hope for level in self.each])
        if np.isfinite(uppers).any():  # if all are ruled out, a bound has failed
            hopes[~np.isfinite(uppers)] = -math.inf
        return max(range(len(hopes)), key=lambda system: (hopes[system], judged[system]))

    @property
    def surest(self) -> int:
        """The system with the highest lower bound; at first the baseline, whose level is known."""
        surest, most = self.baseline, self.each[self.baseline].least
        hopes, risk = [-level.hope for level in self.each], self.lower_risk
        for system in np.argsort(hopes, kind="stable").tolist():
            level = self.each[system]
            if level.upper > most and level.reaches(most, risk) and (lower := level.lower(risk)) > most:
                surest, most = system, lower
        return surest

    @property
    def leader(self) -> int | None:
        """The system with the least gap, of several the favourite; None while no gap is proved.

        It has the highest lower bound, or the highest upper one, above which there is no other. Where all
        are asked on the same items, these are those of the favourite, or of the baseline.
        """
        favourite = self.favourite
        if favourite is None:
            return None
        sure = (self.surest, int(self.uppers.argmax())) if self.pairs is None else (self.baseline,)
        gaps = {system: self.gap_of(system) for system in (favourite, *sure)}
        leader = min(gaps, key=gaps.__getitem__)
        return leader if gaps[leader] < NOTHING_PROVED else None

    def gap_of(self, system: int) -> float:
        """By how much the best may be ahead of a system, in share won less share lost."""
        lower = self.each[system].lower(self.lower_risk)
        gaps: Floats = 2 * (self.uppers - lower) / self.items
        if self.pairs is not None:
            gaps = np.minimum(gaps, self.pairs.gaps(system, self.pairs_risk))
        gaps[system] = 0.0
        return max(0.0, float(gaps.max()))

    def within(self, gap: float) -> bool:
        """Whether a system is known than which no other is more than `gap` better."""
        favourite = self.favourite
        if favourite is None:
            return False
        systems = range(len(self.each)) if self.pairs is None else (favourite, self.baseline)
        uppers, zone = self.uppers, gap / 2 * self.items
        for system in systems:
            needed = float(self._in_the_way(system, uppers).max()) - zone
            # A system that is sure to have so much may have so much.
            if uppers[system] >= needed and self.each[system].reaches(needed, self.lower_risk):
                return True
        return False

    @property
    def in_question(self) -> Flags:
        """Which systems may be the best."""
        surest = self.surest
        flags: Flags = self.uppers >= self.each[surest].lower(self.lower_risk) - ROUNDING
        if not flags.any():  # a bound has failed
            flags[surest] = True
        return flags

    @property
    def level(self) -> list[int]:
        """The systems whose levels are known and the highest; several if they are level, none if one may be above."""
        known = [n for n, one in enumerate(self.each) if one.judged == one.items and one.least == one.most]
        highest = max(self.each[system].least for system in known)  # that of the baseline is known
        if self.uppers.max() > highest + ROUNDING:
            return []
        return [system for system in known if self.each[system].least == highest]

    def wanted(self, gap: float) -> dict[int, int]:
        """On how many further items each system is to be asked next; empty for nobody.

        At first these are all. Then they are the systems whose upper bound is more than `gap` above the
        hope of the favourite, and if there is none, the favourite; among few systems, all not ruled out.
        """
        judged, favourite = self.judged, self.favourite
        left, uppers = self.pool - self.places, self.uppers
        counts = np.minimum(np.maximum(1, self.places // AT_ONCE), left)
        if favourite is None or (judged < min(FIRST, self.pool)).any():
            asked, counts = judged == judged.min(), np.ones_like(judged)
        elif self.pairs is not None:
            # Who sleeps may come back if the items have no end; else the place in the order matters.
            fresh = self.items == UNLIMITED
            asked = np.isfinite(self._in_the_way(favourite, uppers) if fresh else uppers)
            asked[favourite] = True
            others = max(1, int((asked & (left > 0)).sum()))
            counts = np.minimum(np.maximum(counts, CALLS_AT_ONCE // others), left)
        else:
            level = self.each[favourite]
            aim = level.hope if left[favourite] else level.lower(self.lower_risk)
            asked = uppers - gap / 2 * self.items > aim + ROUNDING
            asked[favourite] = False
            if not (asked & (left > 0)).any():
                asked = np.arange(len(judged)) == favourite
                counts = np.minimum(np.maximum(CALLS_AT_ONCE, counts), left)
        return {int(one): int(counts[one]) for one in np.flatnonzero(asked & (left > 0))}

    def _in_the_way(self, of: int, uppers: Floats) -> Floats:
        """The upper bounds of the others; minus infinity where pairs show enough of the gap."""
        others = uppers.copy()
        others[of] = -math.inf
        if self.pairs is not None:
            others[self.pairs.not_ahead(of, self.pairs_risk)] = -math.inf
        return others


def start(
    systems: int, baseline: int, risk: float, items: int, pool: int, *, gap: float = 0.0, beside: bool = False
) -> Levels:
    """The levels of `systems` before the first score, for a race to a `gap`, with a cheap judge `beside` the scores.

    The baseline ties with itself, so that its level is known. The risk is divided as in `Levels`.
    """
    others = systems - 2  # beside the best and the baseline
    few = systems <= (FEW if pool == items else FEW_LIKE_THESE)
    in_pairs = others > 0 and (few or (pool < items and gap < LEVELS_FROM))
    alone = risk * (1 - PAIRS_SHARE) if in_pairs else risk
    share = LOWER_SHARE if pool == items and not in_pairs else LOWER_SHARE_SHORT
    upper, lower = (alone * (1 - share), alone * share / others) if others else (alone, alone)
    fresh, half = _below(items + TIE, items, upper, slope=Slope() if beside else None), items * TIE
    known = Level(items, upper, fresh.totals[:0], fresh.wealth[:0], half, items, half, half)
    each = tuple(known if system == baseline else fresh for system in range(systems))
    pairs = begun(items, systems, gap) if in_pairs else None
    return Levels(each, baseline, pool, lower, pairs, risk * PAIRS_SHARE)


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
        """Which systems are ruled out at `risk`, shape (m,).

        The best system is ever among them with probability at most `risk`.
        """
        most: Floats = self.evidence.diagonal() if self.gap else self.evidence[0]
        ruled: Flags = most >= -math.log(risk)
        return ruled

    def not_ahead(self, of: int, risk: float) -> Flags:
        """Which systems are not more than `gap` ahead of one that may be named, shape (m,)."""
        shown: Flags = self.evidence[of if self.gap else 0] >= -math.log(risk)
        return shown

    def gaps(self, of: int, risk: float) -> Floats:
        """By how much each system may be ahead of one that may be named, shape (m,).

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
        """The evidence in the row of one system if the gap to each rival were `gap`."""
        if not self.bets:
            return np.zeros(len(gap))
        opponent, won, mean, betted, most_off = map(np.array, zip(*self.bets, strict=True))
        left = self.items - np.arange(len(mean))[:, None]
        mean = mean - (opponent == of) * gap / 2 * (self.items / left)
        paths = np.cumsum(np.log1p(_gains(won, mean, betted, most_off)[..., None] * BETS), axis=0)
        most: Floats = mixed_wealth(paths).max(axis=0)
        return most


def begun(items: int, systems: int, gap: float = 0.0) -> Race:
    """The race before the first query."""
    nothing, rows = np.zeros(systems), systems if gap else 1
    wealth = np.zeros((rows, systems, len(BETS)))
    running = np.ones(systems, dtype=bool)
    return Race(items, gap, 0, nothing, nothing, wealth, np.zeros((rows, systems)), running)


def raced(race: Race, scores: Floats, asked: Flags, controls: Floats) -> Race:
    """The race after one more query.

    `scores`, shape (m,), lie in [0, 1], NaN for an abstention. `asked`, shape (m,), says which
    systems were asked about; the others stop running, unless the population has no end. `controls`, shape (m, 3), are
    those of each system.
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
    off, at_most, at_least = controls.T
    won, most_off = won - np.where(betted, off[opponent] - off, 0.0), at_most[opponent] + at_least
    wealth = race.wealth + np.log1p(_gains(won, mean, betted, most_off)[..., None] * BETS)
    least = race.least + np.where(running, low, 0.0)
    most = race.most + np.where(running, high, 0.0)
    opponent_now, theirs = _rivals(np.where(running, least, -np.inf))
    ahead = (opponent_now == rows) * (race.gap / 2 * race.items)
    surely |= running & (theirs + ahead - most > left - 1)
    evidence = np.maximum(race.evidence, np.where(surely, np.inf, mixed_wealth(wealth)))
    bets = (*race.bets, (opponent, won, plain, betted, most_off))
    drawn = race.drawn + 1
    return Race(race.items, race.gap, drawn, least, most, wealth, evidence, running, bets)


def _gains(won: Floats, mean: Floats, betted: Flags, most_off: Floats) -> Floats:
    """What a whole bet gains if the difference is `won`, and its mean is assumed to be `mean`.

    `most_off` is the most that could have been taken off the difference.
    """
    loss = 1 + mean
    gains: Floats = np.divide(won - mean, loss + most_off, out=np.zeros(mean.shape), where=betted & (loss > 0))
    return gains


def _rivals(sums: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The opponent of each system, and the opponent's sum; both of shape (m,).

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
