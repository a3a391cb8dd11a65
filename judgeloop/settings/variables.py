"""Refuses JUDGELOOP_* variables that set nothing: a mistyped name would be ignored in silence.

Takes names of variables and the commands; reads no environment and no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from judgeloop.cli.every_command import every_command
from judgeloop.cli.naming import variable

PREFIX = variable("")
OF_TESTS = f"{PREFIX}TEST_"  # variables of judgeloop's own tests
# Variables that are read beside the settings, each with a sentence on it.
BESIDE = {
    variable("judge_api_key"): "Key for the server of --judge-base-url, which gets no other key.",
    variable("max_usd"): "Ceiling of every budget, in dollars; no flag and no file exceeds it.",
    variable("ledger_key"): "Key that signs the rows of the ledger, against changes by others.",
}


def check_variables(
    names: Iterable[str], where: str, command: click.Command, root: click.Command
) -> None:
    """Refuse a variable that is no setting of any command.

    `where` says in a message where the names stand; `command` is the command that runs, and `root`
    holds all commands.

    Raises:
        InputError: names the variable and the nearest that exists.
    """
    found = {name for name in names if name.startswith(PREFIX) and not name.startswith(OF_TESTS)}
    unknown = found - BESIDE.keys() - set(_variables_of(command))
    if not unknown:
        return
    # The other commands are made, which takes time, only if this command does not know a name.
    from judgeloop.core.errors import InputError, did_you_mean

    known = {*BESIDE, *_variables_of(root)}
    for name in sorted(unknown - known):
        raise InputError(f"{where}: {name} sets nothing{did_you_mean(name, sorted(known))}")


def _variables_of(command: click.Command) -> Iterator[str]:
    """Give the variables that set an option of a command or of its subcommands."""
    yield from (name for name, _ in options_by_variable(command))


def options_by_variable(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """Give the options of a command and of its subcommands that a variable sets, by its name."""
    for _, one in every_command(command):
        for parameter in one.params:
            name = variable_of(parameter)
            if isinstance(parameter, click.Option) and name is not None:
                yield name, parameter


def variable_of(parameter: click.Parameter) -> str | None:
    """Return the variable that sets a parameter; None if there is none.

    Click reads it, but for parameters with several values, which `settings_file.py` reads.
    """
    if isinstance(parameter.envvar, str):
        return parameter.envvar
    several = isinstance(parameter, click.Option) and parameter.multiple
    return variable(str(parameter.name)) if several else None
