"""A thread that owns the connection to a ledger and commits queued jobs in groups (group commit).

All waiting jobs run in the next transaction. No job's result is returned before that transaction is
on disk. Group commit makes hundreds of durable writes per second possible. The jobs come from `ledger.py`; how a
group is carried out is the store's (`sqlite.py`, `postgres.py`).
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from judgeloop.core.errors import LedgerError

T = TypeVar("T")
LARGEST_GROUP = 512  # jobs in a transaction
Done = Callable[[], None]  # hands out the result of a job
Values = Mapping[str, Any]
Statement = tuple[str, Values]


@dataclass(frozen=True, slots=True)
class Found:
    """The rows that a statement found, by place and by name, or how many it changed."""

    rows: Sequence[Any]
    count: int


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """Statements among which Python decides nothing, and what becomes of what they found.

    `guarded`: not if a lock that this process held was lost.
    """

    statements: Sequence[Statement]
    fold: Callable[[Sequence[Found]], T]
    guarded: bool = False


class Connection(Protocol):
    """An open ledger: carries out statements in the SQL of PostgreSQL, in which `:now` is the store's time."""

    place: str
    ledger: str  # the random id that it was made with
    grace_s: float  # how long the lock of a run may be free while its process lives

    def execute(self, statement: str, values: Values = ..., /) -> Found:
        """Carry out a statement."""
        ...

    def execute_all(self, statements: Sequence[Statement]) -> list[Found]:
        """Carry out statements; to a server they travel together."""
        ...

    def stream(self, statement: str, values: Values = ...) -> Iterator[Any]:
        """Yield the rows that a SELECT finds, of which only some are in memory."""
        ...

    def lock(self, run: str, patience_s: float) -> bool:
        """Lock a run against other processes, within `patience_s`; return whether it is ours now."""
        ...

    def unlock(self, run: str) -> None:
        """Give the lock of a run back."""
        ...

    def is_locked(self, run: str) -> bool:
        """Whether a process holds the lock of a run, this one included; nothing is changed."""
        ...

    def close(self) -> None:
        """Close the connection, and give its locks back."""
        ...


C = TypeVar("C", bound=Connection)
Action = Batch[Any] | Callable[[Any], Any]  # a batch, or a function of the open transaction


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done in a transaction, and its result."""

    action: Action
    future: Future[Any] | asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop | None = None  # in which the result is awaited


class Writer(Generic[C]):
    """Runs jobs, in the order submitted, on the connection that `connect` opens."""

    def __init__(
        self, connect: Callable[[], C], carry_out: Callable[[C, Sequence[Job]], Sequence[Done]], place: str
    ) -> None:
        """Start the thread and open the connection; an error of `connect` is raised here."""
        self._carry_out, self.place = carry_out, place
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._opened: Future[None] = Future()
        self._closed = False
        # Not a daemon thread: at exit the interpreter waits until all paid verdicts are written.
        self._thread = threading.Thread(target=self._work, args=(connect,), name="ledger")
        self._thread.start()
        self._opened.result()

    def submit(self, action: Action) -> Future[Any]:
        """Queue `action`, which then runs even if its caller is cancelled.

        Raises:
            LedgerError: the writer is closed.
        """
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # a running future cannot be cancelled
        self._put(Job(action, future))
        return future

    def queued(self, action: Action) -> asyncio.Future[Any]:
        """As `submit`; the result comes with those of the whole group, in one turn of the event loop.

        Raises:
            LedgerError: the writer is closed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._put(Job(action, future, loop))
        return future

    def _put(self, job: Job) -> None:
        if self._closed:
            raise LedgerError("the ledger is closed")
        self._jobs.put(job)

    def do(self, action: Callable[[Connection], T]) -> T:
        """Carry out `action`, and wait for it."""
        done: T = self.submit(action).result()
        return done

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
