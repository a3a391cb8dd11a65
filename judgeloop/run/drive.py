"""What every job does with a session that is ready: on which terms it asks, and the ledger that it asks through.

What the session is made of is the job's own business.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from importlib.metadata import version
from typing import Any

from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge, T
from judgeloop.core.records import Query, Quote
from judgeloop.engine.batch import Interruption, Terms, asks_for
from judgeloop.engine.loop import Finished, Observe, drive, unobserved
from judgeloop.engine.presentation import Order
from judgeloop.engine.session import Session
from judgeloop.ledger.sqlite import SqliteLedger
from judgeloop.run.inputs import Inputs
from judgeloop.run.settings import RunSettings

FEWEST_REPEATS, REPEATED_SHARE = 3, 0.2


def terms_for(config: RunSettings, inputs: Inputs, run: str, *, offline: bool = False) -> Terms:
    """On which terms to ask; a person sees a whole round, in an order of its own, and takes the time it takes."""
    by_hand = inputs.by_hand
    return Terms(
        run=run,
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
        decoy_texts=inputs.decoy_texts,
        offline=offline,
    )


async def drive_session(
    session: Session[T],
    config: RunSettings,
    inputs: Inputs,
    terms: Terms,
    *,
    judges: tuple[Judge, ...] | None = None,
    interruption: Interruption | None = None,
    observe: Observe[T] = unobserved,
) -> Finished[T]:
    """Run a session to its end through the ledger, alone under its run's name; `judges` are those of `inputs` unless given."""
    asked = inputs.judges if judges is None else judges
    ledger = SqliteLedger(config.ledger)
    try:
        with nullcontext() if terms.offline else ledger.only_run(terms.run):
            return await drive(
                session,
                inputs.pool,
                asked,
                ledger,
                terms,
                interruption=interruption,
                observe=observe,
            )
    finally:
        for one in asked:
            await one.aclose()
        await ledger.aclose()


def quotes_of(
    inputs: Inputs, terms: Terms, queries: Iterable[Query], judges: tuple[Judge, ...] | None = None
) -> list[list[Quote]]:
    """The quotes of every call that each query takes; `judges` are those of `inputs` unless given."""
    asked = inputs.judges if judges is None else judges
    return [
        [
            asked[ask.judge].quote(ask.call)
            for ask in asks_for(query, asked, terms.order, terms.seed)
        ]
        for query in queries
    ]


def setup_of(config: RunSettings, inputs: Inputs, terms: Terms) -> dict[str, Any]:
    """What a result says of how its run was set up, whatever the job; see `report.run_result.RunSetup`."""
    judges, order = inputs.judges, terms.order
    return {
        "systems": inputs.pool.systems,
        "judge": " + ".join(one.identity.name for one in judges),
        "judges": tuple(one.identity.name for one in judges),
        "vote": config.vote.value if len(judges) > 1 else None,
        "order": None
        if config.rates or not any(one.order_matters for one in judges)
        else order.value,
        "seed": config.seed,
        "calls_per_item": sum(
            2 if one.order_matters and order is Order.BOTH else 1 for one in judges
        ),
        "required_winner": config.require_winner,
        "left_out": inputs.joined.left_out,
        "repeated": _repeated(inputs.pool),
        "run": terms.run,
        "version": version("judgeloop"),
    }


def _repeated(pool: Pool) -> dict[str, int]:
    """Systems that gave one output to so many items that it can hardly be an answer to each."""
    many = max(FEWEST_REPEATS, REPEATED_SHARE * len(pool))
    counts = {name: pool.most_repeated(number) for number, name in enumerate(pool.systems)}
    return {name: count for name, count in counts.items() if count >= many}
