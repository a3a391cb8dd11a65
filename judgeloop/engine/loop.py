"""The async driver: runs a session with real judges and a ledger.

It hands each batch of queries from the session to `batch.py` and tells the session the answers,
until the session is over. The session decides what to ask and when to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, final

import numpy as np

from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import DecoyTally, Estimate, Outcome, Spend
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge, Ledger, T
from judgeloop.core.records import NO_TOKENS, Query
from judgeloop.engine.batch import Oracle
from judgeloop.engine.decoys import decoy_queries, tally
from judgeloop.engine.halt import Interruption
from judgeloop.engine.session import Session
from judgeloop.engine.terms import Terms


@dataclass(frozen=True)
class Progress(Generic[T]):
    """The progress of a run.

    `asked` is the number of choices with an answer. `spent_p` is what this command has paid, in
    picodollars, without rehearsed costs. `estimate` has no interval. `slowed_to` is the number of
    calls in flight to which a crowded server has slowed the run down; None if it has not.
    """

    asked: int
    spent_p: int
    estimate: Estimate[T]
    slowed_to: int | None = None

    @property
    def spent_usd(self) -> float:
        """What this command has paid, in dollars."""
        return float(to_usd(self.spent_p))


Observe = Callable[[Progress[T]], None]


def unobserved(progress: Progress[Any]) -> None:
    """Ignore `progress`."""
    del progress


@dataclass(frozen=True)
class Finished(Generic[T]):
    """A run's outcome, its cost, and the results of its decoys.

    `models` holds for each judge the model names that its server reported, in the order seen.
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

    Decoys come first, so that a fooled judge is detected even if the budget runs out.

    Raises:
        LedgerError: a booking could not be written; nothing was sent after it.
    """
    panel = judges if isinstance(judges, Sequence) else [judges]
    interruption = interruption or Interruption()
    watch = Watch(session, observe)
    oracle = Oracle(panel, ledger, terms, interruption, watch.tell)
    watch.oracle = oracle
    with interruption.within(terms.deadline_s):
        decoys = await _decoys(oracle, pool)
        await _ask_until_over(session, pool, oracle, watch)
    spend = await ledger.spend(terms.run, terms.budget_p)
    made = sum(attempts.made for attempts in oracle.attempts)
    known = all(judge.priced for judge in panel) or not made
    return Finished(
        session.outcome(),
        replace(
            spend,
            attempts=made,
            remembered=oracle.remembered,
            known=known,
            next_p=oracle.halt.reason.need_p if oracle.halt.reason else 0,
            cached_p=sum(attempts.cached_p for attempts in oracle.attempts),
            tokens=sum((attempts.tokens for attempts in oracle.attempts), NO_TOKENS),
        ),
        tuple(tuple(attempts.models) for attempts in oracle.attempts),
        decoys,
    )


@final
class Watch(Generic[T]):
    """Tells the progress of a run after each answer, and when a crowded server slows it down."""

    def __init__(self, session: Session[T], observe: Observe[T]) -> None:
        """Nothing is told before `oracle` is set."""
        self.oracle: Oracle | None = None
        self._session = session
        self._observe = observe
        self._estimate = session.progress
        self._ahead = 0  # answers that the session has not been told yet

    def answered(self, count: int) -> None:
        """Tell that `count` queries of the batch have an answer."""
        self._ahead = count
        self.tell()

    def told(self) -> None:
        """Tell that the session has been told the answers of the batch."""
        self._estimate = self._session.progress
        self.answered(0)

    def tell(self) -> None:
        """Tell the progress as it is."""
        if self.oracle is not None:
            asked, oracle = self._session.asked + self._ahead, self.oracle
            self._observe(Progress(asked, oracle.spent_p, self._estimate, oracle.slowed_to))


async def _ask_until_over(session: Session[T], pool: Pool, oracle: Oracle, watch: Watch[T]) -> None:
    """Pass batches to `oracle` and answers to `session`, until the session is over."""
    while choices := session.ask():
        queries = [pool.query(choice.position, choice.systems) for choice in choices]
        answers = await oracle.answers(queries, watch.answered)
        session.tell(answers, halt=oracle.halt.reason)
        watch.told()


async def _decoys(oracle: Oracle, pool: Pool) -> DecoyTally | None:
    terms = oracle.terms
    if not terms.decoys or terms.offline:
        return None
    answers = await oracle.answers(decoys_of(pool, terms), _unheeded)
    return tally(answers, rated=len(pool.systems) == 1)


def decoys_of(pool: Pool, terms: Terms) -> list[Query]:
    """Return the decoy queries of a run.

    They have their own random generator, so that the session draws the same items without decoys.
    """
    return decoy_queries(
        pool, terms.decoys, np.random.default_rng([terms.seed, terms.decoys]), terms.decoy_texts
    )


def _unheeded(count: int) -> None:
    del count
