"""The ledger in a SQLite file: attempts, money and verdicts.

Each HTTP request is an attempt:

    reserve ──▶ reserved ──sending──▶ sent ──settle──▶ settled     charged its actual cost; its
                    │                   │                          verdict is recorded
                    │                   ├───abandon──▶ abandoned   charged its worst case: billing
                    │                   │                          is unknown
                    └─────release───────┴────────────▶ released    charged nothing: it was certainly
                                                                   not billed

A reservation is durable before the request is sent, and so is the note that it is sent. When a
process dies, the next that works on the run releases what was never sent, and abandons what was
sent (`recover`). The ledger does not know prices and does not parse replies.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, final

from judgeloop.core.outcomes import Spend
from judgeloop.core.protocols import Clearance, End, Reservation, Ticket
from judgeloop.core.records import JudgeIdentity, Reply, Verdict
from judgeloop.ledger import booking
from judgeloop.ledger.connection import connect
from judgeloop.ledger.locks import is_locked, run_lock
from judgeloop.ledger.reading import (
    models_of,
    spend_of,
    verdicts_under,
)
from judgeloop.ledger.replies import PastReply, replies_of, reply_lengths
from judgeloop.ledger.rows import LedgerConnection
from judgeloop.ledger.writer import Writer

T = TypeVar("T")


@final
class SqliteLedger:
    """A ledger file that several processes may share; `:memory:` exists only in this object."""

    def __init__(self, path: Path | str, budget_p: int | None = None) -> None:
        """Open the file; create it if it is missing.

        `budget_p` is the limit for all its runs together, in picodollars; None without one.

        Raises:
            LedgerError: the file cannot be created or opened, or is not a ledger of this version.
        """
        self.path = path
        self._budget_p = budget_p
        self._opener = uuid.uuid4().hex
        self._writer = Writer(lambda: connect(path))

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """Return the verdicts recorded under `keys`; a key without a verdict is left out."""
        return await self._do(lambda connection: verdicts_under(connection, keys))

    async def reserve(
        self, run: str, groups: Sequence[Sequence[Reservation]], budget_p: int | None
    ) -> list[list[Ticket]]:
        """Reserve for `run` the longest prefix of whole `groups` that `budget_p` still covers."""
        return await self._do(
            lambda connection: booking.reserve(
                connection, run, self._opener, groups, budget_p, ledger_budget_p=self._budget_p
            )
        )

    async def sending(self, ticket: Ticket) -> Clearance:
        """Record that the call is about to be sent, unless it need not or must not be sent now.

        A call that costs nothing is not recorded as sent: nobody has to know whether it was. Raises
        `LedgerError` if the reservation is no longer open.
        """
        if ticket.cost_p == 0 or ticket.rehearsed:
            return Clearance()
        return await self._do(lambda connection: self._cleared(connection, ticket))

    def _cleared(self, connection: LedgerConnection, ticket: Ticket) -> Clearance:
        if not ticket.anew:
            held = verdicts_under(connection, [ticket.key]).get(ticket.key)
            if held is not None:
                booking.close_ticket(
                    connection,
                    ticket,
                    "released",
                    End.UNNEEDED,
                    cost_p=0,
                    why=booking.HAD_MEANWHILE,
                )
                return Clearance(held)
            others = list(booking.sent_by_others(connection, ticket.key, self._opener))
            # A process that died holds no lock; its call is not waited for.
            if any(is_locked(self.path, other.run) for other in others):
                return Clearance(busy=True)
        booking.mark_sent(connection, ticket)
        return Clearance()

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | None:
        """Book the actual cost, record the verdict if any, and return the recorded verdict.

        The first verdict under a key is never replaced. A second verdict is a new sample of the
        same query, and choosing between two samples would bias the result.
        """
        return (await self.settle_all([(ticket, reply)]))[0]

    async def settle_all(self, replies: Sequence[tuple[Ticket, Reply]]) -> list[Verdict | None]:
        """As `settle` for each reply, in one transaction."""
        rows = await self._do(
            lambda connection: [booking.settle(connection, *each) for each in replies]
        )
        return [None if row is None else Verdict(row.score, row.reason) for row in rows]

    async def release(self, ticket: Ticket, end: End, why: str) -> None:
        """Book no cost: the provider certainly charges nothing for this attempt."""
        await self._do(
            lambda connection: booking.close_ticket(
                connection, ticket, "released", end, cost_p=0, why=why
            )
        )

    async def abandon(self, ticket: Ticket, end: End, why: str) -> None:
        """Leave the attempt charged at its worst case: it is unknown whether it was billed."""
        await self._do(
            lambda connection: booking.close_ticket(
                connection, ticket, "abandoned", end, cost_p=ticket.cost_p, why=why
            )
        )

    async def spend(self, run: str, budget_p: int | None) -> Spend:
        """Return what `run` has cost so far, and how much of it through this object."""
        return await self._do(
            lambda connection: spend_of(connection, run, self._opener, budget_p, self._budget_p)
        )

    async def models(self, run: str) -> dict[str, list[str]]:
        """Return the models that servers named in replies to `run`, the first first, by judge."""
        return await self._do(lambda connection: models_of(connection, run))

    async def reply_lengths(self, judge: JudgeIdentity) -> list[int]:
        """Return the output tokens of the judge's latest replies, with a verdict or cut off."""
        return await self._do(lambda connection: reply_lengths(connection, judge))

    async def replies(self, judge: JudgeIdentity) -> list[PastReply]:
        """Return the judge's latest replies with a verdict, in the order of the attempts."""
        return await self._do(lambda connection: replies_of(connection, judge))

    async def recover(self, run: str) -> tuple[int, int]:
        """Close what dead processes left open of `run`, which must be locked (`only_run`).

        Returns what was freed, because it was never sent, and what stays charged, because it was
        sent. Both are in picodollars.
        """
        return await self._do(lambda connection: booking.recover(connection, run, self._opener))

    @contextmanager
    def only_run(self, run: str) -> Iterator[bool]:
        """Lock `run` against other processes, so that no verdict is paid for twice.

        Yields False where there are no locks: for `:memory:`, and on Windows.

        Raises:
            LedgerError: another process holds the lock.
        """
        with run_lock(self.path, run) as locked:
            yield locked

    async def aclose(self) -> None:
        """Finish pending writes and close the file."""
        await asyncio.to_thread(self._writer.close)

    async def _do(self, action: Callable[[LedgerConnection], T]) -> T:
        # Queued before the first await, so that cancelling the caller does not cancel its booking.
        future = self._writer.submit(action)
        return await asyncio.wrap_future(future)
