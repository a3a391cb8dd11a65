"""The async driver: runs a session with real judges and a ledger.

It hands each batch of queries from the session to `batch.py` and tells the session the answers,
until the session is over. The session decides what to ask and when to stop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from judgeloop.core.ledger import Ledger
from judgeloop.core.outcomes import DecoyTally, Finished, StopKind
from judgeloop.core.pool import Pool
from judgeloop.core.protocols import Judge, System, T
from judgeloop.core.records import Query
from judgeloop.engine.batch import NO_SYSTEMS, Oracle
from judgeloop.engine.decoys import decoy_queries, tally
from judgeloop.engine.session import Session
from judgeloop.engine.state import Interruption, Observe, RunState, unobserved
from judgeloop.engine.terms import Terms

# Ends after which the same command goes on with the run.
UNFINISHED = {
    StopKind.BUDGET,
    StopKind.INTERRUPTED,
    StopKind.DEADLINE,
    StopKind.JUDGE_FAILED,
    StopKind.SYSTEM_FAILED,
    StopKind.ABSTENTIONS,
    StopKind.DRY_RUN,
}


async def drive(
    session: Session[T],
    pool: Pool,
    judges: Judge | Sequence[Judge],
    ledger: Ledger,
    terms: Terms,
    *,
    systems: Mapping[str, System] = NO_SYSTEMS,
    interruption: Interruption | None = None,
    observe: Observe[T] = unobserved,
) -> Finished[T]:
    """Run `session` to its end; `systems` are those of the pool that answer live, by name.

    Decoys come first, so that a fooled judge is detected even if the budget runs out.

    Raises:
        LedgerError: a booking could not be written; nothing was sent after it.
    """
    panel = judges if isinstance(judges, Sequence) else [judges]
    state = RunState(terms, interruption, observe)
    oracle = Oracle(panel, ledger, state, systems)
    with state.interruption.within(terms.deadline_s):
        state.folded(session.asked, session.tally, session.risk)
        decoys = await _decoys(oracle, pool)
        await _ask_until_over(session, pool, oracle)
    outcome, sources = session.outcome(), oracle.sources
    if outcome.stop.kind not in UNFINISHED and not all(one.lasts for one in systems.values()):
        await ledger.finish(terms.run_id)
    spend = await ledger.spend(terms.run_id, terms.budget_p)
    return Finished(
        outcome,
        replace(
            spend,
            attempts=state.made,
            remembered=state.remembered,
            known=not state.made
            or all([*(one.priced for one in panel), *(one.priced for one in systems.values())]),
            next_p=state.reason.need_p if state.reason else 0,
            cached_p=state.cached_p,
            tokens=state.tokens,
        ),
        tuple(tuple(attempts.models) for attempts in oracle.attempts),
        decoys,
        sources.figures(),
        sources.filled(pool) if pool.live else None,
    )


async def _ask_until_over(session: Session[T], pool: Pool, oracle: Oracle) -> None:
    """Pass batches to `oracle` and answers to `session`, until the session is over."""
    state = oracle.state
    while choices := session.ask():
        queries = [pool.query(choice.position, choice.systems) for choice in choices]
        answers = await oracle.answers(queries)
        wrong = oracle.sources.wrong(queries, state.terms.max_failed)
        session.tell([] if wrong else answers, halt=wrong or state.reason)
        state.folded(session.asked, session.tally, session.risk)
        state.tell()


async def _decoys(oracle: Oracle, pool: Pool) -> DecoyTally | None:
    terms = oracle.state.terms
    if not terms.decoys or terms.offline:
        return None
    answers = await oracle.answers(decoys_of(pool, terms), counted=False)
    return tally(answers, rated=len(pool.systems) == 1)


def decoys_of(pool: Pool, terms: Terms) -> list[Query]:
    """Return the decoy queries of a run.

    They have their own random generator, so that the session draws the same items without decoys.
    """
    return decoy_queries(
        pool, terms.decoys, np.random.default_rng([terms.seed, terms.decoys]), terms.decoy_texts
    )
