"""Turns the names of settings in messages into flags: `max_judgments` into --max-judgments.

A setting without a flag becomes its variable, as in JUDGELOOP_RPM=60. The other folders put the
name of a setting between backticks, alone or with a value, as in `selector=random`; users of the
Python API see what Python writes (`report/naming.py`).
"""

from __future__ import annotations

import re
import shlex
from functools import cache

import click

from judgeloop.cli.commands import COMMANDS, SETTINGS
from judgeloop.report.naming import NAMED, page_said
from judgeloop.report.page import Page
from judgeloop.settings.setting import Declared

TYPED = "judgeloop.typed"  # the arguments of the command as typed, in its context
STEERS = set(" \t\n\r\"'\\$;&|<>()[]{}*?!#~")  # characters with a meaning to a shell


def as_flags(text: str) -> str:
    """Return `text` with the names of settings turned into flags."""
    return NAMED.sub(_shown, text)


def page_as_flags(page: Page) -> Page:
    """Return a page with the names of settings turned into flags."""
    return page_said(page, as_flags)


def _shown(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    field = _here().get(name) or _known().get(name)
    if field is None:
        return match[0]
    shown, joint = field.setting.argument or f"--{field.key}", " "
    if field.setting.file_only:
        shown, joint = field.variable, "="
    return shown if value is None else f"{shown}{joint}{_quoted(value)}"


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
