"""A rule by betting: valid whenever one looks, without a limit set beforehand, with an interval for the win distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Tally
from judgeloop.stats.betting import bound, log_wealth, log_wealth_path
from judgeloop.stopping.catalogue import Ingredients
from judgeloop.stopping.rule import Rule, scores_for

GUARANTEE = (
    "for random draws, a system that is not the better one is ever named with at most this chance, however often and however "
    "long one looks"
)


@final
@dataclass(frozen=True)
class Anytime(Rule):
    """A bet against each system's being the better one; guaranteed, for random draws.

    Were the first system no better over all items, the wealth of who bets on it would be a supermartingale, which reaches 1/risk
    with a chance of at most the risk (Ville 1939): that is when it is named. Waudby-Smith & Ramdas (2024), "Estimating means of
    bounded random variables by betting", section 5, for draws without replacement; Waudby-Smith, Stark & Ramdas (2021), "RiLACS",
    for elections. The stated risk is one over the most wealth so far. An abstention counts as a verdict for the other side.

    `items` are all there are. With `near_tie`, "no practical difference" is claimed as soon as the win distance is surely within
    plus and minus that, where each bound is wrong with at most the threshold's chance.
    """

    items: int
    near_tie: float | None = None
    name: str = "anytime"
    guarantee: str = GUARANTEE
    needs_draws: bool = True

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        if tally.leader is None:
            return 1.0
        return log_wealth(scores_for(tally, tally.leader), self.items).risk

    def met_along(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As of any rule; the wealth of either side is one path."""
        leads = np.cumsum(preferences, dtype=np.int64)
        first, second = (log_wealth_path(sign * preferences, items) for sign in (1, -1))
        risks = np.exp(-np.maximum(0.0, np.where(leads > 0, first, second)))
        met: NDArray[np.bool_] = (leads != 0) & (risks <= thresholds[:, None])
        return met

    def interval(self, tally: Tally) -> tuple[float, float]:
        """Bounds for the win distance over all items, first minus second; each holds at every look but for the threshold's chance."""
        if tally.judged == self.items:
            distance = (tally.wins[0] - tally.wins[1]) / self.items
            return distance, distance
        low = bound(scores_for(tally, 0), self.items, self.threshold)
        high = -bound(scores_for(tally, 1), self.items, self.threshold)
        return low, high

    def no_difference(self, tally: Tally) -> bool:
        """Whether the win distance is surely within plus and minus `near_tie`."""
        if self.near_tie is None:
            return False
        return all(
            log_wealth(scores_for(tally, side), self.items, -self.near_tie).risk <= self.threshold
            for side in (0, 1)
        )


def made_of(given: Ingredients) -> Anytime:
    """The rule for one run."""
    return Anytime(given.risk, given.items, given.near)
