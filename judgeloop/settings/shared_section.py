"""Which settings of the section [shared] hold for a command, and which names may stand there.

A shared setting is for every command that has it. Two kinds are a command's own: where a command
has to write to, such as the file of `convert`; and, in a found file, what only the caller may set
for this command but a file may set for another, such as the items of `replay`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from judgeloop.cli.every_command import every_command, flags_of
from judgeloop.settings.setting import Declared, Part, Source

if TYPE_CHECKING:
    from pathlib import Path

    import click

SHARED = "shared"


def of_shared(
    table: Mapping[str, Any],
    command: click.Command,
    root: click.Command,
    path: Path,
    *,
    found: bool,
) -> dict[str, Any]:
    """Return the settings of [shared] in the file `path` that hold for a command, by flag.

    `found` says that the file was found, not named by the caller.

    Raises:
        DataError: no command has a setting; names the nearest.
    """
    own = flags_of(command)
    values = {}
    for key, value in table.items():
        if not takes(own.get(key), found=found):
            holders = [flags[key] for flags in _all_flags(root) if key in flags]
            if not any(map(declaration, holders)):
                _refuse(key, root, path)
            if key not in own or any(takes(one, found=found) for one in holders):
                continue  # of other commands
        values[key] = value
    return values


def takes(parameter: click.Parameter | None, *, found: bool) -> bool:
    """Return whether a shared setting can be one of this parameter."""
    declared = declaration(parameter)
    if parameter is None or declared is None or declared.setting is None:
        return False
    if parameter.required and declared.setting.part is Part.PLACE:
        return False
    return not (found and declared.setting.source is Source.CALLER)


def declaration(parameter: click.Parameter | None) -> Declared | None:
    """Return the declaration of a parameter; None if it is no setting."""
    return getattr(parameter, "declared", None)


def _all_flags(root: click.Command) -> Iterator[dict[str, click.Parameter]]:
    return (flags_of(command) for _, command in every_command(root))


def _refuse(key: str, root: click.Command, path: Path) -> None:
    """Refuse a name that is no setting of any command.

    Raises:
        DataError: always.
    """
    from judgeloop.core.errors import DataError, did_you_mean

    known = sorted(
        {name for flags in _all_flags(root) for name, one in flags.items() if declaration(one)}
    )
    nearest = did_you_mean(key, known)
    raise DataError(path, f"[{SHARED}] no command has a flag {key!r}{nearest}")
