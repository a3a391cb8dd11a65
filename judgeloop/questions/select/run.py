"""Runs a search for the best of many systems, or forecasts what it would take.

Makes the session from its parts and passes it to the driver (`run/drive.py`). Prints nothing and
knows no exit codes.
"""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Finished, StopKind
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Interruption, Observe, unobserved
from judgeloop.ledger.opening import runs_of
from judgeloop.methods.estimators.win_rates import Standings, WinRates, scouted_items
from judgeloop.methods.selectors.catalogue import Need
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.papers.llm_selector.information import Epsilons, choose_epsilons
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
    given = _given(selection)
    finished = await drive_session(
        _session(selection, given), selection, terms_of(selection), interruption=interruption, observe=observe
    )
    return _result(selection, given, finished)


async def forecast(selection: PreparedSelection) -> tuple[Plan, Selection]:
    """Return what the search would take, and the result from the ledger's verdicts alone.

    Asks no judge and spends nothing.
    """
    given, terms = _given(selection), terms_of(selection, offline=True)
    finished = await drive_session(_session(selection, given), selection, terms)
    outcome, pool = finished.outcome, selection.pool
    over = outcome.stop.kind is not StopKind.DRY_RUN
    foreseen = judgments_to_name(
        outcome,
        selection.limits,
        partial(_imagined, selection, given),
        every=len(selection.pairs) * len(pool),
        states_risk=selection.rule.level is not None,
        over=over,
    )
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
        done=len(selection.pairs) * len(pool) - len(left),
        controls=finished.controls,
    )
    stays_open = selection.notice or (selection.names_none if foreseen.open else "")
    if foreseen.needed and not selection.notice:
        stays_open = limit_too_low(selection.limits.max_judgments, foreseen.needed)
    plan = replace(plan, stays_open=f"{stays_open}." if stays_open else "")
    return plan, _result(selection, given, finished)


def _given(selection: PreparedSelection) -> ForMany:
    """Return the data that the selector uses: weak judges' opinions."""
    config, pool, needs = selection.config, selection.pool, selection.config.selector_row.needs
    opinions = None
    if Need.OPINIONS in needs:
        from judgeloop.papers.llm_selector.opinions import weak_opinions

        folder = config.cache_dir / "weak-judges"
        opinions = weak_opinions(pool.outputs, selection.baseline or 0, config.weak_judges, folder)
    return ForMany(
        len(pool.systems),
        selection.baseline or 0,
        selection.rule.level,
        opinions,
        _epsilons(selection, opinions) if Need.EPSILONS in needs else None,
        selection.sampled,
        config.min_gap or 0.0,
        choosing=selection.baseline is None,
    )


def _epsilons(selection: PreparedSelection, opinions: NDArray[np.int8] | None) -> Epsilons:
    """Return the epsilons of the settings, or else choose them by the `opinions`."""
    config, pool = selection.config, selection.pool
    if config.epsilon is not None:
        return config.epsilon
    assert opinions is not None, "epsilons are chosen by opinions"
    queries = max(1, min(len(pool), config.max_judgments // (len(pool.systems) - 1)))
    return choose_epsilons(opinions, queries, np.random.default_rng([config.seed, queries]))


def _session(selection: PreparedSelection, given: ForMany) -> Session[Standings]:
    selector = selection.config.selector_row.make(given)
    return session_of(selection, selector, _estimator(selection, given), selection.rule)


def _estimator(selection: PreparedSelection, given: ForMany) -> WinRates:
    systems, level = len(selection.pool.systems), selection.rule.level
    return WinRates(systems, selection.baseline, level, selection.sampled, given.gap)


def _imagined(selection: PreparedSelection, given: ForMany, limits: Limits) -> Session[Standings]:
    """Return the session with other limits, for a forecast."""
    inputs = replace(selection.inputs, limits=limits)
    return _session(replace(selection, inputs=inputs), given)


def _result(selection: PreparedSelection, given: ForMany, finished: Finished[Standings]) -> Selection:
    config, outcome = selection.config, finished.outcome
    tally = outcome.estimate.tally
    more = None
    if outcome.winner is None and not selection.notice:  # else answers hardly go on as they were
        more = more_to_name(outcome, partial(_imagined, selection, given))
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
            epsilon=given.epsilons,
        ),
        data_notes(selection),
        items=selection.pool.items,
        more_judgments=more,
    )
    deciding = [label for label in outcome.labels if label.choice.key in outcome.deciding]
    estimator = _estimator(selection, given)
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
