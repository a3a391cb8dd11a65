"""A guaranteed rule for a limit of judgments that is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Tally
from judgeloop.stats.spending import Spending, first_crossing
from judgeloop.stopping.catalogue import Ingredients
from judgeloop.stopping.rule import Rule, scores_for

SIDES = 2
FIRST_STRETCH = 25  # judgments for which a boundary is worked out at once
RISKS = np.geomspace(1e-6, 0.5, 58)


@final
@dataclass(frozen=True)
class Sequential(Rule):
    """The lead against a boundary that holds at every look; guaranteed, for random draws up to a known limit.

    Were a system preferred no more often than the other among all items, its lead would be a walk without replacement that is
    balanced at best. The boundary lets such a walk cross, to either side, with twice the risk within `limit` judgments, and so to
    the wrong side first with at most the risk; exact, by dynamic programming (`stats/spending.py`), and spent as the judgments go
    by, which keeps its power where most verdicts are ties. The stated risk is the least threshold by which the leader would have
    been named. An abstention counts as a verdict for the other side.
    """

    items: int
    limit: int
    name: str = "sequential"
    needs_draws: bool = True

    @property
    def guarantee(self) -> str:
        """What is promised."""
        return (
            f"for random draws and at most {self.limit} judgments, a system that is not the better one is ever named with "
            "at most this chance, however often one looks"
        )

    def for_limit(self, limit: int) -> Self:
        """The rule as it would be for another limit of judgments."""
        return replace(self, limit=limit)

    def is_met(self, tally: Tally) -> bool:
        """Whether the lead of `tally` crossed the threshold's boundary first on the leader's side."""
        return bool(self._named(tally, self._at_threshold)[0])

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        named = self._named(tally, self._at_all)
        risks = self._at_all.levels / SIDES
        at = int(np.searchsorted(risks, self.threshold))
        if named[at]:
            while at > 0 and named[at - 1]:
                at -= 1
            return float(risks[at])
        above = np.flatnonzero(named[at:])
        return float(risks[at + above[0]]) if len(above) else 1.0

    def met_along(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As of any rule: from the first crossing on, wherever the lead is on the side on which it crossed.

        The boundary is worked out no farther than it takes: for most walks it is crossed early.
        """
        if items != self.items:
            raise ValueError(f"a boundary for {self.items} items, and {items} were drawn from")
        spending = self._spending_at(tuple(thresholds.tolist()))
        met = np.zeros((len(thresholds), len(preferences)), dtype=np.bool_)
        sums = np.cumsum(preferences, dtype=np.int64)
        seen = min(FIRST_STRETCH, len(preferences))
        while seen:
            crossed = np.abs(sums[:seen, None]) >= spending.barriers(preferences[:seen] != 0)
            if seen == len(preferences) or crossed.any(axis=0).all():
                break
            seen = min(2 * seen, len(preferences))
        for level in np.flatnonzero(crossed.any(axis=0)) if seen else ():
            first = crossed[:, level].argmax()
            met[level, first:] = np.sign(sums[first:]) == np.sign(sums[first])
        return met

    def _spending_at(self, thresholds: tuple[float, ...]) -> Spending:
        if thresholds not in self._known:
            self._known[thresholds] = self._spending(np.array(thresholds))
        return self._known[thresholds]

    @cached_property
    def _known(self) -> dict[tuple[float, ...], Spending]:
        """Boundaries by thresholds."""
        return {}

    def _named(self, tally: Tally, spending: Spending) -> np.ndarray:
        drawn = tally.judged + tally.abstentions
        if tally.leader is None or drawn > spending.limit:
            return np.zeros(len(spending.levels), dtype=bool)
        return first_crossing(scores_for(tally, tally.leader), spending) > 0

    @cached_property
    def _at_threshold(self) -> Spending:
        return self._spending(np.array([self.threshold]))

    @cached_property
    def _at_all(self) -> Spending:
        return self._spending(np.unique(np.append(RISKS, self.threshold)))

    def _spending(self, risks: np.ndarray) -> Spending:
        return Spending(self.items, min(self.limit, self.items), np.minimum(1.0, SIDES * risks))


def made_of(given: Ingredients) -> Sequential:
    """The rule for one run."""
    return Sequential(given.risk, given.items, given.limit)
