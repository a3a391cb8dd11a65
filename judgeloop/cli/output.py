"""Prints on standard output and standard error, either of which may be closed, and names settings as a command does.

A message or a progress line that cannot be written is dropped: a run that is paid for goes on. A
result that cannot be written has its own exit code. No text on either holds a key of the environment.

The other folders put the name of a setting between backticks, alone or with a value, as in `selector=random`. On the
command line it becomes a flag, or its variable if it has none, as in JUDGELOOP_RPM=60. What a file or a variable gave
is named as it was given. Users of the Python API see what Python writes (`report/words.py`). A command between
backticks looks into the ledger that was typed.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast, final

import click

from judgeloop.core.errors import EXIT_ERROR, EXIT_OUTPUT_CLOSED
from judgeloop.report.words import BOLD, NAMED, WARNED, WIDTH, looking_into, visible
from judgeloop.settings.setting import COMMAND_LINE, Declared

if TYPE_CHECKING:
    from judgeloop.settings.sources import Read

NARROWEST, WIDEST = 40, 120  # columns of text
PLAIN_TERMINALS = {"dumb", "unknown"}  # they cannot move the cursor, and have no colours
# Blue, green, red, yellow, purple, grey; what else is shown so.
TONES = {  # by `Outcome`, which is not imported where nothing is shown
    "decided": "1;34",
    "passed": "1;32",
    "failed": "1;31",
    "not_shown": "1;33",
    "undecided": "1;33",
    "broken": "1;35",
    "interrupted": "1;90",
    BOLD: "1",
    WARNED: "33",
}
PLAIN_SIGNS = str.maketrans("\N{CHECK MARK}\N{BALLOT X}▁▂▃▄▅▆▇█", "+x12345678")  # where a terminal or a file lacks them
# Where a context says in which form a log is, what was typed, which settings its command has, by name, and which all
# commands have (`commands.py`).
LOG, TYPED, SETTINGS, EVERY = "judgeloop.log", "judgeloop.typed", "judgeloop.settings", "judgeloop.every"
STEERS = set(" \t\n\r\"'\\$;&|<>()[]{}*?!#~")  # characters with a meaning to a shell
CLOSED = {errno.EPIPE, errno.EIO}  # the pipe has no reader; the terminal is gone


def say(text: str, event: str = "message", tone: str = "", **values: Any) -> None:
    """Print a line on standard error, wrapped at words on a terminal; drop what cannot be written.

    `event` and `values` are those of `logged`, and `tone` is that of `paint`.
    """
    stream, line = Guarded(sys.stderr, drops=True), logged(text, event, **values)
    if stream.isatty() and not logs_json():
        line = textwrap.fill(line, columns(sys.stderr), break_long_words=False, break_on_hyphens=False)
        line = paint(line, tone, sys.stderr) if tone else line
    stream.write(f"{line}\n")


def logged(text: str, event: str, **values: Any) -> str:
    """A line for a log: the text, or an object with its time, kind and values."""
    if not logs_json():
        return f"judgeloop: {text}"
    time = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"time": time, "event": event, "message": text, **values})


def keyless(text: str) -> str:
    """A text without the keys of the environment, and of a .env that was read."""
    from judgeloop.settings.values import secrets_of

    context = click.get_current_context(silent=True)
    read = context.obj if context is not None else None
    secrets = secrets_of(getattr(read, "environment", os.environ))
    if not secrets:
        return text
    from judgeloop.providers.redaction import redact_own

    return redact_own(text, secrets)


def logs_json() -> bool:
    """Whether a line of a log is a JSON object."""
    context = click.get_current_context(silent=True)
    return context is not None and context.meta.get(LOG) == "json"


def say_settings(read: Read) -> None:
    """Print on standard error which files set something, if any does."""
    if read.sentence is not None:
        say(visible(read.sentence))


def columns(stream: TextIO | None = None) -> int:
    """The width for text on a stream, standard output by default.

    It is that of COLUMNS or of the terminal, within limits; a pipe has none.
    """
    stream = stream or sys.stdout
    given = os.environ.get("COLUMNS", "")
    width = int(given) if given.isascii() and given.isdecimal() else 0
    if not width and stream is not None and stream.isatty():
        with suppress(OSError, ValueError):
            width = os.get_terminal_size(stream.fileno()).columns
    return min(WIDEST, max(NARROWEST, width)) if width else WIDTH


def is_terminal(stream: TextIO | None = None) -> bool:
    """Whether a stream, standard output by default, is seen while it is printed."""
    stream = stream or sys.stdout
    return stream is not None and stream.isatty()


def paint(text: str, tone: str, stream: TextIO | None = None) -> str:
    """A text in the colour of an outcome, bold, or as a warning, where the stream has colours that are wanted."""
    if not is_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    if os.environ.get("TERM") in PLAIN_TERMINALS:
        return text
    return "\n".join(f"\x1b[{TONES[tone]}m{line}\x1b[0m" for line in text.split("\n"))


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


def _encodable(text: str, encoding: str | None) -> str:
    """A text with plain signs where an encoding, as of a pipe on Windows, lacks those of outcomes."""
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        plain = text.translate(PLAIN_SIGNS)
        return plain.encode(encoding or "utf-8", "backslashreplace").decode(encoding or "utf-8")
    return text


@contextmanager
def printed() -> Iterator[None]:
    """Turn output that could not be written into an exit code, without a traceback."""
    stream = sys.stdout
    output = None if stream is None else Guarded(stream)
    sys.stdout = cast("TextIO | None", output)
    try:
        try:
            yield
        finally:
            if output is not None:
                output.flush()
    except click.UsageError as error:
        said = error.format_message()
        if keyless(said) == said:
            raise
        raise click.UsageError(keyless(said), error.ctx) from None
    except UnwrittenError as error:
        discard(stream)
        if not error.closed:
            say(str(error))
        raise click.exceptions.Exit(EXIT_OUTPUT_CLOSED if error.closed else EXIT_ERROR) from None
    finally:
        sys.stdout = stream


def kept_for_the_result() -> redirect_stdout[TextIO]:
    """A context in which what is printed goes to standard error.

    A judge of the user's own may print, and a program reads the result from standard output.
    """
    return redirect_stdout(cast("TextIO", Guarded(sys.stderr, drops=True)))


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
class Guarded:
    """A stream whose reader may go away.

    Errors of standard output are told apart from those of other files, by an `UnwrittenError`. What
    cannot be written to one that `drops` is dropped: a closed terminal or pipe must not end a run
    whose answers are on their way.
    """

    def __init__(self, stream: TextIO | None, *, drops: bool = False) -> None:
        """`stream` is None if the process was started without it."""
        self._stream, self._drops = stream or io.StringIO(), drops

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write `text`, at once if what cannot be written is dropped; return its length."""
        self._try(self._stream.write, _encodable(keyless(text), getattr(self._stream, "encoding", None)))
        if self._drops:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        self._try(self._stream.flush)

    def _try(self, act: Callable[..., object], *given: str) -> None:
        try:
            act(*given)
        except OSError as error:
            if not self._drops:
                raise UnwrittenError(error) from None
            discard(self._stream)
        except ValueError:  # it is closed
            if not self._drops:
                raise


