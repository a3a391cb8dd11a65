"""Whether a judge is shown to agree with people: gates, and the width of the interval of the share of equal verdicts.

Labels that were all there beforehand are looked at once, by exact tests. Where somebody is asked until it is enough, a
gate on equal verdicts of items like these is an exact table (`exact_gate.py`). For all other gates two bettors
(`hedged.py`) play against the null of PASS and that of FAIL, at every look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.estimators.agreement import Paired
from judgeloop.methods.stats.exact_gate import gate_of
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stats.intervals import chance_of_so_many
from judgeloop.methods.stats.with_people import (
    Floats,
    Interval,
    blocks_of,
    kappa_scores,
    mean_bounds,
    share_interval_of,
)
from judgeloop.methods.stopping.precise import AT_THE_END
from judgeloop.methods.stopping.rule import at_most, with_seen

LOOKS = 5  # labels between two looks, which are asked for together, but for an exact table
Kind = Literal["agreement", "kappa", "person"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A gate: PASS says that the figure is above `worst`, FAIL that it is below `best`."""

    kind: Kind
    worst: float
    best: float


@final
@dataclass(frozen=True, eq=False)
class Agreeing:
    """Ends a run once all gates have an answer, or one fails, and the interval is as narrow as was asked.

    `items` is the size of the population, `limit` the most labels, and `once` says that all labels are there, which are
    then looked at once. `others` are the judge's verdicts on items without a label, as in `kappa_scores`; None where
    there are none.
    """

    threshold: float
    items: int
    limit: int
    gates: tuple[Asked, ...] = ()
    half_width: float | None = None
    once: bool = True
    others: Floats | None = None
    name: str = "agreement"
    needs_draws: bool = True

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        when = "the labels are looked at once" if self.once else "however often results are checked"
        return f"with random draws, each gate is wrong with a chance of {at_most(self.threshold)}; {when}"

    @property
    def decides_at(self) -> frozenset[StopKind]:
        """All ends but those that break off: there is a share of equal verdicts, however few."""
        return AT_THE_END | {StopKind.RISK_MET, StopKind.PRECISE, StopKind.ALL_JUDGED}

    @property
    def population(self) -> float:
        """The number of items that the result is about, inf for items like these."""
        return math.inf if self.items >= UNLIMITED else float(self.items)

    def risk(self, tally: Paired) -> float:
        """The stated risk of the interval; 1 without a verdict."""
        return self.threshold if tally.judged else 1.0

    def interval(self, tally: Paired) -> Interval | None:
        """Bounds of the share of equal verdicts; None without a verdict."""
        return self.of_equal(tally, looked_at_once=self.once)

    def of_equal(self, tally: Paired, *, looked_at_once: bool) -> Interval | None:
        """As `interval`: exact where the labels are looked at once, else at every look.

        Beside a gate each end is as sure as the gate is, so that one look passes what the lower end is above.
        """
        if not tally.judged:
            return None
        risk = self.threshold * (2 if any(one.kind == "agreement" for one in self.gates) else 1)
        if looked_at_once:
            return share_interval_of(tally.equal, risk, self.population)
        bounds = mean_bounds(tally.equal, risk, self.limit, self.population)
        return with_seen(bounds, float(np.nanmean(tally.equal)))

    def answer(self, gate: Asked, tally: Paired) -> bool | None:
        """True: passes; False: fails; None: open."""
        if gate.kind == "agreement" and self.once:
            return _at_once(tally.equal, gate, self.threshold, self.population)
        if gate.kind == "agreement" and math.isinf(self.population):
            return _by_table(tally.equal, gate, self.limit, self.threshold)
        if gate.kind == "agreement":
            nulls = _nulls(2 * gate.worst - 1, 2 * gate.best - 1)
            bets = HedgedBets(self.threshold, nulls, self.limit, self.population, of_grid=True)
            return _by_bets(2 * tally.equal - 1, bets)
        if gate.kind == "kappa":
            found = kappa_scores(
                tally.judge, tally.truth, np.array([gate.worst]), others=self.others, items=self.population
            )
            planned = blocks_of(self.limit, tally.asked, found)
            return _by_bets(found[0], HedgedBets(self.threshold, np.zeros(2), planned, self.population))
        # Items that only one person answered say nothing of two, and were not chosen by what was said.
        both = (~np.isnan(tally.people)).sum(axis=1) > 1 if tally.asked else np.zeros(0, dtype=np.bool_)
        zone = (gate.best - gate.worst) / 2  # around a mean near 0, as that of a gap
        bets = HedgedBets(self.threshold, _nulls(gate.worst, gate.best), self.limit, self.population, zone=zone)
        return _by_bets(tally.beside_people[both], bets)

    def answers(self, tally: Paired) -> tuple[bool | None, ...]:
        """The answer of each gate."""
        return tuple(self.answer(gate, tally) for gate in self.gates)

    def reason_to_stop(self, tally: Paired) -> StopReason | None:
        """That all that was asked is shown; None to go on."""
        if self.once or not self._looks_at(tally.asked) or not (self.gates or self.half_width):
            return None
        answers = self.answers(tally)
        if False in answers:
            return StopReason(StopKind.RISK_MET, f"at a risk of {self.threshold:g} the judge does not pass")
        if None in answers or not self._narrow(tally):
            return None
        if self.half_width is not None:
            said = f"the interval reaches at most {self.half_width:g} from the share of equal verdicts to either side"
            return StopReason(StopKind.PRECISE, said)
        return StopReason(StopKind.RISK_MET, f"at a risk of {self.threshold:g} the judge passes")

    def can_be_met(self, tally: Paired, unknown: int) -> bool:
        """Whether so many further items may end the run: of a table alone, if all were equal or none."""
        if self.once or not (self.gates or self.half_width):
            return False
        if not self._table:
            return any(self._looks_at(tally.asked + more) for more in range(1, unknown + 1))
        following = (np.concatenate([tally.equal, np.full(unknown, value)]) for value in (0.0, 1.0))
        return any(_by_table(one, self.gates[0], self.limit, self.threshold) is not None for one in following)

    def chance(self, tally: Paired, more: int) -> float:
        """1 if the run may end within so many items."""
        return float(self.can_be_met(tally, more))

    @property
    def _table(self) -> bool:
        """Whether an exact table alone ends the run."""
        kinds = [one.kind for one in self.gates]
        return kinds == ["agreement"] and self.half_width is None and math.isinf(self.population)

    def _looks_at(self, asked: int) -> bool:
        return self._table or asked % LOOKS == 0

    def _narrow(self, tally: Paired) -> bool:
        if self.half_width is None:
            return True
        found = self.interval(tally)
        if found is None:
            return False
        share = float(np.nanmean(tally.equal))
        return max(found[1] - share, share - found[0]) <= self.half_width + 1e-12


