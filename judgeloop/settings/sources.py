"""Reads the settings of a command from `judgeloop.toml`, `.env` and the environment.

A file that the caller names (`--config`) is trusted as a whole. Files that are merely found may set
what `trust.py` allows; anything else in them is an error, before anything is done. A name that sets
nothing is an error too: a mistyped one would be ignored in silence. Nothing read here enters the
environment of the process.
"""

import os
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from judgeloop.core.errors import DataError, InputError, did_you_mean
from judgeloop.core.ledger import KEY_VARIABLE, NO_KEY
from judgeloop.judges.catalogue import JUDGES
from judgeloop.settings import trust
from judgeloop.settings.setting import PREFIX, Declared, variable
from judgeloop.settings.setting import key as key_of

ENV_FILE, SHARED = ".env", "shared"
SYSTEM, SYSTEMS = "system", "systems"  # the setting of live systems, and their tables
PAIRS = "pairs"  # the tables of a suite
KEYS = "_API_KEY"  # how the names of variables with API keys end
OF_TESTS = f"{PREFIX}TEST_"  # variables of judgeloop's own tests
# Variables that are read beside the settings, each with a sentence on it. Only the caller sets
# those that are no keys.
BESIDE = {
    variable("judge_api_key"): "Key for the server of --judge-base-url, which gets no other key.",
    variable("config"): "Settings file to trust in place of the one that is found, or none.",
    variable("max_usd"): "Ceiling of every budget, in dollars; no flag and no file exceeds it.",
}

# The settings of a command by their keys; and of all commands, by their paths: `compare`, or
# `ledger` and `show`. A command's settings may be made when they are asked for.
Fields: TypeAlias = Mapping[str, Declared]
Commands: TypeAlias = Mapping[tuple[str, ...], Fields]


@dataclass(frozen=True, slots=True)
class Read:
    """What a command is told beside its command line.

    `environment` is the process's own, with the API keys of `.env`. `values` are settings by name.
    `files` says what each file set, but for what a later one or a variable set. `named` is the file that
    the caller names; None without one.
    """

    environment: Mapping[str, str]
    values: dict[str, Any]
    files: dict[str, list[str]] = field(default_factory=dict)
    named: Path | None = None

    def sentence(self, typed: Container[str] = ()) -> str | None:
        """Say which files were read and what they set, but for what was `typed`; None without any."""
        own = {file: [key for key in keys if key not in typed] for file, keys in self.files.items()}
        said = [f"{file} sets {', '.join(keys)}" for file, keys in own.items() if keys]
        return "; ".join(said) or None

    def take(self, file: Path, values: Mapping[str, Any], *, keys: Iterable[str] = ()) -> None:
        """Take what a file sets, by the names of the settings; later files win."""
        said = [*keys]
        for name, value in values.items():
            shown = key_of(name)
            if isinstance(value, trust.NotTaken):
                shown += f" (not taken: {value.value})"
            else:
                self.set(name, value)
            said.append(shown)
        self.files[str(file)] = said

    def set(self, name: str, value: Any) -> None:
        """Take a value in place of what a file said before."""
        self.values[name] = value
        for keys in self.files.values():
            keys[:] = [one for one in keys if one != key_of(name)]

    def file_of(self, key: str) -> str:
        """Return the settings file that sets a key; empty if a variable does, also one of `.env`."""
        named = (file for file, keys in self.files.items() if key in keys and file != ENV_FILE)
        return next(named, "")


def read_settings(commands: Commands, asked: tuple[str, ...], config: Path | None, only: str = "") -> Read:
    """Read what the files and the environment set for the command `asked`.

    `config` is the file that the caller names; `none` reads no file at all. If a single setting is wanted,
    `only`, nothing else in them is looked at.

    Raises:
        DataError: a file is wrong, or sets what a found file may not.
        InputError: a variable sets nothing.
    """
    environment, working = dict(os.environ), Path.cwd()
    wanted = {SHARED, *asked, only, variable(only)} if only else ()
    check_variables(_named(environment, wanted), "the environment", commands, asked)
    read = Read(environment, {}, named=config)
    if config != Path("none"):
        found = trust.found_settings_file(working) if config is None else None
        path = found.path if found is not None else config
        if path is not None:
            read.take(path, tables_for(commands, asked, path, _named(parsed(path), wanted), found))
        if (working / ENV_FILE).is_file():
            keys, values = _of_env_file(commands, asked, environment, wanted, named=config is not None)
            environment |= keys
            read.take(Path(ENV_FILE), values, keys=keys)
    for one in commands[asked].values():
        if given := os.environ.get(one.variable):
            read.set(one.name, _of_variable(one, given))
    return read


def _named(table: Mapping[str, Any], names: Collection[str]) -> Mapping[str, Any]:
    """Return the entries of a table, and of tables in it, that have one of these names; all without any."""
    return {
        name: _named(value, names) if isinstance(value, dict) else value
        for name, value in table.items()
        if not names or name in names
    }


def shareable(field: Declared) -> bool:
    """Return whether [shared] may set a setting: not a file that a command has to be given.

    Another command's setting with the same name is another file.
    """
    return not (field.is_path and field.required)


def check_variables(names: Iterable[str], where: str, commands: Commands, asked: tuple[str, ...]) -> None:
    """Refuse a variable JUDGELOOP_* that no command reads; `where` says where the names stand.

    Raises:
        InputError: names the variable and the nearest that exists, or why it is read no longer.
    """
    found = {name for name in names if name.startswith(PREFIX) and not name.startswith(OF_TESTS)}
    if KEY_VARIABLE in found:
        raise InputError(f"{where}: {NO_KEY}")
    unknown = found - BESIDE.keys() - {one.variable for one in commands[asked].values()}
    if not unknown:
        return
    # The settings of other commands take time, and are made only if this one does not know a name.
    known = {*BESIDE, *(one.variable for each in commands.values() for one in each.values())}
    for name in sorted(unknown - known):
        raise InputError(f"{where}: {name} sets nothing{did_you_mean(name, sorted(known))}")


