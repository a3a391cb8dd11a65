"""The async driver: runs a session with real judges and a ledger.

It hands queries from the session to a window of `batch.py` and tells the session the answers as they come, in the
order asked, until the session is over. The session decides what to ask and when to stop. Where all calls that are
needed are in flight, it asks ahead: only while the answer to the first query is a call to come. So what is known
from before is told first, and a run that is repeated asks nothing. Systems that answer live, and what is asked after
the decision, are asked batch by batch, as what follows depends on the whole batch.

Before it asks a system whose outputs last for others, one fresh output shows which model answers now: that of the
first item that lacks one. If it is another model, the outputs of earlier runs are left out. A run that goes on has
outputs of its own, which show it. Where no item lacks an output, nothing is asked, and all of them count.

Which model answers for a judge only its replies show. If that is not the one whose remembered verdicts were taken to
count, the run begins anew: the same draws, controls first (`answering.py`). What was answered meanwhile is known then.
So it does where the money would end, and the replies so far show that a call reserves more than it needs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from judgeloop.core.outcomes import BREAKS, CUT_OFF, ControlTally, Finished, StopKind
from judgeloop.core.protocols import Judge, System, T
from judgeloop.core.records import NOBODY, Answer, Choice, Output, Pool, Query
from judgeloop.engine.answering import ANEW
from judgeloop.engine.batch import NO_SYSTEMS, Oracle, Window, answers
from judgeloop.engine.controls import made_of_first, tested
from judgeloop.engine.readings import read_again, to_read_again
from judgeloop.engine.session import Session
from judgeloop.engine.state import CommandCalls, Interruption, Observe, RunState, Terms, unobserved
from judgeloop.ledger.ledger import Ledger

# Ends after which the same command goes on with the run.
UNFINISHED = BREAKS | CUT_OFF | {StopKind.DRY_RUN}

# Ends of a run whose judge does not pass its controls.
FAILED_TEST = {StopKind.CONTROLS, StopKind.ABSTENTIONS}

# After so many items it is looked whether a system fails too often, or is another one: 8, 16, 32, and
# then 64 at a time. So a broken system is found early. The numbers do not depend on concurrency.
FIRST, MOST = 8, 64


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
    calls: CommandCalls | None = None,
    reserve_less: Callable[[], Awaitable[bool]] | None = None,
) -> Finished[T]:
    """Run `session` to its end; `systems` are those of the pool that answer live, by name.

    Controls come first: no more is spent on a judge that does not pass them. `calls` are those of earlier parts of the
    command, which get those of this run. `reserve_less` is asked where the money would end, with nothing in flight;
    whether calls reserve less from now on.

    Raises:
        LedgerError: a booking could not be written; nothing was sent after it.
    """
    panel = judges if isinstance(judges, Sequence) else [judges]
    state = RunState(terms, interruption, observe, calls)
    oracle = Oracle(panel, ledger, state, systems)
    before = await ledger.spend(terms.run_id, None)  # a ledger without its attempts is refused now
    known = set(state.calls.seen)
    with state.interruption.within(terms.deadline_s):
        while True:
            state.folded(session.asked, session.tally, session.risk)
            controls = await _test_judges(oracle, pool, session)
            if not pool.live:
                await _ask_as_places_free(session, pool, oracle)
            await _ask_batch_by_batch(session, pool, oracle)
            short = state.reason is not None and state.reason.kind is StopKind.BUDGET
            if not (_believed_another(oracle) or (short and reserve_less and await reserve_less())):
                break
            for one in oracle.answering:
                one.forget()
            state.reason, state.remembered, state.uncalled, state.found = None, 0, 0, False
            session = session.anew()
            state.calls.seen.intersection_update(known | state.sent)
            state.calls.tested.intersection_update(state.calls.seen)
    ending, reason, sources = session.ending(), state.reason, oracle.sources
    choices = (label.choice for label in (*ending.labels, *ending.further))
    needed = {pool.query(one.position, one.systems).about for one in choices}
    wanted = [] if session.broken_off else to_read_again(pool, ending, terms)
    again = () if reason else await read_again(oracle, pool, wanted)
    ended = ending.stop.kind not in UNFINISHED  # by itself, whatever cut the second readings off
    for person in oracle.people:  # who had nothing in hand then hear why, too
        stopped = None if ended or state.reason is None else state.reason.kind
        person.leave(stopped or session.without_answer, left=ended and state.reason is not None and bool(wanted))
    if ended and not terms.offline:
        await ledger.finish(terms.run_id)
    asked_again = [key for one in oracle.answering for key in one.again if key in state.sent]
    of_what = (state.calls.seen, state.calls.tested, state.of_proxy, asked_again)
    spend, controlling, proxy, twice = await asyncio.gather(
        *(ledger.spend(terms.run_id, terms.budget_p, keys) for keys in of_what)
    )
    return Finished(
        ending,
        replace(
            spend,
            now_p=spend.now_p - before.now_p,
            attempts=state.made,
            looked_up=state.looked_up,
            replies=state.replies,
            remembered=state.remembered,
            known=not state.made or all([*(one.priced for one in panel), *(one.priced for one in systems.values())]),
            next_p=reason.need_p if reason else 0,
            cached_p=state.cached_p,
            outputs_p=state.outputs_p,
            tokens=state.tokens,
            controls=controlling.answers,
            controls_p=controlling.answers_p,
            proxy=proxy.answers,
            proxy_p=proxy.answers_p,
            again=len(asked_again),
            again_p=twice.answers_p,
        ),
        tuple(tuple(attempts.models) for attempts in oracle.attempts[: oracle.panel]),
        controls,
        sources.figures(pool, ending.labels),
        tuple(one.figures(needed) for one in oracle.answering[: oracle.panel]),
        tuple(one.superseded for one in oracle.answering[: oracle.panel]),
        tuple(one.model for one in oracle.answering[: oracle.panel]),
        sources.filled(pool) if pool.live else None,
        read_again=again,
        to_read_again=len(wanted),
    )


async def _ask_as_places_free(session: Session[T], pool: Pool, oracle: Oracle) -> None:
    """Keep a window of queries in flight until the session has its decision or the run halts."""
    state, window = oracle.state, Window(oracle)
    priced = all(judge.priced for judge in oracle.judges)
    try:
        while True:
            if not (window.queued or state.is_over()):
                places = window.idle if session.most_ahead is None else window.places
                choices = session.ask(
                    places if window.calls else 0, free=priced and oracle.accounts.unpaid, later=False
                )
                await _ask_proxy(oracle, pool, choices)
                window.add(pool.query(choice.position, choice.systems) for choice in choices)
            if window.is_empty:
                return
            if window.queued and not state.is_over() and await window.start(session.needed):
                continue
            if over := state.is_over():
                await window.drain()
            told = window.take()
            if not (told or over):
                await window.wait()
                continue
            session.tell(told, halt=state.reason)
            if session.over and state.reason is None:
                state.folded(session.asked, session.tally, session.risk, window.answered)
                state.rest()
                more = session.broken_off is None and (session.asks_further or state.terms.reads_again)
                await window.drain(more=more, ended=session.without_answer)
                session.leave(window.rest())
                state.go_on()
            state.folded(session.asked, session.tally, session.risk, 0 if session.over else window.answered)
            state.tell()
            if session.over:
                return
    finally:
        await window.close()


async def _ask_proxy(oracle: Oracle, pool: Pool, choices: Sequence[Choice]) -> None:
    """Have the proxy's verdicts that these choices need; the run halts where they cannot be had."""
    proxy = oracle.state.terms.proxy
    if proxy is None:
        return
    asked = dict.fromkeys(
        (place, choice.systems) for choice in choices for place in proxy.of(choice.systems).needed(choice.position)
    )
    queries = [replace(pool.query(*one), by_proxy=True) for one in asked]
    for (place, systems), answer in zip(asked, await answers(oracle, queries, counted=False), strict=False):
        proxy.of(systems).tell(place, answer)


