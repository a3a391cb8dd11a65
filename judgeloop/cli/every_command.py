"""Gives all commands of the command line, which makes each of them and so takes time."""

from __future__ import annotations

from collections.abc import Iterator

import click


def every_command(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Give every command that is no group, with its path: `compare`, or `ledger` and `explain`."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        if inner is not None:
            yield from every_command(inner, (*path, name))


def flags_of(command: click.Command) -> dict[str, click.Parameter]:
    """Return the options of a command by their flags, without the dashes."""
    return {
        option.removeprefix("--"): parameter
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--")
    }
