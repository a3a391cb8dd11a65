"""Shows progress and errors on standard error, so that standard output holds only the result.

Progress is a live line on a terminal, and a plain line every few seconds in a log. Errors become a
line and an exit code.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from judgeloop.cli.streams import Forgiving, say
from judgeloop.core.exits import EXIT_ERROR, EXIT_INTERRUPTED, EXIT_USAGE

if TYPE_CHECKING:
    from judgeloop.core.outcomes import Estimate
    from judgeloop.engine.loop import Progress

SECONDS_BETWEEN_LINES = 5.0
BAR = 20  # characters


@contextmanager
def watching(
    max_judgments: int, budget_p: int | None, stream: TextIO | None = None
) -> Iterator[Callable[[Progress[Any]], None]]:
    """Yield a function that shows the progress of a run."""
    show = _line_on(stream or sys.stderr)
    try:
        yield lambda progress: show(describe(progress, max_judgments, budget_p))
    finally:
        show.close()


def describe(progress: Progress[Any], max_judgments: int, budget_p: int | None) -> str:
    """Return progress as a line: queries asked, money spent, and the state of the decision."""
    from judgeloop.core.money import show_usd

    of = "" if budget_p is None else f" of {show_usd(budget_p)}"
    return f"asked {progress.asked} of at most {max_judgments}, spent {show_usd(progress.spent_p)}{of}, {_stands(progress.estimate)}"


def _stands(estimate: Estimate[Any]) -> str:
    """Return the state of the decision."""
    from judgeloop.core.outcomes import Tally
    from judgeloop.report.sentences import show_risk
    from judgeloop.stats.ratings import Ratings

    tally = estimate.tally
    if isinstance(tally, Tally):
        first, second = tally.wins
        return f"votes {first}:{second}, stated risk {show_risk(estimate.risk)}"
    if isinstance(tally, Ratings):
        return (
            f"mean {tally.moments.mean:.3f} so far" if tally.judged else "no score to show so far"
        )
    return f"{tally.queries} items, {int(tally.in_question.sum())} of {len(tally.wins)} systems in question"


@contextmanager
def counting(what: str, stream: TextIO | None = None) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the number done and the number of all."""
    show = _line_on(stream or sys.stderr)
    try:
        yield lambda done, total: show(f"{_bar(done, total)} {done} of {total} {what}")
    finally:
        show.close()


def _bar(done: int, total: int) -> str:
    """Return a bar of the share that is done.

    >>> _bar(1, 4)
    '[#####               ]'
    """
    full = BAR * done // max(1, total)
    return f"[{'#' * full}{' ' * (BAR - full)}]"


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


def _line_on(stream: TextIO | None) -> _LiveLine | _PlainLines:
    forgiving = Forgiving(stream)
    return _LiveLine(forgiving) if forgiving.isatty() else _PlainLines(forgiving)


class _LiveLine:
    """Redraws a single line, and clears it at the end."""

    def __init__(self, stream: Forgiving) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        self._text = Text
        self._live = Live(
            console=Console(file=cast("TextIO", stream)),
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
        )
        self._live.start()

    def __call__(self, line: str) -> None:
        self._live.update(self._text(line, no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        self._live.stop()


class _PlainLines:
    """Prints a line at most every `SECONDS_BETWEEN_LINES` seconds."""

    def __init__(self, stream: Forgiving) -> None:
        self._stream = stream
        self._due = time.monotonic() + SECONDS_BETWEEN_LINES

    def __call__(self, line: str) -> None:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS_BETWEEN_LINES
            self._stream.write(f"{line}\n")

    def close(self) -> None:
        """Do nothing: every line is printed already."""
