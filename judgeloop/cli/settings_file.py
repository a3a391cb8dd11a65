"""Reads settings from `judgeloop.toml` and `.env`, and the judges from JUDGELOOP_JUDGE."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click

SETTINGS_FILE = "judgeloop.toml"


def load_env_file() -> None:
    """Read the nearest `.env`, in the working folder or above; variables that are set stay."""
    here = Path.cwd()
    found = next(
        (path for folder in (here, *here.parents) if (path := folder / ".env").is_file()), None
    )
    if found is not None:
        from dotenv import load_dotenv

        load_dotenv(found, override=False)


def defaults_for(group: click.Group, context: click.Context, invoked: str | None) -> dict[str, Any]:
    """Return the defaults of each command from the file and the environment.

    The file has a table for each command; its keys are flags without the dashes.

    Raises:
        DataError: the file is not TOML, or names an unknown command or flag.
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
    """Return the values of a command's table, by the names of parameters."""
    from judgeloop.core.errors import DataError

    known = group.list_commands(context)
    if name not in known or not isinstance(table, dict):
        tables = ", ".join(f"[{command}]" for command in known)
        raise DataError(SETTINGS_FILE, f"expected the tables {tables}, found {name!r}")
    if unknown := table.keys() - flags.keys():
        raise DataError(SETTINGS_FILE, f"[{name}] has no flag {min(unknown)!r}")
    return {flags[flag]: value for flag, value in table.items()}


def _flags(group: click.Group, context: click.Context, name: str) -> dict[str, str]:
    """Return the parameter name of each flag of a command, by flag without dashes."""
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
    """Add the judges as a list: from JUDGELOOP_JUDGE, a judge on each line, or from the file.

    Click would split the variable at spaces, which a judge's name may hold.
    """
    given = os.environ.get("JUDGELOOP_JUDGE")
    if "judge" in known and given:
        settings["judge"] = given.splitlines()
    elif isinstance(settings.get("judge"), str):
        settings["judge"] = [settings["judge"]]
