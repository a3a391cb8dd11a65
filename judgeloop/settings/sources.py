"""Reads the settings of a command from `judgeloop.toml`, `.env` and the environment.

A file that the caller names (`--config`) is trusted as a whole. Files that are merely found may set
what `settings/trust.py` allows; anything else in them is an error, before anything is done. Nothing read
here enters the environment of the process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeloop.cli.every_command import flags_of
from judgeloop.cli.naming import variable
from judgeloop.settings.found_file import (
    OF_CALLERS,
    SETTINGS_FILE,
    FoundFile,
    NotTaken,
    found_settings_file,
)
from judgeloop.settings.shared_section import SHARED, declaration, of_shared

if TYPE_CHECKING:
    import click

ENV_FILE = ".env"
KEYS = "_API_KEY"  # how the names of variables with API keys end
# Variables of the caller alone, beside the settings.
OF_THE_CALLER = frozenset({variable(name) for name in ("config", "max_usd", "ledger_key")})

__all__ = ["SETTINGS_FILE", "Commanded", "Read", "read_settings"]


@dataclass(frozen=True, slots=True)
class Read:
    """What a command is told beside its command line.

    `environment` is the process's own, with the API keys of `.env`. `defaults` are values by the
    names of the command's parameters. `files` says what each file set.
    """

    environment: Mapping[str, str]
    defaults: dict[str, Any]
    files: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def sentence(self) -> str | None:
        """Say which files were read and what they set; None without any."""
        said = [f"{file} sets {', '.join(names)}" for file, names in self.files.items() if names]
        return "; ".join(said) or None


@dataclass(frozen=True, slots=True)
class Commanded:
    """A command, and its table of the settings file: `compare`, or `ledger` and `explain`."""

    command: click.Command
    table: tuple[str, ...]
    known: tuple[str, ...]  # the commands, which are tables at the top
    root: click.Command  # holds all commands


def read_settings(asked: Commanded, config: Path | None, *, skip: bool) -> Read:
    """Read what the files and the environment set for a command.

    `config` is the file that the caller names; `skip` reads no file at all.

    Raises:
        DataError: a file is wrong, or sets what a found file may not.
    """
    from judgeloop.settings.variables import check_variables

    environment = dict(os.environ)
    check_variables(environment, "the environment", asked.command, asked.root)
    working, defaults, files = Path.cwd(), dict[str, Any](), dict[str, list[str]]()
    if not skip:
        file = None if config is not None else found_settings_file(working)
        path = config if file is None else file.path
        if path is not None:
            found = _from_tables(asked, path, file)
            defaults |= _taken(found)
            files[str(path)] = _shown(found)
        if (working / ENV_FILE).is_file():
            keys, found = _from_env_file(asked, working, environment, named=config is not None)
            environment |= keys
            defaults |= _taken(found)
            files[ENV_FILE] = [*keys, *_shown(found)]
    _list_several(asked.command, defaults, environment)
    return Read(environment, defaults, files)


def _from_tables(asked: Commanded, path: Path, found: FoundFile | None) -> dict[str, Any]:
    """Return the values of [shared] and of the command's table, which wins, by parameter.

    `found` is None for a file that the caller names.
    """
    tables = _tables(path)
    known = (*asked.known, SHARED)
    _check_known(path, tables, known, ())
    shared = _table(path, tables, (SHARED,), asked.root)
    parts = {
        f"[{SHARED}]": of_shared(shared, asked.command, asked.root, path, found=found is not None),
        f"[{'.'.join(asked.table)}]": _table(path, tables, asked.table, asked.root),
    }
    values: dict[str, Any] = {}
    for title, table in parts.items():
        values |= _of_table(asked.command, path, title, table, found)
    return values


def _table(path: Path, tables: Any, names: tuple[str, ...], root: click.Command) -> dict[str, Any]:
    """Return the table of a command; empty if there is none."""
    from judgeloop.core.errors import DataError

    for depth, name in enumerate(names):
        if depth:
            _check_known(path, tables, _subcommands(root, names[:depth]), names[:depth])
        tables = tables.get(name, {})
        if not isinstance(tables, dict):
            title = f"[{'.'.join(names[: depth + 1])}]"
            raise DataError(path, f"expected the table {title}, found a single value")
    return tables  # type: ignore[no-any-return]


def _subcommands(root: click.Command, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the commands in a group; empty if there is no such group."""
    import click

    for name in names:
        inner = (
            root.get_command(click.Context(root), name) if isinstance(root, click.Group) else None
        )
        if not isinstance(inner, click.Group):
            return ()
        root = inner
    return tuple(root.list_commands(click.Context(root))) if isinstance(root, click.Group) else ()


def _check_known(
    path: Path, tables: Mapping[str, Any], known: tuple[str, ...], above: tuple[str, ...]
) -> None:
    """Refuse a table of no command; `above` are the names of the tables that it stands in."""
    from judgeloop.core.errors import DataError, did_you_mean

    if known and (unknown := tables.keys() - set(known)):
        expected = ", ".join(f"[{'.'.join((*above, name))}]" for name in known)
        nearest = did_you_mean(min(unknown), known)
        raise DataError(path, f"expected the tables {expected}, found {min(unknown)!r}{nearest}")


