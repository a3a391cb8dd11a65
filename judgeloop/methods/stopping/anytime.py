"""Guaranteed rules by betting: valid at any time, with no limit, with an interval for the gap.

`Anytime` asks which system is better, `NotWorse` whether the second is worse by more than a margin.
Both read a tally of verdicts; `methods/stats/betting.py` computes the bets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.growing import Growing, IncrementalState
from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.methods.stats.betting import Bettor, interval_of_bounds, log_wealth, log_wealth_path
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.reasons import at_most, not_worse, risk_met
from judgeloop.methods.stopping.rule import Rule, in_order, scores_for, with_wins

ROUNDING = 1e-9  # verdicts: a lead and a margin that differ by less are the same


@dataclass(frozen=True)
class _Betting(Rule):
    """What the rules by bets on a pool of `items` share: bounds for the gap."""

    items: int

    def interval(self, tally: Tally) -> tuple[float, float]:
        """Return bounds for the gap over all items, first minus second.

        Each bound is ever wrong, at any number of looks, with probability at most the threshold.
        """
        if tally.judged == self.items:
            gap = (tally.wins[0] - tally.wins[1]) / self.items
            return gap, gap
        sides = scores_for(tally, 0), scores_for(tally, 1)
        return interval_of_bounds(*sides, self.items, self.threshold)


@final
@dataclass(frozen=True)
class Anytime(_Betting):
    """Bets against each system being the better system; guaranteed for random draws.

    If the first system is not better over all items, the wealth of a bettor who bets that it is
    better is a supermartingale. Such wealth ever reaches 1/risk with probability at most the risk
    (Ville 1939); at that wealth, the system is named. Waudby-Smith & Ramdas (2024), "Estimating
    means of bounded random variables by betting", section 5, treat draws without replacement;
    Waudby-Smith, Stark & Ramdas (2021), "RiLACS", apply it to elections. The stated risk is 1
    divided by the largest wealth so far. An abstention counts as a verdict for the other system.

    `items` is the number of items in the pool. With `near_tie`, the rule also claims "no practical
    difference" once the gap lies between minus and plus `near_tie`. Each of these two
    bounds is wrong with probability at most the threshold.
    """

    near_tie: float | None = None
    name: str = "anytime"
    needs_draws: bool = True

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        return (
            "with random draws, the chance of ever naming the worse system is "
            f"{at_most(self.threshold)}, however often results are checked"
        )

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        if tally.leader is None:
            return 1.0
        bets = followed(tally, self._on_the_lead)
        if bets is not None:
            return bets.risk(tally.leader)
        return log_wealth(scores_for(tally, tally.leader), self.items).risk

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`; the wealth of each side is computed once as a path."""
        leads = np.cumsum(preferences, axis=1, dtype=np.int64)
        paths = [[log_wealth_path(sign * one, items) for one in preferences] for sign in (1, -1)]
        first, second = np.array(paths).reshape(2, *preferences.shape)
        risks = np.exp(-np.maximum(0.0, np.where(leads > 0, first, second)))
        met: NDArray[np.bool_] = (leads != 0) & (risks <= thresholds[:, None, None])
        return met

    def no_difference(self, tally: Tally) -> bool:
        """Whether the gap is shown to lie between minus and plus `near_tie`."""
        if self.near_tie is None or self._on_nearness is None:
            return False
        bets = followed(tally, self._on_nearness)
        if bets is not None:
            return max(map(bets.risk, (0, 1))) <= self.threshold
        return all(
            log_wealth(scores_for(tally, side), self.items, -self.near_tie).risk <= self.threshold
            for side in (0, 1)
        )

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`; the verdicts of a growing tally are each looked at once."""
        bets = followed(tally, self._on_the_lead)
        if bets is None:
            return super().can_be_met(tally, unknown)
        lead = tally.wins[0] - tally.wins[1]
        if any(self._names_after(bets, lead + sign * unknown, sign, unknown) for sign in (1, -1)):
            return True
        near = followed(tally, self._on_nearness) if self._on_nearness else None
        return near is not None and max(level_after(near, lead, unknown)) <= self.threshold

    def _names_after(self, bets: BetPair, lead: int, sign: int, wins: int) -> bool:
        """Return whether a leader is named once `wins` verdicts, 1 or -1, led to `lead`."""
        if not lead:
            return False
        side, score = (0, sign) if lead > 0 else (1, -sign)
        return bets.risk_after(side, score, wins) <= self.threshold

    @cached_property
    def _on_the_lead(self) -> IncrementalState[int | None, BetPair]:
        return IncrementalState(partial(BetPair, self.items), BetPair.follow)

    @cached_property
    def _on_nearness(self) -> IncrementalState[int | None, BetPair] | None:
        if self.near_tie is None:
            return None
        return IncrementalState(partial(BetPair, self.items, -self.near_tie), BetPair.follow)


@final
@dataclass(slots=True)
class BetPair:
    """A bettor for each system, who bets that its mean score over all `items` is above `mean`.

    The time of each method does not depend on the number of verdicts so far.
    """

    items: int
    mean: float = 0.0
    _bettors: list[Bettor] = field(init=False, repr=False)
    # The bettors after further verdicts, by the side of the bettor and the scores of the verdicts.
    _ahead: dict[tuple[int, int, int], list[Bettor]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._bettors = [Bettor(self.items, self.mean) for _ in (0, 1)]

    def follow(self, preference: int | None) -> None:
        """Go on by one verdict: 1, 0, -1, or None for an abstention, which each side loses."""
        for side, sign in enumerate((1, -1)):
            score = -1 if preference is None else sign * preference
            self._bettors[side] = self._bettors[side].after(score)
        self._ahead.clear()

    def risk(self, side: int) -> float:
        """Return the stated risk that the mean score of `side` is not above `mean`."""
        return self._bettors[side].wealth.risk

    def risk_after(self, side: int, score: int, scored: int, ties: int = 0) -> float:
        """Return `risk` after further verdicts: `scored` with this score of `side`, then ties."""
        before = self._further(self._bettors[side], (side, score, -1), score, scored)
        return self._further(before, (side, score, scored), 0, ties).wealth.risk

    def _further(self, bettor: Bettor, key: tuple[int, int, int], score: int, count: int) -> Bettor:
        known = self._ahead.setdefault(key, [bettor])
        while len(known) <= count:
            known.append(known[-1].after(score))
        return known[count]


def followed(tally: Tally, following: IncrementalState[int | None, BetPair]) -> BetPair | None:
    """Return the bets on a tally that grows; None for a tally with a tuple or only counts."""
    preferences = tally.preferences
    if not isinstance(preferences, Growing) or not in_order(tally):
        return None
    return following.after(preferences)


def level_after(bets: BetPair, lead: int, unknown: int) -> Sequence[float]:
    """Return both risks after `unknown` verdicts that close a `lead` of the first, then ties."""
    closing = min(abs(lead), unknown)
    score = -1 if lead > 0 else 1
    return [
        bets.risk_after(side, sign * score, closing, unknown - closing)
        for side, sign in enumerate((1, -1))
    ]


@final
@dataclass(frozen=True)
class NotWorse(_Betting):
    """Bets on both answers to whether the second system is worse by more than `margin`.

    Let D be the gap over all `items`, first minus second, and δ the margin. There are two
    answers, and exactly one of them is wrong:

    - "Not worse", if D is at most δ. It is claimed at a wealth of 1/risk of bets that the second
      system's mean score, -D, is above -δ. Where D is δ or more, this wealth is a supermartingale.
    - "Worse", if D is above δ; then the first system is named. It is claimed at a wealth of 1/risk
      of bets that the first system's mean score, D, is above δ. Where D is at most δ, this wealth
      is a supermartingale.

    So each answer is ever given wrongly with probability at most the risk (Ville 1939; the bets are
    those of Waudby-Smith & Ramdas 2024, section 5, for draws without replacement). This is a test
    for non-inferiority and, at the same time, for its contrary. An abstention counts as a verdict
    against the answer. Once every item is judged, the answer is certain.
    """

    margin: float
    name: str = "anytime"
    needs_draws: bool = True
    expects_lead: ClassVar[bool] = False

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The halt at which the first system is named; a lead of all items may be in the margin."""
        return frozenset({StopKind.RISK_MET})

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        return (
            "with random draws, the chance of ever giving a wrong answer is "
            f"{at_most(self.threshold)}, however often results are checked"
        )

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of the answer that the verdicts favour."""
        return min(self._risks(tally))

    def is_met(self, tally: Tally) -> bool:
        """Whether the first system is named: it is better by more than the margin."""
        return tally.leader == 0 and self._risks(tally)[1] <= self.threshold

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Return why to stop: either answer is shown."""
        holds, fails = self._risks(tally)
        if self.is_met(tally):
            return risk_met(fails, self.threshold)
        return not_worse(holds, self.threshold) if holds <= self.threshold else None

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: nothing is better for an answer than wins of one system."""
        bets = self._followed(tally)
        if bets is None:
            ends = [with_wins(tally, side, unknown, unknown) for side in (0, 1)]
            return any(self.reason_to_stop(end) is not None for end in ends)
        holds, fails = bets
        least = holds.risk_after(1, 1, unknown), fails.risk_after(0, 1, unknown)
        return min(least) <= self.threshold

    def _risks(self, tally: Tally) -> tuple[float, float]:
        """Return the stated risks of "not worse" and of "worse"."""
        if tally.judged == self.items:
            within = tally.wins[0] - tally.wins[1] <= self.margin * self.items + ROUNDING
            return (0.0, 1.0) if within else (1.0, 0.0)
        bets = self._followed(tally)
        if bets is not None:
            return bets[0].risk(1), bets[1].risk(0)
        return (
            log_wealth(scores_for(tally, 1), self.items, -self.margin).risk,
            log_wealth(scores_for(tally, 0), self.items, self.margin).risk,
        )

    def _followed(self, tally: Tally) -> tuple[BetPair, BetPair] | None:
        """Return the bets on both answers; None for a tally that does not grow."""
        holds, fails = (followed(tally, following) for following in self._on_both)
        return None if holds is None or fails is None else (holds, fails)

    @cached_property
    def _on_both(
        self,
    ) -> tuple[IncrementalState[int | None, BetPair], IncrementalState[int | None, BetPair]]:
        holds, fails = (
            IncrementalState(partial(BetPair, self.items, mean), BetPair.follow)
            for mean in (-self.margin, self.margin)
        )
        return holds, fails


def made_of(given: Ingredients) -> Anytime | NotWorse:
    """Make the rule for one run."""
    if given.worse is not None:
        return NotWorse(given.risk, given.items, given.worse)
    return Anytime(given.risk, given.items, given.near)
