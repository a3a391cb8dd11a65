"""Rules that name the best of many systems: once all others are ruled out, or at the end.

The guarantee of `Separated` is for random draws. Both read standings; `methods/stats/racing.py`
computes the evidence, and the selector decides which systems are still judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self, final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import StoppingRule
from judgeloop.methods.estimators.win_rates import Standings
from judgeloop.methods.stats.betting import log_wealth
from judgeloop.methods.stats.racing import Floats, could_be_out
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.reasons import at_most, risk_met


class BestRule(StoppingRule[Standings], Protocol):
    """A rule that names the best of many systems."""

    @property
    def level(self) -> float | None:
        """The risk at which a system is ruled out; None if the rule states no risk."""
        ...


@final
@dataclass(frozen=True)
class Separated:
    """Names the leader once every other system is shown not to be the best.

    The evidence is that of `methods/stats/racing.py`. With `near_best`, a rival need not be shown to be
    worse. It is enough to show, by bets on the differences between the leader and this rival alone,
    that the rival is less than `near_best` better than the leader. Half of the threshold is then
    reserved for these bets, and divided by the number of rivals, because any system may turn out to
    be the leader.
    """

    threshold: float
    items: int
    near_best: float | None = None
    name: str = "separated"
    needs_draws: bool = True
    decides_at: frozenset[StopKind] = frozenset({StopKind.RISK_MET, StopKind.ALL_JUDGED})

    @property
    def guarantee(self) -> str:
        """What the stated risk promises."""
        near = self.near_best
        wrong = "is not the best" if near is None else f"is more than {near:g} below the best"
        return (
            f"with random draws, the chance of ever naming a system that {wrong} is "
            f"{at_most(self.threshold)}, however often results are checked"
        )

    @property
    def level(self) -> float:
        """The risk at which a system is ruled out."""
        return self.threshold if self.near_best is None else self.threshold / 2

    def risk(self, tally: Standings) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        if tally.leader is None or tally.race is None:
            return 1.0
        share = self.level / self.threshold
        risks = np.exp(-tally.race.evidence) / share
        if self.near_best is not None:
            risks = np.minimum(risks, self._near_risks(tally, tally.leader) / share)
        return float(min(1.0, np.delete(risks, tally.leader).max()))

    def is_met(self, tally: Standings) -> bool:
        """Whether every other system is ruled out, or close enough to the leader."""
        return tally.leader is not None and self.risk(tally) <= self.threshold * (1 + 1e-12)

    def can_be_met(self, tally: Standings, unknown: int) -> bool:
        """Whether answers to `unknown` further queries could rule out all systems but the leader.

        With `near_best`, it is always True.
        """
        if tally.race is None:
            return False
        if self.near_best is not None:
            return True
        return int((~could_be_out(tally.race, unknown, self.level)).sum()) <= 1

    def for_limit(self, limit: int) -> Self:
        """Return the same rule: it needs no limit."""
        del limit
        return self

    def interval(self, tally: Standings) -> None:
        """Return None: no bounds are computed for win rates."""
        del tally

    def reason_to_stop(self, tally: Standings) -> StopReason | None:
        """Return that the risk is met; None if it is not."""
        return risk_met(self.risk(tally), self.threshold) if self.is_met(tally) else None

    def _near_risks(self, tally: Standings, leader: int) -> Floats:
        """Return by system the risk of claiming that it beats the leader by at most `near_best`.

        Shape (systems,); infinite for the leader and for systems that are ruled out.
        """
        assert self.near_best is not None
        assert tally.race is not None
        scores = np.array(tuple(tally.scores))
        rivals = scores.shape[1] - 1
        risks = np.full(scores.shape[1], np.inf)  # where it stays, `risk` takes the race's risk
        for rival in np.flatnonzero(~tally.race.out(self.level)):
            if rival != leader:
                apart = np.nan_to_num(scores[:, leader], nan=0.0) - np.nan_to_num(
                    scores[:, rival], nan=1.0
                )
                risks[rival] = rivals * log_wealth(apart, self.items, -self.near_best).risk
        return risks


def separated(given: Ingredients) -> Separated:
    """Make the rule for one run."""
    return Separated(given.risk, given.items, given.near)


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


def fixed_budget(given: Ingredients) -> FixedBudget:
    """Make the rule for one run."""
    del given
    return FixedBudget()
