"""The store of a ledger in a PostgreSQL database, which the machines of a team share.

Each group of jobs is one transaction under one advisory lock. The rows that its jobs named are fetched
before them in one round trip, and what they write is sent behind them in another; until then a job reads
its own writes from memory. So the distance of the server costs two round trips a group, and not several a
job. A row that no job named is fetched when it is looked for.

The lock of a run is an advisory lock of the session. A session that broke has lost it: its connection is made
again, the lock is taken again, and if another process has it, nothing more is sent for that run. Whether
a COMMIT without an answer took place is asked of the server (`pg_xact_status`): nothing is booked twice. Does
not know what is booked.
"""

import hashlib
import os
import time
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from judgeloop.core.errors import LedgerError
from judgeloop.ledger.grouping import Group, Grouping, Lookup, Statement, lookups_of
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.ledger.postgres_server import (
    PATIENCE_S,
    LostError,
    Raw,
    check_ledger,
    error_of,
    errors_of,
    escaped,
    first_line,
    opened,
    restored,
    translated,
)
from judgeloop.ledger.rows import TABLES, columns, use_key
from judgeloop.ledger.seals import Sealer, key_of
from judgeloop.ledger.writer import Done, Job

SLOWEST_S = 3.0  # between two attempts to connect
PAUSE_S = 0.02
AT_ONCE = 2_000  # rows in a chunk of a long result
NOW = """SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') || '+00:00'"""
HELD = """SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND classid::bigint = ? AND objid::bigint = ?
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"""
END_OLD = """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE pid = ? AND application_name = ? AND pid <> pg_backend_pid()"""


class FoundRows:
    """The rows that a statement found."""

    def __init__(self, rows: list[Any]) -> None:
        self._rows = iter(rows)

    def fetchone(self) -> Any:
        """Return the next row; None behind the last."""
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        """Yield all rows that are left."""
        return self._rows


