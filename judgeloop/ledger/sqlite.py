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
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, final

from judgeloop.core.errors import LedgerError, NoLedgerError
from judgeloop.core.protocols import Reservation, Ticket
from judgeloop.core.records import Abstention, Reply, Spend, Verdict
from judgeloop.core.verdict_key import KeyIngredients
from judgeloop.ledger.schema import ensure_schema
from judgeloop.ledger.writer import Writer

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

BUSY_TIMEOUT_S = 60.0  # another process may hold the file for as long as it flushes to disk
KEYS_PER_LOOKUP = 500


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """An attempt as the ledger has it: what it was for, how it ended, and what its key was made of."""

    key: str
    judge: str
    state: str
    outcome: str
    charged_p: int
    began_at: str
    ingredients: KeyIngredients | None


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
        return await self._do(lambda connection: _verdicts(connection, keys))

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
            return _verdicts(connection, [ticket.key])[ticket.key]

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
        return await self._do(lambda connection: _spend(connection, run, self._opener, budget_p))

    async def attempts(self, item_id: str) -> list[RecordedAttempt]:
        """Every attempt on an item, the latest first."""
        return await self._do(lambda connection: _attempts(connection, item_id))

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


def connect(path: Path | str) -> sqlite3.Connection:
    """A connection to a ledger, created if there is none.

    Raises:
        LedgerError: it cannot be created, or is something else.
    """
    try:
        if str(path) != ":memory:":
            _make_private(Path(path))
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        _set_up(connection, path)
    except sqlite3.Error as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise NoLedgerError(
                f"{path} is no ledger, nor any database; name another (`ledger`)"
            ) from error
        raise _cannot_open(path, error) from error
    except LedgerError:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: Path | str) -> None:
    # Not WAL: before SQLite 3.51.3 it can corrupt a file that several processes write.
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    ensure_schema(connection, path)


def _cannot_open(path: Path | str, error: Exception) -> LedgerError:
    return LedgerError(
        f"the ledger {path} cannot be opened: {error}; name a file that can be written (`ledger`)"
    )


def _make_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


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


def _verdicts(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Verdict]:
    held: dict[str, Verdict] = {}
    for begin in range(0, len(keys), KEYS_PER_LOOKUP):
        some = keys[begin : begin + KEYS_PER_LOOKUP]
        marks = ",".join("?" * len(some))
        rows = connection.execute(
            f"SELECT key, score, reason FROM verdicts WHERE key IN ({marks})",  # noqa: S608 - marks only
            list(some),
        )
        held.update((key, Verdict(score, reason)) for key, score, reason in rows)
    return held


def _attempts(connection: sqlite3.Connection, item_id: str) -> list[RecordedAttempt]:
    rows = connection.execute(
        "SELECT key, judge, state, outcome, charged_p, began_at, note FROM attempts WHERE item_id = ? "
        "ORDER BY id DESC",
        (item_id,),
    )
    return [
        RecordedAttempt(
            key,
            judge,
            state,
            outcome or "",
            charged_p,
            began_at,
            KeyIngredients.from_note(json.loads(note).get("ingredients", {})),
        )
        for key, judge, state, outcome, charged_p, began_at, note in rows
    ]


def _spend(connection: sqlite3.Connection, run: str, opener: str, budget_p: int | None) -> Spend:
    row = connection.execute(
        "SELECT coalesce(sum(charged_p) FILTER (WHERE opener = :opener AND NOT rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE NOT rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE rehearsed), 0), "
        "coalesce(sum(charged_p) FILTER (WHERE state IN ('reserved', 'abandoned')), 0), "
        "count(*) FILTER (WHERE opener = :opener), count(*) FILTER (WHERE charged_p > 0) "
        "FROM attempts WHERE run = :run",
        {"run": run, "opener": opener},
    ).fetchone()
    now_p, run_p, rehearsed_p, unconfirmed_p, attempts, paid = row
    return Spend(now_p, run_p, rehearsed_p, unconfirmed_p, budget_p, attempts, paid)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
