"""Guaranteed rules that give one of two answers, with a zone in which either of them is true.

They read a tally of verdicts and follow it through a table (`methods/stats/exact_tables.py`), which
is calibrated for a limit of judgments known beforehand.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Self, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import StopKind, StopReason, Tally
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.betting import risk_by_bets
from judgeloop.methods.stats.exact_tables import ExactTable, Zone, calibrated, not_worse, within
from judgeloop.methods.stopping.rule import Rule, at_most, points, risk_met, scores_for
from judgeloop.methods.stopping.sequential import Sequential


class View(NamedTuple):
    """Verdicts from the side of an answer, up to the first answer that the table gives.

    `given` is 1 for the answer itself, -1 for the other one, 0 for none so far. An abstention is a
    decisive draw that speaks against the answer. A view that reached the other answer can no longer
    give its own, so that each answer's error is that of the table.
    """

    judged: int
    decisive: int
    lead: int
    given: int


@dataclass(frozen=True)
class ByTable(Rule):
    """A rule that follows the verdicts through an exactly calibrated table.

    `gap` is that of the question, and `limit` the most judgments. `items` is the number of items of
    the population, `core.pool.UNLIMITED` for items like these.
    """

    items: int
    limit: int
    gap: float
    needs_draws: bool = True
    goes_on: ClassVar[bool] = False
    # The system from whose side each answer of the table is seen.
    of_answer: ClassVar[tuple[int, int]] = (0, 1)

    @property
    @abstractmethod
    def zone(self) -> Zone:
        """The gaps at which each answer is wrong."""

    @cached_property
    def table(self) -> ExactTable:
        """The table, calibrated for the risk, the limit and the population."""
        items = None if self.items >= UNLIMITED else self.items
        return calibrated(self.zone, self.threshold, min(self.limit, self.items), items)

    @cached_property
    def beside(self) -> Sequential:
        """The rule that says which system is better, and is followed beside the table."""
        return Sequential(self.threshold, self.items, self.table.limit)

    def for_limit(self, limit: int) -> Self:
        """Return this rule: the limit is part of the test."""
        del limit
        return self

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: nothing is better for an answer than wins of its side."""
        return any(self._may_give(tally, side, unknown) for side in (0, 1))

    def _may_give(self, tally: Tally, side: int, unknown: int) -> bool:
        view = self._view(tally, side)
        steps = np.arange(1, min(unknown, self.table.limit - view.judged) + 1)
        needed = self.table.leads[side, view.judged + steps, view.decisive + steps]
        return view.given > 0 or (not view.given and bool((view.lead + steps >= needed).any()))

    @abstractmethod
    def risk_beyond(self, tally: Tally) -> float | None:
        """Return the stated risk of a stronger sentence than the answer; None if it is not shown."""

    def _of_better(self, tally: Tally, system: int) -> float | None:
        """Return the stated risk that this system is not better, if `Sequential` beside the table names it.

        The table alone ends the run; another rule that is looked at where it ended errs no more.
        """
        if tally.leader != system:
            return None
        if tally.judged == self.items:
            return 0.0
        return self.beside.risk(tally) if self.beside.is_met(tally) else None

    def _stated(self, tally: Tally, side: int) -> float:
        """Return the stated risk of an answer, given already or given now."""
        if tally.judged == self.items:
            return 0.0
        judged, decisive, lead, given = self._view(tally, side)
        if given < 0 or not judged:
            return 1.0
        if given:
            return self.table.stated(side, judged, decisive, lead)
        return self.table.stated_now(side, judged, lead)

    def _gives(self, tally: Tally, side: int) -> bool:
        return self._view(tally, side).given > 0

    def boundary(self, tally: Tally, side: int) -> NDArray[np.int64]:
        """As `Rule.boundary`, up to the limit."""
        scores = scores_for(tally, side)[: self.table.limit]
        judged, decisive = np.arange(1, len(scores) + 1), np.cumsum(scores != 0)
        leads: NDArray[np.int64] = self.table.leads[self.of_answer.index(side), judged, decisive]
        return leads

    def _view(self, tally: Tally, side: int) -> View:
        scores = scores_for(tally, self.of_answer[side])[: self.table.limit]
        if not len(scores):
            return View(0, 0, 0, 0)
        judged = np.arange(1, len(scores) + 1)
        decisive, leads = np.cumsum(scores != 0), np.cumsum(scores, dtype=np.int64)
        needed = self.table.leads[:, judged, decisive]
        own, other = leads >= needed[side], -leads >= needed[1 - side]
        at = int((own | other).argmax()) if (own | other).any() else -1
        given = int(own[at]) - int(other[at])
        return View(int(judged[at]), int(decisive[at]), int(leads[at]), given)


