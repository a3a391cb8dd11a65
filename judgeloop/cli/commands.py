"""The table of all commands, and the settings of each.

A row holds a function that imports the module of its command and makes it: the list of commands needs none of them,
and one command not those of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import click

from judgeloop.questions.catalogue import QUESTIONS, QuestionRow
from judgeloop.settings.setting import Declared

if TYPE_CHECKING:
    from judgeloop.cli.options import SettingsCommand
    from judgeloop.settings.sources import Fields


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A command: its name, a line of help, what makes it, and the names of its subcommands if it is a group."""

    name: str
    help: str
    make: Callable[[], click.Command]
    below: tuple[str, ...] = ()


def _demo() -> click.Command:
    from judgeloop.cli.setup import demo

    return demo


def _init() -> click.Command:
    from judgeloop.cli.setup import init

    return init


def _asking(question: QuestionRow[Any, Any]) -> Callable[[], click.Command]:
    def make() -> click.Command:
        from judgeloop.cli.questions import command_of

        return command_of(question)

    return make


def _suite() -> click.Command:
    from judgeloop.cli.suite import suite

    return suite()


def _generate() -> click.Command:
    from judgeloop.cli.setup import generate

    return generate()


def _doctor() -> click.Command:
    from judgeloop.cli.setup import doctor

    return doctor()


def _replay() -> click.Command:
    from judgeloop.cli.replay import replay

    return replay()


def _runs() -> click.Command:
    from judgeloop.cli.runs import runs

    return runs()


def _convert() -> click.Command:
    from judgeloop.cli.convert import convert

    return convert()


def _budget() -> click.Command:
    from judgeloop.cli.budget import budget

    return budget()


def _ledger() -> click.Command:
    from judgeloop.cli.ledger import ledger

    return ledger()


COMMANDS = (
    CommandRow("demo", "Decide an example that comes with judgeloop; needs no key and no network.", _demo),
    CommandRow("init", "Write judgeloop.toml, a settings file with a comment for each setting.", _init),
    *(CommandRow(one.name, one.help, _asking(one)) for one in QUESTIONS),
    CommandRow("suite", "Ask many questions of a file in one night, within one budget.", _suite),
    CommandRow("generate", "Let a system answer items, and write its outputs to a file.", _generate),
    CommandRow("doctor", "Check whether a judge or a system works: key, server, model, reply, price.", _doctor),
    CommandRow("replay", "Measure selectors and stopping rules on recorded verdicts.", _replay),
    CommandRow(
        "runs",
        "List the runs of a ledger, show one again, or follow a pair over its runs.",
        _runs,
        ("list", "show", "trend"),
    ),
    CommandRow("convert", "Write a file of any format that judgeloop reads in its own form.", _convert),
    CommandRow(
        "budget", "Show, set or remove the budgets that the runs of a ledger share.", _budget, ("show", "set", "remove")
    ),
    CommandRow(
        "ledger",
        "Show what was spent, check the ledger, merge others into it, settle calls of unknown cost.",
        _ledger,
        ("show", "export", "create", "verify", "merge", "prune", "settle"),
    ),
)
_ROWS = {row.name: row for row in COMMANDS}
WITHOUT_SETTINGS = ("demo", "init")


@cache
def command(name: str) -> click.Command | None:
    """The command with this name, which is made once; None if there is none."""
    return _ROWS[name].make() if name in _ROWS else None


@cache
def command_at(path: tuple[str, ...]) -> SettingsCommand:
    """The command with settings at a path of names: `compare`, or `ledger` and `show`."""
    found: Any = command(path[0])
    for name in path[1:]:
        found = found.commands[name]
    return found  # type: ignore[no-any-return]


class EveryCommand(Mapping[tuple[str, ...], "Fields"]):
    """The settings of every command that has any, by its path; made when they are asked for."""

    def __getitem__(self, path: tuple[str, ...]) -> Fields:
        return command_at(path).fields

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for row in COMMANDS:
            if row.name not in WITHOUT_SETTINGS:
                yield from ((row.name, name) for name in row.below) if row.below else ((row.name,),)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @cached_property
    def by_name(self) -> dict[str, Declared]:
        """Every setting by name, arguments included; the first command with a name counts."""
        found: dict[str, Declared] = {}
        for path in self:
            found = command_at(path).settings | found
        return found


FIELDS = EveryCommand()