def tables_for(
    commands: Commands, asked: tuple[str, ...], path: Path, tables: Mapping[str, Any], found: trust.FoundFile | None
) -> dict[str, Any]:
    """Return the values of [shared] and of the command's table, which wins, by name.

    `found` is None for a file that the caller names. The pairs of a suite are left alone.

    Raises:
        DataError: there is no such table or setting, or a found file may not set it.
    """
    tables = {name: table for name, table in tables.items() if name != PAIRS}
    systems = _of_systems(path, tables.pop(SYSTEMS, {}), found)
    fields, shared = commands[asked], _table(path, tables, (SHARED,), commands)
    if others := shared.keys() - fields.keys():
        known = {key for each in commands.values() for key in each}
        for name in sorted(others - known):
            nearest = did_you_mean(name, known)
            raise DataError(path, f"[{SHARED}] no command has a setting {name!r}{nearest}")
    own = _table(path, tables, asked, commands)
    title = f"[{'.'.join(asked)}]"
    for name in own.keys() - fields.keys():
        raise DataError(path, f"{title} has no setting {name!r}{did_you_mean(name, fields)}")
    of_shared = {key: value for key, value in shared.items() if key in fields}
    values = {}
    for where, table in ((f"[{SHARED}]", of_shared), (title, own)):
        for key, value in table.items():
            one = fields[key]
            if table is own or shareable(one):
                values[one.name] = found.value(f"{where} {key}", one, value) if found else value
    if systems and SYSTEM in fields:
        values[SYSTEM] = [*systems, *_listed(values.get(SYSTEM))]
    return values


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str) else list(value or ())


def _of_systems(path: Path, tables: Any, found: trust.FoundFile | None) -> list[str]:
    """Return the tables [systems.NAME] as values of the setting `system`.

    Raises:
        DataError: the file was merely found, or a table does not hold plain values.
    """
    if tables and found is not None:
        found.refuse(f"[{SYSTEMS}]", trust.OF_CALLERS, variable(SYSTEM))
    entries = []
    for name, table in tables.items() if isinstance(tables, dict) else [("NAME", None)]:
        values = table if isinstance(table, dict) else {"": None}
        if not all(isinstance(one, str | int | float) for one in values.values()):
            raise DataError(path, f'[{SYSTEMS}."{name}"]: expected a table of texts and numbers')
        entries += [f"{name}.{key}={value}" for key, value in values.items()]
    return entries


def _table(path: Path, tables: Any, names: tuple[str, ...], commands: Commands) -> dict[str, Any]:
    """Return the table of a command; empty if there is none."""
    for depth, name in enumerate(names):
        known = list(dict.fromkeys(one[depth] for one in commands if one[:depth] == names[:depth]))
        known += [] if depth else [SHARED, SYSTEMS, PAIRS]
        for unknown in sorted(tables.keys() - set(known)):
            expected = ", ".join(f"[{'.'.join((*names[:depth], one))}]" for one in known)
            nearest = did_you_mean(unknown, known)
            raise DataError(path, f"expected the tables {expected}, found {unknown!r}{nearest}")
        tables = tables.get(name, {})
        if not isinstance(tables, dict):
            title = f"[{'.'.join(names[: depth + 1])}]"
            raise DataError(path, f"expected the table {title}, found a single value")
    return tables  # type: ignore[no-any-return]


def _of_env_file(
    commands: Commands, asked: tuple[str, ...], environment: Mapping[str, str], wanted: Collection[str], *, named: bool
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the API keys and the settings in `.env` that the environment does not have.

    If the caller names a settings file (`named`), no settings are taken. Variables of other
    programs are left alone: they are not judgeloop's to read.
    """
    from dotenv import dotenv_values

    file = trust.FoundFile(Path(ENV_FILE), Path.cwd(), Path.cwd())
    # Without interpolation: a setting must not take in another variable of the environment.
    variables = _named(dotenv_values(ENV_FILE, interpolate=False), wanted)
    check_variables(variables, ENV_FILE, commands, asked)
    fields = {one.variable: one for one in commands[asked].values()}
    callers = {*BESIDE, *(f"{row.kind.upper()}_BASE_URL" for row in JUDGES)}  # servers of judges
    keys: dict[str, str] = {}
    found: dict[str, Any] = {}
    for name, value in variables.items():
        if value is None or name in environment:
            continue
        if name.endswith(KEYS):
            keys[name] = value
        elif name in callers:
            file.refuse(name, trust.OF_CALLERS, name)
        elif name in fields:
            one = fields[name]
            given = _of_variable(one, value)
            found[one.name] = trust.NotTaken.NAMED if named else file.value(name, one, given)
    return keys, found


def _of_variable(field: Declared, given: str) -> str | list[str]:
    """Return the value that a variable gives: of several, one a line, as names may hold spaces."""
    return given.splitlines() if field.setting.many else given


def parsed(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        InputError: there is no such file.
        DataError: it cannot be read, or is no TOML.
    """
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        from judgeloop.formats.tables import no_such_file

        raise no_such_file(path) from None
    except OSError as error:
        raise DataError(path, f"the settings file cannot be read: {error.strerror}") from None
    except RecursionError:
        raise DataError(path, "this is no settings file: its values are nested too deep") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        raise DataError(path, f"this is no TOML: {error}") from None
