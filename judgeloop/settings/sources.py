"""Reads the settings of a command: from `judgeloop.toml`, `.env`, the environment and the command line, in this order.

A file that the caller names (`--config`) is trusted as a whole. A file that is merely found belongs to the
repository's author, who may be a stranger. It must not send a key or a text elsewhere, load code, read or write
outside its own folder, or raise the cost of a run. So each setting says who may set it (`MaySet`), and that function
is the filter of every value that stands in a found file. Anything else in it is an error, before anything is done. A
name that sets nothing is an error too: a mistyped one would be ignored in silence. Nothing read here enters the
environment of the process.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from judgeloop.core.errors import DataError, InputError, did_you_mean
from judgeloop.formats.own_files import outside, searched
from judgeloop.judges.catalogue import JUDGES, parse_spec
from judgeloop.settings.setting import (
    COMMAND_LINE,
    ENVIRONMENT,
    OF_CALLERS,
    PREFIX,
    SETTINGS_FILE,
    Declared,
    FoundFile,
    variable,
)
from judgeloop.settings.values import amount, listed

ENV_FILE = ".env"
SHARED = "shared"
SYSTEM, SYSTEMS = "system", "systems"  # the setting of live systems, and their tables
PAIRS = "pairs"  # the tables of a suite
LEDGER = "ledger"  # the setting of where the ledger lies
RESULT_FILE = "output"  # the setting that names what is written
KEYS = "_API_KEY"  # how the names of variables with API keys end
OF_TESTS = f"{PREFIX}TEST_"  # variables of judgeloop's own tests
ROOT = 0  # the user id
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


# Who may set a setting (`MaySet`); `anybody` and `caller` stand in `setting.py`.


def inside(field: Declared, value: Any, file: FoundFile) -> Any:
    """A found file may, to files in its own folder; a text that names no file is a text."""
    if isinstance(value, list):
        return [inside(field, one, file) for one in value]
    text = str(value)
    if "://" in text:  # a server, which would be told what is paid for
        raise ValueError(OF_CALLERS)
    if field.type in {str, str | None} and not _exists(file.folder / text):
        if _exists(file.working / text):  # it would be read from there, unchecked
            raise ValueError(f"{text!r} is in the working folder, not in the folder of this file")
        return value
    if reason := outside(text, file.folder):
        raise ValueError(reason)
    return file.located(value) if isinstance(value, str) else value


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # too long for a name, or with a null: a text
        return False


def harmless_judge(field: Declared, value: Any, file: FoundFile) -> Any:
    """A found file may, to a judge that runs no code and reads no file outside of the folder."""
    if isinstance(value, list):
        return [harmless_judge(field, one, file) for one in value]
    try:
        row, rest = parse_spec(str(value))
    except InputError:
        return value  # `confidence` as a proxy; or wrong, which is reported where judges are made
    if row.runs_code:
        raise ValueError(f"{value!r} runs code, which only the caller may allow")
    if not row.reads_file:
        return value
    if reason := outside(rest, file.folder):
        raise ValueError(reason)
    return f"{value.removesuffix(rest)}{file.located(rest)}"


def lower(field: Declared, value: Any, file: FoundFile) -> Any:
    """A found file may, to at most the default."""
    del file
    try:
        given = amount(value)
    except ValueError:
        return value  # refused where the settings are checked
    if given is None or given > field.default:
        raise ValueError(f"it may lower the default of {field.default}, not raise or remove it")
    return value


@dataclass(slots=True)
class Read:
    """What a command is told: its settings by name, and where each is from.

    `environment` is the process's own, with the API keys of `.env`. `named` is the file that the caller names; None
    without one. `files` says what each file set, but for what a later one, a variable or the command line set.
    """

    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    named: Path | None = None
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)

    def take(self, origin: str, values: Iterable[tuple[Declared, Any]]) -> None:
        """Take values in place of earlier ones, or beside them what the command line adds."""
        for one, value in values:
            if one.setting.adds and origin == COMMAND_LINE and one.name in self.values:
                value = [*(more for more in several(self.values[one.name]) if more not in value), *value]  # noqa: PLW2901
            else:
                for file, keys in self.files.items():
                    keys[:] = [key for key in keys if key != one.key or file == origin]
            self.values[one.name], self.origins[one.name] = value, origin
            if origin in self.files and one.key not in self.files[origin]:
                self.files[origin].append(one.key)

    @property
    def sentence(self) -> str | None:
        """Which files were read and what they set; None without any."""
        return "; ".join(f"{file} sets {', '.join(keys)}" for file, keys in self.files.items() if keys) or None

    def file_of(self, name: str) -> str:
        """The settings file that a value is from; empty if a variable set it, also one of `.env`."""
        origin = self.origins[name]
        return origin if origin in self.files and origin != ENV_FILE else ""


def read_settings(
    commands: Commands,
    command: tuple[str, ...],
    config: Path | None,
    typed: Mapping[str, Any] | None = None,
    into: Read | None = None,
) -> Read:
    """Read what the files, the environment and the command line set for the `command`.

    `config` is the file that the caller names; `none` reads no file at all. `typed` are the values of the command
    line by name. With `into`, what was read until something is wrong stands there.

    Raises:
        DataError: a file is wrong, or sets what a found file may not.
        InputError: a variable sets nothing.
    """
    fields, read, working = commands[command], into or Read(), Path.cwd()
    read.named = config
    if config != Path("none"):
        found = found_settings_file(working) if config is None else None
        if path := found.path if found else config:
            read.files[str(path)] = []
            read.take(str(path), of_tables(commands, command, path, parsed(path), found))
        if (working / ENV_FILE).is_file():
            read.files[ENV_FILE] = []
            read.take(ENV_FILE, _of_env_file(commands, command, read))
    read.take(ENVIRONMENT, _of_variables(commands, command, os.environ, ENVIRONMENT))
    read.take(COMMAND_LINE, ((one, typed[one.name]) for one in fields.values() if typed and one.name in typed))
    return read


def found_settings_file(working: Path) -> FoundFile | None:
    """The nearest `judgeloop.toml`, in the working folder or above; None without any.

    Raises:
        DataError: the nearest is above the working folder and belongs to another user.
    """
    for folder in searched(working):
        file = folder / SETTINGS_FILE
        if os.path.isfile(file):  # noqa: PTH113 - unlike Path.is_file, False for a closed folder
            if folder != working:
                _check_owner(file)
            return FoundFile(Path(os.path.relpath(file, working)), folder, working)
    return None


def _check_owner(file: Path) -> None:
    """Refuse a file of another user, or in another user's folder, on a system with user ids.

    Of a link, both the link and the file that it leads to are checked.

    Raises:
        DataError: says how to go on.
    """
    if not hasattr(os, "geteuid"):
        return
    owners = {file.lstat().st_uid, file.stat().st_uid, file.parent.stat().st_uid}
    if owners - {ROOT, os.geteuid()}:
        raise DataError(
            os.path.relpath(file),
            "it was found above the working folder, and it or its folder belongs to another user; "
            "trust it with --config FILE, or read no file with --config none",
        )


def parsed(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

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


def of_tables(
    commands: Commands,
    command: tuple[str, ...],
    path: Path,
    tables: Mapping[str, Any],
    found: FoundFile | None,
    *,
    title: str = "",
) -> Iterator[tuple[Declared, Any]]:
    """Give the values of [shared] and of the command's table, which wins; then refuse what sets nothing.

    `found` is None for a file that the caller names, and `title` what the command's table is called there. The pairs
    of a suite are left alone. The files of the result are given first: they have to say so if something else is wrong.

    Raises:
        DataError: there is no such table or setting, or a found file may not set it.
    """
    fields, title = commands[command], title or f"[{'.'.join(command)}]"
    shared = {
        key: value for key, value in _table(tables, (SHARED,)).items() if key in fields and shareable(fields[key])
    }
    own = _table(tables, command)
    said = [(f"[{SHARED}] {key}", key, value) for key, value in shared.items()]
    said += [(f"{title} {key}", key, value) for key, value in own.items() if key in fields]
    values: dict[str, Any] = {}
    for where, key, value in sorted(said, key=lambda one: one[1] != RESULT_FILE):
        values[key] = found.value(where, fields[key], value) if found else value
        yield fields[key], values[key]
    if (systems := _of_systems(path, tables.get(SYSTEMS, {}), found)) and SYSTEM in fields:
        own_system = values.get(SYSTEM, [])
        yield fields[SYSTEM], [*systems, *(own_system if isinstance(own_system, list) else [own_system])]
    for names in ((SHARED,), command):
        _check_tables(commands, path, tables, names)
    if others := _table(tables, (SHARED,)).keys() - fields.keys():
        # The settings of other commands take time, and are made only if this one does not know a name.
        known = {key for each in commands.values() for key in each}
        for name in sorted(others - known):
            raise DataError(path, f"[{SHARED}] no command has a setting {name!r}{did_you_mean(name, known)}")
    for name in own.keys() - fields.keys():
        raise DataError(path, f"{title} has no setting {name!r}{did_you_mean(name, fields)}")


def shareable(field: Declared) -> bool:
    """Whether [shared] may set a setting: not a file that a command has to be given.

    Another command's setting with the same name is another file.
    """
    return not (field.is_path and field.required)


def several(value: Any) -> list[Any]:
    """The values of a setting that may have several; one that is no list is refused later."""
    found = listed(value)
    return [*found] if isinstance(found, list | tuple) else [found]


def _table(tables: Any, names: Iterable[str]) -> dict[str, Any]:
    """A table within tables; empty if there is none."""
    for name in names:
        tables = tables.get(name) if isinstance(tables, dict) else None
    return tables if isinstance(tables, dict) else {}


def _check_tables(commands: Commands, path: Path, tables: Any, names: tuple[str, ...]) -> None:
    """Refuse what is no table, and tables that no command has, on the way to that of `names`."""
    for depth, name in enumerate(names):
        known = list(dict.fromkeys(one[depth] for one in commands if one[:depth] == names[:depth]))
        known += [] if depth else [SHARED, SYSTEMS, PAIRS]
        for unknown in sorted(tables.keys() - set(known)):
            expected = ", ".join(f"[{'.'.join((*names[:depth], one))}]" for one in known)
            nearest = did_you_mean(unknown, known)
            raise DataError(path, f"expected the tables {expected}, found {unknown!r}{nearest}")
        # Also of other commands: `ledger` and `proxy` are settings, and would be ignored in silence above the tables.
        for title in [one for one in known if not isinstance(tables.get(one, {}), dict)]:
            where = f"[{'.'.join((*names[:depth], title))}]"
            mend = f"; a setting stands in a table, such as [{SHARED}]" if not depth else ""
            raise DataError(path, f"expected the table {where}, found a single value{mend}")
        tables = tables.get(name, {})


def _of_systems(path: Path, tables: Any, found: FoundFile | None) -> list[str]:
    """The tables [systems.NAME] as values of the setting `system`.

    Raises:
        DataError: the file was merely found, or a table does not hold plain values.
    """
    if tables and found is not None:
        found.refuse(f"[{SYSTEMS}]", OF_CALLERS, variable(SYSTEM), f"--{SYSTEM}")
    entries = []
    for name, table in tables.items() if isinstance(tables, dict) else [("NAME", None)]:
        values = table if isinstance(table, dict) else {"": None}
        if not all(isinstance(one, str | int | float) for one in values.values()):
            raise DataError(path, f'[{SYSTEMS}."{name}"]: expected a table of texts and numbers')
        entries += [f"{name}.{key}={value}" for key, value in values.items()]
    return entries


def _of_env_file(commands: Commands, command: tuple[str, ...], read: Read) -> Iterator[tuple[Declared, Any]]:
    """Give the settings in `.env` that the environment does not have, and put its API keys into the environment.

    If the caller names a settings file, no settings are taken: a stranger's `.env` must not change its question.
    Variables of other programs are left alone: they are not judgeloop's to read.
    """
    from dotenv import dotenv_values

    file = FoundFile(Path(ENV_FILE), Path.cwd(), Path.cwd())
    # Without interpolation: a setting must not take in another variable of the environment.
    said = {name: value for name, value in dotenv_values(ENV_FILE, interpolate=False).items() if value is not None}
    given = {name: value for name, value in said.items() if name not in os.environ}
    keys = {name: value for name, value in given.items() if name.endswith(KEYS)}
    read.environment |= keys
    read.files[ENV_FILE] += keys
    servers = {f"{row.kind.upper()}_BASE_URL" for row in JUDGES}
    for one, value in _of_variables(commands, command, said, ENV_FILE):
        if one.variable in os.environ:
            continue
        # Another ledger than the one that is meant is refused, not passed over: the run would pay into a new file.
        if read.named is None or one.name == LEDGER:
            yield one, file.value(one.variable, one, value)
        else:
            read.files[ENV_FILE].append(f"{one.key} (not taken: --config names the settings file)")
    for name in given.keys() & (BESIDE.keys() | servers) - keys.keys():
        file.refuse(name, OF_CALLERS, name)


def _of_variables(
    commands: Commands, command: tuple[str, ...], given: Mapping[str, str], where: str
) -> Iterator[tuple[Declared, Any]]:
    """Give the settings among variables, the files of the result first; then refuse names that no command reads.

    Raises:
        InputError: names the variable and the nearest that exists, or why it is read no longer; `where` says where
            it stands.
    """
    fields = {one.variable: one for one in commands[command].values()}
    names = [name for name in given if given[name] and name in fields]
    for name in sorted(names, key=lambda one: one != variable(RESULT_FILE)):
        # Of several values, each is a line, as names may hold spaces.
        yield fields[name], given[name].splitlines() if fields[name].setting.many else given[name]
    if variable("ledger_key") in given:
        from judgeloop.ledger.records import NO_KEY

        raise InputError(f"{where}: {NO_KEY}")
    unknown = {name for name in given if name.startswith(PREFIX) and not name.startswith(OF_TESTS)}
    if unknown := unknown - BESIDE.keys() - fields.keys():
        known = {*BESIDE, *(one.variable for each in commands.values() for one in each.values())}
        for name in sorted(unknown - known):
            raise InputError(f"{where}: {name} sets nothing{did_you_mean(name, sorted(known))}")
