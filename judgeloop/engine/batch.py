"""Answers a batch of queries in the order asked, from the ledger or by asking judges and systems.

A query is planned shortly before it is admitted: which calls answer it, and which of their verdicts
the ledger has. All its other calls, to every judge and in every order of presentation, are
reserved in one transaction before the first is sent (`accounts.py`). The second order stays
reserved until the first has answered; if it is not needed, its money is free again. The session
decides what to ask and when to stop.

What it takes to judge outputs is not known before they are there. A query that lacks outputs of
live systems is admitted when the budget covers its calls for these and an earmark for the judges.
Then the earmark becomes exact reservations. Outputs that are longer than it reckoned with take the
rest from what is left of the budget, once all earlier queries are answered. If that is too little,
the run ends there, and the outputs stay in the ledger. It does not wait for money, so that no two
queries wait for each other: only another attempt for an output does.
"""

import asyncio
import itertools
import operator
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, final

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import Judge, Served, System
from judgeloop.core.records import Answer, Output, Query
from judgeloop.engine.accounts import Accounts
from judgeloop.engine.asks import Ask, OutputAsk, Planned, decided, used
from judgeloop.engine.attempts import Answerer, Attempts, NotAskedError
from judgeloop.engine.generating import Sources, earmark_key
from judgeloop.engine.pace import Pace
from judgeloop.engine.presentation import settles
from judgeloop.engine.state import RunState, first_of
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.records import End, Ticket

NO_SYSTEMS: Mapping[str, System] = MappingProxyType({})


@final
class Oracle:
    """The judges of a run with their ledger; after a halt, no further query is admitted."""

    def __init__(
        self, judges: Sequence[Judge], ledger: Ledger, state: RunState[Any], systems: Mapping[str, System] = NO_SYSTEMS
    ) -> None:
        """`judges` holds a single judge or the judges of a panel; `systems` answer live."""
        self.judges = judges
        self.ledger = ledger
        self.state = state
        self.sources = Sources(systems, judges, state.terms)
        self.accounts = Accounts(judges, ledger, state, self.sources)
        self._paces: dict[object, Pace] = {}
        timeout_s = state.terms.timeout_s
        self.attempts = [self._attempts(one, Answerer.judge(one, timeout_s)) for one in judges]
        self.generating = {name: self._attempts(one, Answerer.system(name, one)) for name, one in systems.items()}

    def _attempts(self, one: Judge | System, answerer: Answerer) -> Attempts:
        """The attempts at a judge or a system; those of one server share its pace."""
        place = one.server if isinstance(one, Served) else answerer
        terms = self.state.terms
        most = min(terms.concurrency, answerer.at_once or terms.concurrency)
        pace = Pace(most, terms.calls_a_minute, terms.tokens_a_minute)
        return Attempts(answerer, self.accounts, self._paces.setdefault(place, pace), self.state)


Sending = asyncio.Task[Answer | Output | None]  # None: the call was not needed
Answering = asyncio.Task[Answer | None]


async def answers(oracle: Oracle, queries: Sequence[Query], *, counted: bool = True, before: int = 0) -> list[Answer]:
    """The answers to `queries`, up to the first query without an answer.

    If they are `counted`, observers are told the number of answers so far, with those `before`.
    """
    return await RunningBatch(oracle, queries, counted=counted, before=before).run()


