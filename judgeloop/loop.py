"""The async driver: a session's questions to a judge, through the ledger.

Queries are admitted in the order asked. Each is answered from the ledger where it can be; else all its calls are
reserved at their worst case in one transaction before any of them is sent. A query that does not fit while others are
in flight waits for them, because settling gives back what they did not use; it is cut only when it does not fit on its
own. So the outcome is the same at every concurrency. What to ask, and when to stop, is the session's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import final

from judgeloop.attempts import Attempts, NotAskedError
from judgeloop.errors import JudgeRejectedError
from judgeloop.judges.retrying import RetryPolicy
from judgeloop.keys import verdict_key
from judgeloop.money import show_usd
from judgeloop.pool import Pool
from judgeloop.presentation import Order, calls_for, combine
from judgeloop.protocols import Judge, Ledger, Reservation, Ticket
from judgeloop.records import (
    Answer,
    Call,
    Estimate,
    Outcome,
    Query,
    Spend,
    StopKind,
    StopReason,
    Verdict,
)
from judgeloop.session import Session


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a run asks: its name in the ledger, its money, its pace."""

    run: str
    order: Order = Order.BOTH
    seed: int = 0
    budget_p: int | None = None
    concurrency: int = 8
    timeout_s: float = 120.0
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    offline: bool = False  # answer from the ledger alone, and halt where it has nothing


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come; `spent_p` is what was really spent by this command."""

    asked: int
    spent_p: int
    estimate: Estimate


Observe = Callable[[Progress], None]


def unobserved(progress: Progress) -> None:
    """Look away."""
    del progress


@dataclass(frozen=True, slots=True)
class Finished:
    """A run's outcome, what it cost, and the names by which the judge's servers called the model."""

    outcome: Outcome
    spend: Spend
    models: tuple[str, ...]


class Interruption:
    """Asks a run to halt: `request` once drains what is in flight and keeps it, twice abandons it."""

    def __init__(self) -> None:
        """Nothing is requested yet."""
        self.requested = asyncio.Event()
        self.abandoned = asyncio.Event()

    def request(self) -> None:
        """Ask to halt; the second time, at once."""
        (self.abandoned if self.requested.is_set() else self.requested).set()


async def drive(
    session: Session,
    pool: Pool,
    judge: Judge,
    ledger: Ledger,
    terms: Terms,
    *,
    interruption: Interruption | None = None,
    observe: Observe = unobserved,
) -> Finished:
    """Run `session` to its end.

    Raises:
        LedgerError: a booking could not be written; nothing more was sent after it.
    """
    asking = _Asking(judge, ledger, terms, interruption or Interruption())

    def answered(count: int) -> None:
        observe(Progress(session.asked + count, asking.attempts.spent_p, session.estimate))

    while choices := session.ask():
        queries = [pool.query(choice.position) for choice in choices]
        answers = await asking.answers(queries, answered)
        session.tell(answers, halt=asking.halt)
        answered(0)
    spend = await ledger.spend(terms.run, terms.budget_p)
    spend = replace(spend, remembered=asking.remembered, known=judge.priced or not spend.calls)
    return Finished(session.outcome(), spend, tuple(asking.attempts.models))


@dataclass(frozen=True, slots=True)
class _Planned:
    """A query with its calls, their keys, and the answers that need no asking."""

    query: Query
    calls: tuple[Call, ...]
    keys: tuple[str, ...]


_Known = dict[str, "asyncio.Task[Answer] | Verdict"]  # by key: held in the ledger, or on its way


@final
class _Asking:
    """Answers batches of queries; after a halt, nothing more is admitted."""

    def __init__(self, judge: Judge, ledger: Ledger, terms: Terms, interruption: Interruption) -> None:
        self._judge = judge
        self._ledger = ledger
        self._terms = terms
        self._interruption = interruption
        self._flying: dict[str, asyncio.Task[Answer]] = {}
        self._running: set[asyncio.Task[Answer | None]] = set()
        self._sending = asyncio.Semaphore(terms.concurrency)
        self.attempts = Attempts(
            judge,
            ledger,
            policy=terms.policy,
            timeout_s=terms.timeout_s,
            interrupted=interruption.requested,
        )
        self.halt: StopReason | None = None
        self.remembered = 0
        self._broken = False

    async def answers(self, queries: Sequence[Query], answered: Callable[[int], None]) -> list[Answer]:
        """The answers to the longest prefix of `queries` that could be had."""
        tasks: list[asyncio.Task[Answer | None]] = []

        def landed(task: asyncio.Task[Answer | None]) -> None:
            self._running.discard(task)
            answered(sum(one.done() for one in tasks))

        try:
            while len(tasks) < len(queries) and not self._halted():
                free = await self._free_slots()
                if self._halted():
                    break
                wanted = [self._plan(query) for query in queries[len(tasks) : len(tasks) + free]]
                others = bool(self._running)  # before reserving: what they give back may come during it
                admitted = await self._admit(wanted)
                for task in admitted:
                    task.add_done_callback(landed)
                tasks += admitted
                if admitted:
                    continue
                if not others:
                    self.halt = self.halt or self._out_of_money(wanted[0])
                await self._someone_finished()
            await self._drain()
        finally:
            await self._abandon()
        return _prefix([None if task.cancelled() else task.result() for task in tasks])

    async def _admit(self, wanted: Sequence[_Planned]) -> list[asyncio.Task[Answer | None]]:
        # What flies is noted before the ledger is asked: whatever lands in between is in one of the two.
        known: _Known = dict(self._flying)
        known |= await self._ledger.verdicts([key for planned in wanted for key in planned.keys])
        groups = self._to_reserve(wanted, known)
        if self._terms.offline:
            return self._start_known(wanted, known, groups)
        granted = await self._ledger.reserve(self._terms.run, groups, self._terms.budget_p)
        return [
            self._start(planned, known, tickets) for planned, tickets in zip(wanted, granted, strict=False)
        ]

    def _start_known(
        self,
        wanted: Sequence[_Planned],
        known: _Known,
        groups: Sequence[Sequence[Reservation]],
    ) -> list[asyncio.Task[Answer | None]]:
        tasks = []
        for planned, group in zip(wanted, groups, strict=True):
            if group:
                self.halt = StopReason(StopKind.DRY_RUN, "a dry run asks nobody")
                break
            tasks.append(self._start(planned, known, []))
        return tasks

    def _to_reserve(self, wanted: Sequence[_Planned], known: _Known) -> list[list[Reservation]]:
        """For each query the calls that nobody has made, is making, or will make for a query before it."""
        taken = set(known)
        groups = []
        for planned in wanted:
            group = [
                self._reservation(call, key)
                for call, key in zip(planned.calls, planned.keys, strict=True)
                if key not in taken
            ]
            taken |= set(planned.keys)
            groups.append(group)
        return groups

    def _reservation(self, call: Call, key: str) -> Reservation:
        quote = self._judge.quote(call)
        note = {"systems": list(call.systems), "replicate": call.replicate}
        name = self._judge.identity.name
        return Reservation(key, quote.cost_p, call.item.id, name, note, quote.rehearsed)

    def _plan(self, query: Query) -> _Planned:
        calls = calls_for(query, self._terms.order, self._terms.seed, order_matters=self._judge.order_matters)
        if self._judge.blind and len(set(query.outputs)) == 1:
            calls = ()  # the same text twice is a tie, and nobody need be asked
        identity, blind = self._judge.identity, self._judge.blind
        return _Planned(query, calls, tuple(verdict_key(identity, c, blind=blind) for c in calls))

    def _start(
        self, planned: _Planned, known: _Known, tickets: Sequence[Ticket]
    ) -> asyncio.Task[Answer | None]:
        by_key = {ticket.key: ticket for ticket in tickets}
        for call, key in zip(planned.calls, planned.keys, strict=True):
            if key in by_key:
                known[key] = self._flying[key] = asyncio.create_task(self._send(call, by_key[key]))
        calls = [known[key] for key in planned.keys]
        self.remembered += sum(isinstance(call, Verdict) for call in calls)
        task = asyncio.create_task(self._answer(planned, calls))
        self._running.add(task)
        return task

    async def _answer(
        self, planned: _Planned, calls: Sequence[asyncio.Task[Answer] | Verdict]
    ) -> Answer | None:
        """The answer to a query; None when it was given up. Never raises for a judge's failure."""
        if not calls:
            return Verdict(0.5, reason="the outputs are identical")
        pending = [call for call in calls if isinstance(call, asyncio.Task)]
        if pending:
            # All of them are waited for, and looked at, before any error counts: what is paid for is kept.
            await asyncio.gather(*pending, return_exceptions=True)
        try:
            answers = [call if isinstance(call, Verdict) else call.result() for call in calls]
        except NotAskedError:
            self.halt = self.halt or self._interrupted() or self._out_of_money(planned)
            return None
        except JudgeRejectedError as error:
            self.halt = self.halt or StopReason(StopKind.JUDGE_FAILED, f"the judge failed: {error}")
            return None
        return combine(planned.query, planned.calls, answers)

    async def _send(self, call: Call, ticket: Ticket) -> Answer:
        async def again() -> Ticket | None:
            group = [self._reservation(call, ticket.key)]
            granted = await self._ledger.reserve(self._terms.run, [group], self._terms.budget_p)
            return granted[0][0] if granted else None

        try:
            async with self._sending:
                return await self.attempts.answer(call, ticket, again)
        except (NotAskedError, JudgeRejectedError):
            raise
        except Exception:
            self._broken = True  # the error itself is raised once all that is in flight has landed
            raise
        finally:
            self._flying.pop(ticket.key, None)

    async def _free_slots(self) -> int:
        """Wait until a query may be admitted; how many may be."""
        calls_a_query = 2 if self._judge.order_matters and self._terms.order is Order.BOTH else 1
        slots = max(1, self._terms.concurrency // calls_a_query)
        while len(self._running) >= slots and not self._halted():
            await self._someone_finished()
        return slots - len(self._running)

    async def _someone_finished(self) -> bool:
        """Wait for a running query, or for an interruption; False when none is running."""
        if not self._running:
            return False
        alarm = asyncio.create_task(self._interruption.requested.wait())
        await asyncio.wait({*self._running, alarm}, return_when=asyncio.FIRST_COMPLETED)
        alarm.cancel()
        return True

    async def _drain(self) -> None:
        """Wait for all that is in flight, unless somebody abandons it."""
        if not self._running:
            return
        alarm = asyncio.create_task(self._interruption.abandoned.wait())
        while self._running and not alarm.done():
            await asyncio.wait({*self._running, alarm}, return_when=asyncio.FIRST_COMPLETED)
        alarm.cancel()

    async def _abandon(self) -> None:
        """Cancel whatever still runs, and let it book that its fate is unknown."""
        left = [*self._flying.values(), *self._running]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _halted(self) -> bool:
        self.halt = self.halt or self._interrupted()
        return self._broken or self.halt is not None

    def _interrupted(self) -> StopReason | None:
        if not self._interruption.requested.is_set():
            return None
        return StopReason(StopKind.INTERRUPTED, "interrupted; what was paid for is kept")

    def _out_of_money(self, planned: _Planned) -> StopReason:
        need = sum(self._judge.quote(call).cost_p for call in planned.calls)
        return StopReason(
            StopKind.BUDGET,
            f"the budget of {show_usd(self._terms.budget_p or 0)} does not cover the worst case of the next "
            f"query, {show_usd(need)}",
        )


def _prefix(answers: Sequence[Answer | None]) -> list[Answer]:
    found: list[Answer] = []
    for answer in answers:
        if answer is None:
            break
        found.append(answer)
    return found
