"""Prints on standard output and standard error, either of which may be closed.

A message or a progress line that cannot be written is dropped: a run that is paid for goes on. A
result that cannot be written has its own exit code.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO, cast, final

from judgeloop.core.errors import EXIT_ERROR, EXIT_OUTPUT_CLOSED
from judgeloop.report.page import WIDTH

if TYPE_CHECKING:
    from judgeloop.settings.sources import Read

NARROWEST, WIDEST = 40, 120  # columns of text
LOG = "judgeloop.log"  # where a context says in which form a log is
CLOSED = {errno.EPIPE, errno.EIO}  # the pipe has no reader; the terminal is gone


def say(text: str, event: str = "message", **values: Any) -> None:
    """Print a line on standard error, wrapped at words on a terminal; drop what cannot be written.

    `event` and `values` are those of `logged`.
    """
    stream, line = Forgiving(sys.stderr), logged(text, event, **values)
    if stream.isatty() and not logs_json():
        line = textwrap.fill(
            line, columns(sys.stderr), break_long_words=False, break_on_hyphens=False
        )
    stream.write(f"{line}\n")


def logged(text: str, event: str, **values: Any) -> str:
    """Return a line for a log: the text, or an object with its time, kind and values."""
    if not logs_json():
        return f"judgeloop: {text}"
    time = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"time": time, "event": event, "message": text, **values})


def logs_json() -> bool:
    """Return whether a line of a log is a JSON object."""
    import click

    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(LOG) == "json"


def say_settings(read: Read) -> None:
    """Print on standard error which files set something, if any does."""
    from judgeloop.report.escaping import visible

    if read.sentence is not None:
        say(visible(read.sentence))


def columns(stream: TextIO | None = None) -> int:
    """Return the width for text on a stream, standard output by default.

    It is that of COLUMNS or of the terminal, within limits; a pipe has none.
    """
    stream = stream or sys.stdout
    given = os.environ.get("COLUMNS", "")
    width = int(given) if given.isascii() and given.isdecimal() else 0
    if not width and stream is not None and stream.isatty():
        with suppress(OSError, ValueError):
            width = os.get_terminal_size(stream.fileno()).columns
    return min(WIDEST, max(NARROWEST, width)) if width else WIDTH


class UnwrittenError(Exception):
    """Standard output could not be written."""

    def __init__(self, error: OSError) -> None:
        """`error` is the system's."""
        super().__init__(f"standard output could not be written: {error.strerror}")
        self.closed = error.errno in CLOSED


def show(text: str) -> None:
    """Print a result on standard output, at once.

    Raises:
        UnwrittenError: it could not be written, or the process has no standard output.
    """
    if sys.stdout is None:
        raise UnwrittenError(OSError(errno.EPIPE, "closed"))
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def printed() -> Iterator[None]:
    """Turn output that could not be written into an exit code, without a traceback."""
    import click

    stream = sys.stdout
    output = None if stream is None else _Output(stream)
    sys.stdout = cast("TextIO | None", output)
    try:
        try:
            yield
        finally:
            if output is not None:
                output.flush()
    except UnwrittenError as error:
        discard(stream)
        if not error.closed:
            say(str(error))
        raise click.exceptions.Exit(EXIT_OUTPUT_CLOSED if error.closed else EXIT_ERROR) from None
    finally:
        sys.stdout = stream


def kept_for_the_result() -> redirect_stdout[TextIO]:
    """Return a context in which what is printed goes to standard error.

    A judge of the user's own may print, and a program reads the result from standard output.
    """
    return redirect_stdout(cast("TextIO", Forgiving(sys.stderr)))


@final
class _Output:
    """Standard output, whose errors are told apart from those of other files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as error:
            raise UnwrittenError(error) from None

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise UnwrittenError(error) from None


def discard(stream: TextIO | None) -> None:
    """Send what a stream still holds to the null device.

    Python writes the rest of a buffer when it ends, and exits with 120 if that fails.
    """
    if stream is None:
        return
    with suppress(OSError, ValueError):  # a stream of a test has no file descriptor
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        stream.flush()


@final
class Forgiving:
    """A stream whose reader may go away; what cannot be written is dropped.

    A closed terminal or pipe must not end a run whose answers are on their way.
    """

    def __init__(self, stream: TextIO | None) -> None:
        """`stream` is None if the process was started without it."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write `text` at once, or drop it; return its length."""
        if self._stream is not None:
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):
                discard(self._stream)
        return len(text)

    def flush(self) -> None:
        """Do nothing: every text is written at once."""

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor.

        Raises:
            OSError: there is none.
        """
        if self._stream is None:
            raise OSError("no file descriptor")
        return self._stream.fileno()

    @property
    def encoding(self) -> str:
        """The encoding, from which rich learns what a terminal can show."""
        return getattr(self._stream, "encoding", None) or "utf-8"
