"""The async driver: a session's questions to one or more judges, through the ledger.

It hands batches from the session to `batch.py` and answers back, until the session is over. What to
ask, and when to stop, is decided by the session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic

import numpy as np

from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge, Ledger, T
from judgeloop.core.records import DecoyTally, Estimate, Outcome, Query, Spend
from judgeloop.engine.batch import Oracle
from judgeloop.engine.decoys import decoy_queries, tally
from judgeloop.engine.halt import Interruption
from judgeloop.engine.session import Session
from judgeloop.engine.terms import Terms


@dataclass(frozen=True)
class Progress(Generic[T]):
    """How far a run has come; `spent_p` is what was really spent by this command."""

    asked: int
    spent_p: int
    estimate: Estimate[T]


Observe = Callable[[Progress[T]], None]


def unobserved(progress: Progress[Any]) -> None:
    """Look away."""
    del progress


@dataclass(frozen=True)
class Finished(Generic[T]):
    """A run's outcome, what it cost, and what else was seen.

    `models` are the names by which each judge's server called its model, in the order seen.
    """

    outcome: Outcome[T]
    spend: Spend
    models: tuple[tuple[str, ...], ...]
    decoys: DecoyTally | None


async def drive(
    session: Session[T],
    pool: Pool,
    judges: Judge | Sequence[Judge],
    ledger: Ledger,
    terms: Terms,
    *,
    interruption: Interruption | None = None,
    observe: Observe[T] = unobserved,
) -> Finished[T]:
    """Run `session` to its end.

    Decoys come first, so that a fooled judge is seen even where the money does not last.

    Raises:
        LedgerError: a booking could not be written; nothing more was sent after it.
    """
    panel = judges if isinstance(judges, Sequence) else [judges]
    interruption = interruption or Interruption()
    terms = replace(terms, former_p=await _spent_before(ledger, terms))
    oracle = Oracle(panel, ledger, terms, interruption)
    with interruption.within(terms.deadline_s):
        decoys = await _decoys(oracle, pool)
        await _ask_until_over(session, pool, oracle, observe)
    spend = await ledger.spend(terms.run, terms.budget_p)
    known = all(judge.priced for judge in panel) or not spend.attempts
    return Finished(
        session.outcome(),
        replace(spend, remembered=oracle.remembered, known=known, former_p=terms.former_p),
        tuple(tuple(attempts.models) for attempts in oracle.attempts),
        decoys,
    )


async def _spent_before(ledger: Ledger, terms: Terms) -> int:
    """What the run cost under its former ids, in picodollars."""
    return sum([(await ledger.spend(run, None)).charged_p for run in terms.former])


async def _ask_until_over(
    session: Session[T], pool: Pool, oracle: Oracle, observe: Observe[T]
) -> None:
    """Hand batches to `oracle` and answers back, until the session has no more."""
    estimate = session.estimate

    def answered(count: int) -> None:
        spent_p = sum(attempts.spent_p for attempts in oracle.attempts)
        observe(Progress(session.asked + count, spent_p, estimate))

    while choices := session.ask():
        queries = [pool.query(choice.position, choice.systems) for choice in choices]
        answers = await oracle.answers(queries, answered)
        session.tell(answers, halt=oracle.halt.reason)
        estimate = session.estimate
        answered(0)


async def _decoys(oracle: Oracle, pool: Pool) -> DecoyTally | None:
    terms = oracle.terms
    if not terms.decoys or terms.offline:
        return None
    answers = await oracle.answers(decoys_of(pool, terms), _unheeded)
    return tally(answers, rated=len(pool.systems) == 1)


def decoys_of(pool: Pool, terms: Terms) -> list[Query]:
    """The decoys of a run, from a generator of their own: the session draws the same with them as without."""
    return decoy_queries(
        pool, terms.decoys, np.random.default_rng([terms.seed, terms.decoys]), terms.decoy_texts
    )


def _unheeded(count: int) -> None:
    del count
