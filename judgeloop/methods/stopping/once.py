"""A guaranteed rule for scores and verdicts that are there already: one exact sign test after all items.

It reads a tally of verdicts; the test is in `methods/stats/intervals.py`. A test that is repeated
would break its risk, so this rule never looks before the last item.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.methods.stats.intervals import gap_bound, p_value
from judgeloop.methods.stats.predictive import ItemsToDecide, items_to_decide
from judgeloop.methods.stopping.rule import Rule, asked, at_most, show_risk, show_risk_under


@final
@dataclass(frozen=True)
class Once(Rule):
    """Names the leader if the two-sided p-value of the exact sign test is at most the threshold.

    The stated risk is that p-value. It is about the items that the set is a random sample of, so
    something is left to chance although every item is judged. An abstention counts against the leader: a win in its
    place makes the p-value smaller, as does a tie.
    """

    name: str = "once"
    needs_draws: bool = False

    @property
    def guarantee(self) -> str:
        """What the stated risk promises."""
        return (
            "if the items are a random sample, the chance of naming a system that is not the better "
            f"one is {at_most(self.threshold)}"
        )

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The only halt at which the leader is named: the test is significant."""
        return frozenset({StopKind.RISK_MET})

    def bounds_by_draw(self, tally: Tally, items: float, limit: int) -> NDArray[np.float64]:
        """The bounds of the gap after the last draw, at one look, shape (2, 1); they leave out 0 where the test does.

        For means of families they are those of every look, lowered to 0 where the test names nobody.
        """
        if tally.total is not None:
            every = super().bounds_by_draw(tally, items, limit)[:, -1:]
            return every if self.is_met(tally) else np.minimum(every, 0.0)
        first, second = tally.wins
        sides = (first, second + tally.abstentions), (second, first + tally.abstentions)
        return np.array([[gap_bound(*votes, tally.ties, self.threshold)] for votes in sides])

    def risk(self, tally: Tally) -> float:
        """The p-value; 1 before all items are judged."""
        ahead, behind = max(tally.wins), min(tally.wins) + tally.abstentions
        return p_value(ahead, behind) if asked(tally) == tally.items and ahead >= behind else 1.0

    def is_met(self, tally: Tally) -> bool:
        """Whether all items are judged and the leader is named the winner."""
        return asked(tally) == tally.items and super().is_met(tally)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """Whether `unknown` further items are all that is left."""
        return asked(tally) + unknown >= tally.items

    def items_to_decide(self, tally: Tally) -> ItemsToDecide | None:
        """As `Rule.items_to_decide`, by the normal boundary of the test."""
        ahead, behind = max(tally.wins), min(tally.wins) + tally.abstentions
        if ahead <= behind:
            return None
        lead, boundary = (ahead - behind) / (ahead + behind) ** 0.5, NormalDist().inv_cdf(1 - self.threshold / 2)
        return items_to_decide(tally.items, lead, boundary)

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """What the test says; None before all items are judged."""
        if asked(tally) < tally.items:
            return None
        if tally.leader is None:
            return StopReason(StopKind.POOL_EXHAUSTED, "every item is judged, and they are level")
        p, asked_for = self.risk(tally), f"the risk asked for, {self.threshold:g}"
        if p <= self.threshold:
            shown = show_risk_under(p, self.threshold)
            return StopReason(StopKind.RISK_MET, f"the p-value, {shown}, is at most {asked_for}")
        return StopReason(StopKind.POOL_EXHAUSTED, f"the p-value, {show_risk(p)}, is above {asked_for}")
