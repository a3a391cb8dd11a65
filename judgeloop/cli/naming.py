"""Turns the names of settings in messages into flags: `max_judgments` into --max-judgments.

The other folders put the name of a setting between backticks, alone or with a value, as in
`selector=random`. Users of the Python API see this form; users of the command line see flags.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeloop.report.page import Page, Rows, Section

NAMED = re.compile(r"`(?P<name>[a-z][a-z_]*)(?:=(?P<value>[^`]*))?`")
STEERS = set(" \t\n\r\"'\\$;&|<>()[]{}*?!#~")  # characters with a meaning to a shell


def flag(name: str) -> str:
    """Return the flag of a setting.

    >>> flag("max_judgments")
    '--max-judgments'
    """
    return f"--{name.replace('_', '-')}"


def variable(name: str) -> str:
    """Return the environment variable that sets a flag.

    >>> variable("max_judgments")
    'JUDGELOOP_MAX_JUDGMENTS'
    """
    return f"JUDGELOOP_{name.upper()}"


def as_flags(text: str) -> str:
    """Return `text` with the names of settings turned into flags."""
    return NAMED.sub(_shown, text)


def page_as_flags(page: Page) -> Page:
    """Return a page with the names of settings turned into flags."""
    return replace(
        page,
        headline=as_flags(page.headline),
        summary=tuple(map(as_flags, page.summary)),
        details=_rows_as_flags(page.details),
        tables=tuple(map(_section_as_flags, page.tables)),
        notes=tuple(map(_section_as_flags, page.notes)),
    )


def _section_as_flags(section: Section) -> Section:
    return replace(section, rows=_rows_as_flags(section.rows))


def _rows_as_flags(rows: Rows) -> Rows:
    return tuple((name, as_flags(text)) for name, text in rows)


def _shown(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if name not in _known():
        return match[0]
    shown = _known()[name]
    return shown if value is None else f"{shown} {_quoted(value)}"


def _quoted(value: str) -> str:
    """Return a value quoted for a shell, if it needs quotes."""
    return shlex.quote(value) if not value or STEERS & set(value) else value


@cache
def _known() -> dict[str, str]:
    """Return the flag or argument of every setting; the first configuration with a name counts."""
    from judgeloop.calibration.config import CalibrateConfig
    from judgeloop.questions.question import QUESTIONS
    from judgeloop.replay.config import CONFIGS
    from judgeloop.settings.setting import declared

    found: dict[str, str] = {}
    asked = [question.settings() for question in QUESTIONS]
    for config in (*asked, CalibrateConfig, *CONFIGS.values()):
        for field in declared(config).values():
            argument = field.setting.argument if field.setting else None
            found.setdefault(field.name, argument or flag(field.name))
    return found