class PostgresConnection(Grouping):
    """A connection to a ledger's database, which is made again if it breaks."""

    def __init__(self, address: PostgresAddress, *, read_only: bool = False) -> None:
        """Connect.

        Raises:
            LedgerError: the server cannot be reached, or does not promise what a ledger needs.
            NoLedgerError: the database has no ledger, or one of another version.
        """
        self.place = str(address)
        self.sealer = Sealer("")
        self._address, self._read_only = address, read_only
        self._name = f"judgeloop {uuid.uuid4().hex[:12]}"
        self._cursors = count()
        self._locks: set[str] = set()
        self._lost: set[str] = set()  # runs whose lock another process has taken
        self._doubt: tuple[str, Sequence[Done]] | None = None  # a commit that was not answered
        self._raw = self._connected()
        try:
            with errors_of(self.place):
                use_key(self, key_of(os.environ))
        except BaseException:
            self.close()
            raise

    def _connected(self) -> Raw:
        with errors_of(self.place):
            raw = opened(self._address, self._name)
            try:
                check_ledger(raw, self.place)
                if self._read_only:
                    raw.execute("SET default_transaction_read_only = on")
            except BaseException:
                raw.close()
                raise
        self._pid = raw.info.backend_pid
        return raw

    def execute(self, statement: str, parameters: Sequence[object] = (), /) -> FoundRows:
        """Carry out a statement, behind all that was written before."""
        if self.group is not None:
            self.flush()
            if not statement.startswith("SELECT"):
                self.group.known.clear()
        cursor = self._raw.execute(translated(statement), list(map(escaped, parameters)))
        return FoundRows(list(map(restored, cursor.fetchall())) if cursor.description else [])

    def stream(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a SELECT finds, of which only some are in memory."""
        if self.group is not None:
            yield from self.execute(statement, parameters)
            return
        # Not `Cursor.stream`: with psycopg 3.3.9 the pipeline after it fails (TUPLES_CHUNK).
        name = f"rows{next(self._cursors)}"
        with self._raw.transaction(), self._raw.cursor(name) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(translated(statement), list(map(escaped, parameters)))
            yield from map(restored, cursor)

    def fetched(self, wanted: Sequence[Lookup]) -> list[list[Any]]:
        """Return the rows that each lookup finds, in one round trip."""
        with self._raw.pipeline():
            cursors = [
                self._raw.execute(_select(kind, column), [list(map(escaped, values))])
                for kind, column, values in wanted
            ]
            return [list(map(restored, cursor.fetchall())) for cursor in cursors]

    def send(self, statements: Sequence[Statement]) -> None:
        """Carry out statements that write, in one round trip."""
        with self._raw.pipeline():
            for statement, parameters in statements:
                self._raw.execute(translated(statement), list(map(escaped, parameters)))

    def last_number(self, kind: type[Any]) -> int:
        """Return the last number that was given in a table."""
        return int(self._ask("SELECT last FROM numbers WHERE name = ?", TABLES[kind]))

    def now(self) -> str:
        """Return the server's time in ISO 8601 (UTC), in milliseconds; a group has one."""
        return self._ask(NOW) if self.group is None else self.group.now

    def among(self, column: str, texts: Collection[str]) -> tuple[str, Sequence[object]]:
        """Return the condition that a column holds one of any number of texts, with its values."""
        return f"{column} = ANY(?)", (list(texts),)

    def digits_of(self, column: str, begin: int, count: int) -> str:
        """Return what stands for some bytes of a column, as hexadecimal digits in capitals."""
        return f"upper(encode(substr({column}, {begin}, {count}), 'hex'))"

    def lock(self, run: str, patience_s: float) -> bool:
        """Lock a run against other processes, within `patience_s`; return whether it is ours now."""
        until = time.monotonic() + patience_s
        while run not in self._locks:
            if self._ask("SELECT pg_try_advisory_lock(?)", self._number_of(run)):
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
            self._ask("SELECT pg_advisory_unlock(?)", self._number_of(run))
        self._lost.discard(run)

    def is_locked(self, run: str) -> bool:
        """Return whether a process holds the lock of a run, this one included; nothing is changed."""
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
        return self._raw.execute(translated(statement), parameters).fetchone()[0]  # type: ignore[index]

    def _number_of(self, name: str) -> int:
        """Return the number by which the server knows a lock of this ledger."""
        digest = hashlib.sha256(f"{self.sealer.ledger} {name}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def transact(self, jobs: Sequence[Job]) -> Sequence[Done]:
        """Carry out jobs in one transaction; return what hands out their results.

        Raises:
            LostError: the connection broke; nothing is known to have been booked.
        """
        held = set(self._locks)
        try:
            self._connect_again()
            done = self._answered()
            return self._carried_out(jobs) if done is None else done
        except BaseException as error:
            if self._raw.closed and isinstance(error, psycopg.Error):
                self._locks = held
                raise LostError(str(error).strip()) from error
            if not self._raw.closed:
                self._roll_back(held)
            raise
        finally:
            self.group = None

    def _carried_out(self, jobs: Sequence[Job]) -> Sequence[Done]:
        transaction, self.group = self._begin(jobs)
        results = [partial(job.future.set_result, job.action(self)) for job in jobs]
        numbers = [
            ("UPDATE numbers SET last = ? WHERE name = ?", (self.group.numbers[table], table))
            for table in sorted(self.group.numbered)
        ]
        self._doubt = transaction, results
        self.send([*self.group.to_send(self.sealer), *numbers, ("COMMIT", ())])
        self._doubt = None
        return results

    def _begin(self, jobs: Sequence[Job]) -> tuple[str, Group]:
        """Begin a transaction, and fetch what its jobs will look for; return its number, and this."""
        lookups = list(lookups_of(jobs))
        with self._raw.pipeline():
            self._raw.execute("BEGIN")
            self._raw.execute("SELECT pg_advisory_xact_lock(%s)", [self._number_of("")])
            number = self._raw.execute("SELECT pg_current_xact_id()::text")
            time_ = self._raw.execute(NOW)
            numbers = self._raw.execute("SELECT name, last FROM numbers")
            found = self.fetched(lookups)
            group = Group(str(time_.fetchone()[0]), dict(numbers.fetchall()))  # type: ignore[index]
            for (kind, column, values), rows in zip(lookups, found, strict=True):
                group.learn(kind, column, values, rows)
            return str(number.fetchone()[0]), group  # type: ignore[index]

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
        self._raw.execute(translated(END_OLD), (old, self._name))
        for run in sorted(self._locks):
            if not self._ask("SELECT pg_try_advisory_lock(?)", self._number_of(run)):
                self._locks.discard(run)
                self._lost.add(run)

    def _answered(self) -> Sequence[Done] | None:
        """Return the results of a commit that was not answered, if it took place."""
        if self._doubt is None:
            return None
        transaction, results = self._doubt
        state = self._ask("SELECT pg_xact_status(?::xid8)", transaction)
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


def _select(kind: type[Any], column: str) -> str:
    table, number = TABLES[kind], kind._fields[0]
    return f"SELECT {columns(kind)} FROM {table} WHERE {column} = ANY(%s) ORDER BY {number}"  # noqa: S608 - our own names
