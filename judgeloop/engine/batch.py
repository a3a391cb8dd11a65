"""Answers a batch of queries in the order asked, from the ledger or by asking the judges.

Verdicts in the ledger need no call. All other calls of a query, to every judge and in every order
of presentation, are reserved in one transaction before the first is sent (`admission.py`). The
second order stays reserved until the first has answered; if it is not needed, its money is free
again. The session decides what to ask and when to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import final

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.protocols import Judge, Ledger, Reservation, Ticket
from judgeloop.core.records import Answer, Query, Verdict
from judgeloop.engine.admission import Admission
from judgeloop.engine.asks import Ask, Planned, decided, plan_for, used
from judgeloop.engine.attempts import Attempts, NotAskedError, Refusals
from judgeloop.engine.halt import Halt, Interruption
from judgeloop.engine.pace import Limits, Pace
from judgeloop.engine.presentation import settles
from judgeloop.engine.terms import Terms
from judgeloop.engine.waiting import first_of, is_answered, prefix

Sending = asyncio.Task[Answer | None]  # None: the call was not needed
Answering = asyncio.Task[Answer | None]


@final
class Oracle:
    """The judges of a run with their ledger; after a halt, no further query is admitted."""

    def __init__(
        self,
        judges: Sequence[Judge],
        ledger: Ledger,
        terms: Terms,
        interruption: Interruption,
        slowed: Callable[[], None] = lambda: None,
    ) -> None:
        """`judges` holds a single judge or the judges of a panel.

        `slowed` is called when a crowded server has lowered the number of calls in flight.
        """
        self.judges = judges
        self.ledger = ledger
        self.terms = terms
        self.halt = Halt(interruption)
        self.admission = Admission(judges, ledger, terms, self.halt.closed)
        self.remembered = 0  # number of verdicts taken from the ledger
        self.attempts = [
            Attempts(
                judge,
                ledger,
                pace=Pace(Limits(terms.concurrency, terms.calls_a_minute, terms.tokens_a_minute)),
                policy=terms.policy,
                timeout_s=terms.timeout_s,
                closed=self.halt.closed,
                rejected=self.rejected,
                broken=self.halt.broken,
                left_s=interruption.left_s,
                booked=self.admission.booked,
                refusals=Refusals(lambda: self.remembered > 0),
                slowed=slowed,
            )
            for judge in judges
        ]

    @property
    def spent_p(self) -> int:
        """What this command has paid so far, in picodollars."""
        return sum(attempts.spent_p for attempts in self.attempts)

    @property
    def slowed_to(self) -> int | None:
        """The fewest calls in flight that a crowded server is left with; None if none is slow."""
        limits = [attempts.slowed_to for attempts in self.attempts]
        return min((limit for limit in limits if limit is not None), default=None)

    def rejected(self, error: JudgeError) -> None:
        """Halt at once: no attempt can succeed."""
        self.halt.at_once(StopReason(StopKind.JUDGE_FAILED, f"the judge failed: {error}"))

    async def answers(
        self, queries: Sequence[Query], answered: Callable[[int], None]
    ) -> list[Answer]:
        """Return the answers to `queries`, up to the first query without an answer.

        `answered` is called with the number of answers so far.
        """
        plans = [plan_for(query, self.judges, self.terms) for query in queries]
        held = await self.ledger.verdicts([key for planned in plans for key in planned.keys])
        return await Batch(self, plans, held, answered).run()


@final
class Batch:
    """One batch in progress: its running queries, its calls in flight, and the known verdicts."""

    def __init__(
        self,
        oracle: Oracle,
        plans: Sequence[Planned],
        held: dict[str, Verdict],
        answered: Callable[[int], None],
    ) -> None:
        """`held` holds the verdicts that the ledger has, by key."""
        self._oracle = oracle
        self._plans = plans
        # By key: a verdict from the ledger, or a call of this batch.
        self._known: dict[str, Sending | Verdict] = dict(held)
        self._answered = answered
        self._tasks: list[Answering] = []  # in the order asked
        self._running: set[Answering] = set()
        self._count = 0  # number of queries with an answer

    async def run(self) -> list[Answer]:
        """Answer the queries; wait for all calls in flight, unless the user abandons them."""
        halt, tasks = self._oracle.halt, self._tasks
        try:
            while len(tasks) < len(self._plans) and not halt.is_over():
                await self._until_one_may_start()
                if halt.is_over():
                    break
                await self._start_some()
            await self._drain()
            if halt.interruption.abandoned.is_set():
                halt.because(halt.interruption.why)
        finally:
            await self._abandon()
        return prefix([None if task.cancelled() else task.result() for task in tasks])

    async def _until_one_may_start(self) -> None:
        while (
            len(self._running) >= self._oracle.admission.slots and not self._oracle.halt.is_over()
        ):
            await self._until_one_is_over()

    async def _start_some(self) -> None:
        """Start the next queries that the budget covers.

        If it covers none, wait for a running query to end. Halt if none was running.
        """
        free = self._oracle.admission.slots - len(self._running)
        wanted = self._plans[len(self._tasks) : len(self._tasks) + free]
        # Checked before reserving: a running query may return money while the reservation is tried.
        others = bool(self._running)
        started = await self._admit(wanted)
        self._tasks += started
        if started:
            return
        if not others and not self._oracle.halt.is_over():
            self._oracle.halt.because(self._oracle.admission.out_of_money(wanted[0]))
        await self._until_one_is_over()

    async def _admit(self, wanted: Sequence[Planned]) -> list[Answering]:
        """Start the longest prefix of `wanted` that the budget covers; return what was started."""
        groups = self._oracle.admission.wanted(wanted, self._known)
        if self._oracle.terms.offline:
            granted = self._free_of_charge(groups)
        else:
            granted = await self._oracle.admission.reserve(groups)
        return [
            self._start(planned, tickets) for planned, tickets in zip(wanted, granted, strict=False)
        ]

    def _free_of_charge(self, groups: Sequence[Sequence[Reservation]]) -> list[list[Ticket]]:
        """Grant the queries that need no call; halt at the first query that needs a call."""
        granted: list[list[Ticket]] = []
        for group in groups:
            if group:
                self._oracle.halt.because(StopReason(StopKind.DRY_RUN, "a dry run asks nobody"))
                break
            granted.append([])
        return granted

    def _start(self, planned: Planned, tickets: Sequence[Ticket]) -> Answering:
        by_key = {ticket.key: ticket for ticket in tickets}
        for ask in planned.asks:
            if ask.key in by_key:
                self._known[ask.key] = self._sending(ask, by_key[ask.key])
        # A second call that is known not to be needed was not reserved.
        found = [self._known.get(key) for key in planned.keys]
        task = asyncio.create_task(self._answer(planned, found))
        self._running.add(task)
        task.add_done_callback(self._landed)
        return task

    def _sending(self, ask: Ask, ticket: Ticket) -> Sending:
        """Make a call; the second order of presentation waits for the first."""
        if ask.after is not None:
            return asyncio.create_task(self._send_after(self._known[ask.after], ask, ticket))
        self._oracle.admission.begins(ask.key)
        return asyncio.create_task(self._send(ask, ticket))

    def _landed(self, task: Answering) -> None:
        self._running.discard(task)
        self._count += is_answered(task)
        self._answered(self._count)

    async def _answer(
        self, planned: Planned, found: Sequence[Sending | Verdict | None]
    ) -> Answer | None:
        """Return the answer to a query, None if given up; a judge's failure halts the run."""
        pending = [entry for entry in found if isinstance(entry, asyncio.Task)]
        if pending:
            # Wait for all calls before an error is raised, so that paid verdicts are kept.
            await asyncio.gather(*pending, return_exceptions=True)
        halt = self._oracle.halt
        try:
            answers = [
                entry.result() if isinstance(entry, asyncio.Task) else entry for entry in found
            ]
        except NotAskedError:
            if not halt.is_over():
                halt.because(self._oracle.admission.out_of_money(planned))
        except JudgeError as error:
            if error.kind is ErrorKind.QUIT:
                halt.because(StopReason(StopKind.INTERRUPTED, "the judge has left"))
            else:
                self._oracle.rejected(error)
        else:
            known = [isinstance(entry, Verdict) for entry in found]
            self._oracle.remembered += sum(
                one and other for one, other in zip(known, used(planned, answers), strict=True)
            )
            terms = self._oracle.terms
            return decided(planned, answers, len(self._oracle.judges), terms.order, terms.vote)
        return None

    async def _send_after(
        self, first: Sending | Verdict, ask: Ask, ticket: Ticket
    ) -> Answer | None:
        """Make the second call of two if the answer to the first does not settle the verdict.

        Raises:
            NotAskedError: the first call has no answer.
        """
        needed = False
        try:
            if isinstance(first, asyncio.Task):
                await asyncio.wait({first})
                if first.cancelled() or first.exception() is not None:
                    raise NotAskedError
            answer = first.result() if isinstance(first, asyncio.Task) else first
            needed = answer is not None and not settles(answer)
        finally:
            if not needed:
                await self._oracle.ledger.release(ticket, "not needed: the first order settles it")
                self._oracle.admission.booked()
        if not needed:
            return None
        self._oracle.admission.begins(ask.key)
        return await self._send(ask, ticket)

    async def _send(self, ask: Ask, ticket: Ticket) -> Answer:
        admission = self._oracle.admission
        try:
            return await self._oracle.attempts[ask.judge].answer(
                ask.call, ticket, lambda: admission.reserve_again(ask)
            )
        except (NotAskedError, JudgeError):
            raise
        except Exception:
            self._oracle.halt.broken()
            raise
        finally:
            admission.ends(ticket.key)

    async def _until_one_is_over(self) -> None:
        """Wait until a running query ends or nothing more is sent; do not wait if none runs."""
        if self._running:
            one = asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            await first_of(one, self._oracle.halt.closed.wait())

    async def _drain(self) -> None:
        """Wait for all running queries to end, unless the user abandons them."""
        if self._running:
            abandoned = self._oracle.halt.interruption.abandoned.wait()
            await first_of(asyncio.wait(self._running), abandoned)

    async def _abandon(self) -> None:
        """Cancel what still runs; each cancelled attempt stays charged at its worst case."""
        calls = [entry for entry in self._known.values() if isinstance(entry, asyncio.Task)]
        left = [task for task in (*calls, *self._running) if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
