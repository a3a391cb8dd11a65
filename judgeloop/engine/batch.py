"""Answers queries in the order asked, from the ledger or by asking judges and systems.

A window takes queries while others are in flight, and hands out the answers to the first of them (`Window`); a batch
is a window that is run to its end (`answers`). Calls with the same key are made once in a window.

A query that is asked ahead may turn out not to be needed. It never takes what a needed one may need: it is admitted
once those before it are, if the budgets would cover all attempts at what is in flight, too; never where it costs more
than `DEAREST_AHEAD_P`. It halts no run that cannot pay for it.

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
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple, final

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.money import to_pico
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import Judge, People, Served, System
from judgeloop.core.records import Abstention, Answer, Output, Query, Verdict
from judgeloop.engine.accounts import Accounts
from judgeloop.engine.answering import ANEW, AnsweringModel, replanned
from judgeloop.engine.asks import Ask, OutputAsk, Planned, decided, used
from judgeloop.engine.attempts import Answerer, Attempts, NotAskedError
from judgeloop.engine.generating import Sources, earmark_key
from judgeloop.engine.pace import Pace
from judgeloop.engine.presentation import settles
from judgeloop.engine.state import RunState, first_of
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.records import End, Reservation, Ticket

NO_SYSTEMS: Mapping[str, System] = MappingProxyType({})
DEAREST_AHEAD_P = to_pico("1")  # the worst case of a verdict that is asked for ahead


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
        self.sources = Sources(systems, judges, state.terms, state.calls.seen)
        # Beyond the judges that are told of, as a proxy, every verdict counts.
        self.answering = [
            AnsweringModel(judge, demand) for judge, demand in zip_longest(judges, state.terms.one_model[: len(judges)])
        ]
        self.silent = dict(state.terms.silent)  # calls without a verdict, by key
        self.people = [one for one in judges if not state.terms.offline and isinstance(one, People)]
        self.accounts = Accounts(judges, ledger, state, self.sources)
        self._paces: dict[object, Pace] = {}
        proxy, timeout_s = state.terms.proxy, state.terms.timeout_s
        self.panel = len(judges) - (proxy is not None)  # how many judges decide together
        judging = list(zip(judges, self.answering, strict=True))
        self.attempts = [
            self._attempts(one, Answerer.judge(one, timeout_s, whose)) for one, whose in judging[: self.panel]
        ]
        if proxy is not None:
            one, whose = judging[self.panel]
            self.attempts.append(self._attempts(one, Answerer.judge(one, proxy.timeout_s, whose), proxy.concurrency))
        self.generating = {name: self._attempts(one, Answerer.system(name, one)) for name, one in systems.items()}

    def _attempts(self, one: Judge | System, answerer: Answerer, concurrency: int | None = None) -> Attempts:
        """The attempts at a judge or a system; those of one server share its pace."""
        place = one.server if isinstance(one, Served) else answerer
        terms = self.state.terms
        concurrency = concurrency or terms.concurrency
        most = min(concurrency, answerer.at_once or concurrency)
        pace = Pace(most, terms.calls_a_minute, terms.tokens_a_minute)
        return Attempts(answerer, self.accounts, self._paces.setdefault(place, pace), self.state)


Sending = asyncio.Task[Answer | Output | None]  # None: the call was not needed
Answering = asyncio.Task[Answer | None]


async def answers(oracle: Oracle, queries: Sequence[Query], *, counted: bool = True, before: int = 0) -> list[Answer]:
    """The answers to `queries`, up to the first query without an answer.

    If they are `counted`, observers are told the number of answers so far, with those `before`.
    """
    window = Window(oracle, counted=counted, before=before)
    window.add(queries)
    return await window.run()


class Admitted(NamedTuple):
    """A query that was admitted: its answer to come, and whether that takes a call."""

    task: Answering
    calls: bool


@final
class Window:
    """Queries in progress, in the order asked: those that wait, those that run, and the known verdicts."""

    def __init__(self, oracle: Oracle, *, counted: bool = True, before: int = 0) -> None:
        """Begin without queries, after so many answers `before`."""
        self._oracle = oracle
        self._state = oracle.state
        self._accounts = oracle.accounts
        self._counted = counted
        self._queries: deque[Query] = deque()  # that are not planned
        self._plans: deque[Planned] = deque()  # of the next queries, which are not admitted
        self._admitted: deque[Admitted] = deque()  # whose answers were not taken
        # By key: a verdict from the ledger, or a call of this window to a judge or a system.
        self._known: dict[str, Sending | Answer] = {}
        self._running: dict[Answering, int] = {}  # with what is reserved
        self._uncalled: set[asyncio.Task[Any] | None] = set()  # of those that ended, which took no call
        self._landing = asyncio.Event()  # a query has ended
        self._unbegun: dict[str, Ticket] = {}  # by key: of the calls whose task has not run yet
        # Two queries may need the same call, as where two systems gave the same output: it is
        # claimed, reserved and begun by one at a time. Nobody waits for money meanwhile.
        self._claiming = asyncio.Lock()
        self._seen = 0  # changes, when money was reserved last
        self.answered = before  # number of answers that were not taken, and of those before

    def add(self, queries: Iterable[Query]) -> None:
        """Take queries, in the order asked."""
        self._queries.extend(queries)

    @property
    def queued(self) -> bool:
        """Whether queries wait to be admitted."""
        return bool(self._plans or self._queries)

    @property
    def is_empty(self) -> bool:
        """Whether there is no query without an answer that was taken."""
        return not (self.queued or self._admitted)

    @property
    def calls(self) -> bool:
        """Whether the answer to the first query takes a call that is not over: it is not known from before."""
        return bool(self._admitted) and self._admitted[0].calls and not self._admitted[0].task.done()

    @property
    def places(self) -> int:
        """How many more queries may run."""
        return max(0, self._accounts.slots - len(self._running))

    @property
    def idle(self) -> int:
        """How many more calls each judge may be sent at once: more than that would be in the way of what is needed."""
        most = self._state.slowed_to or self._state.terms.concurrency
        return max(0, most - len(self._running))

    async def run(self) -> list[Answer]:
        """Answer all queries; wait for all calls in flight, unless the user abandons them."""
        try:
            while self.queued and not self._state.is_over():
                if not await self.start():
                    await self.wait()
            await self.drain()
            return self.take()
        finally:
            await self.close()

    async def start(self, needed: int | None = None) -> bool:
        """Start the next queries that the budget covers; return whether any was started.

        The first `needed` of those without a taken answer are needed, all by default; the others are asked ahead.
        If no needed one is covered and none runs, wait for money that other runs hold back, or halt.
        """
        while len(self._plans) < self.places and self._queries:  # looked up at once
            some = [self._queries.popleft() for _ in range(min(len(self._queries), self._accounts.slots))]
            await self._plan(some)
        wanted = [*itertools.islice(self._plans, self.places)]
        first = len(wanted) if needed is None else max(needed - len(self._admitted), int(not self._admitted))
        # Checked before reserving: a running query may return money while the reservation is tried.
        others, self._seen = self._others, self._state.changes.count
        started = await self._admit(wanted[:first])
        if started == min(first, len(wanted)):
            return bool(started + await self._admit(wanted[first:], ahead=True))
        if not (started or others or self._state.is_over()):
            (group,) = self._accounts.wanted(wanted[:1], self._known)
            if await self._accounts.others_return(group):
                return True
            if not self._state.is_over():
                self._state.halt(await self._accounts.out_of_money(wanted[0]))
        return bool(started)

    async def wait(self) -> None:
        """Wait until a running query ends or nothing more is sent; do not wait if none runs, in no window."""
        for one in self._oracle.people:
            one.lacks_money(bool(self._plans) and self.places > 0)  # what has a place and does not run
        if self._running:
            await first_of(self._landing.wait(), self._state.closed.wait())
            self._landing.clear()
        elif self._others:
            await first_of(self._state.changes.after(self._seen), self._state.closed.wait())

    @property
    def _others(self) -> bool:
        """Whether calls are in flight that may return money: of this window, or of the one that waits for it."""
        return bool(self._running) or self._accounts.busy

    def take(self) -> list[Answer]:
        """The answers that are there, to the first queries."""
        told: list[Answer] = []
        while self._admitted and (answer := _answer_of(self._admitted[0].task)) is not None:
            told.append(answer)
            self._admitted.popleft()
        self.answered -= len(told)
        return told

    def rest(self) -> list[Answer | None]:
        """The answers to the other queries, None where one has none yet."""
        return [_answer_of(one.task) for one in self._admitted]

    async def drain(self, *, more: bool = False, ended: StopKind | None = None) -> None:
        """Wait for the queries that run, unless the user abandons them; people let go once the run is over.

        Where `more` comes, they finish what they have in hand. They hear why it halts, or `ended` without an answer.

        Raises:
            Exception: the code of a judge raised it.
        """
        state, people = self._state, self._oracle.people
        if people and self._running and not state.is_over():
            await first_of(asyncio.wait(self._running), state.closed.wait())
        if people and self._running and state.is_over():
            for one in people:
                if more and state.reason is None:
                    one.let_go()
                else:
                    one.leave(state.reason.kind if state.reason else ended)
        if self._running:
            await first_of(asyncio.wait(self._running), state.interruption.abandoned.wait())
        if state.interruption.abandoned.is_set():
            state.halt(state.interruption.given_up(sum(not task.done() for task in self._running)))
        if state.reason is not None:
            state.is_over()
        for task, _ in self._admitted:
            if task.done() and not task.cancelled():
                task.result()

    async def _plan(self, queries: Sequence[Query]) -> None:
        """Plan the next queries, and look up their outputs and verdicts in the ledger."""
        sources, ledger = self._oracle.sources, self._oracle.ledger
        await self._accounts.done(sources.look_up(queries, ledger))
        plans = [sources.plan(query) for query in queries]
        self._plans += await self._look_up(plans)

    async def _look_up(self, plans: Sequence[Planned]) -> list[Planned]:
        """Look verdicts up in the ledger; those of a model that does not count are planned to be asked again."""
        return await replanned(plans, self._oracle.answering, self._learn)

    async def _learn(self, keys: set[str]) -> Mapping[str, object]:
        unknown = keys - self._known.keys()
        if unknown:
            found = self._oracle.ledger.verdicts(sorted(unknown))
            silent = self._oracle.silent
            self._known.update((key, silent[key]) for key in unknown if key in silent)
            self._known.update(await self._accounts.done(found))
        return self._known

    async def _admit(self, wanted: Sequence[Planned], *, ahead: bool = False) -> int:
        """Start the longest prefix of `wanted` that the budget covers; return how many were started."""
        if not wanted:
            return 0
        async with self._claiming:
            groups = self._accounts.wanted(wanted, self._known)
            self._accounts.learn_costs(groups)
            groups = groups[: max(0, self.places)]
            by_hand = self._accounts.by_hand  # what a person did not answer costs nothing, and is not tried again
            if ahead and not by_hand:
                groups = [*itertools.takewhile(lambda group: _cost_p(group) <= DEAREST_AHEAD_P, groups)]
            if self._state.terms.offline:
                # What needs no call is granted, up to the first query that needs one.
                granted: list[list[Ticket]] = [[] for _ in itertools.takewhile(operator.not_, groups)]
                if len(granted) < len(groups):
                    self._state.halt(StopReason(StopKind.DRY_RUN, "a dry run calls no judge"))
            else:
                tries = self._state.terms.policy.attempts if ahead and not by_hand else 0
                granted = await self._accounts.reserve(groups, spare_p=tries * sum(self._running.values()))
            for planned, tickets in zip(wanted, granted, strict=False):
                self._start(planned, tickets)
                self._plans.popleft()
            return len(granted)

    def _start(self, planned: Planned, tickets: Sequence[Ticket]) -> None:
        found = self._begin(planned, tickets)
        if planned.outputs:
            key = earmark_key(planned.query)
            earmark = next((ticket for ticket in tickets if ticket.key == key), None)
            if earmark is not None:
                self._unbegun[key] = earmark
            task = asyncio.create_task(self._generate(planned, found, earmark))
        else:
            task = asyncio.create_task(self._answer(planned, found))
        calls = any(isinstance(one, asyncio.Task) and not one.done() for one in found)
        self._admitted.append(Admitted(task, calls))
        self._running[task] = sum(ticket.cost_p for ticket in tickets)
        task.add_done_callback(self._landed)

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
                (whole,) = await self._look_up([whole])
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
        if _cost_p(group) <= (earmark.cost_p if earmark else 0):
            return True
        tasks = (one.task for one in self._admitted)
        earlier = [*itertools.takewhile(lambda one: one is not asyncio.current_task(), tasks)]
        self._accounts.ends(key)  # no earlier query gets money from this one
        if earlier:
            await asyncio.wait(earlier)
        self._accounts.begins(key)
        return all(_answer_of(one) is not None for one in earlier)

    async def _judging(self, whole: Planned, earmark: Ticket | None) -> list[Ticket] | None:
        """Reserve the calls of a query whose outputs are there, in place of the earmark.

        None if the budget does not cover them; the run is then halted.
        """
        (group,) = self._accounts.wanted([whole], self._known)
        if not group:
            return []
        self._accounts.learn_costs([group])
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
        del self._running[task]
        self._landing.set()
        answer = _answer_of(task)
        self.answered += answer is not None
        if self._counted:
            self._state.uncalled += task in self._uncalled
            self._state.silent += isinstance(answer, Abstention)
            self._state.answered(self.answered)

    async def _answer(self, planned: Planned, found: Sequence[Sending | Answer | None]) -> Answer | None:
        """The answer to a query, None if given up."""
        replies = await self._replies(planned, found)
        if replies is None:
            return None
        answers = [None if isinstance(reply, Output) else reply for reply in replies]
        terms, counts = self._state.terms, used(planned, answers)
        if planned.query.by_proxy:
            self._state.of_proxy.update(ask.key for ask, needed in zip(planned.asks, counts, strict=True) if needed)
        for ask, answer, needed in zip(planned.asks, answers, counts, strict=True):
            if needed and isinstance(answer, Verdict):
                whose = self._oracle.answering[ask.judge]
                whose.uses(ask, answer, planned.query)
                if whose.stale:
                    self._state.halt(ANEW)
        looked_up = zip(planned.asks, found, counts, strict=True)
        known = {ask.key for ask, one, needed in looked_up if needed and isinstance(one, Answer)}
        self._state.remembered += len(known - self._state.calls.seen)
        self._state.found |= bool(known)
        self._state.calls.seen.update(known)
        paid = any(ask.key in self._state.sent for ask in planned.asks)  # before the run began anew
        if not paid and not any(isinstance(entry, asyncio.Task) for entry in found):
            self._uncalled.add(asyncio.current_task())
        return decided(planned, answers, self._oracle.panel, terms.vote, terms.tie_margin)

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
                if not state.is_over():  # else people were told to leave
                    state.halt(StopReason(StopKind.INTERRUPTED, str(error)))
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
        self._state.calls.seen.add(ask.key)
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

    async def close(self) -> None:
        """Cancel what still runs; each cancelled attempt stays charged at its worst case."""
        calls = [entry for entry in self._known.values() if isinstance(entry, asyncio.Task)]
        left = [task for task in (*calls, *self._running) if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for ticket in self._unbegun.values():  # a task that is cancelled at once releases nothing
            await self._accounts.release(ticket, End.UNSENT, "never sent")
        await self._accounts.finish()


def _cost_p(group: Iterable[Reservation]) -> int:
    return sum(call.cost_p for call in group)


def _answer_of(task: Answering) -> Answer | None:
    if not task.done() or task.cancelled() or task.exception() is not None:
        return None
    return task.result()
