"""A rule for mean scores: stops once the interval is narrow enough, or at the limit of judgments.

It reads ratings. `methods/stats/strata.py` estimates the mean and its variance; `methods/stats/intervals.py`
and `methods/stats/confidence_sequence.py` compute the intervals. A selector chooses the items.
"""

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.stats import intervals
from judgeloop.methods.stats.confidence_sequence import ConfidenceSequence
from judgeloop.methods.stats.hedged import Limits
from judgeloop.methods.stats.strata import Floats, foreseen
from judgeloop.methods.stopping.rule import at_most

# Items between two looks, as a share of those asked: they can be asked in parallel without waste.
BETWEEN_LOOKS = 0.05
AT_THE_END = frozenset({StopKind.JUDGMENT_LIMIT, StopKind.BUDGET, StopKind.POOL_EXHAUSTED, StopKind.DEADLINE})
SHOWN_NOTHING = 4  # judged items as which the guess counts that a proxy says nothing
STEEPEST = 2.0  # slope of a proxy


class IntervalKind(enum.StrEnum):
    """How an interval for a mean score is made."""

    EXACT = "exact"
    ANYTIME = "anytime"
    APPROXIMATE = "approximate"


@final
@dataclass(frozen=True)
class Precise:
    """Stops once the interval reaches at most `half_width` from the mean to either side.

    Without `half_width`, the run goes on to its limit. `threshold` is the risk that the interval
    misses the mean over all `items`. Which interval it is depends on the draws and on the scores:

    - Uniform draws (`even`), scores of 0 and 1, one look after a number of judgments that no score has influenced, and
      no proxy: *exact*. Each end is wrong with half of the risk, by the binomial distribution (Clopper & Pearson 1934),
      or by the hypergeometric one for these items.
    - Uniform draws, and a proxy, `any_look`, a `half_width` or another score: *anytime*. Each end is a bound of the
      confidence sequence at half of the risk, whose stakes aim at an end after `limit` draws; `limits` are all that
      held, if it was changed. A proxy is its control, and so are the means of groups so far, as theorems 1 and 2 of
      `methods/stats/corrected.py` allow.
    - Other draws: *approximate*, for one look. If only its width stops a run, many looks do little harm (Chow & Robbins
      1965).

    Where all scores of the population are 0 or 1, the second is never taken instead of the first, so the choice costs
    nothing. Where others exist and none was drawn, the first one is taken, and misses with at most the risk, too (for
    items like these: draw a 1 with the probability y for each score y. These have the same mean, so their exact
    interval misses with at most the risk; and where no other score was drawn, they are the scores).

    Abstentions widen all: they count as 0 for the lower bound, as 1 for the upper. `first_look` is
    the number of items at which the width is checked first.

    With `sampled`, the items are a random sample, and the mean is that of the population without end
    that they are drawn from. The interval has no finite population correction, and it is
    no point once all items are judged.
    """

    threshold: float
    items: int
    half_width: float | None = None
    any_look: bool = False
    first_look: int = 20
    even: bool = False
    sampled: bool = False
    limit: int | None = None
    limits: Limits = ()
    name: str = "precise"
    needs_draws: bool = False

    @property
    def guarantee(self) -> str | None:
        """What is promised whatever the scores are; None if it depends on them, or if nothing is."""
        return self.promised(IntervalKind.ANYTIME) if self.even and self._looks_often else None

    def promised(self, kind: IntervalKind) -> str | None:
        """What is promised about an interval of this kind; None if it is an approximation."""
        if kind is IntervalKind.APPROXIMATE:
            return None
        often = "ever misses" if kind is IntervalKind.ANYTIME else "misses"
        missed = f"with random draws from all items, the chance that the interval {often} their mean score"
        if self.sampled:
            missed = (
                f"if the items are a random sample of items like these, the chance that the interval {often} "
                "the mean score of all such items"
            )
        chance = at_most(self.threshold)
        if kind is IntervalKind.ANYTIME:
            return f"{missed} is {chance}, however often it is computed"
        return f"where all scores are 0 or 1 and no score ended the run, {missed} is {chance}"

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

    @property
    def planned(self) -> int:
        """The number of draws that the stakes of the confidence sequence aim at."""
        return min(self.items, self.limit or self.items)

    @property
    def _looks_often(self) -> bool:
        return self.any_look or self.half_width is not None

    def risk(self, tally: Ratings) -> float:
        """The stated risk that the interval misses; 1 without an interval."""
        return 1.0 if self.interval(tally) is None else self.threshold

    def kind(self, tally: Ratings, *, once: bool = True) -> IntervalKind:
        """Which interval these scores have; `once`: no score has influenced their number."""
        often = self._looks_often or not once
        if not self.even:
            return IntervalKind.APPROXIMATE
        zero_or_one = np.isin(tally.scores[~np.isnan(tally.scores)], (0.0, 1.0)).all()
        alone = tally.proxy is None
        return IntervalKind.EXACT if zero_or_one and alone and not often else IntervalKind.ANYTIME

    def interval(self, tally: Ratings, *, once: bool = True) -> intervals.Interval | None:
        """Bounds for the mean over all items.

        None if items were picked and not drawn, or if too few scores are known.
        """
        if not tally.drawn or not tally.asked:
            return None
        kind = self.kind(tally, once=once)
        if kind is IntervalKind.EXACT:
            ones, least = tally.asked - int((tally.scores == 0).sum()), int((tally.scores == 1).sum())
            ends = [intervals.exact_interval(n, tally.asked, self.population, self.threshold) for n in (least, ones)]
            return ends[0][0], ends[1][1]
        if kind is IntervalKind.ANYTIME:
            return self._by_bets(tally)
        found = [
            intervals.interval_at_once(tally.moments_with(score), tally.asked, self.population, self.threshold)
            for score in (0.0, 1.0)
        ]
        return None if found[0] is None or found[1] is None else (found[0][0], found[1][1])

    def _by_bets(self, tally: Ratings) -> intervals.Interval:
        """The interval between both bounds; where they cross, one is wrong, and each claims less.

        Of these items, what the others are cannot change what the known ones add.
        """
        low, high = (
            (1 + sign * float(one)) / 2 for sign, one in zip((1, -1), self._following.after(tally), strict=True)
        )
        low, high = min(low, high), max(low, high)
        if self.sampled:
            return low, high
        least, most = (float(np.nan_to_num(tally.scores, nan=score).sum()) / self.items for score in (0.0, 1.0))
        return max(low, least), min(high, most + 1 - tally.asked / self.items)

    @cached_property
    def _following(self) -> "_Following":
        items = math.inf if self.sampled else float(self.items)
        late = not self._looks_often  # who looks at the end alone needs no narrow bounds before
        (_, first), *then = self.limits or ((0, self.planned),)
        return _Following(lambda: ConfidenceSequence(2, self.threshold / 2, first, items, late=late, then=tuple(then)))

    def is_met(self, tally: Ratings) -> bool:
        """Whether the interval is narrow enough, at a number of items at which it is checked."""
        if self.half_width is None or not self._looks_at(tally.asked):
            return False
        found = self.interval(tally)
        return found is not None and narrow_enough(tally.moments.mean, found, self.half_width)

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


