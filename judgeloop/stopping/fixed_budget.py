"""Naming the system with the highest win rate at the end of a fixed budget; it states no risk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self, final

from judgeloop.core.records import StopKind
from judgeloop.stats.standings import Standings
from judgeloop.stopping.catalogue import Ingredients


@final
@dataclass(frozen=True)
class FixedBudget:
    """Names the system with the highest win rate once the judgments, the money or the queries are used up; states no risk.

    What the LLM Selector paper does (Durmazkeser et al. 2025, algorithm 1): the best of a fixed number of queries.
    """

    threshold: float = 1.0
    name: str = "fixed-budget"
    guarantee: None = None
    needs_draws: bool = False
    decides_at: frozenset[StopKind] = frozenset(
        {StopKind.ALL_JUDGED, StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED}
    )

    def risk(self, tally: Standings) -> float:
        """Unknown."""
        del tally
        return math.nan

    def is_met(self, tally: Standings) -> bool:
        """Not before everything is used up."""
        del tally
        return False

    def can_be_met(self, tally: Standings, unknown: int) -> bool:
        """Not before everything is used up."""
        del tally, unknown
        return False

    def for_limit(self, limit: int) -> Self:
        """The same rule."""
        del limit
        return self

    def interval(self, tally: Standings) -> None:
        """No bounds are kept for win rates."""
        del tally

    def reason_to_stop(self, tally: Standings) -> None:
        """Not before everything is used up."""
        del tally


def made_of(given: Ingredients) -> FixedBudget:
    """The rule for one run."""
    del given
    return FixedBudget()
