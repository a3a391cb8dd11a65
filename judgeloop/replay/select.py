"""The best of many looked for again and again on recorded verdicts: each time in a pool of items drawn at random.

The selectors, sessions and rules are the very ones that spend money live. What the rows say together
stands in `select_tables.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Abstention, Answer, Choice, Outcome, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.estimators.win_rates import WinRates
from judgeloop.replay.compare import Row
from judgeloop.select.selector import make_selector
from judgeloop.selectors.catalogue import Need, selector_row
from judgeloop.stats.information import Epsilons
from judgeloop.stats.racing import Flags, Floats
from judgeloop.stats.standings import Standings
from judgeloop.stopping.catalogue import Ingredients, rules_of

QUESTION = "select"


@dataclass(frozen=True, slots=True)
class Field:
    """Recorded systems and the baseline: `scores` is 1, ½ or 0 against it, NaN where none is recorded, shape (systems, items).

    `lengths` has the same shape; `opinions` those of the weak judges, shape (z, items, systems). Either is None where no selector looks at it.
    """

    systems: tuple[str, ...]
    baseline: int
    scores: Floats
    lengths: NDArray[np.int64] | None = None
    opinions: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True)
class Realisations:
    """What is run in every pool of `pool` items: the `selectors`, a race at `risk`, halving for each of `calls` judgments."""

    selectors: tuple[str, ...]
    pool: int
    risk: float
    calls: tuple[int, ...]
    epsilons: Epsilons | None
    seed: int


def realise(field: Field, realisation: int, plan: Realisations) -> list[Row]:
    """All rows of one pool; the same whatever else is run beside it.

    A row has `steps`, from how many calls (and queries) on how often the best was named, from 0 to 1 where several are level, and how far below
    it the named one's win rate is over the whole pool; and for a race whether and when it named a winner.
    """
    rng = np.random.default_rng([plan.seed, realisation])
    items = np.sort(rng.permutation(field.scores.shape[1])[: plan.pool])
    gaps = _gaps(field.scores[:, items])
    rows: list[Row] = []

    def oracle(choice: Choice) -> Answer:
        score = field.scores[choice.systems[0], items[choice.position]]
        return Abstention("no recorded verdict") if np.isnan(score) else Verdict(float(score))

    for name in plan.selectors:
        by_limit = Need.LENGTHS in selector_row(QUESTION, name).needs
        for limit in plan.calls if by_limit else (None,):
            draws = np.random.default_rng([plan.seed, realisation, 1])  # alike for all selectors
            outcome = replay(_session(field, items, (name, limit), plan, draws), oracle)
            rows.append(
                {
                    "realisation": realisation,
                    "selector": name,
                    "limit": limit,
                    "winner_gap": None if outcome.winner is None else float(gaps[outcome.winner]),
                    "calls": outcome.asked,
                    "queries": outcome.estimate.tally.queries,
                    "steps": _steps(outcome, gaps, last_only=limit is not None),
                }
            )
    return rows


def _session(
    field: Field,
    items: NDArray[np.int64],
    what: tuple[str, int | None],
    plan: Realisations,
    rng: np.random.Generator,
) -> Session[Standings]:
    (name, limit), systems = what, len(field.systems)
    row, most = selector_row(QUESTION, name), limit or systems * len(items)
    dropping = Need.RISK in row.needs
    rule: StoppingRule[Standings] = next(
        rule.make(Ingredients(plan.risk, len(items), most))
        for rule in rules_of(QUESTION)
        if rule.guaranteed is dropping
    )
    made = make_selector(
        row, RecordedMaterial(field, items, plan), level=plan.risk if dropping else None, limit=most
    )
    return Session(
        items=len(items),
        selector=made.selector,
        estimator=WinRates(systems, field.baseline),
        rule=rule,
        limits=Limits(1, most, 1.0),
        rng=rng,
    )


@dataclass(frozen=True, slots=True)
class RecordedMaterial:
    """What selectors look at in a replay: the recordings on the items of a pool."""

    field: Field
    positions: NDArray[np.int64]
    plan: Realisations

    @property
    def systems(self) -> int:
        """How many systems there are."""
        return len(self.field.systems)

    @property
    def baseline(self) -> int:
        """The baseline's number."""
        return self.field.baseline

    def lengths(self) -> NDArray[np.int64]:
        """The lengths of the outputs."""
        assert self.field.lengths is not None, "read for every selector that looks at lengths"
        return self.field.lengths[:, self.positions]

    def opinions(self) -> NDArray[np.int8]:
        """What weak judges think."""
        assert self.field.opinions is not None, "read for every selector that looks at opinions"
        return self.field.opinions[:, self.positions]

    def epsilons(self, opinions: NDArray[np.int8]) -> Epsilons:
        """Those of the plan, the same for all pools."""
        del opinions
        assert self.plan.epsilons is not None, "chosen for every selector that looks at them"
        return self.plan.epsilons


def _gaps(scores: Floats) -> Floats:
    """How far each system's win rate over the pool is below the best one's, among the recorded verdicts."""
    rates = np.nanmean(scores, axis=1)
    gaps: Floats = rates.max() - rates
    return gaps


def _steps(outcome: Outcome[Standings], gaps: Floats, *, last_only: bool) -> list[list[float]]:
    """[calls, queries, share of the level leaders that are best, their mean gap], wherever one of the last two changes."""
    tally = outcome.estimate.tally
    scores = np.array(tally.scores)
    asked = _asked(outcome, scores.shape[1])
    points, verdicts = np.nancumsum(scores, axis=0), np.cumsum(~np.isnan(scores), axis=0)
    rates = np.divide(
        points, verdicts, out=np.full(points.shape, -np.inf), where=asked & (verdicts > 0)
    )
    leading = rates == rates.max(axis=1, keepdims=True)
    identified = (leading & (gaps == 0)).sum(axis=1) / leading.sum(axis=1)
    gap = (leading * gaps).sum(axis=1) / leading.sum(axis=1)
    calls = np.cumsum(asked.sum(axis=1) - 1)  # the baseline is asked about for nothing
    changes = np.flatnonzero(
        (np.diff(identified, prepend=-1) != 0) | (np.diff(gap, prepend=-1) != 0)
    )
    shown: Sequence[int] = [len(scores) - 1] if last_only else changes.tolist()
    return [
        [int(calls[one]), int(one) + 1, float(identified[one]), float(gap[one])] for one in shown
    ]


def _asked(outcome: Outcome[Standings], systems: int) -> Flags:
    """Which systems each query was judged for, in the order asked; the baseline for all."""
    rows: dict[int, Flags] = {}
    for label in outcome.labels:
        row = rows.setdefault(label.choice.position, np.zeros(systems, dtype=bool))
        row[[label.choice.systems[0], outcome.estimate.tally.baseline]] = True
    return np.array(list(rows.values()))
