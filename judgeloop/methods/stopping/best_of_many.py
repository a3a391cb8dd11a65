"""Rules that name the best of many systems: once no other can be better, or at the end.

The guarantee of `Separated` is for random draws. Both read standings; `methods/stats/levels.py`
computes the bounds, and the selector decides which systems are still judged.
"""

import math
from dataclasses import dataclass
from typing import Protocol, final

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import StoppingRule
from judgeloop.methods.estimators.win_rates import Standings, level_at_the_end
from judgeloop.methods.stopping.rule import at_most, none_better


class BestRule(StoppingRule[Standings], Protocol):
    """A rule that names the best of many systems."""

    @property
    def level(self) -> float | None:
        """The risk of the bounds of the systems' levels; None if the rule states no risk."""
        ...


@final
@dataclass(frozen=True)
class Separated:
    """Names a system once no other can be more than `gap` better: the one with the least gap.

    `gap` is a share won less a share lost. The proof is that of `Levels` in `methods/stats/levels.py`.
    """

    threshold: float
    gap: float = 0.0
    name: str = "separated"
    needs_draws: bool = True
    decides_at: frozenset[StopKind] = frozenset({StopKind.RISK_MET, StopKind.ALL_JUDGED})

    @property
    def guarantee(self) -> str:
        """What the stated risk promises."""
        wrong = (
            "that a system is ever more than the stated gap better than the leader"
            if self.gap
            else "of ever naming a system that is not the best"
        )
        return f"with random draws, the chance {wrong} is {at_most(self.threshold)}, however often results are checked"

    @property
    def level(self) -> float:
        """The risk of the bounds."""
        return self.threshold

    def risk(self, tally: Standings) -> float:
        """The risk of the bounds, 0 if every system is judged whole; 1 without a leader."""
        levels = tally.levels
        if levels is None or tally.leader is None:
            return 1.0
        return 0.0 if bool((levels.judged >= levels.items).all()) else self.threshold

    def is_met(self, tally: Standings) -> bool:
        """Whether a system is known than which no other can be more than `gap` better."""
        return tally.levels is not None and tally.levels.within(self.gap)

    def can_be_met(self, tally: Standings, unknown: int) -> bool:
        """True if there are bounds: then the rule is looked at after every step."""
        del unknown
        return tally.levels is not None

    def chance(self, tally: Standings, more: int) -> float:
        """1 if there are bounds."""
        return float(self.can_be_met(tally, more))

    def interval(self, tally: Standings) -> tuple[float, float] | None:
        """Bounds for how much better than the leader the best is; None without bounds."""
        if tally.levels is None or tally.leader is None:
            return None
        return 0.0, tally.levels.gap_of(tally.leader)

    def reason_to_stop(self, tally: Standings) -> StopReason | None:
        """That no system can be much better than the leader, or that several are level; None if one can.

        Of systems that are level for certain none is the best, unless one within a gap is asked for.
        """
        if not self.is_met(tally):
            return None
        return level_at_the_end(tally) if tally.level and not self.gap else none_better(self.gap, self.risk(tally))


@final
@dataclass(frozen=True)
class FixedBudget:
    """Names the system with the highest win rate at the end of a run; states no risk.

    The end is the limit of judgments, the budget, or the last query. The LLM Selector paper does
    the same (Durmazkeser et al. 2025, algorithm 1): it names the best of a fixed number of queries.
    """

    threshold: float = 1.0
    level: None = None
    name: str = "fixed-budget"
    guarantee: None = None
    needs_draws: bool = False
    decides_at: frozenset[StopKind] = frozenset(
        {StopKind.ALL_JUDGED, StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED}
    )

    def risk(self, tally: Standings) -> float:
        """NaN: the risk is unknown."""
        del tally
        return math.nan

    def can_be_met(self, tally: Standings, unknown: int) -> bool:
        """False: the rule never stops a run."""
        del tally, unknown
        return False

    def chance(self, tally: Standings, more: int) -> float:
        """0: the rule never stops a run."""
        del tally, more
        return 0.0

    def interval(self, tally: Standings) -> None:
        """None: no bounds are computed for win rates."""
        del tally

    def reason_to_stop(self, tally: Standings) -> None:
        """None: the rule never stops a run."""
        del tally
