"""How the command line names settings: `max_judgments` as --max-judgments.

Errors and sentences below this folder put a setting's name between backticks, alone or with a
value: `selector=random`. Python shows them so; here they become flags.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeloop.report.page import Page

NAMED = re.compile(r"`(?P<name>[a-z][a-z_]*)(?:=(?P<value>[^`]*))?`")
STEERS = set(" \t\n\r\"'\\$;&|<>()[]{}*?!#~")  # a shell


def flag(name: str) -> str:
    """A setting's flag.

    >>> flag("max_judgments")
    '--max-judgments'
    """
    return f"--{name.replace('_', '-')}"


def as_flags(text: str) -> str:
    """`text` with every setting that it names shown as on the command line."""
    return NAMED.sub(_shown, text)


def page_as_flags(page: Page) -> Page:
    """A result's words with settings shown as on the command line."""
    details = tuple((name, as_flags(text)) for name, text in page.details)
    return replace(page, headline=as_flags(page.headline), details=details)


def _shown(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if name not in _known():
        return match[0]
    shown = _known()[name]
    return shown if value is None else f"{shown} {_quoted(value)}"


def _quoted(value: str) -> str:
    """A value as a shell takes it."""
    return shlex.quote(value) if not value or STEERS & set(value) else value


@cache
def _known() -> dict[str, str]:
    """Every setting, with what the command line calls it; replay's own come last."""
    from judgeloop.calibration.config import CalibrateConfig
    from judgeloop.cli.catalogue import QUESTIONS
    from judgeloop.replay.config import CONFIGS
    from judgeloop.run.setting import declared

    found: dict[str, str] = {}
    asked = [question.configuration for question in QUESTIONS]
    for config in (*asked, CalibrateConfig, *CONFIGS.values()):
        for field in declared(config).values():
            argument = field.setting.argument if field.setting else None
            found.setdefault(field.name, argument or flag(field.name))
    return found
