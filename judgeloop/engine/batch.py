"""Batches of queries to answers: in the order asked, through the ledger, within the budget.

Each query is answered from the ledger where it can be; else all its calls, to every judge and in every order, are reserved at
their worst case in one transaction before any of them is sent. A query that does not fit while others are in flight waits for
them, because settling gives back what they did not use; it is cut only when it does not fit on its own. So the outcome is the
same at every concurrency. What to ask, and when to stop, is the session's business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import final

from judgeloop.core.errors import JudgeQuitError, JudgeRejectedError
from judgeloop.core.money import show_usd
from judgeloop.core.protocols import Judge, Ledger, Reservation, Ticket
from judgeloop.core.records import Answer, Call, Query, StopKind, StopReason, Verdict
from judgeloop.core.verdict_key import digest, ingredients
from judgeloop.engine.attempts import Attempts, NotAskedError
from judgeloop.engine.decoys import TEXTS
from judgeloop.engine.pace import Limits as PaceLimits
from judgeloop.engine.pace import Pace
from judgeloop.engine.panel import Vote, decide
from judgeloop.engine.presentation import Order, calls_for, combine
from judgeloop.judges.retrying import RetryPolicy

SECONDS_TO_LOOK_AGAIN = 0.01
AHEAD = 1.5  # queries admitted, as a share of the calls that may be in flight


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a run asks: its name in the ledger, its money, its pace.

    Limits of calls in flight, and of calls and tokens a minute, hold for each judge.
    """

    run: str
    order: Order = Order.BOTH
    vote: Vote = Vote.MAJORITY
    seed: int = 0
    budget_p: int | None = None
    concurrency: int = 8
    calls_a_minute: int | None = None
    tokens_a_minute: int | None = None
    timeout_s: float | None = 120.0
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    deadline_s: float | None = None  # for the whole run; then what is in flight is drained
    decoys: int = 0
    decoy_texts: tuple[str, ...] = TEXTS
    offline: bool = False  # answer from the ledger alone, and halt where it has nothing


