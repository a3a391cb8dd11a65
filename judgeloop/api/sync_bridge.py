"""Runs a coroutine to its end for a caller that does not await, and lets a cancelled run drain.

Where no event loop runs, `asyncio.run` runs the coroutine. Where one runs, as in a notebook, a
thread with a loop of its own does, and the caller waits. asyncio is not changed, and no signal
handler is set here: Ctrl-C arrives as asyncio or Python delivers it.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import Any, Generic, TypeVar, final

from judgeloop.engine.state import Interruption

R = TypeVar("R")
Making = Callable[[], Coroutine[Any, Any, R]]
LOOK_S = (
    0.2  # seconds after which a waiting caller looks for Ctrl-C, where a wait does not end by it
)


def run_here(make: Making[R]) -> R:
    """Run the coroutine that `make` returns to its end, inside a running event loop or not.

    Raises:
        KeyboardInterrupt: the caller pressed Ctrl-C, and the coroutine was cancelled and has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    return _InThread(make).result()


async def drained(running: Awaitable[R], interruption: Interruption) -> R:
    """Await a run; when cancelled, let it end as after Ctrl-C, and be cancelled then.

    The first cancellation waits for the calls in flight, the second gives them up.

    Raises:
        asyncio.CancelledError: it was cancelled; the run has ended.
    """
    task = asyncio.ensure_future(running)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            interruption.request()
            cancelled = error
    result = task.result()  # an error of the run comes before its cancellation
    if cancelled is not None:
        raise cancelled
    return result


@final
class _InThread(Generic[R]):
    """A coroutine in a thread with an event loop of its own."""

    def __init__(self, make: Making[R]) -> None:
        """The thread sees the caller's context variables."""
        self._make = make
        self._task: asyncio.Task[Any] | None = None
        self._ended: Future[R] = Future()
        run = contextvars.copy_context().run
        self._thread = threading.Thread(target=run, args=(self._work,), name="judgeloop")

    def result(self) -> R:
        """Start the thread, wait for its end, and return the coroutine's result."""
        self._thread.start()
        interrupted = False
        while not self._ended.done():
            try:
                wait_for([self._ended], LOOK_S)
            except KeyboardInterrupt:
                interrupted = True
                self._cancel()
        self._thread.join()
        if interrupted:
            raise KeyboardInterrupt
        return self._ended.result()

    def _work(self) -> None:
        try:
            self._ended.set_result(asyncio.run(self._main()))
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            self._ended.set_exception(error)

    async def _main(self) -> R:
        self._task = asyncio.current_task()
        return await self._make()

    def _cancel(self) -> None:
        """Cancel the coroutine; before it has begun, or once it has ended, there is none."""
        if self._task is not None:
            with suppress(RuntimeError):  # the loop was closed just now
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
