"""Runs a search for the best of many systems, or forecasts what it would take.

Makes the session from its parts and passes it to the driver (`run/drive.py`). Prints nothing and
knows no exit codes.
"""

from __future__ import annotations

from dataclasses import replace

from judgeloop.core.outcomes import StopKind
from judgeloop.engine.loop import Finished
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.methods.estimators.win_rates import Standings, WinRates
from judgeloop.methods.selectors.catalogue import Need
from judgeloop.questions.select.plan import judgments_to_separate, more_to_separate
from judgeloop.questions.select.prepare import Selection
from judgeloop.questions.select.result import Selected, SelectOptions, selected_of
from judgeloop.questions.select.selector import LiveMaterial, Made, make_selector
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
    made = _made(selection)
    finished = await drive_session(
        _session(selection, made),
        selection,
        terms_of(selection),
        interruption=interruption,
        observe=observe,
    )
    return _result(selection, made, finished)


async def forecast(selection: Selection) -> tuple[Plan, Selected]:
    """Return what the search would take, and the result from the ledger's verdicts alone.

    Asks no judge and spends nothing.
    """
    made, terms = _made(selection), terms_of(selection, offline=True)
    finished = await drive_session(_session(selection, made), selection, terms)
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
    return plan, _result(selection, made, finished)


def _made(selection: Selection) -> Made:
    config = selection.config
    material = LiveMaterial(config, selection.pool, selection.baseline, selection.one_order)
    return make_selector(
        config.selector_row, material, level=selection.rule.level, limit=config.max_judgments
    )


def _shrinks(selection: Selection) -> bool:
    """Return whether the selector stops asking about systems that are ruled out."""
    return Need.RISK in selection.config.selector_row.needs


def _session(selection: Selection, made: Made) -> Session[Standings]:
    systems = len(selection.pool.systems)
    estimator = WinRates(systems, selection.baseline, sampled=selection.one_order)
    return session_of(selection, made.selector, estimator, selection.rule)


def _result(selection: Selection, made: Made, finished: Finished[Standings]) -> Selected:
    config, outcome, level = selection.config, finished.outcome, selection.rule.level
    more = None
    if outcome.winner is None and level is not None:
        tally = outcome.estimate.tally
        more = more_to_separate(tally, level, shrinking=_shrinks(selection))
    result = selected_of(
        outcome,
        finished.spend,
        setup_of(selection, selection.rule, config.selector),
        SelectOptions(
            baseline=config.baseline,
            near=config.near_best,
            epsilon=made.epsilons,
        ),
        data_notes(selection),
        item_ids=[item.id for item in selection.pool.items],
        judge_models=finished.models,
        decoys=finished.decoys,
        level=config.risk if level is None else level,
        more_judgments=more,
    )
    return replace(result, page=page(result))
