"""Reads the settings of a command from `judgeloop.toml`, `.env` and JUDGELOOP_JUDGE.

A file that the caller names (`--config`) is trusted as a whole. Files that are merely found in the
working folder may set what `run/trust.py` allows; anything else in them is an error, before
anything is done. Nothing read here enters the environment of the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeloop.cli.naming import variable

if TYPE_CHECKING:
    import click

SETTINGS_FILE, ENV_FILE = "judgeloop.toml", ".env"
OF_CALLERS = "only the caller may set it"
NOT_TAKEN = object()  # instead of a value that would take a limit away: the default stays
KEYS = "_API_KEY"  # how the names of variables with API keys end
# Variables of the caller alone, beside the settings.
OF_THE_CALLER = frozenset({variable(name) for name in ("config", "max_usd", "ledger_key")})


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
class FoundFile:
    """A file that was found in the working folder, which may be a stranger's."""

    path: Path
    folder: Path

    def check(self, where: str, parameter: click.Parameter, value: object) -> None:
        """Refuse a value that such a file may not give to a parameter.

        Raises:
            DataError: says why, and how to set it all the same.
        """
        from judgeloop.run.trust import refusal

        declared = getattr(parameter, "declared", None)
        reason = refusal(declared, value, self.folder) if declared else OF_CALLERS
        if reason is not None:
            self.refuse(where, reason, variable(str(parameter.name)))

    def refuse(self, where: str, reason: str, name: str) -> None:
        """Refuse what stands at `where`; the caller may set the variable `name`.

        Raises:
            DataError: always.
        """
        from judgeloop.core.errors import DataError

        file = self.path.name
        trusted = f", or trust the file with --config {file}" if file == SETTINGS_FILE else ""
        raise DataError(
            self.path,
            f"{where}: {reason}, because this file was found in the working folder; give it on the "
            f"command line, or as {name} in the environment{trusted}",
        )


@dataclass(frozen=True, slots=True)
class Commanded:
    """A command, and its table of the settings file: `compare`, or `ledger` and `explain`."""

    command: click.Command
    table: tuple[str, ...]
    known: tuple[str, ...]  # all tables at the top
    root: click.Command  # holds all commands


def read_settings(asked: Commanded, config: Path | None, *, skip: bool) -> Read:
    """Read what the files and the environment set for a command.

    `config` is the file that the caller names; `skip` reads no file at all.

    Raises:
        DataError: a file is wrong, or sets what a found file may not.
    """
    from judgeloop.cli.variables import check_variables

    environment = dict(os.environ)
    check_variables(environment, "the environment", asked.command, asked.root)
    folder, defaults, files = Path.cwd(), dict[str, Any](), dict[str, list[str]]()
    if not skip:
        for path, trusted in _settings_files(folder, config):
            found = _from_table(asked, path, folder, trusted=trusted)
            defaults |= _taken(found)
            files[str(path)] = _shown(found)
        if (folder / ENV_FILE).is_file():
            keys, found = _from_env_file(asked, folder, environment)
            environment |= keys
            defaults |= _taken(found)
            files[ENV_FILE] = [*keys, *_shown(found)]
    _name_judges(asked, defaults, environment)
    return Read(environment, defaults, files)


def _settings_files(folder: Path, config: Path | None) -> Iterator[tuple[Path, bool]]:
    """Give the settings file to read, and whether it is trusted."""
    if config is not None:
        yield config, True
    elif (folder / SETTINGS_FILE).is_file():
        yield Path(SETTINGS_FILE), False


def _from_table(asked: Commanded, path: Path, folder: Path, *, trusted: bool) -> dict[str, Any]:
    """Return the values of the command's table by the names of its parameters."""
    from judgeloop.core.errors import DataError, did_you_mean

    tables: Any = _tables(path)
    if unknown := tables.keys() - set(asked.known):
        expected = ", ".join(f"[{name}]" for name in asked.known)
        nearest = did_you_mean(min(unknown), asked.known)
        raise DataError(path, f"expected the tables {expected}, found {min(unknown)!r}{nearest}")
    for part in asked.table:
        tables = tables.get(part, {}) if isinstance(tables, dict) else None
    title = f"[{'.'.join(asked.table)}]"
    if not isinstance(tables, dict):
        raise DataError(path, f"expected the table {title}, found a single value")
    parameters, found = _parameters(asked.command), {}
    for key, value in tables.items():
        if isinstance(value, dict):
            continue  # the table of a subcommand
        if key not in parameters:
            nearest = did_you_mean(key, parameters)
            raise DataError(path, f"{title} has no flag {key!r}{nearest}")
        name = str(parameters[key].name)
        if not trusted:
            if _keeps_the_limit(parameters[key], value):
                found[name] = NOT_TAKEN
                continue
            FoundFile(path, folder).check(f"{title} {key}", parameters[key], value)
        found[name] = value
    return found


def _from_env_file(
    asked: Commanded, folder: Path, environment: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the API keys and the settings in `.env` that the environment does not have.

    Variables of other programs are left alone: they are not judgeloop's to read.
    """
    from dotenv import dotenv_values

    from judgeloop.cli.variables import check_variables

    file = FoundFile(Path(ENV_FILE), folder)
    keys: dict[str, str] = {}
    found: dict[str, Any] = {}
    parameters = {variable(str(one.name)): one for one in _parameters(asked.command).values()}
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
        elif name in parameters and _keeps_the_limit(parameters[name], value):
            found[str(parameters[name].name)] = NOT_TAKEN
        elif name in parameters:
            given: Any = value.splitlines() if name == variable("judge") else value
            file.check(name, parameters[name], given)
            found[str(parameters[name].name)] = given
    return keys, found


def _is_address(name: str) -> bool:
    """Return whether a variable names the server of a judge, such as OPENAI_BASE_URL."""
    from judgeloop.judges.catalogue import JUDGES

    return name in {f"{row.kind.upper()}_BASE_URL" for row in JUDGES}


def _keeps_the_limit(parameter: click.Parameter, value: object) -> bool:
    """Return whether the default stays: a found file cannot take the budget away."""
    from judgeloop.run.trust import lifts_the_limit

    declared = getattr(parameter, "declared", None)
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


def _parameters(command: click.Command) -> dict[str, click.Parameter]:
    """Return the parameters of a command by their flags, without the dashes."""
    return {
        option.removeprefix("--"): parameter
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    }


def _name_judges(
    asked: Commanded, defaults: dict[str, Any], environment: Mapping[str, str]
) -> None:
    """Put the judges into `defaults`, as a list.

    JUDGELOOP_JUDGE has one judge a line, because a name may contain spaces.
    """
    given = environment.get(variable("judge"))
    if "judge" in _parameters(asked.command) and given:
        defaults["judge"] = given.splitlines()
    elif isinstance(defaults.get("judge"), str):
        defaults["judge"] = [defaults["judge"]]


def _taken(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if value is not NOT_TAKEN}


def _shown(found: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings, as flags without dashes; of a limit, that it stays."""
    return [
        name.replace("_", "-")
        + (" (not taken: only the caller may remove it)" if value is NOT_TAKEN else "")
        for name, value in found.items()
    ]
