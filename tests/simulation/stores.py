"""The ledger of a simulated process: the real one over a real store, without its thread, and its faults.

`Wire` puts faults in at the ledger's protocol, so that they reach any store. `FaultyConnection`
puts them in between two statements of SQLite, and below: a full disk, and a COMMIT that cannot be
written. `FaultyServerConnection` does so for PostgreSQL: there a connection breaks before a statement, or
before its answer.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psycopg
from simulation.history import History
from simulation.world import LIFE, BrokenError, KilledError, Life, World

from judgeloop.core.errors import LedgerError
from judgeloop.core.records import Output, Reply, Verdict
from judgeloop.core.spend import Spend
from judgeloop.ledger import ledger as of_all_stores
from judgeloop.ledger import opening, postgres, sqlite
from judgeloop.ledger.ledger import Ledger
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.periods import MIDNIGHT
from judgeloop.ledger.postgres import PostgresConnection
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.ledger.records import Balance, Clearance, End, Reservation, Ticket
from judgeloop.ledger.sqlite import SqliteConnection
from judgeloop.ledger.writer import Action, Job, Writer

UNKNOWN_P = 10**9  # more than any run can be charged
BEGAN = datetime(2026, 11, 23, tzinfo=UTC)


@dataclass
class Fault:
    """What goes wrong in a process, and when: at which turn, call of the ledger, or statement."""

    kind: str = "none"
    at: int = 0
    seen: int = 0

    def comes(self, *kinds: str) -> str:
        """Count one more of what these kinds count; return the kind if the fault comes now."""
        if self.kind not in kinds:
            return ""
        self.seen += 1
        return self.kind if self.seen == self.at else ""


@dataclass
class Plans:
    """The fault of each process, by its life."""

    by_life: dict[Life, Fault]

    def of(self, life: Life | None) -> Fault:
        return self.by_life.get(life, Fault()) if life else Fault()


PLANS = Plans({})


class FaultyConnection(SqliteConnection):
    """A connection of a process that may die before or after a statement, or find the disk full."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.life = LIFE.get(None)
        self.fault = PLANS.of(self.life)
        self.full_at_commit = False
        if self.life is not None:
            self.life.at_death.append(self.close)

    def raw(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        if self.life is not None:
            self.life.check_alive()
        kind = self.fault.comes(*STATEMENTS)
        match kind:
            case "dies before a statement":
                self._die()
            case "a statement fails":
                raise sqlite3.OperationalError("disk I/O error")
            case "the disk is full":
                self.file.execute("PRAGMA max_page_count = 1")
            case "a commit cannot be written":
                self.full_at_commit = True
        if self.full_at_commit and sql == "COMMIT":
            self.full_at_commit = False
            with nothing_can_be_written():
                return super().raw(sql, values)
        done = super().raw(sql, values)
        if kind == "dies after a statement":
            done.close()  # else it would keep its lock
            self._die()
        return done

    def _die(self) -> None:
        assert self.life is not None
        self.life.kill()
        raise KilledError


class FaultyServerConnection(PostgresConnection):
    """A connection to a server, of a process that may die, or that may break."""

    grace_s = 0.0  # the time of the ledger is not that of the world

    def __init__(self, address: PostgresAddress, *, read_only: bool = False) -> None:
        self.life = LIFE.get(None)
        self.fault = PLANS.of(self.life)
        super().__init__(address, read_only=read_only)
        if self.life is not None:
            self.life.at_death.append(self.close)

    def _sent(self, jobs: Sequence[Job], *, begin: bool) -> Any:
        return self._faulty(lambda: super(FaultyServerConnection, self)._sent(jobs, begin=begin))

    def _commit(self) -> None:
        self._faulty(super()._commit)

    def _faulty(self, step: Callable[[], Any]) -> Any:
        """Carry out a step, and what goes wrong with it."""
        if self.life is not None:
            self.life.check_alive()
        kind = self.fault.comes(*STATEMENTS)
        if kind == "a statement fails":
            raise psycopg.OperationalError("the disk is full")
        if kind == "dies before a statement":
            self._die()
        if kind == "the disk is full":
            self._raw.close()  # the step finds that the connection is lost
        done = step()
        if kind == "dies after a statement":
            self._die()
        if kind == "a commit cannot be written":
            self._raw.close()
            raise psycopg.OperationalError("the connection was lost before the answer")
        return done

    def _die(self) -> None:
        assert self.life is not None
        self.life.kill()
        raise KilledError


STATEMENTS = (
    "dies before a statement",
    "dies after a statement",
    "a statement fails",
    "the disk is full",
    "a commit cannot be written",
)


@contextmanager
def nothing_can_be_written() -> Iterator[None]:
    """No byte reaches a file of this process (Unix)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Committed(Future[Any]):
    """A job whose caller may wait for it without the loop: it is then committed at once."""

    def __init__(self, commit: Callable[[], None]) -> None:
        super().__init__()
        self._commit = commit

    def result(self, timeout: float | None = None) -> Any:
        del timeout
        if not self.done():
            self._commit()
        if not self.done():
            raise KilledError
        return super().result()


class InlineWriter(Writer[Any]):
    """As `writer.Writer`, without a thread: groups of jobs are committed by the loop."""

    def __init__(self, connect: Callable[[], Any], carry_out: Any, place: str) -> None:
        self.place = place
        self._connection = connect()
        self._carry_out = carry_out
        self._jobs: list[Job] = []
        self._closed = False
        self._life = LIFE.get(None)

    def submit(self, action: Action) -> Future[Any]:
        if self._life is not None:
            self._life.check_alive()
        if self._closed:
            raise LedgerError("the ledger is closed")
        future = Committed(self._commit)
        future.set_running_or_notify_cancel()
        self._jobs.append(Job(action, future))
        if len(self._jobs) == 1:
            loop = asyncio.get_running_loop()
            loop.call_later(random.uniform(0.0, 0.02), self._commit)
        return future

    def queued(self, action: Action) -> asyncio.Future[Any]:
        return asyncio.wrap_future(self.submit(action))

    def _commit(self) -> None:
        jobs, self._jobs = self._jobs, []
        if jobs and (self._life is None or self._life.alive):
            try:
                for hand_out in self._carry_out(self._connection, jobs):
                    hand_out()
            except KilledError:
                return

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._commit()
            self._connection.close()


class Wire:
    """A ledger as a process sees it, with faults at its protocol; tells the history what it says."""

    def __init__(self, ledger: Any, life: Life, run: str, history: History) -> None:
        self._ledger = ledger
        self._life = life
        self._run = run
        self._history = history
        self._fault = PLANS.of(life)
        self._noted_p = history.noted_p.setdefault(run, {})  # by attempt

    async def _do(self, step: Any) -> Any:
        """Carry out one call of the ledger, and what goes wrong with it."""
        kind = self._fault.comes(*CALLS)
        try:
            self._life.check_alive()
            if kind == "a call of the ledger fails":
                raise LedgerError("the store does not answer")  # noqa: TRY301 - as the store itself
            answer = await step
            self._life.check_alive()
        except LedgerError:
            self._life.fail(asyncio.get_running_loop().time())
            raise
        finally:
            step.close()
        match kind:
            case "dies after a call of the ledger":
                self._life.kill()
                raise KilledError
            case "a call of the ledger is done and fails":
                self._life.fail(asyncio.get_running_loop().time())
                raise LedgerError("the store was lost while it answered")
            case "a call of the ledger takes long":
                await asyncio.sleep(40.0)
        return answer

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        found = await self._do(self._ledger.verdicts(keys))
        for key, verdict in found.items():
            self._history.acknowledged(key, verdict)
        return found

    async def read(self, find: Callable[[Any], Any]) -> Any:
        return await self._do(self._ledger.read(find))

    def begin(self, run: str) -> str:
        return self._ledger.begin(run)

    @property
    def opened_at(self) -> str:
        return self._ledger.opened_at

    async def outputs(self, keys: Sequence[str], since: str = "") -> dict[str, Output]:
        found = await self._do(self._ledger.outputs(keys, since))
        for key, output in found.items():
            self._history.acknowledged(key, output)
        return found

    async def reserve(
        self, run: str, groups: Sequence[Sequence[Reservation]], budget_p: int | None, **more: Any
    ) -> list[list[Ticket]]:
        return await self._do(self._ledger.reserve(run, groups, budget_p, **more))

    async def finish(self, run: str) -> None:
        await self._do(self._ledger.finish(run))

    async def held_back(self, run: str, cost_p: int, budget_p: int | None) -> dict[str, int] | None:
        return await self._do(self._ledger.held_back(run, cost_p, budget_p))

    async def balances(self) -> list[Balance]:
        return await self._do(self._ledger.balances())

    async def sending(self, ticket: Ticket) -> Clearance:
        self._noted_p[ticket.attempt] = ticket.cost_p
        cleared = await self._do(self._ledger.sending(ticket))
        if cleared.known is not None:
            self._history.acknowledged(ticket.key, cleared.known)
        elif not cleared.busy:
            self._history.cleared.add((self._life, ticket.key))
        return cleared

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
        return (await self._settled([(ticket, reply)], self._ledger.settle(ticket, reply), one=True))[0]

    async def settle_all(self, replies: Sequence[tuple[Ticket, Reply]]) -> list[Verdict | Output | None]:
        return await self._settled(replies, self._ledger.settle_all(replies))

    async def _settled(
        self, replies: Sequence[tuple[Ticket, Reply]], step: Any, *, one: bool = False
    ) -> list[Verdict | Output | None]:
        for ticket, reply in replies:
            self._history.settled(ticket.key, reply)
        costs_p = {t: t.cost_p if r.cost_p is None else r.cost_p for t, r in replies}
        try:
            answer = await self._booked(step, costs_p)
        except LedgerError as error:
            if self._fault.kind in {*STATEMENTS, *CALLS}:
                raise
            raise BrokenError(f"a reply that is paid for was refused: {error}") from error
        held = [answer] if one else answer
        for (ticket, _), verdict in zip(replies, held, strict=True):
            if verdict is not None:
                self._history.acknowledged(ticket.key, verdict)
        return held

    async def release(self, ticket: Ticket, end: End, why: str) -> None:
        await self._booked(self._ledger.release(ticket, end, why), {ticket: 0})

    async def abandon(self, ticket: Ticket, end: End, why: str) -> None:
        await self._booked(self._ledger.abandon(ticket, end, why), {ticket: ticket.cost_p})

    async def _booked(self, step: Any, costs_p: dict[Ticket, int]) -> Any:
        """Close attempts; until that is acknowledged, nobody knows whether they are closed."""
        history, run = self._history, self._run
        total_p = sum(costs_p.values())
        history.maybe_p[run] += total_p
        answer = await self._do(step)
        history.maybe_p[run] -= total_p
        history.charged_p[run] += total_p
        for ticket in costs_p:
            self._noted_p.pop(ticket.attempt, None)
        return answer

    async def spend(self, run: str, budget_p: int | None, answers: Any = ()) -> Spend:
        return await self._do(self._ledger.spend(run, budget_p, answers))

    async def recover(self, run: str) -> None:
        self._history.maybe_p[run] += UNKNOWN_P
        kept_p = (await self._do(self._ledger.recover(run)))[1]
        self._history.maybe_p[run] -= UNKNOWN_P
        self._history.charged_p[run] += kept_p
        by_others_p = sum(self._noted_p.values()) - kept_p  # closed by a process that waited
        if by_others_p < 0:
            raise BrokenError(f"{run}: {kept_p} stay charged, though less was ever sent")
        self._history.maybe_p[run] += by_others_p
        self._noted_p.clear()
        self._life.began = True

    async def aclose(self) -> None:
        await self._ledger.aclose()


CALLS = (
    "a call of the ledger fails",
    "a call of the ledger is done and fails",
    "a call of the ledger takes long",
    "dies after a call of the ledger",
)


class Store:
    """One ledger, which all processes of a simulation share."""

    def __init__(self, address: Path | str, budget_p: int | None) -> None:
        self.address = address
        self.budget_p = budget_p

    def open(self) -> Ledger:
        return open_ledger(self.address)

    def limit(self, budget_p: int) -> None:
        """Set what all runs together may be charged."""
        with closing(self.open()) as ledger:
            ledger.set_budget("", budget_p, "total", MIDNIGHT)
        self.budget_p = budget_p


@contextmanager
def without_threads(world: World) -> Iterator[None]:
    """Let ledgers write in the loop, and read the simulation's clock."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return BEGAN + timedelta(seconds=world.now_s + world.wall_jumps_s)

    with (
        patch.object(opening, "Writer", InlineWriter),
        patch.object(sqlite, "SqliteConnection", FaultyConnection),
        patch.object(sqlite, "BUSY_TIMEOUT_S", 0.0),  # there is nobody to wait for
        patch.object(postgres, "PostgresConnection", FaultyServerConnection),
        patch.object(postgres, "SLOWEST_S", 0.05),
        patch.object(sqlite, "datetime", Clock),
        patch.object(of_all_stores, "datetime", Clock),
    ):
        yield
