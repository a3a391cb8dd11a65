"""The store of a ledger in a PostgreSQL database, which the machines of a team share.

Each group of jobs is one transaction under one advisory lock. The statements of all its batches travel together
(psycopg's pipeline), and the COMMIT behind what they found: the distance of the server costs two round trips a group.

The lock of a run is an advisory lock of the session. A session that broke has lost it: its connection is made
again, the lock is taken again, and if another process has it, nothing more is sent for that run. Whether
a COMMIT without an answer took place is asked of the server (`pg_xact_status`): nothing is booked twice.
"""

import hashlib
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count, groupby
from typing import Any

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from judgeloop.core.errors import LedgerError
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.ledger.postgres_server import (
    NOW,
    PATIENCE_S,
    LostError,
    Raw,
    ServerRow,
    check_ledger,
    error_of,
    errors_of,
    escaped,
    first_line,
    opened,
    restored,
    row_of,
    rows_of,
    translated,
)
from judgeloop.ledger.writer import Batch, Done, Found, Job, Statement, Values

SLOWEST_S = 3.0  # between two attempts to connect
PAUSE_S = 0.02
LOOK_S = 0.3  # who looks whether a run is worked on holds its lock for an instant
AT_ONCE = 200  # rows in a chunk of a long result
HELD = """SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND classid::bigint = %s AND objid::bigint = %s
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
END_OLD = """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE pid = %s AND application_name = %s AND pid <> pg_backend_pid()"""


class PostgresConnection:
    """A connection to a ledger's database, which is made again if it breaks."""

    time = NOW  # in SQL
    grace_s = PATIENCE_S  # a connection that broke is made again with the next booking

    def __init__(self, address: PostgresAddress, *, read_only: bool = False) -> None:
        """Connect.

        Raises:
            LedgerError: the server cannot be reached, or does not promise what a ledger needs.
            NoLedgerError: the database has no ledger, or one of another version.
        """
        self.place, self.ledger = str(address), ""
        self._address, self._read_only = address, read_only
        self._name = f"judgeloop {uuid.uuid4().hex[:12]}"
        self._cursors = count()
        self._locks: set[str] = set()
        self._lost: set[str] = set()  # runs whose lock another process has taken
        self._doubt: tuple[str, Sequence[Done]] | None = None  # a commit that was not answered
        self._raw = self._connected()

    def _connected(self) -> Raw:
        with errors_of(self.place):
            raw = opened(self._address, self._name)
            try:
                check_ledger(raw, self.place)
                if self._read_only:
                    raw.execute("SET default_transaction_read_only = on")
                (self.ledger,) = raw.execute("SELECT id FROM about").fetchone()  # type: ignore[misc]
            except BaseException:
                raw.close()
                raise
        self._pid = raw.info.backend_pid
        return raw

    def execute(self, statement: str, values: Values | None = None, /) -> Found:
        """Carry out a statement; lists of rows are passed as JSON, and `:now` is known."""
        return _found(self._send(statement, values or {}))

    def execute_all(self, statements: Sequence[Statement]) -> list[Found]:
        """Carry out statements in one round trip."""
        with self._raw.pipeline():
            cursors = [self._send(*one) for one in statements]
        return list(map(_found, cursors))

    def _send(self, statement: str, values: Values) -> psycopg.Cursor[Any]:
        given = {name: escaped(value) for name, value in values.items()}
        if "rows" in given:
            given["rows"] = json.dumps(given["rows"])
        return self._raw.execute(translated(statement, self.time), given)

    def stream(self, statement: str, values: Values | None = None) -> Iterator[ServerRow]:
        """Yield the rows that a SELECT finds, of which only some are in memory."""
        # Not `Cursor.stream`: with psycopg 3.3.9 the pipeline after it fails (TUPLES_CHUNK).
        with self._raw.transaction(), self._raw.cursor(f"rows{next(self._cursors)}") as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(translated(statement, self.time), values or {})
            names = [column.name for column in cursor.description or ()]
            kind = row_of(*names)
            for row in cursor:
                yield kind(restored(row))

    def lock(self, run: str, patience_s: float) -> bool:
        """Lock a run against other processes, within `patience_s`; return whether it is ours now."""
        until = time.monotonic() + patience_s
        while run not in self._locks:
            if self._ask("SELECT pg_try_advisory_lock(%s)", self._number_of(run)):
                self._locks.add(run)
                self._lost.discard(run)
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(PAUSE_S)
        return False

    def unlock(self, run: str) -> None:
        """Give the lock of a run back."""
        if run in self._locks:
            self._locks.discard(run)
            self._ask("SELECT pg_advisory_unlock(%s)", self._number_of(run))
        self._lost.discard(run)

    def is_locked(self, run: str) -> bool:
        """Whether a process holds the lock of a run, this one included; nothing is changed."""
        number = self._number_of(run) % 2**64
        return run in self._locks or bool(self._ask(HELD, number >> 32, number % 2**32))

    def check_locks(self) -> None:
        """Check that no other process has taken a lock while the connection was broken.

        Raises:
            LedgerError: one has.
        """
        if self._lost:
            raise LedgerError(
                f"the connection to {self.place} was lost, and another process works on the run "
                f"{min(self._lost)} now; nothing more is sent, and what was paid for is kept"
            )

    def close(self) -> None:
        """Close the connection, and give its locks back."""
        self._raw.close()

    def _ask(self, statement: str, *parameters: object) -> Any:
        return self._raw.execute(statement, parameters).fetchone()[0]  # type: ignore[index]

    def _number_of(self, name: str) -> int:
        """The number by which the server knows a lock of this ledger."""
        digest = hashlib.sha256(f"{self.ledger} {name}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def transact(self, jobs: Sequence[Job]) -> Sequence[Done]:
        """Carry out jobs in one transaction; return what hands out their results.

        Raises:
            LostError: the connection broke; nothing is known to have been booked.
        """
        held = set(self._locks)
        try:
            self._connect_again()
            if (done := self._answered()) is not None:
                return done
            return self._carried_out(jobs)
        except LostError:
            raise
        except BaseException as error:
            if self._raw.closed and isinstance(error, psycopg.Error):
                self._locks = held
                raise LostError(str(error).strip()) from error
            if not self._raw.closed:
                self._roll_back(held)
            raise

    def _carried_out(self, jobs: Sequence[Job]) -> Sequence[Done]:
        results: list[Done] = []
        transaction = ""
        for batches, some in groupby(jobs, lambda job: isinstance(job.action, Batch)):
            together = list(some)
            number, found = self._sent(together if batches else [], begin=not transaction)
            transaction = transaction or number
            for job in together:
                result = job.action.fold(found.pop(0)) if isinstance(job.action, Batch) else job.action(self)
                results.append(partial(job.future.set_result, result))
        self._doubt = transaction, results
        self._commit()
        self._doubt = None
        return results

    def _commit(self) -> None:
        self._raw.execute("COMMIT")

    def _sent(self, jobs: Sequence[Job], *, begin: bool) -> tuple[str, list[list[Found]]]:
        """Carry out the statements of batches in one round trip; return the transaction, and what each found."""
        batches = [job.action for job in jobs if isinstance(job.action, Batch)]
        if any(batch.guarded for batch in batches):
            self.check_locks()
        number = None
        with self._raw.pipeline():
            if begin:
                self._raw.execute("BEGIN")
                self._raw.execute("SELECT pg_advisory_xact_lock(%s)", [self._number_of("")])
                number = self._raw.execute("SELECT pg_current_xact_id()::text")
            cursors = [[self._send(*one) for one in batch.statements] for batch in batches]
        found = [list(map(_found, each)) for each in cursors]
        return str(number.fetchone()[0]) if number else "", found  # type: ignore[index]

    def _roll_back(self, held: set[str]) -> None:
        """Take a transaction back, and the locks that were taken in it."""
        self._doubt = None
        with suppress(psycopg.Error):
            self._raw.execute("ROLLBACK")
            for run in self._locks - held:
                self.unlock(run)

    def forget(self) -> None:
        """Give up a commit that was not answered: its jobs have been told so."""
        self._doubt = None

    def _connect_again(self) -> None:
        """Connect if the connection broke, and take the locks again that this process held."""
        if not self._raw.closed:
            return
        old = self._pid
        try:
            self._raw = self._connected()
        except LedgerError as error:
            raise LostError(str(error)) from error
        # The server may still have the session, and with it the locks.
        self._raw.execute(END_OLD, (old, self._name))
        held, self._locks = self._locks, set()
        self._lost |= {run for run in sorted(held) if not self.lock(run, LOOK_S)}

    def _answered(self) -> Sequence[Done] | None:
        """The results of a commit that was not answered, if it took place."""
        if self._doubt is None:
            return None
        transaction, results = self._doubt
        state = self._ask("SELECT pg_xact_status(%s::xid8)", transaction)
        if state == "in progress":
            raise LostError("the server has not ended the transaction of a connection that broke")
        self._doubt = None
        return results if state == "committed" else None


def carry_out(connection: PostgresConnection, jobs: Sequence[Job]) -> Sequence[Done]:
    """Carry out jobs in one transaction; return what hands out their results, once they are on disk.

    If the connection breaks, it is made again for half a minute. If a job fails, or the server refuses
    what it writes, each is carried out alone.
    """
    again = Retrying(
        stop=stop_after_delay(PATIENCE_S),
        wait=wait_random_exponential(0.05, SLOWEST_S),
        retry=retry_if_exception_type(LostError),
        reraise=True,
    )
    try:
        return again(connection.transact, jobs)
    except BaseException as error:  # noqa: BLE001 - else its callers would wait for ever
        refused = isinstance(error, psycopg.IntegrityError | psycopg.DataError)
        of_job = isinstance(error, Exception) and not isinstance(error, psycopg.Error | LostError)
        if len(jobs) > 1 and (refused or of_job):
            return [done for job in jobs for done in carry_out(connection, [job])]
        connection.forget()
        failure = error
        if refused:
            failure = LedgerError(f"this cannot be written to the ledger: {first_line(error)}")
        elif not of_job:
            failure = error_of(error, connection.place, "written")
        if failure is not error:
            failure.__cause__ = error
    return [partial(job.future.set_exception, failure) for job in jobs]


def _found(cursor: psycopg.Cursor[Any]) -> Found:
    return Found(rows_of(cursor), cursor.rowcount)
