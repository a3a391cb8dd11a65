"""A guaranteed rule for random draws with a limit of judgments that is known beforehand.

It reads a tally of verdicts; the boundary is computed in `methods/stats/spending.py`.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.growing import Growing, IncrementalState
from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.predictive import ItemsToDecide, items_to_decide
from judgeloop.methods.stats.spending import Course, Spending, first_crossing
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.reasons import at_most
from judgeloop.methods.stopping.rule import Rule, in_order, scores_for

RISKS = np.geomspace(1e-6, 0.5, 58)  # the thresholds tried for the stated risk


@final
@dataclass(frozen=True)
class Sequential(Rule):
    """Compares the lead with a boundary that holds at every look; guaranteed for random draws.

    If a system is preferred no more often than the other among all items, its lead is at best a
    balanced walk without replacement. Within `limit` judgments, the boundary lets a balanced walk
    cross to either side with probability at most twice the risk. So the walk crosses first to the
    wrong side with probability at most the risk. The boundary is exact, by dynamic programming
    (`methods/stats/spending.py`), and its risk is spent as judgments are made. That keeps its power when
    most verdicts are ties. The stated risk is the smallest threshold at which the leader would have
    been named; at the limit, without a decision, it is the stage-wise p-value (`_at_the_limit`). An
    abstention counts as a verdict for the other system. `items` is the number of
    items in the population, `core.pool.UNLIMITED` for one without end.
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
        """Return the rule for another limit of judgments."""
        return replace(self, limit=limit)

    def is_met(self, tally: Tally) -> bool:
        """Whether the lead of `tally` crossed the boundary first on the leader's side."""
        return bool(self._named(tally, self._at_threshold)[0])

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        named = self._named(tally, self._at_all)
        risks = self._at_all.levels / 2
        at = int(np.searchsorted(risks, min(self.threshold, risks[-1])))
        if named[at]:
            while at > 0 and named[at - 1]:
                at -= 1
            return float(risks[at])
        if tally.leader is not None and _drawn(tally) == self._at_threshold.limit:
            return self._at_the_limit(tally, tally.leader)
        above = np.flatnonzero(named[at:])
        return float(risks[at + above[0]]) if len(above) else 1.0

    def _at_the_limit(self, tally: Tally, leader: int) -> float:
        """Return the risk of naming the leader now that no draw is left.

        It is half the chance of a level walk to cross the boundary earlier, or to end with this
        lead or a larger one: the stage-wise p-value of Tsiatis, Rosner & Mehta (1984), "Exact
        confidence intervals following a group sequential test". Outcomes are ordered by the time
        of crossing, then by the lead at the limit. So for each a, the outcomes with a risk of at most
        a are those of a walk that keeps the boundary and, at the limit, names leads from some size
        on. Its chance to name the worse system is at most a, as for the boundary itself.
        """
        course = self._course(tally, self._at_threshold)
        if course is not None:
            side, chances = course.sides[leader], course.chances_beyond(leader)
        else:
            scores = scores_for(tally, leader)
            side = first_crossing(scores, self._at_threshold)
            lead = max(0, int(scores.sum()))
            chances = self._at_threshold.chances_beyond(scores != 0, lead)
        return min(1.0, float(chances[0]) / 2) if side[0] == 0 else 1.0

    def items_to_decide(self, tally: Tally) -> ItemsToDecide | None:
        """As `Rule.items_to_decide`, by the boundary at the limit in standard deviations."""
        if tally.leader is None or _drawn(tally) != self._at_threshold.limit:
            return None
        scores = scores_for(tally, tally.leader)
        barriers, decisive = self.boundary(tally, tally.leader), np.cumsum(scores != 0)
        # At the last draws there may be no distance at which the walk could still cross.
        (crossed,) = np.nonzero(barriers <= self._at_threshold.limit)
        if not len(crossed):
            return None
        last = crossed[-1]
        lead = int(scores.sum()) / decisive[-1] ** 0.5
        return items_to_decide(tally.items, lead, barriers[last] / decisive[last] ** 0.5)

    def boundary(self, tally: Tally, side: int) -> NDArray[np.int64]:
        """As `Rule.boundary`, up to the limit."""
        decisive = scores_for(tally, side)[: self._at_threshold.limit] != 0
        return self._at_threshold.barriers(decisive)[:, 0].astype(np.int64)

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`; the verdicts of a growing tally are each looked at once."""
        course = self._course(tally, self._at_threshold)
        if course is None:
            return super().can_be_met(tally, unknown)
        if course.drawn + unknown > self._at_threshold.limit:
            return False
        return any(self._names_after(tally, course, winner, unknown) for winner in (0, 1))

    def _names_after(self, tally: Tally, course: Course, winner: int, wins: int) -> bool:
        """Return whether a leader is named after `wins` more verdicts for `winner`."""
        lead = tally.wins[0] - tally.wins[1] + (wins if winner == 0 else -wins)
        if not lead:
            return False
        return bool(course.sides_with(0 if lead > 0 else 1, winner, wins)[0] > 0)

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`: from the first crossing on, while the lead is on that side.

        Raises:
            ValueError: the pool of `items` is not the pool that the boundary is for.
        """
        if items != self.items:
            raise ValueError(f"expected draws from {self.items} items, found {items} items")
        if not preferences.size:
            return np.zeros((len(thresholds), *preferences.shape), dtype=np.bool_)
        sums = np.cumsum(preferences, axis=1, dtype=np.int64)
        barriers = self._spending(thresholds).barriers(preferences != 0)
        crossed = np.moveaxis(np.abs(sums)[..., None] >= barriers, 2, 0)
        first = crossed.argmax(axis=2)[..., None]
        side = np.take_along_axis(np.broadcast_to(np.sign(sums), crossed.shape), first, axis=2)
        since = np.logical_or.accumulate(crossed, axis=2)
        met: NDArray[np.bool_] = since & (np.sign(sums) == side)
        return met

    def _named(self, tally: Tally, spending: Spending) -> np.ndarray:
        if tally.leader is None or _drawn(tally) > spending.limit:
            return np.zeros(len(spending.levels), dtype=bool)
        course = self._course(tally, spending)
        if course is not None:
            named: np.ndarray = course.sides[tally.leader] > 0
            return named
        return first_crossing(scores_for(tally, tally.leader), spending) > 0

    def _course(self, tally: Tally, spending: Spending) -> Course | None:
        """Return the walk of a tally that grows; None for a tally with a tuple or only counts."""
        preferences = tally.preferences
        if not isinstance(preferences, Growing) or not in_order(tally):
            return None
        if id(spending) not in self._courses:
            self._courses[id(spending)] = IncrementalState(partial(Course, spending), Course.follow)
        return self._courses[id(spending)].after(preferences)

    @cached_property
    def _courses(self) -> dict[int, IncrementalState[int | None, Course]]:
        """The walk followed last, by the identity of its boundaries."""
        return {}

    @cached_property
    def _at_threshold(self) -> Spending:
        return self._spending(np.array([self.threshold]))

    @cached_property
    def _at_all(self) -> Spending:
        return self._spending(np.unique(np.append(RISKS, self.threshold)))

    def _spending(self, risks: np.ndarray) -> Spending:
        # A level is the probability of crossing to either side, so it is twice the risk.
        return Spending(self.items, min(self.limit, self.items), np.minimum(1.0, 2 * risks))


def made_of(given: Ingredients) -> Sequential:
    """Make the rule for one run."""
    return Sequential(given.risk, given.items, given.limit)


def _drawn(tally: Tally) -> int:
    return tally.judged + tally.abstentions
