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
# Variables that are read beside the settings.
BESIDE = frozenset({variable(name) for name in ("max_usd", "ledger_key", "judge_api_key")})


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
    unknown = found - BESIDE - set(_variables_of(command))
    if not unknown:
        return
    # The other commands are made, which takes time, only if this command does not know a name.
    from judgeloop.core.errors import InputError, did_you_mean

    known = {*BESIDE, *_variables_of(root)}
    for name in sorted(unknown - known):
        raise InputError(f"{where}: {name} sets nothing{did_you_mean(name, sorted(known))}")


def _variables_of(command: click.Command) -> Iterator[str]:
    """Give the variables that set an option of a command or of its subcommands."""
    for _, one in every_command(command):
        for parameter in one.params:
            if isinstance(parameter, click.Option):
                yield variable(str(parameter.name))
