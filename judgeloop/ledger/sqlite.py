"""The ledger: attempts, money and verdicts in one SQLite file.

One HTTP request is one attempt:

    reserve ──▶ reserved ──settle──▶ settled     charged what it cost; its verdict is kept
                    ├──────release─▶ released    charged nothing: it surely was not billed
                    └──────abandon─▶ abandoned   charged its worst case: nobody knows

A reservation is durable before the request leaves, so a process that dies leaves its attempts charged at their worst
case. Prices and parsing are not known here.
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
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")


@final
class SqliteLedger:
    """A ledger file, shared by any number of processes; `:memory:` lives and dies with the object."""

    def __init__(self, path: Path | str) -> None:
        """Open the file, and create it if there is none.

        Raises:
            LedgerError: it cannot be created, or is something else.
        """
        self.path = path
        self._opener = uuid.uuid4().hex
        self._writer = Writer(lambda: connect(path))

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """The verdicts already held under `keys`."""
        return await self._do(lambda connection: verdicts_under(connection, keys))

    async def reserve(
        self, run: str, groups: Sequence[Sequence[Reservation]], budget_p: int | None
    ) -> list[list[Ticket]]:
        """Reserve the longest prefix of whole `groups` that `budget_p` still covers for `run`."""

        def action(connection: sqlite3.Connection) -> list[list[Ticket]]:
            connection.execute(
                "INSERT INTO runs (id, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (run, _now()),
            )
            granted: list[list[Ticket]] = []
            for group in groups:
                # A group without calls needs no money, even where none is left.
                if group and not _charge(connection, run, sum(r.cost_p for r in group), budget_p):
                    break
                granted.append([self._insert(connection, run, r) for r in group])
            return granted

        return await self._do(action)

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | None:
        """Book the actual cost, keep the verdict if there is one, and return the verdict now held.

        The first verdict under a key stays for ever: a second one is a new sample of the same question, and keeping
        the nicer of two would be cheating.
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
        """Book nothing: the provider surely charges nothing for this attempt."""
        await self._do(lambda connection: _close(connection, ticket, "released", 0, why))

    async def abandon(self, ticket: Ticket, why: str) -> None:
        """Leave the attempt charged at its worst case: whether it was billed is unknown."""
        await self._do(
            lambda connection: _close(connection, ticket, "abandoned", ticket.cost_p, why)
        )

    async def spend(self, run: str, budget_p: int | None) -> Spend:
        """What `run` has cost so far, and what of it since this object opened the file."""
        return await self._do(lambda connection: spend_of(connection, run, self._opener, budget_p))

    async def attempts(self, item_id: str) -> list[RecordedAttempt]:
        """Every attempt on an item, the latest first."""
        return await self._do(lambda connection: attempts_of(connection, item_id))

    @contextmanager
    def only_run(self, run: str) -> Iterator[None]:
        """Keep other processes from running `run` at the same time: both would pay for the same verdicts.

        Raises:
            LedgerError: another process does.
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
                    f"another judgeloop is asking this very question (run {run}); wait for it, and this command will "
                    "answer from what it paid for"
                ) from None
            yield

    async def aclose(self) -> None:
        """Finish pending writes and close."""
        await asyncio.to_thread(self._writer.close)

    async def _do(self, action: Callable[[sqlite3.Connection], T]) -> T:
        # Queued before the first await: a cancelled caller cannot take its booking back.
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
    """End an attempt and correct its run's charge, once."""
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
