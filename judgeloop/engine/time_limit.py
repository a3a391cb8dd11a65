"""A time limit that does not count the time in which this process stood still.

A stopped process (SIGSTOP, a suspended machine) and a long step in our own code (the import of an
SDK) are not the server's delay. After such a pause a reply may have arrived and not been read yet.
A plain time-out would drop it, although it is paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

LONGEST_TICK_S = 1.0
TICKS = 8  # at least so many in a time limit


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncIterator[None]:
    """Limit a block to `seconds`, as `asyncio.timeout` does, without pauses of the process.

    The time is counted in ticks of the event loop. A tick that comes late by more than its length
    shows a pause, which is not counted; after it the block has at least one more tick to read what
    has arrived. At most `2 * TICKS` pauses are left out: the limit also ends a block on a machine
    that is always late. None is no limit.

    Raises:
        TimeoutError: the time is over.
    """
    if seconds is None:
        yield
        return
    loop = asyncio.get_running_loop()
    tick_s, left_s, pauses_left = min(LONGEST_TICK_S, seconds / TICKS), seconds, 2 * TICKS

    alarm: asyncio.TimerHandle

    def wait() -> None:
        nonlocal alarm
        wait_s = min(tick_s, left_s)
        alarm = loop.call_later(wait_s, ticked, loop.time(), wait_s)

    def ticked(since: float, waited_s: float) -> None:
        """Count the time since the last tick, unless the process stood still."""
        nonlocal left_s, pauses_left
        passed_s = loop.time() - since
        if passed_s > waited_s + tick_s and pauses_left:
            pauses_left -= 1
            left_s = max(left_s, tick_s)
        else:
            left_s -= passed_s
        if left_s > 0:
            wait()
        else:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        wait()
        try:
            yield
        finally:
            alarm.cancel()
