"""A guaranteed rule by betting: valid at any time, with no limit, with a win-distance interval.

It reads a tally of verdicts; the bets are computed in `methods/stats/betting.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.growing import IncrementalState
from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.betting import bound, log_wealth, log_wealth_path
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.not_worse import NotWorse
from judgeloop.methods.stopping.rule import Rule, scores_for
from judgeloop.methods.stopping.wagers import BetPair, followed, level_after

GUARANTEE = (
    "for random draws, a system that is not the better of the two is ever named with probability "
    "at most this risk, however often the verdicts are checked and however many there are"
)


@final
@dataclass(frozen=True)
class Anytime(Rule):
    """Bets against each system being the better system; guaranteed for random draws.

    If the first system is not better over all items, the wealth of a bettor who bets that it is
    better is a supermartingale. Such wealth ever reaches 1/risk with probability at most the risk
    (Ville 1939); at that wealth, the system is named. Waudby-Smith & Ramdas (2024), "Estimating
    means of bounded random variables by betting", section 5, treat draws without replacement;
    Waudby-Smith, Stark & Ramdas (2021), "RiLACS", apply it to elections. The stated risk is 1
    divided by the largest wealth so far. An abstention counts as a verdict for the other system.

    `items` is the number of items in the pool. With `near_tie`, the rule also claims "no practical
    difference" once the win distance lies between minus and plus `near_tie`. Each of these two
    bounds is wrong with probability at most the threshold.
    """

    items: int
    near_tie: float | None = None
    name: str = "anytime"
    guarantee: str = GUARANTEE
    needs_draws: bool = True

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        if tally.leader is None:
            return 1.0
        wagers = followed(tally, self._on_the_lead)
        if wagers is not None:
            return wagers.risk(tally.leader)
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

    def interval(self, tally: Tally) -> tuple[float, float]:
        """Return bounds for the win distance over all items, first minus second.

        Each bound is ever wrong, at any number of looks, with probability at most the threshold.
        """
        if tally.judged == self.items:
            distance = (tally.wins[0] - tally.wins[1]) / self.items
            return distance, distance
        low = bound(scores_for(tally, 0), self.items, self.threshold)
        high = -bound(scores_for(tally, 1), self.items, self.threshold)
        return low, high

    def no_difference(self, tally: Tally) -> bool:
        """Whether the win distance is shown to lie between minus and plus `near_tie`."""
        if self.near_tie is None or self._on_nearness is None:
            return False
        wagers = followed(tally, self._on_nearness)
        if wagers is not None:
            return max(map(wagers.risk, (0, 1))) <= self.threshold
        return all(
            log_wealth(scores_for(tally, side), self.items, -self.near_tie).risk <= self.threshold
            for side in (0, 1)
        )

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`; the verdicts of a growing tally are each looked at once."""
        wagers = followed(tally, self._on_the_lead)
        if wagers is None:
            return super().can_be_met(tally, unknown)
        lead = tally.wins[0] - tally.wins[1]
        if any(self._names_after(wagers, lead + sign * unknown, sign, unknown) for sign in (1, -1)):
            return True
        near = followed(tally, self._on_nearness) if self._on_nearness else None
        return near is not None and max(level_after(near, lead, unknown)) <= self.threshold

    def _names_after(self, wagers: BetPair, lead: int, sign: int, wins: int) -> bool:
        """Return whether a leader is named once `wins` verdicts, 1 or -1, led to `lead`."""
        if not lead:
            return False
        side, score = (0, sign) if lead > 0 else (1, -sign)
        return wagers.risk_after(side, score, wins) <= self.threshold

    @cached_property
    def _on_the_lead(self) -> IncrementalState[int | None, BetPair]:
        return IncrementalState(partial(BetPair, self.items), BetPair.follow)

    @cached_property
    def _on_nearness(self) -> IncrementalState[int | None, BetPair] | None:
        if self.near_tie is None:
            return None
        return IncrementalState(partial(BetPair, self.items, -self.near_tie), BetPair.follow)


def made_of(given: Ingredients) -> Anytime | NotWorse:
    """Make the rule for one run."""
    if given.worse is not None:
        return NotWorse(given.risk, given.items, given.worse)
    return Anytime(given.risk, given.items, given.near)
