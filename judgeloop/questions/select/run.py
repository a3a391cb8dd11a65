"""Runs a search for the best of many systems, or forecasts what it would take.

Makes the session from its parts and passes it to the driver (`run/drive.py`). Prints nothing and
knows no exit codes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Finished, StopKind
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.methods.estimators.win_rates import Standings, WinRates
from judgeloop.methods.selectors.catalogue import Need
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.information import Epsilons, choose_epsilons
from judgeloop.questions.select.plan import judgments_to_separate, more_to_separate
from judgeloop.questions.select.prepare import Selection
from judgeloop.questions.select.result import Selected, SelectOptions, selected_of
from judgeloop.questions.select.text import page
from judgeloop.run.drive import data_notes, drive_session, planned, session_of, setup_of, terms_of
from judgeloop.run.plan import Plan


async def run(
    selection: Selection,
    *,
    interruption: Interruption | None = None,
    observe: Observe[Standings] = unobserved,
) -> Selected:
    """Judge until the best is found, or until money, judgments or items run out."""
    given = _given(selection)
    finished = await drive_session(
        _session(selection, given),
        selection,
        terms_of(selection),
        interruption=interruption,
        observe=observe,
    )
    return _result(selection, given, finished)


async def forecast(selection: Selection) -> tuple[Plan, Selected]:
    """Return what the search would take, and the result from the ledger's verdicts alone.

    Asks no judge and spends nothing.
    """
    given, terms = _given(selection), terms_of(selection, offline=True)
    finished = await drive_session(_session(selection, given), selection, terms)
    outcome, pool = finished.outcome, selection.pool
    over = outcome.stop.kind is not StopKind.DRY_RUN
    judgments = judgments_to_separate(
        outcome.estimate.tally,
        selection.limits,
        level=selection.rule.level,
        asked=selection.config.max_judgments if over else outcome.asked,
        shrinking=_shrinks(selection),
    )
    queries = (
        pool.query(position, (system, selection.baseline))
        for position in range(len(pool))
        for system in selection.rivals
    )
    plan = await planned(selection, terms, queries, judgments, finished.spend.left_p)
    return plan, _result(selection, given, finished)


def _given(selection: Selection) -> ForMany:
    """Return the data that the selector uses: lengths of outputs, and weak judges' opinions."""
    config, pool, needs = selection.config, selection.pool, selection.config.selector_row.needs
    lengths = opinions = None
    if Need.LENGTHS in needs:
        lengths = np.array([[len(text) for text in outputs] for outputs in pool.outputs])
    if Need.OPINIONS in needs:
        from judgeloop.represent.weak_judges import weak_opinions

        folder = config.cache_dir / "weak-judges"
        opinions = weak_opinions(pool.outputs, selection.baseline, config.weak_judges, folder)
    return ForMany(
        len(pool.systems),
        selection.baseline,
        selection.rule.level,
        config.max_judgments,
        lengths,
        opinions,
        _epsilons(selection, opinions) if Need.EPSILONS in needs else None,
        selection.sampled,
    )


def _epsilons(selection: Selection, opinions: NDArray[np.int8] | None) -> Epsilons:
    """Return the epsilons of the settings, or else choose them by the `opinions`."""
    config, pool = selection.config, selection.pool
    if config.epsilon is not None:
        return config.epsilon
    assert opinions is not None, "epsilons are chosen by opinions"
    queries = max(1, min(len(pool), config.max_judgments // (len(pool.systems) - 1)))
    return choose_epsilons(opinions, queries, np.random.default_rng([config.seed, queries]))


def _shrinks(selection: Selection) -> bool:
    """Return whether the selector stops asking about systems that are ruled out."""
    return Need.RISK in selection.config.selector_row.needs


def _session(selection: Selection, given: ForMany) -> Session[Standings]:
    systems = len(selection.pool.systems)
    selector = selection.config.selector_row.make(given)
    estimator = WinRates(systems, selection.baseline, sampled=selection.sampled)
    return session_of(selection, selector, estimator, selection.rule)


def _result(selection: Selection, given: ForMany, finished: Finished[Standings]) -> Selected:
    config, outcome, level = selection.config, finished.outcome, selection.rule.level
    more = None
    if outcome.winner is None and level is not None:
        tally = outcome.estimate.tally
        more = more_to_separate(tally, level, shrinking=_shrinks(selection))
    result = selected_of(
        finished,
        setup_of(selection, selection.rule, config.selector),
        SelectOptions(
            baseline=config.baseline,
            near=config.near_best,
            epsilon=given.epsilons,
        ),
        data_notes(selection),
        item_ids=[item.id for item in selection.pool.items],
        level=config.risk if level is None else level,
        more_judgments=more,
    )
    return replace(result, page=page(result))
