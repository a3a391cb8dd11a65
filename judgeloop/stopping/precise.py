"""When a mean score is known well enough: once its interval is narrow enough, or at the end of the budget.

Which items are asked about is the selector's business; how the mean and its variance are estimated stands in `stats/strata.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from judgeloop.core.records import StopKind, StopReason
from judgeloop.stats.betting import bound
from judgeloop.stats.mean_intervals import Interval, interval_at_once, interval_whenever, reach
from judgeloop.stats.ratings import Ratings

INTERVALS = ("approximate", "anytime")
BETWEEN_LOOKS = 0.05  # more items than at the look before: so many can be asked side by side without one too many
GUARANTEE = "for random draws from the whole pool, it ever misses the mean over all items with at most this chance, however often one looks"
AT_THE_END = frozenset(
    {StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED, StopKind.DEADLINE}
)


@final
@dataclass(frozen=True)
class Precise:
    """Ends once the interval reaches no farther than `half_width` from the mean to either side; without, at the end of the budget.

    `threshold` is the risk that the interval misses the mean over all `items`. `kind` is approximate (one look; where a run stops by the width
    alone, many looks do little harm: Chow & Robbins 1965) or anytime (any number of looks: bets against each value where the pool
    is in one piece and no proxy helps, which is guaranteed; else an asymptotic confidence sequence). Abstentions widen either: below they
    count as 0, above as 1. `first_look` is the number of items at which the width is looked at first.
    """

    threshold: float
    items: int
    half_width: float | None = None
    kind: str = "approximate"
    first_look: int = 20
    guaranteed: bool = False
    name: str = "precise"
    needs_draws: bool = False

    @property
    def guarantee(self) -> str | None:
        """What is promised of the interval; None where it is an approximation."""
        return GUARANTEE if self.guaranteed else None

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """With a width to reach, once it is; without, whenever what was to be spent is spent."""
        enough = frozenset({StopKind.PRECISE, StopKind.ALL_JUDGED})
        return enough if self.half_width is not None else enough | AT_THE_END

    def risk(self, tally: Ratings) -> float:
        """The stated risk that the interval misses; 1 without an interval."""
        return 1.0 if self.interval(tally) is None else self.threshold

    def interval(self, tally: Ratings) -> Interval | None:
        """Bounds for the mean over all items; None where items were picked, or too few are known."""
        if not tally.drawn or not tally.asked:
            return None
        if self.kind == "anytime" and self.guaranteed:
            return self._by_betting(tally)
        find = interval_whenever if self.kind == "anytime" else interval_at_once
        ends = [
            find(tally.moments_with(score), tally.asked, self.items, self.threshold)
            for score in (0.0, 1.0)
        ]
        if ends[0] is None or ends[1] is None:
            return None
        return ends[0][0], ends[1][1]

    def _by_betting(self, tally: Ratings) -> Interval:
        """Waudby-Smith & Ramdas (2024), for scores doubled to [-1, 1]; half of the risk to either side."""
        least = 2 * np.nan_to_num(tally.scores, nan=0.0) - 1
        most = 2 * np.nan_to_num(tally.scores, nan=1.0) - 1
        low = bound(least, self.items, self.threshold / 2)
        high = -bound(-most, self.items, self.threshold / 2)
        return (low + 1) / 2, (high + 1) / 2

    def is_met(self, tally: Ratings) -> bool:
        """Whether the interval is narrow enough, at a number of items at which one looks."""
        if self.half_width is None or not self._looks_at(tally.asked):
            return False
        found = self.interval(tally)
        return found is not None and reach(tally.moments.mean, found) <= self.half_width * (
            1 + 1e-12
        )

    def reason_to_stop(self, tally: Ratings) -> StopReason | None:
        """It is narrow enough."""
        if not self.is_met(tally):
            return None
        return StopReason(
            StopKind.PRECISE, f"the mean is known to {self.half_width:g} to either side"
        )

    def can_be_met(self, tally: Ratings, unknown: int) -> bool:
        """Whether one looks again before `unknown` further items are judged."""
        if self.half_width is None:
            return False
        return any(
            self._looks_at(asked) for asked in range(tally.asked + 1, tally.asked + unknown + 1)
        )

    def for_limit(self, limit: int) -> Self:
        """The same rule: it needs no limit."""
        del limit
        return self

    def _looks_at(self, asked: int) -> bool:
        """Whether `asked` is in first, first · 1.05, …, each rounded up and more than the last; or all."""
        if asked >= self.items:
            return True
        look = self.first_look
        while look < asked:
            look = max(look + 1, math.ceil(look * (1 + BETWEEN_LOOKS)))
        return look == asked
