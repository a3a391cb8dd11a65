"""Gives the end of a command to a command of the caller's: its result, or the error, as JSON.

It runs once, after all files are written, with the summary on standard input and the caller's own environment.
What it prints goes to standard error. That it failed is said, and makes exit code 1 of 0.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from judgeloop.cli.output import as_flags, keyless, say
from judgeloop.core.errors import EXIT_ERROR, EXIT_USAGE, InputError
from judgeloop.report.escaping import visible

LONGEST_S = 60.0  # a night waits for no other's command
STANDARD_ERROR = 2  # the file descriptor


@contextmanager
def telling(command: str | None, job: str) -> Iterator[Callable[[str, int], int]]:
    """Yield a function that gives a summary to `command`, None without one.

    It takes the exit code, too, and returns it, or 1 in place of 0 if the command failed. An error that ends
    the context is given to the command as well.

    Raises:
        InputError: there is no such command.
    """
    words = _words(command) if command else []

    def tell(summary: str, code: int) -> int:
        failed = _run(words, summary)
        return code or failed

    try:
        yield tell
    except click.exceptions.Exit:
        raise
    except Exception as error:
        code = EXIT_USAGE if isinstance(error, InputError) else EXIT_ERROR
        _run(words, json.dumps({"job": job, "exit_code": code, "error": as_flags(str(error))}))
        raise


def _words(command: str) -> list[str]:
    """Return the words of a command, as a shell splits them."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"`on_end={command}`: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise InputError(f"`on_end={command}`: expected a command that can be run, found none of this name")
    return words


def _run(words: list[str], summary: str) -> int:
    """Run the command on a summary; return 0, or 1 if it failed, and say how."""
    if not words:
        return 0
    try:
        done = subprocess.run(  # noqa: S603 - the caller's own words, without a shell
            words, input=keyless(summary).encode(), stdout=STANDARD_ERROR, timeout=LONGEST_S, check=False
        )
        problem = f"exit code {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"it took longer than {LONGEST_S:g} s, and was ended"
    except OSError as error:
        problem = f"it could not be run: {error.strerror}"
    if problem:
        say(visible(as_flags(f"`on_end={shlex.join(words)}` failed: {problem}")))
    return EXIT_ERROR if problem else 0
