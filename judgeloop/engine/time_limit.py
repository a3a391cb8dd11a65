"""A time limit that does not count the time in which this process stood still.

A stopped process (SIGSTOP, a suspended machine) and a long step in our own code (the import of an
SDK) are not the server's delay. After such a pause a reply may have arrived and not been read yet.
A plain time-out would drop it, although it is paid for.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import final

LONGEST_TICK_S = 1.0
TICKS = 8  # at least so many in a time limit


@final
class TimeLimit:
    """Limits a block to `seconds`, as `asyncio.timeout` does, without pauses of the process.

    The time is counted in ticks of the event loop. A tick that comes late by more than its length
    shows a pause, which is not counted; after it the block has at least one more tick to read what
    has arrived. At most `2 * TICKS` pauses are left out, so that the limit also ends a block on a
    machine that is always late.

    Raises:
        TimeoutError: the time is over.
    """

    def __init__(self, seconds: float | None) -> None:
        """`seconds` is None for no limit."""
        self._left = seconds
        self._tick = 0.0 if seconds is None else min(LONGEST_TICK_S, seconds / TICKS)
        self._pauses_left = 2 * TICKS
        self._timeout = asyncio.timeout(None)
        self._alarm: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> None:
        """Start to count."""
        await self._timeout.__aenter__()
        if self._left is not None:
            self._wait()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop to count; raise TimeoutError if the time is over."""
        if self._alarm is not None:
            self._alarm.cancel()
        await self._timeout.__aexit__(kind, error, traceback)

    def _wait(self) -> None:
        """Wait for the next tick."""
        assert self._left is not None
        loop = asyncio.get_running_loop()
        wait_s = min(self._tick, max(self._left, 0.0))
        self._alarm = loop.call_later(wait_s, self._ticked, loop.time(), wait_s)

    def _ticked(self, since: float, waited_s: float) -> None:
        """Count the time since the last tick, unless the process stood still."""
        assert self._left is not None
        now = asyncio.get_running_loop().time()
        if now - since > waited_s + self._tick and self._pauses_left:
            self._pauses_left -= 1
            self._left = max(self._left, self._tick)
        else:
            self._left -= now - since
        if self._left > 0:
            self._wait()
        else:
            self._timeout.reschedule(now)
