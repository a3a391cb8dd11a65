"""Whether and why a run halts early: an interruption, a deadline, no money, or a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

from judgeloop.core.outcomes import StopKind, StopReason


@final
class Interruption:
    """Asks a run to halt.

    After the first request the run waits for the calls in flight and keeps their verdicts. After
    the second it abandons them. A deadline makes the first request by itself.
    """

    def __init__(self) -> None:
        """No halt is requested, and there is no deadline."""
        self.requested = asyncio.Event()
        self.abandoned = asyncio.Event()
        self.why = StopReason(StopKind.INTERRUPTED, "interrupted; what was paid for is kept")
        self._ends_at: float | None = None  # on the event loop's clock
        self._told: list[Callable[[], None]] = []

    def request(self) -> None:
        """Request a halt; the second request abandons the calls in flight."""
        if self.requested.is_set():
            self.abandoned.set()
        else:
            self._request()

    def when_requested(self, call: Callable[[], None]) -> None:
        """Call `call` at the first request; now, if there was one."""
        self._told.append(call)
        if self.requested.is_set():
            call()

    def _request(self) -> None:
        self.requested.set()
        for call in self._told:
            call()

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Request a halt once `seconds` have passed; None sets no deadline."""
        if seconds is None:
            yield
            return
        loop = asyncio.get_running_loop()
        self._ends_at = loop.time() + seconds
        alarm = loop.call_later(seconds, self._expire, seconds)
        try:
            yield
        finally:
            alarm.cancel()

    def left_s(self) -> float | None:
        """Return the seconds left before the deadline; None without a deadline."""
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())

    def _expire(self, seconds: float) -> None:
        if not self.requested.is_set():
            self.why = StopReason(StopKind.DEADLINE, f"the deadline of {seconds:g} s is reached")
            self._request()


@final
class Halt:
    """Whether a run is halted, and why; the first reason is kept."""

    def __init__(self, interruption: Interruption) -> None:
        """The run is not halted."""
        self.interruption = interruption
        self.reason: StopReason | None = None
        self.closed = asyncio.Event()  # set when nothing more is sent, not even what is reserved
        self._broken = False
        interruption.when_requested(self.closed.set)

    def because(self, reason: StopReason) -> None:
        """Halt for `reason`, unless the run is halted already."""
        self.reason = self.reason or reason

    def at_once(self, reason: StopReason) -> None:
        """Halt for `reason`, and send nothing that is reserved and waits."""
        self.because(reason)
        self.closed.set()

    def broken(self) -> None:
        """Send nothing more after an error in code, which is raised once all calls have ended."""
        self._broken = True
        self.closed.set()

    def is_over(self) -> bool:
        """Return whether no further query is admitted."""
        if self.interruption.requested.is_set():
            self.because(self.interruption.why)
        return self._broken or self.reason is not None
