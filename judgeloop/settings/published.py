"""What the papers prescribe: fills in and checks the settings of a run that is `as_published`.

A question's own `config.py` holds the table of its paper. This module fills in what the caller
left out, refuses what contradicts the paper, and names the configuration for the result. A setting
that no table names is open: the paper leaves it to the user, or it cannot change what is judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judgeloop.core.errors import InputError

YES = frozenset({"true", "t", "yes", "y", "on", "1"})  # texts that pydantic reads as True


@dataclass(frozen=True, slots=True)
class Prescription:
    """What a paper prescribes for one setting.

    - `setting`, `value`: filled in where the setting is not given. None stands for the setting's
      default.
    - `where`: the place in the paper.
    - `shown`: the value in words, where it does not show itself.
    - `alike`: a regular expression of other texts that mean the same.
    - `unless`: the name of another setting; where that is given, nothing is prescribed here.

    Of a setting with several values, any of the prescribed values may be given.
    """

    setting: str
    value: Any
    where: str
    shown: str = ""
    alike: str = ""
    unless: str = ""

    @property
    def text(self) -> str:
        """The prescribed value as a user types it."""
        return self.shown or _typed(self.value)

    def agrees(self, found: object) -> bool:
        """Return whether a setting's value is as prescribed."""
        if self.alike and isinstance(found, str) and re.fullmatch(self.alike, found):
            return True
        if isinstance(self.value, tuple) and isinstance(found, tuple):
            return set(found) <= set(self.value)
        return bool(found == self.value)


@dataclass(frozen=True, slots=True)
class Publication:
    """The configuration of one paper: its method, authors and year, and what it prescribes."""

    method: str
    paper: str
    prescriptions: tuple[Prescription, ...]

    @property
    def name(self) -> str:
        """The method and its paper."""
        return f"{self.method} ({self.paper})"


def filled(paper: Publication | None, given: Mapping[str, object]) -> dict[str, object]:
    """Return the settings given, with those that the paper prescribes where none is given."""
    values = dict(given)
    if paper is None or str(values.get("as_published")).lower() not in YES:
        return values
    for one in paper.prescriptions:
        if one.value is not None and one.unless not in given:
            values.setdefault(one.setting, one.value)
    return values


def check_published(paper: Publication | None, config: Any) -> None:
    """Refuse a configuration that is `as_published` and contradicts its paper.

    Raises:
        InputError: names the setting, what the paper prescribes, and what was found.
    """
    if paper is None or not config.as_published:
        return
    for one in _holding(paper, config):
        found = getattr(config, one.setting)
        if not one.agrees(found):
            raise InputError(
                f"`as_published`: {paper.name} prescribes `{one.setting}={one.text}` ({one.where}), "
                f"found `{one.setting}={_typed(found)}`; give that, or leave out `as_published`"
            )


def published_name(paper: Publication | None, config: Any) -> str | None:
    """Return the paper and the prescribed settings for the result; None if not `as_published`."""
    if paper is None or not config.as_published:
        return None
    settings = ", ".join(
        f"{one.setting.replace('_', ' ')} {_typed(getattr(config, one.setting)) if one.alike else one.text}"
        for one in _holding(paper, config)
    )
    return f"{paper.name}: {settings}"


def _holding(paper: Publication, config: Any) -> list[Prescription]:
    """Return the prescriptions that hold beside the other settings."""
    return [
        one for one in paper.prescriptions if not one.unless or getattr(config, one.unless) is None
    ]


def _typed(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)
