"""`compare`: which of two systems is better? Files in, a result out.

It puts the parts together and hands them to the driver. Printing, signals and exit codes are `cli.py`'s business.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.config import CompareConfig, shipped_template
from judgeloop.errors import InputError, UnpricedError
from judgeloop.estimators.preferences import Preferences
from judgeloop.formats.join import Joined, join
from judgeloop.formats.outputs import read_items, read_outputs
from judgeloop.judge_specs import JudgeOptions, judge_from_spec
from judgeloop.judges.replay import ReplayJudge
from judgeloop.keys import digest
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.loop import Finished, Interruption, Observe, Terms, drive, unobserved
from judgeloop.planning import Plan, more_to_decide, plan
from judgeloop.pool import Pool
from judgeloop.presentation import calls_for
from judgeloop.protocols import Judge, Selector, StoppingRule
from judgeloop.records import StopKind
from judgeloop.report.result import Result, Setup, result_of
from judgeloop.selectors.diffuse import DiffUse
from judgeloop.selectors.random import Random
from judgeloop.session import Limits, Session
from judgeloop.stopping import RULES


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison ready to run: read, joined and checked, with nothing spent."""

    config: CompareConfig
    joined: Joined
    judge: Judge
    rule: StoppingRule
    limits: Limits
    run: str

    @property
    def pool(self) -> Pool:
        """The items and both systems' outputs."""
        return self.joined.pool


def prepare(config: CompareConfig, environment: Mapping[str, str], *, offline: bool = False) -> Comparison:
    """Read and check everything that a comparison needs; `environment` holds the judge's key.

    `offline`: only a forecast is wanted, which needs no key.

    Raises:
        InputError: something given is wrong; nothing was spent.
    """
    limits = Limits(config.min_judgments, config.max_judgments, config.max_abstentions)
    outputs = [read_outputs(config.first), read_outputs(config.second)]
    items = read_items(config.items) if config.items else None
    joined = join(outputs, items, config.items, allow_partial=config.allow_partial)
    oracle = judge_from_spec(config.judge, _judge_options(config, environment, offline=offline))
    _check_systems(config, joined.pool, oracle)
    _check_price(config, oracle)
    return Comparison(
        config=config,
        joined=joined,
        judge=oracle,
        rule=RULES[config.rule](config.risk),
        limits=limits,
        run=_run_id(config, joined.pool, oracle),
    )


def compare(config: CompareConfig, environment: Mapping[str, str] | None = None) -> Result:
    """Compare two systems from a program without an event loop; in one with, `prepare` and await `judge`.

    `environment` holds the judge's key; by default it is the process's own.

    Raises:
        InputError: something given is wrong; nothing was spent.
        LedgerError: the ledger cannot be opened or written.
    """
    return asyncio.run(judge(prepare(config, os.environ if environment is None else environment)))


async def judge(
    comparison: Comparison,
    *,
    interruption: Interruption | None = None,
    observe: Observe = unobserved,
) -> Result:
    """Judge until it is decided, or until money, judgments or items run out."""
    finished = await _drive(comparison, interruption=interruption, observe=observe)
    return _result(comparison, finished)


async def foresee(comparison: Comparison) -> tuple[Plan, Result]:
    """What the comparison would take, and how far the ledger alone brings it; asks nobody and spends nothing."""
    finished = await _drive(comparison, offline=True)
    config, oracle, pool = comparison.config, comparison.judge, comparison.pool
    quotes = [
        [
            oracle.quote(call)
            for call in calls_for(
                pool.query(position), config.order, config.seed, order_matters=oracle.order_matters
            )
        ]
        for position in range(len(pool))
    ]
    outcome, budget_p = finished.outcome, config.budget_p
    over = outcome.stop.kind is not StopKind.DRY_RUN
    foreseen = plan(
        comparison.rule,
        outcome.estimate.tally,
        comparison.limits,
        asked=min(len(pool), config.max_judgments) if over else outcome.asked,
        quotes=quotes,
        left_p=None if budget_p is None else max(0, budget_p - finished.spend.charged_p),
    )
    return foreseen, _result(comparison, finished)


async def _drive(
    comparison: Comparison,
    *,
    offline: bool = False,
    interruption: Interruption | None = None,
    observe: Observe = unobserved,
) -> Finished:
    config = comparison.config
    session = Session(
        items=len(comparison.pool),
        selector=_selector(config, comparison.pool),
        estimator=Preferences(),
        rule=comparison.rule,
        limits=comparison.limits,
        rng=np.random.default_rng(config.seed),
    )
    terms = Terms(
        run=comparison.run,
        order=config.order,
        seed=config.seed,
        budget_p=config.budget_p,
        concurrency=config.concurrency,
        timeout_s=config.judge_timeout,
        offline=offline,
    )
    ledger = SqliteLedger(config.ledger)
    try:
        return await drive(
            session,
            comparison.pool,
            comparison.judge,
            ledger,
            terms,
            interruption=interruption,
            observe=observe,
        )
    finally:
        await comparison.judge.aclose()
        await ledger.aclose()


