"""Virtual time, and processes that can be killed between any two steps of their tasks.

One event loop runs everything: several processes (`Life`), each of which is a set of tasks. A turn
of the loop runs one callback, and takes a microsecond: a retry that spins would else never end.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from itertools import count
from typing import Any

TURN_S = 1e-6
MOST_TURNS = 60_000  # of a whole simulation
MOST_S = 40 * 86_400.0


class KilledError(BaseException):
    """What a process that was killed meets where it would reach the disk or the network."""


class BrokenError(AssertionError):
    """A promise that was broken."""


class Life:
    """A process from its start to its end.

    `failed` is set once its store has refused a write, `over` once it may send nothing more.
    """

    MOMENT_S = 1e-4  # a few turns of the loop: a call that was noted and handed to its task before a failure may leave

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.began = False  # has closed what earlier processes of its run left
        self.failed = self.over = ""
        self._failed_at_s = 0.0
        self.tasks: list[asyncio.Task[Any]] = []
        self.at_death: list[Callable[[], None]] = []

    def kill(self) -> None:
        """End it as `kill -9` does: nothing that it does from now on has an effect."""
        if self.alive:
            self.alive = False
            for task in self.tasks:
                task.cancel()
            for end in self.at_death:
                end()

    def fail(self, now_s: float) -> None:
        """Its store refused a write, or lost the answer to one."""
        if not self.failed:
            self.failed, self._failed_at_s = "its store had failed", now_s

    def may_not_send(self, now_s: float) -> str:
        """Why it should send nothing; empty if it may."""
        return self.over or (self.failed if now_s - self._failed_at_s > self.MOMENT_S else "")

    def check_alive(self) -> None:
        """Raise `KilledError` in a process that was killed."""
        if not self.alive:
            raise KilledError


LIFE: ContextVar[Life] = ContextVar("LIFE")


class NumberedTask(asyncio.Task):
    """A task whose place in a set does not depend on its address."""

    numbers = count()

    def __init__(self, *given: Any, **more: Any) -> None:
        self.number = next(self.numbers)
        super().__init__(*given, **more)
        if (life := LIFE.get(None)) is not None:
            life.tasks.append(self)

    def __hash__(self) -> int:
        return self.number


class World(asyncio.BaseEventLoop):
    """An event loop in virtual time; `each_turn` is called before each callback."""

    _ready: Any  # of the base class: the callbacks that are due, and the timers
    _scheduled: Any

    def __init__(self) -> None:
        super().__init__()
        self.now_s = self.wall_jumps_s = 0.0
        self.turn = 0
        self.each_turn: Callable[[], None] = lambda: None
        self.unseen: list[str] = []  # errors that nobody looked at
        self.set_task_factory(lambda loop, step, **more: NumberedTask(step, loop=loop, **more))
        self.set_exception_handler(self._note_unseen)

    def _note_unseen(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), KilledError):
            self.unseen.append(str(context))

    def time(self) -> float:
        return self.now_s

    def start(self, life: Life, story: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a process: all tasks that it makes are its own."""
        context = copy_context()
        context.run(LIFE.set, life)
        return context.run(self.create_task, story)

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Run it at once: there are no threads."""
        done = self.create_future()
        done.set_result(func(*args))
        return done

    def end(self) -> None:
        """End what still runs, as it does where a promise was broken."""
        self.each_turn, self.turn = lambda: None, 0
        for task in (left := asyncio.all_tasks(self)):
            task.cancel()
        with suppress(BrokenError):
            self.run_until_complete(asyncio.wait(left) if left else asyncio.sleep(0))
        self.close()

    def _run_once(self) -> None:
        self.turn += 1
        self.now_s += TURN_S
        if self.turn > MOST_TURNS or self.now_s > MOST_S:
            raise BrokenError(f"no end after {self.turn} turns and {self.now_s:.0f} s")
        self.each_turn()
        self._wake(until=self.now_s)
        if not self._ready:
            self._wake(until=None)
        handle = self._ready.popleft()
        if not handle._cancelled:
            handle._run()

    def _wake(self, until: float | None) -> None:
        """Make the timers ready that are due by then, or only the next; cancelled ones are dropped."""
        while timers := self._scheduled:
            if not timers[0]._cancelled and until is not None and timers[0]._when > until:
                return
            timer = heapq.heappop(timers)
            timer._scheduled = False
            if not timer._cancelled:
                self.now_s = max(self.now_s, timer._when)
                self._ready.append(timer)
                if until is None:
                    return
        if until is None:
            raise BrokenError("everything waits for ever")

    def _process_events(self, events: Any) -> None:
        """There are no sockets."""

    def _write_to_self(self) -> None:
        """There are no threads to wake the loop."""
