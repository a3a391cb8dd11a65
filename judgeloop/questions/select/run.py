"""Runs a search for the best of many systems, or forecasts what it would take.

Makes the session from its parts and passes it to the driver (`run/drive.py`). Prints nothing and
knows no exit codes.
"""

import itertools
from dataclasses import replace
from typing import Any

from judgeloop.core.outcomes import Finished, StopKind
from judgeloop.core.protocols import Selector
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.ledger.opening import runs_of
from judgeloop.methods.estimators.win_rates import Standings, WinRates, scouted_items
from judgeloop.questions import stored
from judgeloop.questions.select.page import course_of, page
from judgeloop.questions.select.plan import judgments_to_name, limit_too_low, more_to_name
from judgeloop.questions.select.prepare import PreparedSelection
from judgeloop.questions.select.result import Selection, SelectOptions, selected_of
from judgeloop.run.drive import data_notes, drive_session, session_of, setup_of, terms_of
from judgeloop.run.foresee import planned
from judgeloop.run.plan import Plan


async def run(
    selection: PreparedSelection, *, interruption: Interruption | None = None, observe: Observe[Standings] = unobserved
) -> Selection:
    """Judge until the best is found, or until money, judgments or items run out."""
    selector = selection.config.selector_row.make(selection.draft)
    finished = await drive_session(
        _session(selection, selector), selection, terms_of(selection), interruption=interruption, observe=observe
    )
    return _result(selection, selector, finished)


async def forecast(selection: PreparedSelection) -> tuple[Plan, Selection]:
    """Return what the search would take, and the result from the ledger's verdicts alone.

    Asks no judge and spends nothing.
    """
    selector, terms = selection.config.selector_row.make(selection.draft), terms_of(selection, offline=True)
    finished = await drive_session(_session(selection, selector), selection, terms)
    outcome, pool = finished.outcome, selection.pool
    over = outcome.stop.kind is not StopKind.DRY_RUN
    every = len(selection.pairs) * len(pool)
    foreseen = judgments_to_name(outcome.asked, selection.usual, selection.limits, every=every, over=over)
    done, against = {label.choice.key for label in outcome.labels}, outcome.estimate.tally.baseline
    left = [
        (position, (system, against))
        for position in range(len(pool))
        for system in range(len(pool.systems))
        if system != against and (position, system, against) not in done
    ]
    plan = await planned(
        selection,
        terms,
        (pool.query(*one) for one in left),
        foreseen[:2],
        finished.spend.left_p,
        done=every - len(left),
        controls=finished.controls,
    )
    stays_open = selection.notice or ""
    if (
        not (stays_open or over) and selection.sampled and (selection.usual or 0) > every
    ):  # all items leave it open, too
        stays_open = selection.names_none
    elif foreseen.needed and not stays_open:
        stays_open = limit_too_low(selection.limits.max_judgments, foreseen.needed)
    plan = replace(plan, stays_open=f"{stays_open}." if stays_open else "")
    return plan, _result(selection, selector, finished)


def _session(selection: PreparedSelection, selector: Selector[Any]) -> Session[Standings]:
    return session_of(selection, selector, _estimator(selection), selection.rule)


def _estimator(selection: PreparedSelection) -> WinRates:
    draft, level = selection.draft, selection.rule.level
    return WinRates(draft.systems, draft.baseline, level, draft.sampled, draft.gap)


def _result(selection: PreparedSelection, selector: Selector[Any], finished: Finished[Standings]) -> Selection:
    config, outcome = selection.config, finished.outcome
    tally = outcome.estimate.tally
    more = None
    if outcome.winner is None and not selection.notice:
        more = more_to_name(outcome.asked, selection.usual, len(selection.pairs) * len(selection.pool))
    scouted = scouted_items(len(tally.wins), selection.baseline, len(selection.pool))
    result = selected_of(
        finished,
        setup_of(selection, selection.rule, config.selector),
        SelectOptions(
            baseline=None if scouted and not tally.queries else selection.pool.systems[tally.baseline],
            chosen_on=None if selection.baseline is not None else scouted,
            chosen_by=sum(
                label.choice.propensity is None and label.choice.key not in outcome.deciding
                for label in outcome.labels[: scouted * (len(tally.wins) - 1)]
                if tally.queries  # else the choice was cut short
            ),
            min_gap=config.min_gap,
            epsilon=getattr(selector, "epsilons", None),  # of a selector that has some
        ),
        data_notes(selection),
        items=selection.pool.items,
        more_judgments=more,
    )
    deciding = [label for label in outcome.labels if label.choice.key in outcome.deciding]
    estimator = _estimator(selection)
    course = course_of(deciding, estimator, tally, selection.pool.systems, len(selection.pool))
    result = replace(result, course=course)
    result = _with_earlier(selection, result)
    return replace(result, page=page(result))


def _with_earlier(selection: PreparedSelection, result: Selection) -> Selection:
    """Note the last search of the same outputs that ended otherwise, with another seed or another baseline."""
    ledger = selection.config.ledger
    runs = itertools.takewhile(lambda one: one.id != selection.run_id, runs_of(ledger))
    same = [one for one in runs if one.note.question == selection.question]
    found = stored.ended_otherwise(ledger, result, same, lambda one: one.winner)
    if found is None:
        return result
    said = stored.said(*found)
    if found[1].options.baseline == result.options.baseline:
        return replace(result, redrawn=said)
    return replace(result, rebased=said)
