"""Progress for whoever watches: one live line on a terminal, a plain line now and then in a log.

Progress goes to standard error, so that standard output holds the result alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from judgeloop.loop import Progress
from judgeloop.money import show_usd
from judgeloop.report.text import show_risk

SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def watching(
    max_judgments: int, budget_p: int | None, stream: TextIO | None = None
) -> Iterator[Callable[[Progress], None]]:
    """A function to call with every step forward."""
    stream = stream or sys.stderr
    show = _LiveLine(stream) if stream.isatty() else _PlainLines(stream)
    try:
        yield lambda progress: show(describe(progress, max_judgments, budget_p))
    finally:
        show.close()


def describe(progress: Progress, max_judgments: int, budget_p: int | None) -> str:
    """Progress in one line: asked, spent, risk."""
    of = "" if budget_p is None else f" of {show_usd(budget_p)}"
    first, second = progress.estimate.tally.wins
    return (
        f"asked {progress.asked} of at most {max_judgments}, spent {show_usd(progress.spent_p)}{of}, "
        f"votes {first}:{second}, stated risk {show_risk(progress.estimate.risk)}"
    )


class _LiveLine:
    """Redraws one line, and leaves none behind."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._live = Live(
            console=Console(file=stream), transient=True, refresh_per_second=8, redirect_stdout=False
        )
        self._live.start()

    def __call__(self, line: str) -> None:
        self._live.update(self._text(line, no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        self._live.stop()


class _PlainLines:
    """Prints a line, but not more often than every few seconds."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._due = time.monotonic() + SECONDS_BETWEEN_LINES

    def __call__(self, line: str) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS_BETWEEN_LINES
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        """Every line is out already."""