def _judge_options(config: CompareConfig, environment: Mapping[str, str], *, offline: bool) -> JudgeOptions:
    return JudgeOptions(
        template=shipped_template("pairwise.v1"),
        environment=environment,
        base_url=config.judge_base_url,
        price=config.judge_price,
        prices=config.prices,
        tie_margin=config.tie_margin,
        timeout_s=config.judge_timeout,
        max_output_tokens=config.judge_max_tokens,
        offline=offline,
    )


def _check_systems(config: CompareConfig, pool: Pool, oracle: Judge) -> None:
    if config.require_winner is not None and config.require_winner not in pool.systems:
        raise InputError(
            f"--require-winner: expected one of {', '.join(pool.systems)}, found {config.require_winner!r}"
        )
    if isinstance(oracle, ReplayJudge):
        oracle.check(pool.systems)
    has_reference = any(item.reference is not None for item in pool.items)
    if oracle.identity.provider == "metric" and not has_reference:
        raise InputError(
            f"--judge {config.judge}: a metric compares with references, and no item has the field "
            "'reference'; give it in the items file or the output files"
        )


def _check_price(config: CompareConfig, oracle: Judge) -> None:
    if oracle.priced or config.budget is None:
        return
    raise UnpricedError(
        f"--judge {config.judge}: no price is known for this model at this address, and without one the "
        f"budget of ${config.budget} cannot be kept. Give it, in dollars per million tokens: "
        "--judge-price IN,OUT (a server of your own: --judge-price 0,0), or in a file: --prices FILE. "
        "To run without any limit of money: --budget none"
    )


def _selector(config: CompareConfig, pool: Pool) -> Selector[Any]:
    if config.selector == "random":
        return Random()
    return DiffUse(_differences(config, pool), start=config.min_judgments)


def _differences(config: CompareConfig, pool: Pool) -> NDArray[np.floating]:
    """Embeddings of the first system's outputs minus those of the second, shape (items, dimensions)."""
    first, second = pool.outputs
    kind, _, folder = config.represent.partition(":")
    if kind == "lexical":
        from judgeloop.represent.lexical import embed_lexical

        vectors: NDArray[np.floating] = embed_lexical([*first, *second], config.seed)
    else:
        from judgeloop.represent.cache import cached
        from judgeloop.represent.sentence import embed_sentences, find_model

        model = find_model(folder or None)
        embed = cached(
            lambda texts: embed_sentences(texts, model),
            model=model,
            folder=config.cache_dir / "embeddings",
        )
        vectors = embed([*first, *second])
    return vectors[: len(pool)] - vectors[len(pool) :]


def _run_id(config: CompareConfig, pool: Pool, oracle: Judge) -> str:
    """The run's name in the ledger: the same question on the same data, whatever its budget or pace.

    A budget bounds all that is ever spent under one name, so that repeating a command cannot exceed it.
    """
    identity = oracle.identity
    decisive = config.model_dump(
        mode="json",
        include={
            "selector", "represent", "rule", "risk", "min_judgments", "max_judgments",
            "max_abstentions", "order", "seed",
        },
    )  # fmt: skip
    return digest(
        {
            "job": "compare",
            "judge": [identity.provider, identity.model, dict(identity.parameters)],
            "systems": pool.systems,
            "items": [[item.id, item.prompt, item.reference] for item in pool.items],
            "outputs": pool.outputs,
            **decisive,
        }
    )[:16]


def _result(comparison: Comparison, finished: Finished) -> Result:
    config, outcome = comparison.config, finished.outcome
    undecided = outcome.winner is None
    setup = Setup(
        systems=comparison.pool.systems,
        judge=comparison.judge.identity.name,
        rule=comparison.rule.name,
        risk_threshold=comparison.rule.threshold,
        guarantee=comparison.rule.guarantee,
        selector=config.selector,
        represent=config.represent if config.selector == "diffuse" else None,
        order=config.order.value if comparison.judge.order_matters else None,
        seed=config.seed,
        left_out=comparison.joined.left_out,
        run=comparison.run,
        version=version("judgeloop"),
    )
    return result_of(
        outcome,
        finished.spend,
        setup,
        item_ids=[item.id for item in comparison.pool.items],
        judge_models=finished.models,
        more_judgments=more_to_decide(comparison.rule, outcome.estimate.tally) if undecided else None,
    )