def _at_once(equal: Floats, gate: Asked, risk: float, items: float) -> bool | None:
    """One look: the exact binomial test, of these items the hypergeometric one; a missing verdict helps neither."""
    missing = int(np.isnan(equal).sum())
    least, draws = int(np.nansum(equal)), len(equal)
    if math.isinf(items):
        passes = chance_of_so_many(least, draws, gate.worst)
        fails = chance_of_so_many(draws - least - missing, draws, 1 - gate.best)
    else:
        passes = _in_all(least, draws, math.floor(gate.worst * items + 1e-9), int(items))
        fails = _in_all(draws - least - missing, draws, int(items) - math.ceil(gate.best * items - 1e-9), int(items))
    return True if passes <= risk else False if fails <= risk else None


def _in_all(found: int, draws: int, of: int, items: int) -> float:
    """The chance of so many or more among the draws, where `of` of the items have it."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(found - 1, items, max(0, of), draws))


def _by_table(equal: Floats, gate: Asked, limit: int, risk: float) -> bool | None:
    table = gate_of(gate.worst, gate.best, limit, risk)
    most = min(len(equal), limit)
    least, highest = (np.cumsum(np.nan_to_num(equal[:most], nan=given)) for given in (0.0, 1.0))
    passed, failed = least >= table.up[1 : most + 1], highest <= table.low[1 : most + 1]
    ended = np.flatnonzero(passed | failed)
    return bool(passed[ended[0]]) if len(ended) else None


def _nulls(worst: float, best: float) -> Floats:
    """The nulls of PASS, and of FAIL, which bets that scores are low."""
    return np.array([worst, -best])


def _by_bets(scores: Floats, bets: HedgedBets) -> bool | None:
    """Whether bets rule out the null of PASS (True) or that of FAIL (False); what is NaN counts against both."""
    for score in scores.tolist():
        bets = bets.after(np.array((-1.0, -1.0) if math.isnan(score) else (score, -score)))
        if bets.ruled_out.any():
            return bool(bets.ruled_out[0])
    return None