def _believed_another(oracle: Oracle) -> bool:
    """Whether verdicts were used or asked for that do not count, as another model answers than was supposed.

    A run that something else has ended stays as it is; a failed test is no end where its verdicts do not count.
    """
    reason = oracle.state.reason
    kind = None if reason in {None, ANEW} else reason.kind
    if kind not in {None, StopKind.DRY_RUN, *FAILED_TEST}:
        return False
    for one in oracle.answering:
        one.settle(failed=kind in FAILED_TEST)
    return reason is ANEW or any(one.stale for one in oracle.answering)


async def _ask_batch_by_batch(session: Session[T], pool: Pool, oracle: Oracle) -> None:
    """Pass batches to `oracle` and answers to `session`, until it is over and asks nothing after that either."""
    state = oracle.state
    choices = session.ask()
    while choices:
        queries = [pool.query(choice.position, choice.systems) for choice in choices]
        told: list[Answer] = []
        wrong, begin = None, 0
        while begin == len(told) < len(queries) and not (wrong or state.reason):
            most = min(MOST, FIRST + session.asked + begin) if pool.live else len(queries)
            some = queries[begin : begin + most]
            told += await answers(oracle, some, before=begin)
            wrong = oracle.sources.wrong(some, state.terms.max_failed)
            begin += len(some)
        session.tell([] if wrong else told, halt=wrong or state.reason)
        state.folded(session.asked, session.tally, session.risk)
        state.tell()
        choices = session.ask()


