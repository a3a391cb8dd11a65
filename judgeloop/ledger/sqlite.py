"""The ledger in a SQLite file: attempts, money and verdicts.

Each HTTP request is an attempt:

    reserve ──▶ reserved ──settle──▶ settled     charged its actual cost; its verdict is recorded
                    ├──────release─▶ released    charged nothing: it was certainly not billed
                    └──────abandon─▶ abandoned   charged its worst case: billing is unknown

A reservation is durable before the request is sent. So the attempts of a process that dies stay
charged at their worst case. The ledger does not know prices and does not parse replies.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, final

from judgeloop.core.errors import LedgerError
from judgeloop.core.protocols import Reservation, Ticket
from judgeloop.core.records import Abstention, Reply, Spend, Verdict
from judgeloop.ledger.connection import connect
from judgeloop.ledger.reading import RecordedAttempt, attempts_of, spend_of, verdicts_under
from judgeloop.ledger.writer import Writer

try:
    import fcntl
except ImportError:  # fcntl does not exist on Windows
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")


@final
class SqliteLedger:
    """A ledger file that several processes may share; `:memory:` exists only in this object."""

    def __init__(self, path: Path | str) -> None:
        """Open the file; create it if it is missing.

        Raises:
            LedgerError: the file cannot be created or opened, or is not a ledger of this version.
        """
        self.path = path
        self._opener = uuid.uuid4().hex
        self._writer = Writer(lambda: connect(path))

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """Return the verdicts recorded under `keys`; a key without a verdict is left out."""
        return await self._do(lambda connection: verdicts_under(connection, keys))

    async def reserve(
        self, run: str, groups: Sequence[Sequence[Reservation]], budget_p: int | None
    ) -> list[list[Ticket]]:
        """Reserve for `run` the longest prefix of whole `groups` that `budget_p` still covers."""

        def action(connection: sqlite3.Connection) -> list[list[Ticket]]:
            connection.execute(
                "INSERT INTO runs (id, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (run, _now()),
            )
            granted: list[list[Ticket]] = []
            for group in groups:
                # A group without calls costs nothing and is granted even if the budget is spent.
                if group and not _charge(connection, run, sum(r.cost_p for r in group), budget_p):
                    break
                granted.append([self._insert(connection, run, r) for r in group])
            return granted

        return await self._do(action)

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | None:
        """Book the actual cost, record the verdict if any, and return the recorded verdict.

        The first verdict under a key is never replaced. A second verdict is a new sample of the
        same query, and choosing between two samples would bias the result.
        """

        def action(connection: sqlite3.Connection) -> Verdict | None:
            cost_p = ticket.cost_p if reply.cost_p is None else reply.cost_p
            _close(connection, ticket, "settled", cost_p, reply)
            if isinstance(reply.answer, Abstention):
                return None
            connection.execute(
                "INSERT INTO verdicts (key, attempt, score, reason, created_at) "
                "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (ticket.key, ticket.attempt, reply.answer.score, reply.answer.reason, _now()),
            )
            return verdicts_under(connection, [ticket.key])[ticket.key]

        return await self._do(action)

    async def release(self, ticket: Ticket, why: str) -> None:
        """Book no cost: the provider certainly charges nothing for this attempt."""
        await self._do(lambda connection: _close(connection, ticket, "released", 0, why))

    async def abandon(self, ticket: Ticket, why: str) -> None:
        """Leave the attempt charged at its worst case: it is unknown whether it was billed."""
        await self._do(
            lambda connection: _close(connection, ticket, "abandoned", ticket.cost_p, why)
        )

    async def spend(self, run: str, budget_p: int | None) -> Spend:
        """Return what `run` has cost so far, and how much of it through this object."""
        return await self._do(lambda connection: spend_of(connection, run, self._opener, budget_p))

    async def attempts(self, item_id: str) -> list[RecordedAttempt]:
        """Return every attempt on an item, the latest first."""
        return await self._do(lambda connection: attempts_of(connection, item_id))

    @contextmanager
    def only_run(self, run: str) -> Iterator[None]:
        """Lock `run` against other processes, so that no verdict is paid for twice.

        There is no lock for `:memory:`, nor on Windows.

        Raises:
            LedgerError: another process holds the lock.
        """
        if str(self.path) == ":memory:" or fcntl is None:
            yield
            return
        folder = Path(self.path).parent / "locks"
        folder.mkdir(exist_ok=True, mode=0o700)
        with (folder / run).open("a", encoding="ascii") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LedgerError(
                    f"another judgeloop process is working on this run ({run}); wait until it ends, "
                    "then repeat this command: it reuses the verdicts that are already paid for"
                ) from None
            yield

    async def aclose(self) -> None:
        """Finish pending writes and close the file."""
        await asyncio.to_thread(self._writer.close)

    async def _do(self, action: Callable[[sqlite3.Connection], T]) -> T:
        # Queued before the first await, so that cancelling the caller does not cancel its booking.
        future = self._writer.submit(action)
        return await asyncio.wrap_future(future)

    def _insert(self, connection: sqlite3.Connection, run: str, wanted: Reservation) -> Ticket:
        cursor = connection.execute(
            "INSERT INTO attempts (run, opener, key, item_id, judge, note, state, reserved_p, "
            "charged_p, rehearsed, began_at) VALUES (?, ?, ?, ?, ?, ?, 'reserved', ?, ?, ?, ?)",
            (
                run,
                self._opener,
                wanted.key,
                wanted.item_id,
                wanted.judge,
                json.dumps(dict(wanted.note)),
                wanted.cost_p,
                wanted.cost_p,
                int(wanted.rehearsed),
                _now(),
            ),
        )
        assert cursor.lastrowid is not None
        return Ticket(cursor.lastrowid, wanted.key, wanted.cost_p, wanted.rehearsed)


def _charge(connection: sqlite3.Connection, run: str, cost_p: int, budget_p: int | None) -> bool:
    cursor = connection.execute(
        "UPDATE runs SET charged_p = charged_p + :cost "
        "WHERE id = :run AND (:budget IS NULL OR charged_p + :cost <= :budget)",
        {"run": run, "cost": cost_p, "budget": budget_p},
    )
    return cursor.rowcount == 1


def _close(
    connection: sqlite3.Connection, ticket: Ticket, state: str, cost_p: int, result: Reply | str
) -> None:
    """Close an attempt and correct its run's charge; an attempt can be closed only once."""
    row = connection.execute(
        "SELECT run, charged_p FROM attempts WHERE id = ? AND state = 'reserved'", (ticket.attempt,)
    ).fetchone()
    if row is None:
        raise LedgerError(f"attempt {ticket.attempt} is not open; it was closed before")
    run, reserved_p = row
    connection.execute(
        "UPDATE runs SET charged_p = charged_p + ? WHERE id = ?", (cost_p - reserved_p, run)
    )
    connection.execute(
        "UPDATE attempts SET state = ?, charged_p = ?, outcome = ?, usage = ?, "
        "model = ?, request_id = ?, ended_at = ? WHERE id = ?",
        (state, cost_p, *_particulars(result), _now(), ticket.attempt),
    )


def _particulars(result: Reply | str) -> tuple[str, str | None, str | None, str | None]:
    if isinstance(result, str):
        return result, None, None, None
    answer = result.answer
    outcome = f"abstained: {answer.reason}" if isinstance(answer, Abstention) else "verdict"
    usage = json.dumps(asdict(result.usage)) if result.usage else None
    return outcome, usage, result.model, result.request_id


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
