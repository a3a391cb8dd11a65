"""Shows progress and errors on standard error, so that standard output holds only the result.

Progress is a live bar on a terminal, and in a log a plain line now and then. Errors become a line
and an exit code. `progress_line.py` makes the texts.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast, final

from judgeloop.cli.streams import Forgiving, say
from judgeloop.core.errors import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE

if TYPE_CHECKING:
    from rich.console import RenderableType

    from judgeloop.cli.progress_line import Seen
    from judgeloop.engine.loop import Progress

SECONDS_BETWEEN_LINES = 30.0
REDRAWN_A_SECOND = 8
# Terminals that cannot move the cursor; a line is not redrawn there.
PLAIN_TERMINALS = {"dumb", "unknown"}

Clock = Callable[[], float]  # returns seconds


@dataclass(frozen=True, slots=True)
class Watched:
    """A run to watch.

    `opening` says what is to be done. `most` is the most queries that the run may take, and
    `budget_p` its budget in picodollars, None without one. `so_far` says who leads, given the
    counts and the most characters of a name.
    """

    opening: str
    most: int
    budget_p: int | None
    so_far: Callable[[Any, int], str]


@contextmanager
def watching(
    run: Watched, stream: TextIO | None = None, now: Clock = time.monotonic
) -> Iterator[Callable[[Progress[Any]], None]]:
    """Yield a function that shows the progress of a run."""
    from judgeloop.cli.progress_line import Seen, Speed

    began, speed = now(), Speed()
    latest: list[Progress[Any]] = []

    def seen() -> Seen:
        elapsed_s = now() - began
        if not latest:
            return Seen(0, run.most, elapsed_s=elapsed_s, spent_p=0, budget_p=run.budget_p)
        progress, tally = latest[0], latest[0].estimate.tally
        return Seen(
            progress.asked,
            run.most,
            elapsed_s=elapsed_s,
            left_s=speed.left_s(elapsed_s, run.most),
            spent_p=progress.spent_p,
            budget_p=run.budget_p,
            leads=lambda most: run.so_far(tally, most),
            slowed_to=progress.slowed_to,
        )

    shown = _shown_on(stream, seen, now, run.opening)

    def observe(progress: Progress[Any]) -> None:
        speed.note(now() - began, progress.asked)
        latest[:] = [progress]
        shown.changed()

    try:
        yield observe
    finally:
        shown.close()


@contextmanager
def counting(
    what: str,
    stream: TextIO | None = None,
    now: Clock = time.monotonic,
    *,
    quiet: bool = False,
) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the number done and the number of all; nothing if `quiet`."""
    from judgeloop.cli.progress_line import Seen, Speed

    if quiet:
        yield _unheeded
        return
    began, speed = now(), Speed()
    counts = [0, 0]

    def seen() -> Seen:
        elapsed_s, (done, total) = now() - began, counts
        left_s = speed.left_s(elapsed_s, total)
        return Seen(done, total, what, elapsed_s=elapsed_s, left_s=left_s)

    shown = _shown_on(stream, seen, now)

    def observe(done: int, total: int) -> None:
        speed.note(now() - began, done)
        counts[:] = [done, total]
        shown.changed()

    try:
        yield observe
    finally:
        shown.close()


def _unheeded(done: int, total: int) -> None:
    del done, total


@contextmanager
def explained() -> Iterator[None]:
    """Turn a `JudgeloopError` or an interruption into a line of text and an exit code."""
    import click

    from judgeloop.core.errors import InputError, JudgeloopError

    try:
        yield
    except JudgeloopError as error:
        from judgeloop.cli.naming import as_flags
        from judgeloop.report.escaping import visible

        say(visible(as_flags(str(error))))
        raise click.exceptions.Exit(
            EXIT_USAGE if isinstance(error, InputError) else EXIT_ERROR
        ) from None
    except KeyboardInterrupt:
        say("interrupted; what was paid for is kept")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


class Shown(Protocol):
    """Where progress is shown."""

    def changed(self) -> None:
        """Show a new state, at once or later."""
        ...

    def close(self) -> None:
        """Show nothing more."""
        ...


def _shown_on(
    stream: TextIO | None, seen: Callable[[], Seen], now: Clock, opening: str = ""
) -> Shown:
    """Return a live bar for a terminal, lines for a log."""
    forgiving = Forgiving(stream or sys.stderr)
    if forgiving.isatty() and os.environ.get("TERM") not in PLAIN_TERMINALS:
        return _Bar(forgiving, seen)
    return _Lines(forgiving, seen, now, opening)


@final
class _Bar:
    """Redraws a bar on a single line, and clears it at the end."""

    def __init__(self, stream: Forgiving, seen: Callable[[], Seen]) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=cast("TextIO", stream), highlight=False)
        self._seen = seen
        self._live = Live(
            console=self._console,
            transient=True,
            refresh_per_second=REDRAWN_A_SECOND,
            redirect_stdout=False,
            get_renderable=self._drawn,
        )
        self._live.start(refresh=True)

    def _drawn(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        from judgeloop.cli.progress_line import fitted

        seen = self._seen()
        # The last column stays free: some terminals begin a new line once it is written.
        width, text = fitted(seen, self._console.width - 1)
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_row(
            ProgressBar(total=max(1, seen.most), completed=seen.done, width=width),
            Text(text, no_wrap=True, overflow="ellipsis"),
        )
        return row

    def changed(self) -> None:
        """Do nothing: the bar is redrawn some times a second."""

    def close(self) -> None:
        self._live.stop()


@final
class _Lines:
    """Prints a line at the beginning, and then one at most every `SECONDS_BETWEEN_LINES`."""

    def __init__(
        self, stream: Forgiving, seen: Callable[[], Seen], now: Clock, opening: str
    ) -> None:
        self._stream = stream
        self._seen = seen
        self._now = now
        self._due = now() + SECONDS_BETWEEN_LINES
        if opening:
            self._stream.write(f"judgeloop: {opening}\n")

    def changed(self) -> None:
        from judgeloop.cli.progress_line import sentence

        if self._now() >= self._due:
            self._due = self._now() + SECONDS_BETWEEN_LINES
            self._stream.write(f"judgeloop: {sentence(self._seen())}\n")

    def close(self) -> None:
        """Do nothing: every line is printed already."""
