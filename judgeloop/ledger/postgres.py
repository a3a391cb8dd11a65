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
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import psycopg
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from judgeloop.core.errors import LedgerError
from judgeloop.ledger.postgres_address import PostgresAddress
from judgeloop.ledger.postgres_rows import FoundRows, Group
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
from judgeloop.ledger.rows import TABLES, columns, statement_of, use_key
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


class PostgresConnection:
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
        self._group: Group | None = None  # while jobs are carried out
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
        if self._group is not None:
            self._flush()
            if not statement.startswith("SELECT"):
                self._group.known.clear()
        cursor = self._raw.execute(translated(statement), list(map(escaped, parameters)))
        return FoundRows(list(map(restored, cursor.fetchall())) if cursor.description else [])

    def stream(
        self, statement: str, parameters: Sequence[object] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a SELECT finds, of which only some are in memory."""
        if self._group is not None:
            yield from self.execute(statement, parameters)
            return
        # Not `Cursor.stream`: with psycopg 3.3.9 the pipeline after it fails (TUPLES_CHUNK).
        name = f"rows{next(self._cursors)}"
        with self._raw.transaction(), self._raw.cursor(name) as cursor:
            cursor.itersize = AT_ONCE
            cursor.execute(translated(statement), list(map(escaped, parameters)))
            yield from map(restored, cursor)

    def lookup(self, kind: type[Any], column: str, values: Collection[object]) -> Iterable[Any]:
        """Return the rows with one of these values in a column, with their seals, by number."""
        wanted = list(dict.fromkeys(values))
        if self._group is None:
            return self._fetched([(kind, column, wanted)])[0] if wanted else []
        known = self._group.known.setdefault((kind, column), {})
        if missing := [value for value in wanted if value not in known]:
            self._flush()
            self._group.learn(kind, column, missing, self._fetched([(kind, column, missing)])[0])
        found = {row[0]: row for value in wanted for row in known[value]}
        return [found[number] for number in sorted(found)]

    def _fetched(self, wanted: Sequence[tuple[type[Any], str, list[Any]]]) -> list[list[Any]]:
        """Return the rows that each lookup finds, in one round trip."""
        with self._raw.pipeline():
            cursors = [
                self._raw.execute(_select(kind, column), [list(map(escaped, values))])
                for kind, column, values in wanted
            ]
            return [list(map(restored, cursor.fetchall())) for cursor in cursors]

    def write(
        self, kind: type[Any], before: Sequence[Any] | None, after: Sequence[Any] | None
    ) -> None:
        """Insert the row `after`, change `before` into it, or delete `before`."""
        if self._group is None:
            self.execute(*statement_of(kind, before, after))
            return
        self._group.pending.append(statement_of(kind, before, after))
        self._group.keep(kind, before, after)

    def next_number(self, kind: type[Any]) -> int:
        """Return the number of the next row of a table; that of a deleted one is not given again."""
        assert self._group is not None, "only jobs write"
        numbers, table = self._group.numbers, TABLES[kind]
        numbers[table] += 1
        self._group.numbered.add(table)
        return numbers[table]

    def now(self) -> str:
        """Return the server's time in ISO 8601 (UTC), in milliseconds; a group has one."""
        return self._ask(NOW) if self._group is None else self._group.now

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
        except psycopg.Error as error:
            if self._raw.closed:
                self._locks = held
                raise LostError(str(error).strip()) from error
            self._roll_back(held)
            raise
        finally:
            self._group = None

    def _carried_out(self, jobs: Sequence[Job]) -> Sequence[Done]:
        transaction = self._begin(jobs)
        results = [self._run(job) for job in jobs]
        assert self._group is not None, "it has just been begun"
        counts = [
            ("UPDATE numbers SET last = ? WHERE name = ?", (self._group.numbers[table], table))
            for table in sorted(self._group.numbered)
        ]
        self._doubt = transaction, results
        self._send([*self._group.pending, *counts, ("COMMIT", ())])
        self._doubt = None
        return results

    def _begin(self, jobs: Sequence[Job]) -> str:
        """Begin a transaction, and fetch what its jobs will look for; return its number."""
        wanted: dict[tuple[type[Any], str], dict[Any, None]] = {}
        for job in jobs:
            for kind, column, values in job.wants():
                wanted.setdefault((kind, column), {}).update(dict.fromkeys(values))
        lookups = [(*where, list(values)) for where, values in wanted.items() if values]
        with self._raw.pipeline():
            self._raw.execute("BEGIN")
            self._raw.execute("SELECT pg_advisory_xact_lock(%s)", [self._number_of("")])
            number = self._raw.execute("SELECT pg_current_xact_id()::text")
            time_ = self._raw.execute(NOW)
            numbers = self._raw.execute("SELECT name, last FROM numbers")
            found = self._fetched(lookups)
            self._group = Group(dict(numbers.fetchall()), str(time_.fetchone()[0]))  # type: ignore[index]
            for (kind, column, values), rows in zip(lookups, found, strict=True):
                self._group.learn(kind, column, values, rows)
            return str(number.fetchone()[0])  # type: ignore[index]

    def _run(self, job: Job) -> Done:
        """Run a job; its failure does not affect the other jobs of its group."""
        group = self._group
        assert group is not None, "a group has been begun"
        group.begun_at, group.flushed = len(group.pending), False
        try:
            result = job.action(self)
        except psycopg.Error:
            raise  # the whole transaction fails
        except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
            if group.flushed:
                self._raw.execute("ROLLBACK TO job")
            del group.pending[group.begun_at :]
            group.known.clear()
            failure = error
            return lambda: job.future.set_exception(failure)
        return lambda: job.future.set_result(result)

    def _flush(self) -> None:
        """Send what was written, with a savepoint where the present job began."""
        group = self._group
        if group is not None and (group.pending or not group.flushed):
            at = group.begun_at
            begun = [] if group.flushed else [("SAVEPOINT job", ())]
            self._send([*group.pending[:at], *begun, *group.pending[at:]])
            group.pending, group.begun_at, group.flushed = [], 0, True

    def _send(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        with self._raw.pipeline():
            for statement, parameters in statements:
                self._raw.execute(translated(statement), list(map(escaped, parameters)))

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

    If the connection breaks, it is made again for half a minute. If the server refuses what a job
    writes, each is carried out alone.
    """
    again = Retrying(
        stop=stop_after_delay(PATIENCE_S),
        wait=wait_random_exponential(0.05, SLOWEST_S),
        retry=retry_if_exception_type(LostError),
        reraise=True,
    )
    try:
        return again(connection.transact, jobs)
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        if len(jobs) > 1:
            return [done for job in jobs for done in carry_out(connection, [job])]
        failure = LedgerError(f"this cannot be written to the ledger: {first_line(error)}")
        failure.__cause__ = error
    except BaseException as error:  # noqa: BLE001 - else its callers would wait for ever
        connection.forget()
        failure = error_of(error, connection.place, "written")
        failure.__cause__ = error
    return [lambda future=job.future: future.set_exception(failure) for job in jobs]  # type: ignore[misc]


def _select(kind: type[Any], column: str) -> str:
    table, number = TABLES[kind], kind._fields[0]
    return f"SELECT {columns(kind)} FROM {table} WHERE {column} = ANY(%s) ORDER BY {number}"  # noqa: S608 - our own names
