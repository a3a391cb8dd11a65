"""The table of all commands: where each is made, and the settings that it has.

Commands and configurations are named here, and imported when they are used: the list of commands
needs none of them, and one command not those of the others. What reads files and variables is given
`FIELDS`, so that it knows neither this table nor click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import click

from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.settings import shared
from judgeloop.settings.setting import Declared, Source, declared, merged, one_of
from judgeloop.settings.shared import OUTPUT

Fields = Mapping[str, Declared]  # by key
SETTINGS = "judgeloop.settings"  # where a context holds the settings of its command, by name


@dataclass(frozen=True)
class _Switches:
    """What commands have beside the settings of their configurations."""

    json: bool = shared.report_setting("Print JSON only.", OUTPUT, common=True).field(False)
    quiet: bool = shared.report_setting(
        "Show no progress, and of a result only decision, cost and warnings.", OUTPUT, short="-q"
    ).field(False)
    dry_run: bool = shared.report_setting(
        "Print a forecast of judgments, calls and cost; spend nothing.", shared.MONEY, common=True
    ).field(False)
    log_format: Annotated[str, one_of(("text", "json"))] = shared.report_setting(
        "Form of what goes to standard error: text, or json (an object a line).", OUTPUT
    ).field("text")
    rating: bool = shared.report_setting(
        "Test a rating of one answer, as estimate asks for, instead of a comparison.", shared.JUDGE, common=True
    ).field(False)
    job: Annotated[str, one_of([question.name for question in QUESTIONS])] = shared.run_setting(
        "compare (pairs of systems), select (the best of all systems, in --seeds pools drawn at "
        "random), or estimate (the mean of each system).",
        shared.PROTOCOL,
    ).field("compare")


@dataclass(frozen=True)
class _Results:
    """The files of a result."""

    output: tuple[Path, ...] = shared.place_setting(
        "Also write the result to this file: .json, .md, .txt, .html, .csv, .tex, .xml. May be given several times.",
        source=Source.INSIDE,
        short="-o",
        common=True,
        example=("result.html", "result.json"),
        many=True,
        adds=True,
    ).field(())


@dataclass(frozen=True)
class _Rows:
    """The file of rows."""

    output: Path = shared.place_setting("File to write, as JSON lines.", source=Source.INSIDE, short="-o").field()


@dataclass(frozen=True)
class _Picture:
    """The file of a picture."""

    output: Path | None = shared.place_setting(
        "Also write the picture to this file: .svg.", source=Source.INSIDE, short="-o"
    ).field(None)


JSON, QUIET, DRY_RUN, LOG_FORMAT, RATING, JOB = declared(_Switches).values()
RESULT_FILES, CONVERTED_FILE, PICTURE_FILE = (declared(one)["output"] for one in (_Results, _Rows, _Picture))


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, a line of help, what makes it, and what can be set.

    - `configs`: the classes of its configurations, by their places or what returns them; its
      arguments are those of the first. `switches`: the settings that it has beside them.
    - `below`: its subcommands, if it is a group, which are made with it.
    - `makes`: a command in a module of this folder, or a function that returns it for `given`. Without
      one, the command calls the function of its name in the module of its name, whose docstring is
      the help.
    """

    name: str
    help: str = ""
    configs: tuple[str | Callable[[], Any], ...] = ()
    switches: tuple[Declared, ...] = ()
    below: tuple[Command, ...] = ()
    makes: str = ""
    given: tuple[Any, ...] = ()

    def make(self) -> click.Command:
        """Import the command's module and return the command."""
        place, given = self.makes, self.given
        if not place:
            called = _imported(f"cli.{self.name}:{self.name}")
            place, given = "panel_command:settings_command", (self.name, called)
        made: Any = _imported(f"cli.{place}")
        found: click.Command = made if isinstance(made, click.Command) else made(*given)
        return found

    def settings(self) -> dict[str, Declared]:
        """Return its settings and switches, by name."""
        configs = [_imported(one) if isinstance(one, str) else one() for one in self.configs]
        own = declared(configs[0]) if configs else {}
        found = {name: one for name, one in merged(configs).items() if not one.setting.argument or name in own}
        return found | {one.name: one for one in self.switches}


