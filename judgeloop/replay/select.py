"""Runs searches for the best of many systems on recorded verdicts; returns a row for each run.

A realisation is a random pool of items, on which every selector is run. The selectors, sessions and
rules are those of live runs. Files are read in `select_inputs.py`; the rows are summed up in
`select_tables.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Outcome
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import TIE, Abstention, Answer, Choice, Verdict
from judgeloop.engine.recorded import replay
from judgeloop.engine.session import Limits, Session
from judgeloop.methods.estimators.win_rates import Standings, WinRates, score_of
from judgeloop.methods.selectors.catalogue import Need, selector_row
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.information import Epsilons
from judgeloop.methods.stats.levels import PRIOR_NUMBER, PRIOR_SUM, Floats
from judgeloop.methods.stopping.catalogue import Ingredients, rules_of
from judgeloop.questions.select.config import QUESTION
from judgeloop.replay.compare import Row


@dataclass(frozen=True, slots=True)
class Field:
    """The recorded systems, with the baseline among them.

    `scores` has the shape (systems, items): 1 if the system is better than the baseline, ½ for a
    tie, 0 if it is worse, NaN without a verdict. `lengths` has the same shape: lengths of the
    outputs in characters. `opinions` holds those of the weak judges, shape (judges, items,
    systems). Data that no selector uses are None.
    """

    systems: tuple[str, ...]
    baseline: int
    scores: Floats
    lengths: NDArray[np.int64] | None = None
    opinions: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True)
class Realisations:
    """What is run in every pool of `pool` items.

    A race is run at `risk`, until no system is more than `gap` better than its
    leader. Halving is run once for each number of judgments in `calls`.
    """

    selectors: tuple[str, ...]
    pool: int
    risk: float
    calls: tuple[int, ...]
    epsilons: Epsilons | None
    seed: int
    gap: float = 0.0


def realise(field: Field, realisation: int, plan: Realisations) -> list[Row]:
    """Return all rows of one realisation; they do not depend on the other realisations.

    A row has `steps`, as described in `_steps`. `winner_gap` is the win rate lost by the winner
    over the whole pool; None if the run named no winner. `calls` and `queries` are their numbers at
    the end of the run. `level_since` is that of the selector's belief (`Belief`).
    """
    rng = np.random.default_rng([plan.seed, realisation])
    items = np.sort(rng.permutation(field.scores.shape[1])[: plan.pool])
    gaps = _gaps(field.scores[:, items])
    rows: list[Row] = []

    def oracle(choice: Choice) -> Answer:
        score = field.scores[choice.systems[0], items[choice.position]]
        return Abstention("no recorded verdict") if np.isnan(score) else Verdict(float(score))

    for name in plan.selectors:
        by_limit = selector_row(QUESTION, name).by_limit
        for limit in plan.calls if by_limit else (None,):
            draws = np.random.default_rng([plan.seed, realisation, 1])  # the same for all selectors
            outcome = replay(_session(field, items, (name, limit), plan, draws), oracle)
            rows.append(
                {
                    "realisation": realisation,
                    "selector": name,
                    "limit": limit,
                    "winner_gap": None if outcome.winner is None else float(gaps[outcome.winner]),
                    "calls": outcome.asked,
                    "queries": outcome.estimate.tally.queries,
                    "level_since": None if outcome.belief is None else outcome.belief.level_since,
                    "steps": _steps(outcome, gaps, len(items), last_only=limit is not None),
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
        rule.make(Ingredients(plan.risk, len(items), most, plan.gap))
        for rule in rules_of(QUESTION)
        if rule.guaranteed is dropping
    )
    given = ForMany(
        systems,
        field.baseline,
        plan.risk if dropping else None,
        most,
        None if field.lengths is None else field.lengths[:, items],
        None if field.opinions is None else field.opinions[:, items],
        plan.epsilons,
        gap=plan.gap,
    )
    return Session(
        items=len(items),
        selector=row.make(given),
        estimator=WinRates(systems, field.baseline, plan.risk if dropping else None),
        rule=rule,
        limits=Limits(1, most, 1.0),
        rng=rng,
    )


def _gaps(scores: Floats) -> Floats:
    """Return how far each system's win rate over the pool is below the best, shape (systems,)."""
    rates = np.nanmean(scores, axis=1)
    gaps: Floats = rates.max() - rates
    return gaps


def _steps(
    outcome: Outcome[Standings], gaps: Floats, items: int, *, last_only: bool
) -> list[list[float]]:
    """Return [calls, queries, share of leaders that are best, mean gap of the leaders] by step.

    The leaders are the systems that share the highest win rate so far, of those asked about on every
    query; with bounds, the systems with the most hope. There is a step wherever the share or the gap
    changes; with `last_only`, only the last one.
    """
    tally = outcome.estimate.tally
    asked, points = _along(outcome, len(gaps))
    if tally.levels is not None:
        hopes = np.where(
            asked == items, points / items, (points + PRIOR_SUM) / (asked + PRIOR_NUMBER)
        )
    else:
        verdicts = asked - _along(outcome, len(gaps), silent=True)[0]
        whole = asked == asked.max(axis=1, keepdims=True)
        hopes = np.divide(
            points, verdicts, out=np.full(points.shape, -np.inf), where=whole & (verdicts > 0)
        )
    hopes[:, tally.baseline] = TIE
    leading = hopes == hopes.max(axis=1, keepdims=True)
    identified = (leading & (gaps == 0)).sum(axis=1) / leading.sum(axis=1)
    gap = (leading * gaps).sum(axis=1) / leading.sum(axis=1)
    calls, queries = asked.sum(axis=1), asked.max(axis=1)
    changes = np.flatnonzero(
        (np.diff(identified, prepend=-1) != 0) | (np.diff(gap, prepend=-1) != 0)
    )
    shown: Sequence[int] = [len(calls) - 1] if last_only else changes.tolist()
    return [
        [int(calls[at]), int(queries[at]), float(identified[at]), float(gap[at])] for at in shown
    ]


def _along(
    outcome: Outcome[Standings], systems: int, *, silent: bool = False
) -> tuple[Floats, Floats]:
    """Return the numbers of calls and the sums of scores by system along a run.

    Both have the shape (looks, systems). A look is after the last call on an item, as asked. With
    `silent`, only abstentions are counted.
    """
    labels = outcome.labels
    number = np.array([label.choice.systems[0] for label in labels], dtype=np.int64)
    scores = np.array([score_of(label) for label in labels])
    calls, points = np.zeros((2, len(labels), systems))
    at = np.arange(len(labels))
    calls[at, number] = np.isnan(scores) if silent else 1
    points[at, number] = np.nan_to_num(scores)
    items = np.array([label.choice.position for label in labels])
    looks = np.append(np.flatnonzero(np.diff(items)), len(labels) - 1)
    return np.cumsum(calls, axis=0)[looks], np.cumsum(points, axis=0)[looks]
