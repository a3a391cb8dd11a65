"""Calls a blocking function of the user's in a thread that nobody has to wait for.

Threads of the event loop's pool are waited for when the loop and the process end, and there are
few of them. A function that hangs would outlive its time limit, the deadline and SIGTERM.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import NoReturn, TypeVar

T = TypeVar("T")


async def in_own_thread(function: Callable[..., T], /, **arguments: object) -> T:
    """Return what `function` returns, or raise what it raises, `SystemExit` too.

    If the caller is cancelled, the function goes on, and what it returns is dropped; the process
    ends without it.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Callable[[], T]] = loop.create_future()

    def call() -> None:
        try:
            returned = function(**arguments)
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            outcome: Callable[[], T] = partial(_raise, error)
        else:
            outcome = partial(_same, returned)
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, ended, outcome)

    threading.Thread(target=copy_context().run, args=(call,), daemon=True).start()
    return (await ended)()


def _settle(ended: asyncio.Future[T], outcome: T) -> None:
    if not ended.done():  # else the caller was cancelled
        ended.set_result(outcome)


def _raise(error: BaseException) -> NoReturn:
    raise error


def _same(value: T) -> T:
    return value
