"""`compare`: which of two systems is better? A result, or a forecast of what it would take.

It puts the parts together and hands them to the driver. Printing, signals and exit codes are `cli.py`'s business.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from importlib.metadata import version

import numpy as np

from judgeloop.asking import Interruption, Terms, asks_for
from judgeloop.config import CompareConfig
from judgeloop.estimators.preferences import Preferences
from judgeloop.jobs.preparing import TAKES, Comparison, prepare
from judgeloop.jobs.selecting import selector_for
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.loop import Finished, Observe, decoys_of, drive, unobserved
from judgeloop.planning import Plan, more_to_decide, plan
from judgeloop.pool import Pool
from judgeloop.presentation import Order
from judgeloop.records import Query, Quote, StopKind, Tally
from judgeloop.report.result import Result, Setup, result_of
from judgeloop.selectors.making import Variant
from judgeloop.session import Session
from judgeloop.stats.dendrogram import MOST_EXACT

FEWEST_REPEATS, REPEATED_SHARE = 3, 0.2


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
    finished = await _drive(comparison, terms_of(comparison), interruption=interruption, observe=observe)
    return _result(comparison, finished)


async def foresee(comparison: Comparison) -> tuple[Plan, Result]:
    """What the comparison would take, and how far the ledger alone brings it; asks nobody and spends nothing."""
    terms, config = terms_of(comparison, offline=True), comparison.config
    finished = await _drive(comparison, terms)
    outcome = finished.outcome
    over = outcome.stop.kind is not StopKind.DRY_RUN
    foreseen = plan(
        comparison.rule,
        outcome.estimate.tally,
        comparison.limits,
        asked=min(len(comparison.pool), config.max_judgments) if over else outcome.asked,
        quotes=_quotes(comparison, terms, map(comparison.pool.query, range(len(comparison.pool)))),
        beside=_quotes(comparison, terms, decoys_of(comparison.pool, terms)),
        left_p=None if terms.budget_p is None else max(0, terms.budget_p - finished.spend.charged_p),
    )
    return foreseen, _result(comparison, finished)


def _quotes(comparison: Comparison, terms: Terms, queries: Iterable[Query]) -> list[list[Quote]]:
    """The quotes of every call that each query takes."""
    return [
        [
            comparison.judges[ask.judge].quote(ask.call)
            for ask in asks_for(query, comparison.judges, terms.order, terms.seed)
        ]
        for query in queries
    ]


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
        selector=selector_for(config, comparison.pool),
        estimator=Preferences(),
        rule=comparison.rule,
        limits=comparison.limits,
        rng=np.random.default_rng(config.seed),
        lookahead=config.lookahead,
    )
    ledger = SqliteLedger(config.ledger)
    try:
        with nullcontext() if terms.offline else ledger.only_run(comparison.run):
            return await drive(
                session,
                comparison.pool,
                comparison.judges,
                ledger,
                terms,
                interruption=interruption,
                observe=observe,
            )
    finally:
        for one in comparison.judges:
            await one.aclose()
        await ledger.aclose()


def terms_of(comparison: Comparison, *, offline: bool = False) -> Terms:
    """On which terms to ask; a person sees a whole round, in an order of its own, and takes the time it takes."""
    config, by_hand = comparison.config, comparison.by_hand
    return Terms(
        run=comparison.run,
        order=Order.RANDOM if by_hand else config.order,
        vote=config.vote,
        seed=config.seed,
        budget_p=config.budget_p,
        concurrency=config.max_judgments if by_hand else config.concurrency,
        calls_a_minute=config.rpm,
        tokens_a_minute=config.tpm,
        timeout_s=None if by_hand else config.judge_timeout,
        deadline_s=config.deadline,
        decoys=config.decoys,
        decoy_texts=comparison.decoy_texts,
        offline=offline,
    )


def _repeated(pool: Pool) -> dict[str, int]:
    """Systems that gave one output to so many items that it can hardly be an answer to each."""
    many = max(FEWEST_REPEATS, REPEATED_SHARE * len(pool))
    counts = {name: pool.most_repeated(number) for number, name in enumerate(pool.systems)}
    return {name: count for name, count in counts.items() if count >= many}


def _result(comparison: Comparison, finished: Finished[Tally]) -> Result:
    config, outcome, judges = comparison.config, finished.outcome, comparison.judges
    order = terms_of(comparison).order
    setup = Setup(
        systems=comparison.pool.systems,
        judge=" + ".join(one.identity.name for one in judges),
        judges=tuple(one.identity.name for one in judges),
        vote=config.vote.value if len(judges) > 1 else None,
        rule=comparison.rule.name,
        risk_threshold=comparison.rule.threshold,
        guarantee=comparison.rule.guarantee,
        near_tie=config.near_tie,
        selector=config.selector,
        variant=_variant(config, len(comparison.pool)),
        represent=None if config.selector == "random" else config.represent,
        order=order.value if any(one.order_matters for one in judges) else None,
        seed=config.seed,
        calls_per_item=sum(2 if one.order_matters and order is Order.BOTH else 1 for one in judges),
        required_winner=config.require_winner,
        left_out=comparison.joined.left_out,
        repeated=_repeated(comparison.pool),
        run=comparison.run,
        version=version("judgeloop"),
    )
    undecided = outcome.winner is None
    return result_of(
        outcome,
        finished.spend,
        setup,
        item_ids=[item.id for item in comparison.pool.items],
        judge_models=finished.models,
        decoys=finished.decoys,
        more_judgments=more_to_decide(comparison.rule, outcome.estimate.tally, comparison.limits)
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
    changed = [f"{name} {value}" for name, value in given.items() if value != getattr(defaults, name)]
    if "clustering" in TAKES[config.selector] and config.clustering == "ward" and items > MOST_EXACT:
        changed.append("Ward approximated by micro-clusters")
    return ", ".join(changed) or None