def _imported(place: str) -> Any:
    """Return what a text such as `cli.demo:demo` names in this package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"judgeloop.{module}"), name)


_RUN: Final = (DRY_RUN, JSON, QUIET, LOG_FORMAT, RESULT_FILES)
_OF = "diagnostics.config:"
_LEDGER: Final = (f"{_OF}LedgerConfig",)
COMMANDS = (
    Command("demo", "Decide an example that comes with judgeloop; needs no key and no network.", makes="demo:demo"),
    Command("init", "Write judgeloop.toml, a settings file with a comment for each setting.", makes="init:init"),
    *(
        Command(one.name, one.help, (one.settings,), _RUN, makes="questions:command_of", given=(one,))
        for one in QUESTIONS
    ),
    Command(
        "suite",
        "Ask many questions of a file in one night, within one budget.",
        ("suite.config:SuiteConfig", *(question.settings for question in QUESTIONS)),
        _RUN,
        makes="suite:suite",
    ),
    Command(
        "generate",
        "Let a system answer items, and write its outputs to a file.",
        ("settings.generate_settings:GenerateConfig",),
        (DRY_RUN, JSON, QUIET, CONVERTED_FILE),
    ),
    Command(
        "doctor",
        "Check whether a judge or a system works: key, server, model, reply, price.",
        (f"{_OF}DoctorConfig",),
        (RATING,),
    ),
    Command(
        "replay",
        "Measure selectors and stopping rules on recorded verdicts.",
        tuple(f"replay.config:Replay{kind}Config" for kind in ("", "Select", "Estimate")),
        (JOB, JSON, QUIET),
    ),
    Command(
        "runs",
        "List the runs of a ledger, show one again, or follow a pair over its runs.",
        below=(
            Command("list", "", (f"{_OF}RunsConfig",), (JSON,)),
            Command("show", "", (f"{_OF}ShowConfig",), (JSON, QUIET, RESULT_FILES)),
            Command("trend", "", _LEDGER, (PICTURE_FILE,)),
        ),
        makes="runs:runs",
    ),
    Command(
        "convert",
        "Write a file of any format that judgeloop reads in its own form.",
        ("cli.convert:ConvertConfig",),
        (CONVERTED_FILE,),
    ),
    Command(
        "budget",
        "Show, set or remove the budgets that the runs of a ledger share.",
        below=(
            Command("show", "", _LEDGER, (JSON,)),
            Command("set", "", (f"{_OF}BudgetConfig",)),
            Command("remove", "", (f"{_OF}NamedConfig",)),
        ),
        makes="budget:budget",
    ),
    Command(
        "ledger",
        "Show what was spent, check the ledger, merge others into it, settle calls of unknown cost.",
        below=(
            Command("show", "", (f"{_OF}ShowLedgerConfig",), (JSON,)),
            Command("export", "", _LEDGER),
            Command("create", "", (f"{_OF}CreateConfig",)),
            Command("verify", "", _LEDGER),
            Command("merge", "", (f"{_OF}MergeConfig",)),
            Command("prune", "", (f"{_OF}PruneConfig",)),
            Command("settle", "", (f"{_OF}SettleConfig",)),
        ),
        makes="ledger:ledger",
    ),
)


def command_at(path: tuple[str, ...]) -> Command:
    """Return the command at a path of names: `compare`, or `ledger` and `show`."""
    rows = COMMANDS
    for name in path:
        found = next(row for row in rows if row.name == name)
        rows = found.below
    return found


class _Fields(Mapping[tuple[str, ...], Fields]):
    """The settings of every command that has any, by its path; made when they are asked for."""

    def __getitem__(self, path: tuple[str, ...]) -> Fields:
        return _fields(path)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        for row in COMMANDS:
            yield from [(row.name, below.name) for below in row.below]
            if row.configs:
                yield (row.name,)

    def __len__(self) -> int:
        return sum(1 for _ in self)


FIELDS = _Fields()


@cache
def _fields(path: tuple[str, ...]) -> Fields:
    found = command_at(path).settings().values()
    return {one.key: one for one in found if not one.setting.argument}
