"""A rule for mean scores: stops once the interval is narrow enough, or at the limit of judgments.

It reads ratings. `methods/stats/strata.py` estimates the mean and its variance; `methods/stats/intervals.py`
and `methods/stats/betting.py` compute the intervals. A selector chooses the items.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.stats import intervals
from judgeloop.methods.stats.betting import interval_of_bounds
from judgeloop.methods.stopping.rule import at_most

# Items between two looks, as a share of those asked: they can be asked in parallel without waste.
BETWEEN_LOOKS = 0.05
AT_THE_END = frozenset({StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED, StopKind.DEADLINE})


@final
@dataclass(frozen=True)
class Precise:
    """Stops once the interval reaches at most `half_width` from the mean to either side.

    Without `half_width`, the run goes on to its limit. `threshold` is the risk that the interval
    misses the mean over all `items`.

    The interval is valid for one look; if only its width stops a run, many looks do little harm
    (Chow & Robbins 1965). With `any_look`, it is valid for any number of looks. If
    `guaranteed`, that is without strata or a proxy, it comes from bets against each value of the
    mean, and is proved. Otherwise it is an asymptotic confidence sequence.

    Abstentions widen both: they count as 0 for the lower bound, as 1 for the upper. `first_look` is
    the number of items at which the width is checked first.

    With `sampled`, the items are a random sample, and the mean is that of the population without end
    that they are drawn from. The bets are then against a mean that stays the same from draw to draw
    (Waudby-Smith & Ramdas 2024, theorem 3), the interval has no finite population correction, and it is
    no point once all items are judged.
    """

    threshold: float
    items: int
    half_width: float | None = None
    any_look: bool = False
    first_look: int = 20
    guaranteed: bool = False
    sampled: bool = False
    name: str = "precise"
    needs_draws: bool = False

    @property
    def guarantee(self) -> str | None:
        """What is promised about the interval; None if it is an approximation."""
        if not self.guaranteed:
            return None
        missed = "with random draws from all items, the chance that the interval ever misses their mean score"
        if self.sampled:
            missed = (
                "if the items are a random sample of items like these, the chance that the interval ever "
                "misses the mean score of all such items"
            )
        return f"{missed} is {at_most(self.threshold)}, however often it is computed"

    @property
    def population(self) -> int:
        """Number of items of which the mean is wanted."""
        return UNLIMITED if self.sampled else self.items

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The halts at which the mean is known well enough.

        With a `half_width`, they are an interval of that width and a fully judged pool. Without it,
        the end of the judgments, money, items or time counts as well.
        """
        enough = frozenset({StopKind.PRECISE, StopKind.ALL_JUDGED})
        return enough if self.half_width is not None else enough | AT_THE_END

    def risk(self, tally: Ratings) -> float:
        """The stated risk that the interval misses; 1 without an interval."""
        return 1.0 if self.interval(tally) is None else self.threshold

    def interval(self, tally: Ratings) -> intervals.Interval | None:
        """Bounds for the mean over all items.

        None if items were picked and not drawn, or if too few scores are known.
        """
        if not tally.drawn or not tally.asked:
            return None
        if self.any_look and self.guaranteed:
            return self._by_betting(tally)
        find = intervals.interval_whenever if self.any_look else intervals.interval_at_once
        ends = [find(tally.moments_with(score), tally.asked, self.population, self.threshold) for score in (0.0, 1.0)]
        if ends[0] is None or ends[1] is None:
            return None
        return ends[0][0], ends[1][1]

    def _by_betting(self, tally: Ratings) -> intervals.Interval:
        """The interval of Waudby-Smith & Ramdas (2024), with half of the risk on each side.

        The bounds are computed for scores scaled to [-1, 1].
        """
        least = 2 * np.nan_to_num(tally.scores, nan=0.0) - 1
        most = 2 * np.nan_to_num(tally.scores, nan=1.0) - 1
        low, high = interval_of_bounds(least, -most, self.population, self.threshold / 2)
        return (low + 1) / 2, (high + 1) / 2

    def is_met(self, tally: Ratings) -> bool:
        """Whether the interval is narrow enough, at a number of items at which it is checked."""
        if self.half_width is None or not self._looks_at(tally.asked):
            return False
        found = self.interval(tally)
        return found is not None and intervals.reach(tally.moments.mean, found) <= self.half_width * (1 + 1e-12)

    def reason_to_stop(self, tally: Ratings) -> StopReason | None:
        """That the interval is narrow enough; None if it is not."""
        if not self.is_met(tally):
            return None
        return StopReason(
            StopKind.PRECISE, f"the interval reaches at most {self.half_width:g} from the mean to either side"
        )

    def can_be_met(self, tally: Ratings, unknown: int) -> bool:
        """Whether the width is checked within `unknown` further items."""
        if self.half_width is None:
            return False
        return any(self._looks_at(asked) for asked in range(tally.asked + 1, tally.asked + unknown + 1))

    def chance(self, tally: Ratings, more: int) -> float:
        """1 if the width is checked within `more` further items: it may then be narrow enough."""
        return float(self.can_be_met(tally, more))

    def _looks_at(self, asked: int) -> bool:
        """Whether the width is checked at `asked` items.

        It is checked at first_look, 1.05 · first_look, …, each rounded up and larger than the last,
        and at all items.
        """
        if asked >= self.items:
            return True
        look = self.first_look
        while look < asked:
            look = max(look + 1, math.ceil(look * (1 + BETWEEN_LOOKS)))
        return look == asked
