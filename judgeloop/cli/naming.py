"""Turns the names of settings in messages into flags: `max_judgments` into --max-judgments.

A setting without a flag becomes its variable, as in JUDGELOOP_RPM=60. What a file or a variable gave is
named as it was given. The other folders put the name of a setting between backticks, alone or with
a value, as in `selector=random`; users of the Python API see what Python writes (`report/words.py`).
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeloop.cli.commands import COMMANDS, SETTINGS
from judgeloop.cli.streams import typed
from judgeloop.report.words import NAMED
from judgeloop.settings.setting import Declared

if TYPE_CHECKING:
    from judgeloop.settings.sources import Read

TYPED = "judgeloop.typed"  # the arguments of the command as typed, in its context
STEERS = set(" \t\n\r\"'\\$;&|<>()[]{}*?!#~")  # characters with a meaning to a shell


def as_flags(text: str) -> str:
    """Return `text` with the names of settings turned into flags."""
    return NAMED.sub(_shown, text)


def where_named(path: str) -> str:
    """Return which settings file names a path that leads nowhere, and where it was looked for."""
    for field in _here().values():
        file, parts = _given(field) or ("", [])
        if file and any(part.endswith(path) for part in parts):
            return f"; {field.key} in {file} names it, and it was looked for in {Path(path).absolute().parent}"
    return ""


def _shown(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    field = _here().get(name) or _known().get(name)
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
    """Return which file gives a setting, "" for a variable, and the parts of the value; None if neither does."""
    context = click.get_current_context(silent=True)
    read: Read | None = context.obj if context else None
    if read is None or field.name not in read.values or field.key in typed():
        return None
    value = read.values[field.name]
    parts = value if isinstance(value, list) else str(value).split(",")
    return read.file_of(field.key), [str(value), *map(str, parts)]


def _quoted(value: str) -> str:
    """Return a value quoted for a shell, if it needs quotes."""
    return shlex.quote(value) if not value or STEERS & set(value) else value


def _here() -> dict[str, Declared]:
    """Return the settings of the command that runs, by name; they may differ from others'."""
    context = click.get_current_context(silent=True)
    return context.meta.get(SETTINGS, {}) if context else {}


@cache
def _known() -> dict[str, Declared]:
    """Return every setting by name; the first command with a name counts."""
    found: dict[str, Declared] = {}
    for row in COMMANDS:
        for command in (row, *row.below):
            for field in command.settings().values():
                found.setdefault(field.name, field)
    return found
