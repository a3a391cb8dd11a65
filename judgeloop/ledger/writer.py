"""A thread that owns the connection to a ledger and commits queued jobs in groups (group commit).

All waiting jobs run in the next transaction. No job's result is returned before that transaction is
on disk. Group commit makes hundreds of durable writes per second possible. The jobs are callables, which
`stored.py` makes; how a group is carried out is the store's (`sqlite.py`, `postgres.py`).
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from judgeloop.core.errors import LedgerError
from judgeloop.ledger.connection import LedgerConnection

T = TypeVar("T")
C = TypeVar("C", bound=LedgerConnection)
LARGEST_GROUP = 512  # jobs in a transaction
Done = Callable[[], None]  # hands out the result of a job
# The rows that a job is going to look for, so that all of a group can be fetched at once: the kind, the
# column and the values of each lookup. What is left out is fetched when it is looked for. Only a distant
# store asks, in the writer's thread.
Wanted = tuple[type[Any], str, Sequence[object]]
Wants = Callable[[], Iterable[Wanted]]


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done in a transaction, the rows that it will look for, and its result."""

    action: Callable[[Any], Any]
    future: Future[Any] | asyncio.Future[Any]
    wants: Wants = tuple
    loop: asyncio.AbstractEventLoop | None = None  # in which the result is awaited


class Writer(Generic[C]):
    """Runs jobs, in the order submitted, on the connection that `connect` opens."""

    def __init__(self, connect: Callable[[], C], carry_out: Callable[[C, Sequence[Job]], Sequence[Done]]) -> None:
        """Start the thread and open the connection; an error of `connect` is raised here."""
        self._carry_out = carry_out
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._opened: Future[None] = Future()
        self._closed = False
        # Not a daemon thread: at exit the interpreter waits until all paid verdicts are written.
        self._thread = threading.Thread(target=self._work, args=(connect,), name="ledger")
        self._thread.start()
        self._opened.result()

    def submit(self, action: Callable[[LedgerConnection], T], wants: Wants = tuple) -> Future[T]:
        """Queue `action`, which then runs even if its caller is cancelled.

        Raises:
            LedgerError: the writer is closed.
        """
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()  # a running future cannot be cancelled
        self._put(Job(action, future, wants))
        return future

    def asked(self, action: Callable[[LedgerConnection], T], wants: Wants = tuple) -> asyncio.Future[T]:
        """As `submit`; the result comes with those of the whole group, in one turn of the event loop.

        Raises:
            LedgerError: the writer is closed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._put(Job(action, future, wants, loop))
        return future

    def _put(self, job: Job) -> None:
        if self._closed:
            raise LedgerError("the ledger is closed")
        self._jobs.put(job)

    def do(self, action: Callable[[LedgerConnection], T]) -> T:
        """Carry out `action`, and wait for it."""
        return self.submit(action).result()

    def close(self) -> None:
        """Finish all queued jobs, close the connection and end the thread."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        self._thread.join()

    def _work(self, connect: Callable[[], C]) -> None:
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
                    _hand_out(group, self._carry_out(connection, group))

    def _next_group(self) -> tuple[list[Job], bool]:
        job = self._jobs.get()
        group: list[Job] = []
        while job is not None:
            group.append(job)
            if len(group) == LARGEST_GROUP:
                return group, True
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return group, True
        return group, False


def _hand_out(group: Iterable[Job], results: Iterable[Done]) -> None:
    """Hand out the results of a group, to each event loop all at once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Done]] = {}
    for job, done in zip(group, results, strict=True):
        if job.loop is None:
            done()
        else:
            by_loop.setdefault(job.loop, []).append(done)
    for loop, some in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_all, some)


def _all(results: Iterable[Done]) -> None:
    for done in results:
        with contextlib.suppress(asyncio.InvalidStateError):  # who waited was cancelled
            done()
