"""Why a run asks nothing more: an interruption, a deadline, or what went wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from judgeloop.core.records import StopKind, StopReason


@final
class Interruption:
    """Asks a run to halt: requested once it drains what is in flight and keeps it, twice it abandons it.

    A deadline requests once, by itself.
    """

    def __init__(self) -> None:
        """Nothing is requested yet, and there is no deadline."""
        self.requested = asyncio.Event()
        self.abandoned = asyncio.Event()
        self.why = StopReason(StopKind.INTERRUPTED, "interrupted; what was paid for is kept")
        self._ends_at: float | None = None  # on the event loop's clock

    def request(self) -> None:
        """Ask to halt; the second time, at once."""
        (self.abandoned if self.requested.is_set() else self.requested).set()

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Ask by itself once `seconds` have passed."""
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
        """The seconds left before the deadline; None where there is none."""
        if self._ends_at is None:
            return None
        return max(0.0, self._ends_at - asyncio.get_running_loop().time())

    def _expire(self, seconds: float) -> None:
        if not self.requested.is_set():
            self.why = StopReason(StopKind.DEADLINE, f"the deadline of {seconds:g} s is reached")
            self.requested.set()


@final
class Halt:
    """Whether a run is halted, and why; the first reason stays."""

    def __init__(self, interruption: Interruption) -> None:
        """Not halted."""
        self.interruption = interruption
        self.reason: StopReason | None = None
        self._broken = False

    def because(self, reason: StopReason) -> None:
        """Halt for this reason, unless there is one already."""
        self.reason = self.reason or reason

    def broken(self) -> None:
        """Admit nothing more after a fault in code; its error is raised once all that is in flight has landed."""
        self._broken = True

    def is_over(self) -> bool:
        """Whether nothing more is admitted."""
        if self.interruption.requested.is_set():
            self.because(self.interruption.why)
        return self._broken or self.reason is not None
