"""`select`: which of many systems is best? A result, or a forecast of what it would take.

It puts the parts together and hands them to the driver. Printing, signals and exit codes are `cli.py`'s business.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import numpy as np

from judgeloop.compare.plan import Plan, priced
from judgeloop.compare.selector import Chosen, selector_among
from judgeloop.core.records import StopKind
from judgeloop.engine.batch import Interruption, Terms
from judgeloop.engine.loop import Finished, Observe, decoys_of, unobserved
from judgeloop.engine.session import Session
from judgeloop.estimators.win_rates import WinRates
from judgeloop.run.drive import drive_session, quotes_of, setup_of, terms_for
from judgeloop.run.settings import SelectConfig
from judgeloop.select.plan import judgments_among, more_to_separate
from judgeloop.select.prepare import Selection, prepare_selection
from judgeloop.select.result import Selected, SelectSetup, selected_of
from judgeloop.stats.standings import Standings


def select(config: SelectConfig, environment: Mapping[str, str] | None = None) -> Selected:
    """Find the best of many systems from a program without an event loop; in one with, `prepare_selection` and await `judge_all`.

    `environment` holds the judges' keys; by default it is the process's own.

    Raises:
        InputError: something given is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    return asyncio.run(
        judge_all(prepare_selection(config, os.environ if environment is None else environment))
    )


async def judge_all(
    selection: Selection,
    *,
    interruption: Interruption | None = None,
    observe: Observe[Standings] = unobserved,
) -> Selected:
    """Judge until the best is found, or until money, judgments or items run out."""
    chosen = _chosen(selection)
    terms = _terms(selection)
    finished = await _drive(selection, chosen, terms, interruption=interruption, observe=observe)
    return _result(selection, chosen, finished)


async def foresee_all(selection: Selection) -> tuple[Plan, Selected]:
    """What the search would take, and how far the ledger alone brings it; asks nobody and spends nothing."""
    chosen, terms = _chosen(selection), _terms(selection, offline=True)
    finished = await _drive(selection, chosen, terms)
    outcome, pool = finished.outcome, selection.pool
    over = outcome.stop.kind is not StopKind.DRY_RUN
    judgments, assumed = judgments_among(
        outcome.estimate.tally,
        selection.limits,
        level=selection.level,
        asked=selection.config.max_judgments if over else outcome.asked,
        shrinking=selection.config.selector == "race",
    )
    queries = (
        pool.query(position, (system, selection.baseline))
        for position in range(len(pool))
        for system in selection.rivals
    )
    plan = priced(
        judgments,
        quotes=quotes_of(selection, terms, queries),
        beside=quotes_of(selection, terms, decoys_of(pool, terms)),
        left_p=None
        if terms.budget_p is None
        else max(0, terms.budget_p - finished.spend.charged_p),
        assumed=assumed,
    )
    return plan, _result(selection, chosen, finished)


def _chosen(selection: Selection) -> Chosen:
    return selector_among(selection.config, selection.pool, selection.baseline, selection.level)


def _terms(selection: Selection, *, offline: bool = False) -> Terms:
    return terms_for(selection.config, selection, selection.run, offline=offline)


async def _drive(
    selection: Selection,
    chosen: Chosen,
    terms: Terms,
    *,
    interruption: Interruption | None = None,
    observe: Observe[Standings] = unobserved,
) -> Finished[Standings]:
    config = selection.config
    session = Session(
        items=len(selection.pool),
        selector=chosen.selector,
        estimator=WinRates(len(selection.pool.systems), selection.baseline),
        rule=selection.rule,
        limits=selection.limits,
        rng=np.random.default_rng(config.seed),
        lookahead=config.lookahead,
    )
    return await drive_session(
        session, config, selection, terms, interruption=interruption, observe=observe
    )


def _result(selection: Selection, chosen: Chosen, finished: Finished[Standings]) -> Selected:
    config, outcome, rule = selection.config, finished.outcome, selection.rule
    level = selection.level
    more = None
    if outcome.winner is None and level is not None:
        more = more_to_separate(outcome.estimate.tally, level, shrinking=config.selector == "race")
    setup = SelectSetup(
        **setup_of(config, selection, _terms(selection)),
        rule=rule.name,
        risk_threshold=rule.threshold,
        guarantee=rule.guarantee,
        selector=config.selector,
        baseline=config.baseline,
        near=config.near_best,
        epsilon=chosen.epsilon,
    )
    return selected_of(
        outcome,
        finished.spend,
        setup,
        item_ids=[item.id for item in selection.pool.items],
        judge_models=finished.models,
        decoys=finished.decoys,
        level=config.risk if level is None else level,
        more_judgments=more,
    )