@final
class RunningBatch:
    """One batch in progress: its running queries, its calls in flight, and the known verdicts."""

    def __init__(self, oracle: Oracle, queries: Sequence[Query], *, counted: bool, before: int = 0) -> None:
        """`queries` are in the order asked, after so many `before`."""
        self._oracle = oracle
        self._state = oracle.state
        self._accounts = oracle.accounts
        self._queries = queries
        self._counted = counted
        self._plans: list[Planned] = []  # of the first queries, in the order asked
        # By key: a verdict from the ledger, or a call of this batch to a judge or a system.
        self._known: dict[str, Sending | Answer] = {}
        self._tasks: list[Answering] = []  # of the queries that were admitted, in the order asked
        self._running: set[Answering] = set()
        self._unbegun: dict[str, Ticket] = {}  # by key: of the calls whose task has not run yet
        # Two queries may need the same call, as where two systems gave the same output: it is
        # claimed, reserved and begun by one at a time. Nobody waits for money meanwhile.
        self._claiming = asyncio.Lock()
        self._count = before  # number of queries with an answer

    async def run(self) -> list[Answer]:
        """Answer the queries; wait for all calls in flight, unless the user abandons them."""
        state, tasks = self._state, self._tasks
        try:
            while len(tasks) < len(self._queries) and not state.is_over():
                while self._places <= 0 and not state.is_over():
                    await self._until_one_is_over()
                if state.is_over():
                    break
                await self._start_some()
            if self._running:
                await first_of(asyncio.wait(self._running), state.interruption.abandoned.wait())
            if state.interruption.abandoned.is_set():
                state.halt(state.interruption.why)
        finally:
            await self._abandon()
        return _prefix([None if task.cancelled() else task.result() for task in tasks])

    @property
    def _places(self) -> int:
        """How many more queries may run."""
        return self._accounts.slots - len(self._running)

    async def _start_some(self) -> None:
        """Start the next queries that the budget covers.

        If it covers none, wait for a running query to end. If none was running, wait for money that
        other runs hold back, or halt.
        """
        begin, end, planned = len(self._tasks), len(self._tasks) + self._places, len(self._plans)
        if end > planned:  # as many more are planned as queries may run, and looked up at once
            await self._plan(self._queries[planned : planned + self._accounts.slots])
        wanted = self._plans[begin:end]
        # Checked before reserving: a running query may return money while the reservation is tried.
        others = bool(self._running)
        started = await self._admit(wanted)
        self._tasks += started
        if started:
            return
        if not others and not self._state.is_over():
            (group,) = self._accounts.wanted(wanted[:1], self._known)
            if not await self._accounts.others_return(group) and not self._state.is_over():
                self._state.halt(await self._accounts.out_of_money(wanted[0]))
        await self._until_one_is_over()

    async def _plan(self, queries: Sequence[Query]) -> None:
        """Plan the next queries, and look up their outputs and verdicts in the ledger."""
        sources, ledger = self._oracle.sources, self._oracle.ledger
        await self._accounts.done(sources.look_up(queries, ledger))
        plans = [sources.plan(query) for query in queries]
        await self._look_up(plans)
        self._plans += plans

    async def _look_up(self, plans: Sequence[Planned]) -> None:
        unknown = {key for planned in plans for key in planned.keys} - self._known.keys()
        if unknown:
            found = self._oracle.ledger.verdicts(sorted(unknown))
            silent = self._state.terms.silent
            self._known.update((key, silent[key]) for key in unknown if key in silent)
            self._known.update(await self._accounts.done(found))

    async def _admit(self, wanted: Sequence[Planned]) -> list[Answering]:
        """Start the longest prefix of `wanted` that the budget covers; return what was started."""
        async with self._claiming:
            groups = self._accounts.wanted(wanted, self._known)[: max(0, self._places)]
            if self._state.terms.offline:
                # What needs no call is granted, up to the first query that needs one.
                granted: list[list[Ticket]] = [[] for _ in itertools.takewhile(operator.not_, groups)]
                if len(granted) < len(groups):
                    self._state.halt(StopReason(StopKind.DRY_RUN, "a dry run calls no judge"))
            else:
                granted = await self._accounts.reserve(groups)
            return [self._start(*each) for each in zip(wanted, granted, strict=False)]

    def _start(self, planned: Planned, tickets: Sequence[Ticket]) -> Answering:
        found = self._begin(planned, tickets)
        if planned.outputs:
            key = earmark_key(planned.query)
            earmark = next((ticket for ticket in tickets if ticket.key == key), None)
            if earmark is not None:
                self._unbegun[key] = earmark
            task = asyncio.create_task(self._generate(planned, found, earmark))
        else:
            task = asyncio.create_task(self._answer(planned, found))
        self._running.add(task)
        task.add_done_callback(self._landed)
        return task

    def _begin(self, planned: Planned, tickets: Sequence[Ticket]) -> Sequence[Sending | Answer | None]:
        """Start the calls that were reserved; return what is known of each call."""
        by_key = {ticket.key: ticket for ticket in tickets}
        calls: Sequence[Ask | OutputAsk] = planned.outputs or planned.asks
        for ask in calls:
            if ask.key in by_key:
                self._unbegun[ask.key] = by_key[ask.key]
                self._known[ask.key] = self._sending(ask, by_key[ask.key])
        # A second call that is known not to be needed was not reserved.
        return [self._known.get(ask.key) for ask in calls]

    async def _generate(
        self, planned: Planned, calls: Sequence[Sending | Answer | None], earmark: Ticket | None
    ) -> Answer | None:
        """The answer to a query once its outputs are there; None if it is given up."""
        held, key = earmark, earmark_key(planned.query)
        self._unbegun.pop(key, None)
        try:
            outputs = await self._replies(planned, calls)
            if outputs is None:
                return None
            lacked = self._oracle.sources.taken(planned.outputs, outputs)
            if lacked is not None:
                return lacked
            whole = self._oracle.sources.plan(planned.query)
            self._accounts.begins(key)  # it may still return money
            try:
                await self._look_up([whole])
                if not await self._in_turn(whole, held, key):
                    return None
                async with self._claiming:
                    tickets = await self._judging(whole, held)
                    if tickets is None:
                        return None
                    held = None if tickets else held
                    found = self._begin(whole, tickets)
            finally:
                self._accounts.ends(key)
            if held is not None:
                await self._accounts.release(held, End.UNNEEDED, "no judge is asked")
                held = None
            return await self._answer(whole, found)
        finally:
            if held is not None:
                await self._accounts.release(held, End.UNSENT, "never sent")

    async def _in_turn(self, whole: Planned, earmark: Ticket | None, key: str) -> bool:
        """Wait for all earlier queries if more is needed than the earmark: their need goes first.

        False if one of them is given up: then the run ends before this query.
        """
        (group,) = self._accounts.wanted([whole], self._known)
        if sum(call.cost_p for call in group) <= (earmark.cost_p if earmark else 0):
            return True
        earlier = [*itertools.takewhile(lambda one: one is not asyncio.current_task(), self._tasks)]
        self._accounts.ends(key)  # no earlier query gets money from this one
        if earlier:
            await asyncio.wait(earlier)
        self._accounts.begins(key)
        return all(map(_is_answered, earlier))

    async def _judging(self, whole: Planned, earmark: Ticket | None) -> list[Ticket] | None:
        """Reserve the calls of a query whose outputs are there, in place of the earmark.

        None if the budget does not cover them; the run is then halted.
        """
        (group,) = self._accounts.wanted([whole], self._known)
        if not group:
            return []
        granted = await self._accounts.reserve([group], instead=earmark)
        if not granted:
            if not self._state.is_over():
                self._state.halt(await self._accounts.out_of_money(whole))
            return None
        return granted[0]

    def _sending(self, ask: Ask | OutputAsk, ticket: Ticket) -> Sending:
        """Make a call; the second order of presentation waits for the first."""
        if isinstance(ask, Ask) and ask.after is not None:
            return asyncio.create_task(self._send_after(self._known[ask.after], ask, ticket))
        self._accounts.begins(ask.key)
        return asyncio.create_task(self._send(ask, ticket))

    def _landed(self, task: Answering) -> None:
        self._running.discard(task)
        self._count += _is_answered(task)
        if self._counted:
            self._state.answered(self._count)

    async def _answer(self, planned: Planned, found: Sequence[Sending | Answer | None]) -> Answer | None:
        """The answer to a query, None if given up."""
        replies = await self._replies(planned, found)
        if replies is None:
            return None
        answers = [None if isinstance(reply, Output) else reply for reply in replies]
        terms, counts = self._state.terms, used(planned, answers)
        looked_up = zip(planned.asks, found, counts, strict=True)
        known = {ask.key for ask, one, needed in looked_up if needed and isinstance(one, Answer)}
        self._state.remembered += len(known - terms.seen)
        self._state.found |= bool(known)
        terms.seen.update(known)
        return decided(planned, answers, len(self._oracle.judges), terms.vote)

    async def _replies(
        self, planned: Planned, found: Sequence[Sending | Answer | None]
    ) -> list[Answer | Output | None] | None:
        """Wait for all calls, and return their answers; None if one is given up.

        A failure of a judge or a system halts the run.
        """
        pending = [entry for entry in found if isinstance(entry, asyncio.Task)]
        if pending:
            # Wait for all calls before an error is raised, so that what is paid for is kept.
            for end in await asyncio.gather(*pending, return_exceptions=True):
                if isinstance(end, Exception) and not isinstance(end, NotAskedError | JudgeError):
                    raise end  # it may be why the other calls were given up
        state = self._state
        try:
            return [entry.result() if isinstance(entry, asyncio.Task) else entry for entry in found]
        except NotAskedError:
            if not state.is_over():
                state.halt(await self._accounts.out_of_money(planned))
        except JudgeError as error:
            if error.kind is ErrorKind.QUIT:
                state.halt(StopReason(StopKind.INTERRUPTED, "the judge has left"))
            else:
                state.failed(StopKind.JUDGE_FAILED, f"the judge failed: {error}")
        return None

    async def _send_after(self, first: Sending | Answer, ask: Ask, ticket: Ticket) -> Answer | Output | None:
        """Make the second call of two if the answer to the first does not settle the verdict.

        Raises:
            NotAskedError: the first call has no answer.
        """
        del self._unbegun[ask.key]
        needed = False
        try:
            if isinstance(first, asyncio.Task):
                await asyncio.wait({first})
                if first.cancelled() or first.exception() is not None:
                    raise NotAskedError
            answer = first.result() if isinstance(first, asyncio.Task) else first
            needed = isinstance(answer, Answer) and not settles(answer)
        finally:
            if not needed:
                await self._accounts.release(ticket, End.UNNEEDED, "the first order settles it")
        if not needed:
            return None
        self._accounts.begins(ask.key)
        return await self._send(ask, ticket)

    async def _send(self, ask: Ask | OutputAsk, ticket: Ticket) -> Answer | Output:
        self._unbegun.pop(ask.key, None)
        self._state.terms.seen.add(ask.key)
        oracle = self._oracle
        attempts = oracle.generating[ask.system] if isinstance(ask, OutputAsk) else oracle.attempts[ask.judge]
        try:
            return await attempts.answer(ask.call, ticket, lambda: self._accounts.reserve_again(ask))
        except (NotAskedError, JudgeError):
            raise
        except Exception:
            self._state.broke()
            raise
        finally:
            self._accounts.ends(ticket.key)

    async def _until_one_is_over(self) -> None:
        """Wait until a running query ends or nothing more is sent; do not wait if none runs."""
        if self._running:
            one = asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            await first_of(one, self._state.closed.wait())

    async def _abandon(self) -> None:
        """Cancel what still runs; each cancelled attempt stays charged at its worst case."""
        calls = [entry for entry in self._known.values() if isinstance(entry, asyncio.Task)]
        left = [task for task in (*calls, *self._running) if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for ticket in self._unbegun.values():  # a task that is cancelled at once releases nothing
            await self._accounts.release(ticket, End.UNSENT, "never sent")
        await self._accounts.finish()


def _prefix(answers: Sequence[Answer | None]) -> list[Answer]:
    """The answers before the first missing answer."""
    found: list[Answer] = []
    for answer in answers:
        if answer is None:
            break
        found.append(answer)
    return found


def _is_answered(task: Answering) -> bool:
    if task.cancelled() or task.exception() is not None:
        return False
    return task.result() is not None