async def _test_judges(oracle: Oracle, pool: Pool, session: Session[T]) -> tuple[ControlTally | None, ...]:
    """Test the judges; offline with what the ledger knows, which does not halt the run.

    Before that it is looked which remembered outputs of the live systems count.
    """
    state, asking, systems = oracle.state, oracle, oracle.sources.systems
    terms, controls = state.terms, state.terms.controls
    order: list[int] = []
    if pool.live:
        drawn = [choice.position for choice in session.ahead()]
        order = list(dict.fromkeys([*drawn, *range(len(pool))]))
        await check_outputs(oracle, pool, order)
    if terms.offline:
        asking = Oracle(oracle.judges, oracle.ledger, RunState(terms, calls=state.calls), systems)
        asking.answering = oracle.answering
    if terms.controls_of is not None:
        controls = await made_of_first(asking, pool, terms.controls_of, order) or controls
    tallies = await tested(asking, controls)
    reason = asking.state.reason
    if reason is not None and reason.kind is StopKind.CONTROLS:
        state.halt(reason)
    return tallies


async def check_outputs(oracle: Oracle, pool: Pool, order: Sequence[int]) -> None:
    """Look up all outputs, and leave out those that do not count.

    Items are asked about in this `order` of positions.
    """
    sources = oracle.sources
    for number in pool.live:
        name = pool.systems[number]
        queries = [replace(pool.query(place, (number,)), alone=NOBODY) for place in order]
        await sources.look_up(queries, oracle.ledger)
        if sources.systems[name].lasts and not oracle.state.terms.offline:
            await _check_model(oracle, name, queries)
    sources.forget_failures()


async def _check_model(oracle: Oracle, name: str, queries: Sequence[Query]) -> None:
    """Leave out what another model gave than the one that answers now."""
    sources, began = oracle.sources, oracle.ledger.begin(oracle.state.terms.run_id)
    known = {place: sources.output_of(query) for place, query in enumerate(queries)}
    old = [output for output in known.values() if output is not None and output.at < began]
    own = [output for output in known.values() if output is not None and output.at >= began]
    lacking = [query for place, query in enumerate(queries) if known[place] is None][:1]
    if old and not own and lacking:
        await answers(oracle, lacking, counted=False)
        fresh = sources.output_of(lacking[0])
        own = [] if fresh is None else [fresh]
    if _models(old) - _models(own[:1]) and _models(own):
        sources.leave_out(name, began)


def _models(outputs: Iterable[Output]) -> set[str]:
    return {output.model for output in outputs} - {""}
