"""A rule that names the system with the highest win rate once the judgments are used up.

It states no risk, and never stops a run itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self, final

from judgeloop.core.outcomes import StopKind
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stopping.catalogue import Ingredients


@final
@dataclass(frozen=True)
class FixedBudget:
    """Names the system with the highest win rate at the end of a run; states no risk.

    The end is the limit of judgments, the budget, or the last query. The LLM Selector paper does
    the same (Durmazkeser et al. 2025, algorithm 1): it names the best of a fixed number of queries.
    """

    threshold: float = 1.0
    name: str = "fixed-budget"
    guarantee: None = None
    needs_draws: bool = False
    decides_at: frozenset[StopKind] = frozenset(
        {StopKind.ALL_JUDGED, StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED}
    )

    def risk(self, tally: Standings) -> float:
        """Return NaN: the risk is unknown."""
        del tally
        return math.nan

    def is_met(self, tally: Standings) -> bool:
        """Return False: the rule never stops a run."""
        del tally
        return False

    def can_be_met(self, tally: Standings, unknown: int) -> bool:
        """Return False: the rule never stops a run."""
        del tally, unknown
        return False

    def for_limit(self, limit: int) -> Self:
        """Return the same rule."""
        del limit
        return self

    def interval(self, tally: Standings) -> None:
        """Return None: no bounds are computed for win rates."""
        del tally

    def reason_to_stop(self, tally: Standings) -> None:
        """Return None: the rule never stops a run."""
        del tally


def made_of(given: Ingredients) -> FixedBudget:
    """Make the rule for one run."""
    del given
    return FixedBudget()