class Interruption:
    """Asks a run to halt: `request` once drains what is in flight and keeps it, twice abandons it.

    A deadline asks once, by itself.
    """

    def __init__(self) -> None:
        """Nothing is requested yet, and there is no deadline."""
        self.requested = asyncio.Event()
        self.abandoned = asyncio.Event()
        self.why = StopReason(StopKind.INTERRUPTED, "interrupted; what was paid for is kept")
        self._ends_at: float | None = None  # on the event loop's clock

    def request(self) -> None:
        """Ask to halt; the second time, at once."""
        (self.abandoned if self.requested.is_set() else self.requested).set()

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Ask by itself once `seconds` have passed."""
        if seconds is None:
            yield
            return
        loop = asyncio.get_running_loop()
        self._ends_at = loop.time() + seconds
        alarm = loop.call_later(seconds, self._expire, seconds)
        try:
            yield
        finally:
            alarm.cancel()

    def left_s(self) -> float | None:
        """The seconds left before the deadline; None where there is none."""
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())

    def _expire(self, seconds: float) -> None:
        if not self.requested.is_set():
            self.why = StopReason(StopKind.DEADLINE, f"the deadline of {seconds:g} s is reached")
            self.requested.set()


@dataclass(frozen=True, slots=True)
class Ask:
    """A call to one of the judges, with the key of its verdict and what that is made of."""

    judge: int
    call: Call
    key: str
    ingredients: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Planned:
    """A query with everything that has to be asked for it."""

    query: Query
    asks: tuple[Ask, ...]


def asks_for(query: Query, judges: Sequence[Judge], order: Order, seed: int) -> tuple[Ask, ...]:
    """Everything that has to be asked for `query`: each judge, in each order that it is asked in."""
    asks = []
    for number, judge in enumerate(judges):
        if judge.blind and len(set(query.outputs)) < len(query.outputs):
            continue  # the same text twice is a tie, and nobody need be asked
        for call in calls_for(query, order, seed, order_matters=judge.order_matters):
            parts = ingredients(judge.identity, call, blind=judge.blind)
            asks.append(Ask(number, call, digest(parts), parts))
    return tuple(asks)


_Known = dict[
    str, "asyncio.Task[Answer] | Verdict"
]  # by key: held in the ledger, or asked for in this batch


@final
class Asking:
    """Answers batches of queries; after a halt, nothing more is admitted."""

    def __init__(
        self, judges: Sequence[Judge], ledger: Ledger, terms: Terms, interruption: Interruption
    ) -> None:
        """One or more judges; `halt` says why nothing more is admitted, once it is so."""
        self._judges = judges
        self._ledger = ledger
        self._terms = terms
        self._interruption = interruption
        self._flying: dict[str, asyncio.Task[Answer]] = {}
        self._running: set[asyncio.Task[Answer | None]] = set()
        self.attempts = [
            Attempts(
                judge,
                ledger,
                pace=Pace(
                    PaceLimits(terms.concurrency, terms.calls_a_minute, terms.tokens_a_minute)
                ),
                policy=terms.policy,
                timeout_s=terms.timeout_s,
                interrupted=interruption.requested,
                left_s=interruption.left_s,
            )
            for judge in judges
        ]
        self.halt: StopReason | None = None
        self.remembered = 0
        self._broken = False
        self._hungry = 0  # calls that wait for money for another attempt

    async def answers(
        self, queries: Sequence[Query], answered: Callable[[int], None]
    ) -> list[Answer]:
        """The answers to the longest prefix of `queries` that could be had."""
        tasks: list[asyncio.Task[Answer | None]] = []
        count = 0

        def landed(task: asyncio.Task[Answer | None]) -> None:
            nonlocal count
            self._running.discard(task)
            count += _is_answered(task)
            answered(count)

        plans = [self._plan(query) for query in queries]
        known: _Known = dict(
            await self._ledger.verdicts([key for planned in plans for key in _keys(planned)])
        )
        try:
            while len(tasks) < len(plans) and not self._halted():
                free = await self._free_slots()
                if self._halted():
                    break
                wanted = plans[len(tasks) : len(tasks) + free]
                others = bool(
                    self._running
                )  # before reserving: what they give back may come during it
                admitted = await self._admit(wanted, known)
                for task in admitted:
                    task.add_done_callback(landed)
                tasks += admitted
                if admitted:
                    continue
                if not others:
                    self.halt = self.halt or self._out_of_money(wanted[0])
                await self._someone_finished()
            await self._drain()
            if self._interruption.abandoned.is_set():
                self._halted()
        finally:
            await self._abandon()
        return _prefix([None if task.cancelled() else task.result() for task in tasks])

    async def _admit(
        self, wanted: Sequence[_Planned], known: _Known
    ) -> list[asyncio.Task[Answer | None]]:
        """Start the longest prefix of `wanted` that the budget covers; what it starts is `known` from then on."""
        groups = self._to_reserve(wanted, known)
        if self._terms.offline:
            return self._start_known(wanted, known, groups)
        granted = await self._ledger.reserve(self._terms.run, groups, self._terms.budget_p)
        return [
            self._start(planned, known, tickets)
            for planned, tickets in zip(wanted, granted, strict=False)
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
        claimed: set[str] = set()
        groups = []
        for planned in wanted:
            asks = [ask for ask in planned.asks if ask.key not in known and ask.key not in claimed]
            claimed.update(ask.key for ask in asks)
            groups.append([self._reservation(ask) for ask in asks])
        return groups

    def _reservation(self, ask: Ask) -> Reservation:
        judge = self._judges[ask.judge]
        quote = judge.quote(ask.call)
        note = {
            "ingredients": ask.ingredients,
            "systems": list(ask.call.systems),
            "price": quote.price,
        }
        return Reservation(
            ask.key, quote.cost_p, ask.call.item.id, judge.identity.name, note, quote.rehearsed
        )

    def _plan(self, query: Query) -> _Planned:
        asks = asks_for(query, self._judges, self._terms.order, self._terms.seed)
        return _Planned(query, asks)

    def _start(
        self, planned: _Planned, known: _Known, tickets: Sequence[Ticket]
    ) -> asyncio.Task[Answer | None]:
        by_key = {ticket.key: ticket for ticket in tickets}
        for ask in planned.asks:
            if ask.key in by_key:
                sending = asyncio.create_task(self._send(ask, by_key[ask.key]))
                known[ask.key] = self._flying[ask.key] = sending
        found = [known[ask.key] for ask in planned.asks]
        self.remembered += sum(isinstance(one, Verdict) for one in found)
        task = asyncio.create_task(self._answer(planned, found))
        self._running.add(task)
        return task

    async def _answer(
        self, planned: _Planned, found: Sequence[asyncio.Task[Answer] | Verdict]
    ) -> Answer | None:
        """The answer to a query; None when it was given up. Never raises for a judge's failure."""
        pending = [one for one in found if isinstance(one, asyncio.Task)]
        if pending:
            # All of them are waited for, and looked at, before any error counts: what is paid for is kept.
            await asyncio.gather(*pending, return_exceptions=True)
        try:
            answers = [one if isinstance(one, Verdict) else one.result() for one in found]
        except NotAskedError:
            self.halt = self.halt or self._interrupted() or self._out_of_money(planned)
            return None
        except JudgeQuitError:
            self.halt = self.halt or StopReason(StopKind.INTERRUPTED, "the judge has left")
            return None
        except JudgeRejectedError as error:
            self.halt = self.halt or StopReason(StopKind.JUDGE_FAILED, f"the judge failed: {error}")
            return None
        return self._decided(planned, answers)

    def _decided(self, planned: _Planned, answers: Sequence[Answer]) -> Answer:
        """Each judge's answer from its calls, and the panel's from those."""
        by_judge: list[Answer] = []
        for number in range(len(self._judges)):
            own = [
                (ask.call, a)
                for ask, a in zip(planned.asks, answers, strict=True)
                if ask.judge == number
            ]
            if own:
                calls, replies = zip(*own, strict=True)
                by_judge.append(combine(planned.query, calls, replies))
            else:
                by_judge.append(Verdict(0.5, reason="the outputs are identical"))
        return decide(by_judge, self._terms.vote)

    async def _send(self, ask: Ask, ticket: Ticket) -> Answer:
        try:
            return await self.attempts[ask.judge].answer(
                ask.call, ticket, lambda: self._reserve_again(ask)
            )
        except (NotAskedError, JudgeQuitError, JudgeRejectedError):
            raise
        except Exception:
            self._broken = True  # the error itself is raised once all that is in flight has landed
            raise
        finally:
            self._flying.pop(ticket.key, None)

    async def _reserve_again(self, ask: Ask) -> Ticket | None:
        """Reserve another attempt; while other calls are in flight, their settling may make room for it."""
        self._hungry += 1
        try:
            while True:
                alone = self._all_hungry()
                group = [self._reservation(ask)]
                granted = await self._ledger.reserve(self._terms.run, [group], self._terms.budget_p)
                if granted:
                    return granted[0][0]
                # Before and after: whoever was granted or settled in between may yet give something back.
                if (alone and self._all_hungry()) or self._interruption.requested.is_set():
                    return None
                await asyncio.sleep(SECONDS_TO_LOOK_AGAIN)
        finally:
            self._hungry -= 1

    def _all_hungry(self) -> bool:
        return self._hungry >= len(self._flying)

    async def _free_slots(self) -> int:
        """Wait until a query may be admitted; how many may be."""
        both = self._terms.order is Order.BOTH
        most_calls = max(2 if judge.order_matters and both else 1 for judge in self._judges)
        # More than may fly at a time, so that the next are reserved by the time a place is free.
        slots = max(1, round(AHEAD * self._terms.concurrency) // most_calls)
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
        return self._interruption.why if self._interruption.requested.is_set() else None

    def _out_of_money(self, planned: _Planned) -> StopReason:
        need = sum(self._judges[ask.judge].quote(ask.call).cost_p for ask in planned.asks)
        return StopReason(
            StopKind.BUDGET,
            f"what is left of the budget of {show_usd(self._terms.budget_p or 0)} does not cover the worst case of "
            f"the next query, {show_usd(need)}; with a higher --budget the same command goes on",
        )


def _prefix(answers: Sequence[Answer | None]) -> list[Answer]:
    found: list[Answer] = []
    for answer in answers:
        if answer is None:
            break
        found.append(answer)
    return found


def _is_answered(task: asyncio.Task[Answer | None]) -> bool:
    return (
        task.done()
        and not task.cancelled()
        and task.exception() is None
        and task.result() is not None
    )


def _keys(planned: _Planned) -> list[str]:
    return [ask.key for ask in planned.asks]
