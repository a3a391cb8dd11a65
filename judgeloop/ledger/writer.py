"""A thread that owns the SQLite connection and commits queued jobs in groups (group commit).

All waiting jobs run in the next transaction. No job's result is returned before that transaction is
on disk. Group commit makes hundreds of durable writes per second possible. The jobs are callables;
`sqlite.py` defines them.
"""

import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from judgeloop.core.errors import DamagedLedgerError, LedgerError
from judgeloop.ledger.rows import LedgerConnection

T = TypeVar("T")
LARGEST_GROUP = 512  # jobs in a transaction


@dataclass(frozen=True, slots=True)
class _Job(Generic[T]):
    action: Callable[[LedgerConnection], T]
    future: Future[T]


class Writer:
    """Runs jobs, in the order submitted, on the connection that `connect` opens."""

    def __init__(self, connect: Callable[[], LedgerConnection]) -> None:
        """Start the thread and open the connection; an error of `connect` is raised here."""
        self._jobs: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._opened: Future[None] = Future()
        self._closed = False
        # Not a daemon thread: at exit the interpreter waits until all paid verdicts are written.
        self._thread = threading.Thread(target=self._work, args=(connect,), name="ledger")
        self._thread.start()
        self._opened.result()

    def submit(self, action: Callable[[LedgerConnection], T]) -> Future[T]:
        """Queue `action`, which then runs even if its caller is cancelled.

        Raises:
            LedgerError: the writer is closed.
        """
        if self._closed:
            raise LedgerError("the ledger is closed")
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # a running future cannot be cancelled
        self._jobs.put(_Job(action, future))
        return future

    def close(self) -> None:
        """Finish all queued jobs, close the connection and end the thread."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _work(self, connect: Callable[[], LedgerConnection]) -> None:
        try:
            connection = connect()
        except BaseException as error:  # noqa: BLE001 - raised again in __init__
            self._opened.set_exception(error)
            return
        self._opened.set_result(None)
        with contextlib.closing(connection):
            more = True
            while more:
                group, more = self._next_group()
                if group:
                    _commit(connection, group)

    def _next_group(self) -> tuple[list[_Job[Any]], bool]:
        job = self._jobs.get()
        group: list[_Job[Any]] = []
        while job is not None:
            group.append(job)
            if len(group) == LARGEST_GROUP:
                return group, True
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, True
        return group, False


def _commit(connection: LedgerConnection, group: Sequence[_Job[Any]]) -> None:
    results: list[Callable[[], None]] = []
    try:
        connection.execute("BEGIN IMMEDIATE")
        results.extend(_run(connection, job) for job in group)
        connection.execute("COMMIT")
    except BaseException as error:  # noqa: BLE001 - else callers would wait for ever
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        failure = LedgerError(f"the ledger could not be written: {error}")
        failure.__cause__ = error
        results = [lambda future=job.future: future.set_exception(failure) for job in group]  # type: ignore[misc]
    for hand_out in results:
        hand_out()


def _run(connection: LedgerConnection, job: _Job[T]) -> Callable[[], None]:
    """Run a job in a savepoint, so that its failure does not affect the other jobs of its group."""
    connection.execute("SAVEPOINT job")
    try:
        result = job.action(connection)
    except sqlite3.OperationalError:
        raise  # disk full or file missing: the whole group fails
    except Exception as error:  # noqa: BLE001 - raised again where the result is awaited
        connection.execute("ROLLBACK TO job")
        connection.execute("RELEASE job")
        failure = _typed(error)
        return lambda: job.future.set_exception(failure)
    connection.execute("RELEASE job")
    return lambda: job.future.set_result(result)


def _typed(error: Exception) -> Exception:
    """Return the ledger's error for an error of SQLite; other errors are returned as they are."""
    if not isinstance(error, sqlite3.Error | OverflowError):
        return error
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
        typed: Exception = DamagedLedgerError(
            f"the ledger's file is damaged: {error}; `judgeloop ledger salvage` copies what can be "
            "read to a new file"
        )
    else:
        typed = LedgerError(f"this cannot be written to the ledger: {error}")
    typed.__cause__ = error
    return typed