def _of_table(
    command: click.Command,
    path: Path,
    title: str,
    table: Mapping[str, Any],
    found: FoundFile | None,
) -> dict[str, Any]:
    """Return the values of a table by the names of the command's parameters."""
    from judgeloop.core.errors import DataError, did_you_mean

    flags, values = flags_of(command), {}
    for key, value in table.items():
        if key not in flags:
            nearest = did_you_mean(key, flags)
            raise DataError(path, f"{title} has no flag {key!r}{nearest}")
        name = str(flags[key].name)
        if expected := _unlike(flags[key], value):
            raise DataError(path, f"{title} {key}: expected {expected}, found {value!r}")
        if found is None:
            values[name] = value
        elif _keeps_the_limit(flags[key], value):
            values[name] = NotTaken.LIMIT
        else:
            values[name] = found.value(f"{title} {key}", flags[key], value)
    return values


def _unlike(parameter: click.Parameter, value: object) -> str | None:
    """Return what click expects of a switch or a file, if the value has another type.

    The configuration checks the types of settings, but these are click's own.
    """
    if getattr(parameter, "is_flag", False):
        return None if isinstance(value, bool | str) else "true or false"
    if parameter.type.name not in {"path", "file", "directory"}:
        return None
    several = _several(parameter)
    values = value if several and isinstance(value, list) else [value]
    if all(isinstance(one, str) for one in values):
        return None
    return "a path, or a list of paths" if several else "a path"


def _from_env_file(
    asked: Commanded, folder: Path, environment: Mapping[str, str], *, named: bool
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the API keys and the settings in `.env` that the environment does not have.

    If the caller names a settings file (`named`), no settings are taken. Variables of other
    programs are left alone: they are not judgeloop's to read.
    """
    from dotenv import dotenv_values

    from judgeloop.settings.variables import check_variables, variable_of

    file = FoundFile(Path(ENV_FILE), folder, folder)
    keys: dict[str, str] = {}
    found: dict[str, Any] = {}
    parameters = {
        variable_of(one) or variable(str(one.name)): one for one in flags_of(asked.command).values()
    }
    # Without interpolation: a setting must not take in another variable of the environment.
    variables = dotenv_values(folder / ENV_FILE, interpolate=False)
    check_variables(variables, ENV_FILE, asked.command, asked.root)
    for name, value in variables.items():
        if value is None or name in environment:
            continue
        if name.endswith(KEYS):
            keys[name] = value
        elif name in OF_THE_CALLER or _is_address(name):
            file.refuse(name, OF_CALLERS, name)
        elif name in parameters:
            one = parameters[name]
            found[str(one.name)] = NotTaken.NAMED if named else _of_variable(file, name, one, value)
    return keys, found


def _of_variable(file: FoundFile, name: str, parameter: click.Parameter, value: str) -> object:
    """Return the value of a setting that the variable `name` in `.env` gives."""
    if _keeps_the_limit(parameter, value):
        return NotTaken.LIMIT
    given: Any = value.splitlines() if _several(parameter) else value
    return file.value(name, parameter, given)


def _is_address(name: str) -> bool:
    """Return whether a variable names the server of a judge, such as OPENAI_BASE_URL."""
    from judgeloop.judges.catalogue import JUDGES

    return name in {f"{row.kind.upper()}_BASE_URL" for row in JUDGES}


def _keeps_the_limit(parameter: click.Parameter, value: object) -> bool:
    """Return whether the default stays: a found file cannot take the budget away."""
    from judgeloop.settings.trust import lifts_the_limit

    declared = declaration(parameter)
    return declared is not None and lifts_the_limit(declared, value)


def _tables(path: Path) -> dict[str, Any]:
    import tomllib

    from judgeloop.core.errors import DataError

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, f"the settings file cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, f"this is no TOML: {error}") from None


def _several(parameter: click.Parameter) -> bool:
    return bool(getattr(parameter, "multiple", False))


def _list_several(
    command: click.Command, defaults: dict[str, Any], environment: Mapping[str, str]
) -> None:
    """Put settings with several values into `defaults`, as lists: the judges, the result files.

    A variable has one value a line, because the name of a judge or of a file may contain spaces.
    """
    for parameter in filter(_several, command.params):
        name = str(parameter.name)
        given = environment.get(variable(name))
        if given:
            defaults[name] = given.splitlines()
        elif isinstance(defaults.get(name), str):
            defaults[name] = [defaults[name]]


def _taken(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if not isinstance(value, NotTaken)}


def _shown(found: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings, as flags without dashes, and why one is not taken."""
    return [
        name.replace("_", "-")
        + (f" (not taken: {value.value})" if isinstance(value, NotTaken) else "")
        for name, value in found.items()
    ]