def narrow_enough(mean: float, interval: intervals.Interval, half_width: float | None) -> bool:
    """Whether an interval reaches at most `half_width` from the mean to either side; False without one."""
    return half_width is not None and intervals.reach(mean, interval) <= half_width * (1 + 1e-12)


class _Following:
    """A confidence sequence that follows the scores of a tally that grows, with proxy and groups as its controls."""

    def __init__(self, begin: Callable[[], ConfidenceSequence]) -> None:
        self._begin, self._sequence = begin, begin()
        self._positions, self._scores = np.zeros(0, dtype=np.int64), np.zeros(0)

    def after(self, tally: Ratings) -> Floats:
        """The bounds, scaled to [-1, 1], of the mean score and of its opposite."""
        so_far = len(self._scores)
        before = tally.positions[:so_far], tally.scores[:so_far]
        if not (np.array_equal(before[0], self._positions) and np.array_equal(before[1], self._scores, equal_nan=True)):
            self._sequence, so_far = self._begin(), 0
        for at in range(so_far, tally.asked):
            score = 2 * float(tally.scores[at]) - 1
            sides = np.full(2, -1.0) if math.isnan(score) else np.array([score, -score])
            self._sequence.follow(sides, *_control(tally, at))
        self._positions, self._scores = tally.positions, tally.scores
        return self._sequence.low


def _control(tally: Ratings, at: int) -> tuple[Floats, Floats]:
    """The control of a label for both sides, and the most that it can be; by what was known before.

    It is what the proxy and the groups foresee of the item, less the mean of what it was drawn from. This is the mean
    of the items left, each of which is as likely to be next as any other, or that of a block, in which the item has a
    random place. So the control has a mean of 0. Where there is neither proxy nor group it is 0.
    """
    if tally.proxy is None and tally.groups is None:
        return np.zeros(2), np.zeros(2)
    before, known = tally.positions[:at], ~np.isnan(tally.scores[:at])
    heard, scores = before[known], 2 * tally.scores[:at][known] - 1
    slope, ahead = 0.0, np.zeros(tally.items)
    if tally.proxy is not None:
        proxy = 2 * tally.proxy - 1
        slope = _slope(scores, proxy[heard], proxy if tally.blocks is None else proxy[tally.blocks[:at].ravel()])
        ahead = slope * proxy
    if tally.groups is not None:
        ahead = ahead + foreseen(tally.groups, heard, scores - ahead[heard])
    if tally.blocks is None:
        left = np.delete(ahead, before)
        mean, low, high = float(left.mean()), float(left.min()), float(left.max())
    else:
        block = ahead[tally.blocks[at]]
        mean, reach = float(block.mean()), abs(slope) * 2 * (1 - 1 / len(block))
        low, high = mean - reach, mean + reach
    control = float(ahead[tally.positions[at]]) - mean
    return np.array([control, -control]), np.array([high - mean, mean - low])


def _slope(scores: Floats, proxy: Floats, seen: Floats) -> float:
    """The slope of known scores by what the proxy says of their items, of all that it has `seen`."""
    if not len(scores):
        return 0.0
    own = proxy - seen.mean()
    spread = float(own @ own) + SHOWN_NOTHING * float(seen.var())
    slope = float(own @ (scores - scores.mean())) / spread if spread > 0 else 0.0
    return min(max(slope, -STEEPEST), STEEPEST)