def as_flags(text: str) -> str:
    """`text` with the names of settings turned into flags, and commands with the ledger that was typed."""
    return looking_into(NAMED.sub(_shown, text), of_ledger())


def of_ledger() -> str:
    """The end of a command that looks into the ledger of this one: a flag where it was typed, else nothing."""
    context = click.get_current_context(silent=True)
    read: Read | None = context.obj if context else None
    if read is None or read.origins.get("ledger") != COMMAND_LINE:
        return ""
    return f" --ledger {shlex.quote(str(read.values['ledger']))}"


def all_of_it(run: str, *, page: bool) -> str:
    """Which command shows all of a run, and makes a `page` of it, in one piece to copy."""
    from judgeloop.report.result import ID
    from judgeloop.report.terminal import TOGETHER

    command = f"judgeloop runs show {run[:ID]}{of_ledger()} --details{' -o report.html' * page}"
    return f"All of it: {command.replace(' ', TOGETHER)}"


def where_named(path: str) -> str:
    """Which settings file names a path that leads nowhere, and where it was looked for."""
    for field in _here().values():
        file, parts = _given(field) or ("", [])
        if file and any(part.endswith(path) for part in parts):
            return f"; {field.key} in {file} names it, and it was looked for in {Path(path).absolute().parent}"
    return ""


def _shown(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    context = click.get_current_context(silent=True)
    meta = context.meta if context else {}
    field = meta.get(SETTINGS, {}).get(name)  # it may differ from others' of the name
    if field is None and EVERY in meta:
        field = meta[EVERY].by_name.get(name)
    if field is None:
        return match[0]
    file, parts = _given(field) or (None, [])
    # A message that begins with a setting is about what was given; within one it may be a proposal.
    if match.start() and (value not in parts if value is not None else not field.setting.file_only):
        file = None
    if file:
        return f"{field.key}{'' if value is None else f'={value}'} in {file}"
    shown, joint = field.setting.argument or f"--{field.key}", " "
    if field.setting.file_only or file is not None:
        shown, joint = field.variable, "="
    return shown if value is None else f"{shown}{joint}{_quoted(value)}"


def _given(field: Declared) -> tuple[str, list[str]] | None:
    """Which file gives a setting, "" for a variable, and the parts of the value; None if neither does."""
    context = click.get_current_context(silent=True)
    read: Read | None = context.obj if context else None
    if read is None or read.origins.get(field.name, COMMAND_LINE) == COMMAND_LINE:
        return None
    value = read.values[field.name]
    parts = value if isinstance(value, list) else str(value).split(",")
    return read.file_of(field.name), [str(value), *map(str, parts)]


def _quoted(value: str) -> str:
    """A value quoted for a shell, if it needs quotes."""
    return shlex.quote(value) if not value or STEERS & set(value) else value


def _here() -> dict[str, Declared]:
    """The settings of the command that runs, by name; they may differ from others'."""
    context = click.get_current_context(silent=True)
    return context.meta.get(SETTINGS, {}) if context else {}
