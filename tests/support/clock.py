"""A clock of event loops that a test sets forward: what a run times, it times by its event loop."""

from __future__ import annotations

import time


class Clock:
    """Goes as the real one does, and jumps when it is told to: a limit of an hour ends at once, and never before."""

    def __init__(self) -> None:
        self._ahead_s = 0.0

    def time(self) -> float:
        return time.monotonic() + self._ahead_s

    def skip(self, seconds: float) -> None:
        """Let so much time pass at once; a loop that sleeps sees it when something else wakes it."""
        self._ahead_s += seconds