@final
@dataclass(frozen=True)
class WithinGap(ByTable):
    """Names a system that is better, or behind by less than `gap`.

    A system that is behind by `gap` or more is ever named with at most the risk. Where the systems
    differ by less, either name is right: "at worst less than `gap` behind" is exactly the claim
    that the system is not behind by `gap` or more. At any truth at most one name is wrong, so each
    has the whole risk. The proof is in `methods/stats/exact_tables.py`. An abstention counts as a verdict for
    the other system.

    The name alone is not the claim "better": between level systems it is a coin flip.
    """

    name: str = "within-gap"

    @property
    def stronger(self) -> Sequential:
        """As `Rule.stronger`: where a system is named that may be behind."""
        return self.beside

    @property
    def zone(self) -> Zone:
        """The gaps at which each name is wrong."""
        return within(self.gap)

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        return (
            f"with random draws and at most {self.table.limit} judgments, the chance of ever naming "
            f"a system that is behind by {points(self.gap)} or more is {at_most(self.threshold)}, "
            "however often results are checked"
        )

    def is_met(self, tally: Tally) -> bool:
        """Whether the leader of `tally` is named."""
        return tally.leader is not None and self._gives(tally, tally.leader)

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader, if it is behind by the gap or more."""
        return 1.0 if tally.leader is None else self._stated(tally, tally.leader)

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Return why to stop: the leader is named."""
        if not self.is_met(tally):
            return None
        of = f"naming a system that is behind by {points(self.gap)} or more"
        return risk_met(self.risk(tally), self.threshold, of)

    def risk_beyond(self, tally: Tally) -> float | None:
        """Return the stated risk that the leader is not better, if `sequential` names it."""
        return None if tally.leader is None else self._of_better(tally, tally.leader)


@final
@dataclass(frozen=True)
class NotWorse(ByTable):
    """Says whether the second system is worse than the first.

    - "Not worse by `gap` or more" passes. It is wrong if the second system is worse by `gap` or
      more.
    - "Worse" fails; then the first system is named. It is wrong if the second system is not worse.

    Each is ever given wrongly with at most the risk. If the second system is worse by less than
    `gap`, both are true, and either may be given. This is acceptance sampling with a consumer's
    risk at `gap` and a producer's risk at 0. The proof is in `methods/stats/exact_tables.py`. An
    abstention counts as a verdict against the answer. Once every item is judged, the answer is
    certain.
    """

    name: str = "not-worse"
    expects_lead: ClassVar[bool] = False
    of_answer: ClassVar[tuple[int, int]] = (1, 0)

    @property
    def zone(self) -> Zone:
        """The gaps at which each answer is wrong."""
        return not_worse(self.gap)

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """The halt at which the first system is named; a lead of all items may be in the zone."""
        return frozenset({StopKind.RISK_MET})

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        return (
            f"with random draws and at most {self.table.limit} judgments, a system that is worse by "
            f"{points(self.gap)} or more ever passes, and one that is not worse ever fails, with a "
            f"chance of {at_most(self.threshold)} each, however often results are checked"
        )

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of the answer; without one, that of "not worse" given now."""
        return self._stated(tally, 1 if self.is_met(tally) else 0)

    def is_met(self, tally: Tally) -> bool:
        """Whether the first system is named: the second is worse."""
        return tally.leader == 0 and self._gives(tally, 1)

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Return why to stop: either answer is shown."""
        if self.is_met(tally):
            return risk_met(self.risk(tally), self.threshold, "failing a system that is not worse")
        if not self._gives(tally, 0):
            return None
        of = f"passing a system that is worse by {points(self.gap)} or more"
        met = risk_met(self.risk(tally), self.threshold, of)
        return replace(met, kind=StopKind.NOT_WORSE)

    def risk_beyond(self, tally: Tally) -> float | None:
        """Return the stated risk of "better", or of "worse by more than the gap", if that is shown.

        The first by the rule `sequential`, the second by bets that reach 1/risk (Ville 1939).
        """
        if not self.is_met(tally):
            return self._of_better(tally, 1)
        if tally.judged == self.items:
            far = tally.wins[0] - tally.wins[1] > self.gap * self.items
            return 0.0 if far else None
        risk = risk_by_bets(scores_for(tally, 0), self.items, self.gap)
        return risk if risk <= self.threshold else None
