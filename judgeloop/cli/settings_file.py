"""Settings from the working folder: `judgeloop.toml`, `.env`, and the judges in JUDGELOOP_JUDGE."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

SETTINGS_FILE = "judgeloop.toml"


def load_env_file() -> None:
    """Read the nearest `.env`, in the working folder or above it; what is set already stays."""
    here = Path.cwd()
    found = next(
        (path for folder in (here, *here.parents) if (path := folder / ".env").is_file()), None
    )
    if found is not None:
        from dotenv import load_dotenv

        load_dotenv(found, override=False)


def defaults_for(group: click.Group, context: click.Context, invoked: str | None) -> dict[str, Any]:
    """The defaults of each command: a table a command in the file, its keys spelt as the flags.

    Raises:
        DataError: the file is no TOML, or names a command or a flag that there is not.
    """
    tables = _tables(Path(SETTINGS_FILE))
    names = {*tables, *([invoked] if invoked else [])}
    settings: dict[str, Any] = {}
    for name in names:
        flags = _flags(group, context, name)
        settings[name] = _renamed(name, tables.get(name, {}), flags, group, context)
        _name_judges(settings[name], flags)
    return settings


def _tables(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    import tomllib

    from judgeloop.core.errors import DataError

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, f"this is no TOML: {error}") from None


def _renamed(
    name: str, table: Any, flags: dict[str, str], group: click.Group, context: click.Context
) -> dict[str, Any]:
    """A table's values by the names of parameters."""
    from judgeloop.core.errors import DataError

    known = group.list_commands(context)
    if name not in known or not isinstance(table, dict):
        tables = ", ".join(f"[{one}]" for one in known)
        raise DataError(SETTINGS_FILE, f"expected the tables {tables}, found {name!r}")
    if unknown := table.keys() - flags.keys():
        raise DataError(SETTINGS_FILE, f"[{name}] has no flag {min(unknown)!r}")
    return {flags[flag]: value for flag, value in table.items()}


def _flags(group: click.Group, context: click.Context, name: str) -> dict[str, str]:
    """The flags of a command, without their dashes, with the names of their parameters."""
    command = group.get_command(context, name)
    if command is None:
        return {}
    return {
        option.removeprefix("--"): str(parameter.name)
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    }


def _name_judges(settings: dict[str, Any], known: dict[str, str]) -> None:
    """One judge or several, from the file or, line by line, from JUDGELOOP_JUDGE; a name may hold spaces."""
    given = os.environ.get("JUDGELOOP_JUDGE")
    if "judge" in known and given:
        settings["judge"] = given.splitlines()
    elif isinstance(settings.get("judge"), str):
        settings["judge"] = [settings["judge"]]
