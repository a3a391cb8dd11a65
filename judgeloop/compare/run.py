"""`compare`: which of two systems is better? A result, or a forecast of what it would take.

It puts the parts together and hands them to the driver. Printing, signals and exit codes are `cli.py`'s business.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import numpy as np

from judgeloop.compare.plan import Plan, more_to_decide, plan
from judgeloop.compare.prepare import TAKES, Comparison, prepare
from judgeloop.compare.result import Result, Setup, result_of
from judgeloop.compare.selector import selector_for
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import StopKind, Tally
from judgeloop.engine.batch import Interruption, Terms
from judgeloop.engine.loop import Finished, Observe, decoys_of, unobserved
from judgeloop.engine.session import Session
from judgeloop.estimators.preferences import Preferences
from judgeloop.run.drive import drive_session, quotes_of, setup_of, terms_for
from judgeloop.run.settings import CompareConfig
from judgeloop.selectors.making import LOOKING_AT_VECTORS, Variant
from judgeloop.stats.dendrogram import MOST_EXACT
from judgeloop.stopping import GivingUp


def compare(config: CompareConfig, environment: Mapping[str, str] | None = None) -> Result:
    """Compare two systems from a program without an event loop; in one with, `prepare` and await `judge`.

    `environment` holds the judges' keys; by default it is the process's own.

    Raises:
        InputError: something given is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    return asyncio.run(judge(prepare(config, os.environ if environment is None else environment)))


async def judge(
    comparison: Comparison,
    *,
    interruption: Interruption | None = None,
    observe: Observe[Tally] = unobserved,
) -> Result:
    """Judge until it is decided, or until money, judgments or items run out."""
    finished = await _drive(
        comparison, terms_of(comparison), interruption=interruption, observe=observe
    )
    return _result(comparison, finished)


async def foresee(comparison: Comparison) -> tuple[Plan, Result]:
    """What the comparison would take, and how far the ledger alone brings it; asks nobody and spends nothing."""
    terms, config = terms_of(comparison, offline=True), comparison.config
    finished = await _drive(comparison, terms)
    outcome = finished.outcome
    over = outcome.stop.kind is not StopKind.DRY_RUN
    foreseen = plan(
        _deciding(comparison.rule),
        outcome.estimate.tally,
        comparison.limits,
        asked=min(len(comparison.pool), config.max_judgments) if over else outcome.asked,
        quotes=quotes_of(
            comparison, terms, map(comparison.pool.query, range(len(comparison.pool)))
        ),
        beside=quotes_of(comparison, terms, decoys_of(comparison.pool, terms)),
        left_p=None
        if terms.budget_p is None
        else max(0, terms.budget_p - finished.spend.charged_p),
    )
    return foreseen, _result(comparison, finished)


def _deciding(rule: StoppingRule[Tally]) -> StoppingRule[Tally]:
    """The rule that names a winner: a forecast says what that takes, not how soon it may be given up."""
    return rule.rule if isinstance(rule, GivingUp) else rule


async def _drive(
    comparison: Comparison,
    terms: Terms,
    *,
    interruption: Interruption | None = None,
    observe: Observe[Tally] = unobserved,
) -> Finished[Tally]:
    config = comparison.config
    session = Session(
        items=len(comparison.pool),
        selector=selector_for(
            config,
            comparison.selector,
            comparison.pool,
            comparison.history.prospects if comparison.history else None,
        ),
        estimator=Preferences(),
        rule=comparison.rule,
        limits=comparison.limits,
        rng=np.random.default_rng(config.seed),
        lookahead=config.lookahead,
    )
    return await drive_session(
        session, config, comparison, terms, interruption=interruption, observe=observe
    )


def terms_of(comparison: Comparison, *, offline: bool = False) -> Terms:
    """On which terms to ask."""
    return terms_for(comparison.config, comparison, comparison.run, offline=offline)


def _result(comparison: Comparison, finished: Finished[Tally]) -> Result:
    config, outcome = comparison.config, finished.outcome
    setup = Setup(
        **setup_of(config, comparison, terms_of(comparison)),
        rule=comparison.rule.name,
        risk_threshold=comparison.rule.threshold,
        guarantee=comparison.rule.guarantee,
        near_tie=config.near_tie,
        give_up=config.give_up,
        selector=comparison.selector,
        variant=_variant(config, len(comparison.pool)),
        represent=config.represent if config.selector in LOOKING_AT_VECTORS else None,
        history=comparison.history.source if comparison.history else None,
        instead=comparison.instead,
    )
    undecided = outcome.winner is None
    return result_of(
        outcome,
        finished.spend,
        setup,
        item_ids=[item.id for item in comparison.pool.items],
        judge_models=finished.models,
        decoys=finished.decoys,
        more_judgments=more_to_decide(
            comparison.rule,
            outcome.estimate.tally,
            comparison.limits,
            len(comparison.pool) - len(outcome.labels),
        )
        if undecided
        else None,
    )


def _variant(config: CompareConfig, items: int) -> str | None:
    """What of the selector is not as its papers have it."""
    defaults = Variant()
    given = {
        "combine": config.combine,
        "clustering": config.clustering,
        "representative": config.representative,
    }
    changed = [
        f"{name} {value}" for name, value in given.items() if value != getattr(defaults, name)
    ]
    if (
        "clustering" in TAKES[config.selector]
        and config.clustering == "ward"
        and items > MOST_EXACT
    ):
        changed.append("Ward approximated by micro-clusters")
    return ", ".join(changed) or None
