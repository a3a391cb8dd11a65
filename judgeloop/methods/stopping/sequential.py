"""A guaranteed rule for random draws with a limit of judgments that is known beforehand.

It reads a tally of verdicts; the boundary is computed in `methods/stats/spending.py`.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.memory import Growing, IncrementalState
from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.predictive import PRIOR, PRIOR_DECISIVE, ItemsToDecide, chance_to_reach, items_to_decide
from judgeloop.methods.stats.spending import SHAPE, Course, Spending
from judgeloop.methods.stopping.rule import Rule, asked, at_most, in_order, scores_for

NEAR = 5  # draws within which a boundary is crossed at one at least


@dataclass(slots=True)
class _Walk:
    """A walk that is followed draw by draw, and what was spent when it crossed, from either side.

    `at_crossing`, for each system, is half of that if the walk crossed first on its side; 1 if on
    the other; None if it has not crossed.
    """

    course: Course
    at_crossing: list[float | None] = field(default_factory=lambda: [None, None])

    def follow(self, preference: int | None) -> None:
        """Go on by one draw: 1, 0, -1, or None for an abstention."""
        self.course.follow(preference)
        for side, crossed in enumerate(self.course.sides[:, 0].tolist()):
            if crossed and self.at_crossing[side] is None:
                self.at_crossing[side] = self.half_beyond(side) if crossed > 0 else 1.0

    def half_beyond(self, side: int) -> float:
        """Half of the chance that a level walk crossed by now, or is as far away as this one."""
        return float(self.course.chances_beyond(side)[0]) / 2


@final
@dataclass(frozen=True)
class Sequential(Rule):
    """Compares the lead with a boundary that holds at every look; guaranteed for random draws.

    If a system is preferred no more often than the other among all items, its lead is at best a
    balanced walk without replacement. Within `limit` judgments, the boundary lets a balanced walk
    cross to either side with probability at most twice the risk. So the walk crosses first to the
    wrong side with probability at most the risk. The boundary is exact, by dynamic programming
    (`methods/stats/spending.py`), and its risk is spent as judgments are made. That keeps its power when
    most verdicts are ties. An abstention counts as a verdict for the other system. `items` is the number of
    items in the population, `core.records.UNLIMITED` for one without end.

    **The stated risk** of a name is half of the chance that a level walk would have crossed by then, to
    either side. That is half of what was spent, at most the threshold, and less the earlier the run
    ends. For every a, a wrong system is named at a stated risk of at most a with probability at most a.
    Proof: which draws are decisive is independent of how they come out, so take them as given. What was
    spent never falls. So names at a stated risk of at most a are crossings up to some draw. Their side is
    wrong with at most half of what is spent by that draw, as for the boundary itself.

    Without a name, it is the risk of naming the leader now. That is half of the chance that such
    a walk crossed earlier, or is now as far away as this one. It is the stage-wise p-value of Tsiatis,
    Rosner & Mehta (1984), "Exact confidence intervals following a group sequential test". Outcomes are
    ordered by the time of crossing, then by the lead. So the outcomes with a p-value of at most a are
    those of a walk that keeps the boundary, and now names leads from some size on. The proof is the
    same. It holds for a number of draws that does not depend on who wins, as the limit does not.
    Before the limit it is divided by the share of the risk that may be spent by now. So it is never
    below the threshold where the boundary is not crossed.
    """

    items: int
    limit: int
    name: str = "sequential"
    needs_draws: bool = True

    @property
    def guarantee(self) -> str:
        """What the stated risk promises."""
        return (
            f"with random draws and at most {min(self.limit, self.items)} judgments, the chance of "
            "ever naming the worse system is "
            f"{at_most(self.threshold)}, however often results are checked"
        )

    def for_limit(self, limit: int) -> Self:
        """The rule for another limit of judgments."""
        return replace(self, limit=limit)

    def is_met(self, tally: Tally) -> bool:
        """Whether the lead of `tally` crossed the boundary first on the leader's side."""
        if tally.leader is None or asked(tally) > self._spending.limit:
            return False
        crossing, _ = self._chances(tally, tally.leader)
        return crossing is not None and crossing < 1

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`; 1 without a leader."""
        drawn = asked(tally)
        if tally.leader is None or drawn > self._spending.limit:
            return 1.0
        crossing, beyond = self._chances(tally, tally.leader)
        if crossing is not None:
            return crossing
        may_be_spent: float = (drawn / self._spending.limit) ** SHAPE
        return min(1.0, beyond / may_be_spent)

    def items_to_decide(self, tally: Tally) -> ItemsToDecide | None:
        """As `Rule.items_to_decide`, by the boundary at the limit in standard deviations."""
        if tally.leader is None or asked(tally) != self._spending.limit:
            return None
        scores = scores_for(tally, tally.leader)
        barriers, decisive = self.boundary(tally, tally.leader), np.cumsum(scores != 0)
        # After many draws there is no lead that would decide.
        (crossed,) = np.nonzero(barriers <= decisive)
        if not len(crossed):
            return None
        last = crossed[-1]
        lead = int(scores.sum()) / decisive[-1] ** 0.5
        return items_to_decide(tally.items, lead, barriers[last] / decisive[last] ** 0.5)

    def boundary(self, tally: Tally, side: int) -> NDArray[np.int64]:
        """As `Rule.boundary`, up to the limit."""
        decisive = scores_for(tally, side)[: self._spending.limit] != 0
        return self._spending.barriers(decisive)[:, 0].astype(np.int64)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`; the verdicts of a growing tally are each looked at once."""
        walk = self._walk(tally)
        if walk is None:
            return super().can_be_met(tally, unknown)
        course = walk.course
        if course.drawn + unknown > self._spending.limit:
            return False
        return any(self._names_after(tally, course, winner, unknown) for winner in (0, 1))

    def chance(self, tally: Tally, more: int) -> float:
        """As `Rule.chance`: that the lead reaches the boundary halfway, that of a walk without ties, scaled."""
        begin, decisive = asked(tally) + -(-more // 2), sum(tally.wins)
        share = (decisive + PRIOR_DECISIVE) / (tally.judged + PRIOR)
        draws = range(min(begin, self._spending.limit), min(begin + NEAR, self._spending.limit) + 1)
        lead = min(self._spending.without_ties(drawn) for drawn in draws)  # some draws have none
        return chance_to_reach(*tally.wins, tally.judged, more, lead * math.sqrt(share))

    def _names_after(self, tally: Tally, course: Course, winner: int, wins: int) -> bool:
        """Whether a leader is named after `wins` more verdicts for `winner`."""
        lead = tally.wins[0] - tally.wins[1] + (wins if winner == 0 else -wins)
        if not lead:
            return False
        return bool(course.sides_with(0 if lead > 0 else 1, winner, wins)[0] > 0)

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`: from the first crossing on, while the lead is on that side."""
        del items  # the boundary is for the pool that it was made for
        if not preferences.size:
            return np.zeros((len(thresholds), *preferences.shape), dtype=np.bool_)
        sums = np.cumsum(preferences, axis=1, dtype=np.int64)
        barriers = self._spent_at(thresholds).barriers(preferences != 0)
        crossed = np.moveaxis(np.abs(sums)[..., None] >= barriers, 2, 0)
        first = crossed.argmax(axis=2)[..., None]
        side = np.take_along_axis(np.broadcast_to(np.sign(sums), crossed.shape), first, axis=2)
        since = np.logical_or.accumulate(crossed, axis=2)
        met: NDArray[np.bool_] = since & (np.sign(sums) == side)
        return met

    def _chances(self, tally: Tally, side: int) -> tuple[float | None, float]:
        """`_Walk.at_crossing` and `_Walk.half_beyond` of a side, of any tally."""
        walk = self._walk(tally)
        if walk is None:
            walk = _Walk(Course(self._spending))
            for score in scores_for(tally, side).tolist():
                walk.follow(score if side == 0 else -score)
        return walk.at_crossing[side], walk.half_beyond(side)

    def _walk(self, tally: Tally) -> _Walk | None:
        """The walk of a tally that grows; None for a tally with a tuple or only counts."""
        preferences = tally.preferences
        if not isinstance(preferences, Growing) or not in_order(tally):
            return None
        return self._followed.after(preferences)

    @cached_property
    def _followed(self) -> IncrementalState[int | None, _Walk]:
        return IncrementalState(lambda: _Walk(Course(self._spending)), _Walk.follow)

    @cached_property
    def _spending(self) -> Spending:
        return self._spent_at(np.array([self.threshold]))

    def _spent_at(self, risks: NDArray[np.float64]) -> Spending:
        # A level is the probability of crossing to either side, so it is twice the risk.
        return Spending(self.items, min(self.limit, self.items), np.minimum(1.0, 2 * risks))
