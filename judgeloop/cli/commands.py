"""The table of all commands: where each is made, and the settings that it has.

Commands and configurations are named here, and imported when they are used: the list of commands
needs none of them, and one command not those of the others. What reads files and variables is given
`FIELDS`, so that it knows neither this table nor click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import click

from judgeloop.questions.question import QUESTIONS
from judgeloop.settings.setting import Declared, Part, Setting, Source, declared, merged, one_of
from judgeloop.settings.shared import JUDGE, MONEY, OUTPUT, PROTOCOL

Fields = Mapping[str, Declared]  # by key
SETTINGS = "judgeloop.settings"  # where a context holds the settings of its command, by name

# What a command has beside the settings of its configuration.
JSON = Declared(
    "json",
    Annotated[bool, Setting("Print JSON only.", OUTPUT, Part.REPORT, Source.FOUND, common=True)],
    default=False,
)
QUIET = Declared(
    "quiet",
    Annotated[
        bool,
        Setting(
            "Show no progress, and of a result only decision, cost and warnings.",
            OUTPUT,
            Part.REPORT,
            Source.FOUND,
            short="-q",
        ),
    ],
    default=False,
)
DRY_RUN = Declared(
    "dry_run",
    Annotated[
        bool,
        Setting(
            "Print a forecast of judgments, calls and cost; spend nothing.",
            MONEY,
            Part.REPORT,
            Source.FOUND,
            common=True,
        ),
    ],
    default=False,
)
LOG_FORMAT = Declared(
    "log_format",
    Annotated[
        str,
        one_of(("text", "json")),
        Setting(
            "Form of what goes to standard error: text, or json (an object a line).",
            OUTPUT,
            Part.REPORT,
            Source.FOUND,
        ),
    ],
    default="text",
)
ON_END = Declared(
    "on_end",
    Annotated[
        str | None,
        Setting(
            "Command to run at the end, which gets the result as JSON on standard input.",
            OUTPUT,
            Part.PLACE,
            Source.CALLER,
            metavar="COMMAND",
        ),
    ],
    default=None,
)
RESULT_FILES = Declared(
    "output",
    Annotated[
        tuple[Path, ...],
        Setting(
            "Also write the result to this file: .json, .md, .txt, .html, .csv, .tex, .xml. May be "
            "given several times.",
            OUTPUT,
            Part.PLACE,
            Source.INSIDE,
            short="-o",
            common=True,
            example=("result.html", "result.json"),
            many=True,
        ),
    ],
    default=(),
)
CONVERTED_FILE = Declared(
    "output",
    Annotated[
        Path,
        Setting("File to write, as JSON lines.", OUTPUT, Part.PLACE, Source.INSIDE, short="-o"),
    ],
    default=MISSING,
)
PICTURE_FILE = Declared(
    "output",
    Annotated[
        Path | None,
        Setting(
            "Also write the picture to this file: .svg.",
            OUTPUT,
            Part.PLACE,
            Source.INSIDE,
            short="-o",
        ),
    ],
    default=None,
)
RATING = Declared(
    "rating",
    Annotated[
        bool,
        Setting(
            "Test a rating of one answer, as estimate asks for, instead of a comparison.",
            JUDGE,
            Part.REPORT,
            Source.FOUND,
            common=True,
        ),
    ],
    default=False,
)
JOB = Declared(
    "job",
    Annotated[
        str,
        one_of([question.name for question in QUESTIONS]),
        Setting(
            "compare (pairs of systems), select (the best of all systems, in --seeds pools drawn at "
            "random), or estimate (the mean of each system).",
            PROTOCOL,
            Part.RUN,
            Source.FOUND,
        ),
    ],
    default="compare",
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, a line of help, what makes it, and what can be set.

    - `makes`: a function of a module in this folder, which is called with `given`.
    - `configs`: return the classes of its configurations, whose arguments are those of the first;
      `switches`: the settings that it has beside them.
    - `below`: its subcommands, if it is a group, which are made with it.
    """

    name: str
    help: str = ""
    makes: str = ""
    configs: tuple[Callable[[], Any], ...] = ()
    switches: tuple[Declared, ...] = ()
    below: tuple[Command, ...] = ()
    given: tuple[Any, ...] = ()

    def make(self) -> click.Command:
        """Import the command's module and return the command."""
        made: click.Command = _imported(f"cli.{self.makes}")(*self.given)
        return made

    def settings(self) -> dict[str, Declared]:
        """Return its settings and switches, by name."""
        configs = [config() for config in self.configs]
        own = declared(configs[0]) if configs else {}
        found = {
            name: one
            for name, one in merged(configs).items()
            if not one.setting.argument or name in own
        }
        return found | {one.name: one for one in self.switches}


def _imported(place: str) -> Any:
    """Return what a text such as `cli.demo:demo` names in this package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"judgeloop.{module}"), name)


def _class(place: str) -> Callable[[], Any]:
    """Return what imports a class by its place, such as `diagnostics.config:LedgerConfig`."""
    return partial(_imported, place)


_LEDGER: Final = (_class("diagnostics.config:LedgerConfig"),)
COMMANDS = (
    Command(
        "demo",
        "Decide an example that comes with judgeloop; needs no key and no network.",
        "demo:demo",
    ),
    Command(
        "init",
        "Write judgeloop.toml, a settings file with a comment for each setting.",
        "init:init",
    ),
    *(
        Command(
            question.name,
            question.help,
            "questions:command_of",
            (question.settings,),
            (DRY_RUN, JSON, QUIET, LOG_FORMAT, ON_END, RESULT_FILES),
            given=(question,),
        )
        for question in QUESTIONS
    ),
    Command(
        "suite",
        "Ask many questions of a file in one night, within one budget.",
        "suite:suite",
        (_class("suite.config:SuiteConfig"), *(question.settings for question in QUESTIONS)),
        (DRY_RUN, JSON, QUIET, LOG_FORMAT, ON_END, RESULT_FILES),
    ),
    Command(
        "generate",
        "Let a system answer items, and write its outputs to a file.",
        "generate:generate",
        (_class("settings.generate_settings:GenerateConfig"),),
        (DRY_RUN, JSON, QUIET, CONVERTED_FILE),
    ),
    Command(
        "doctor",
        "Check whether a judge or a system works: key, server, model, reply, price.",
        "doctor:doctor",
        (_class("diagnostics.config:DoctorConfig"),),
        (RATING,),
    ),
    Command(
        "calibrate",
        "Find the selector and rule that would have served past comparisons best.",
        "calibrate:calibrate",
        (_class("calibration.config:CalibrateConfig"),),
        (JSON, QUIET),
    ),
    Command(
        "replay",
        "Measure selectors and stopping rules on recorded verdicts.",
        "replay:replay",
        (
            _class("replay.config:ReplayConfig"),
            _class("replay.config:ReplaySelectConfig"),
            _class("replay.config:ReplayEstimateConfig"),
        ),
        (JOB, JSON, QUIET),
    ),
    Command(
        "runs",
        "List the runs of a ledger, show one again, compare two, or follow a pair over its runs.",
        "runs:runs",
        below=(
            Command("list", configs=(_class("diagnostics.config:RunsConfig"),), switches=(JSON,)),
            Command(
                "show",
                configs=(_class("diagnostics.config:ShowConfig"),),
                switches=(RESULT_FILES,),
            ),
            Command("diff", configs=_LEDGER),
            Command("trend", configs=_LEDGER, switches=(PICTURE_FILE,)),
        ),
    ),
    Command(
        "convert",
        "Write a file of any format that judgeloop reads in its own form.",
        "convert:convert",
        (_class("cli.convert:ConvertConfig"),),
        (CONVERTED_FILE,),
    ),
    Command(
        "budget",
        "Show, set or remove the budgets that the runs of a ledger share.",
        "budget:budget",
        below=(
            Command("show", configs=_LEDGER, switches=(JSON,)),
            Command("set", configs=(_class("diagnostics.config:BudgetConfig"),)),
            Command("remove", configs=(_class("diagnostics.config:NamedConfig"),)),
        ),
    ),
    Command(
        "ledger",
        "Show what was spent, look up paid verdicts, check and repair the ledger.",
        "ledger:ledger",
        below=(
            Command("show", configs=_LEDGER, switches=(JSON,)),
            Command("export", configs=_LEDGER),
            Command("explain", configs=_LEDGER),
            Command("create", configs=(_class("diagnostics.config:CreateConfig"),)),
            Command("verify", configs=_LEDGER),
            Command("salvage", configs=(_class("diagnostics.config:SalvageConfig"),)),
            Command("merge", configs=(_class("diagnostics.config:MergeConfig"),)),
            Command("dump", configs=_LEDGER),
            Command("load", configs=(_class("diagnostics.config:LoadConfig"),)),
            Command("prune", configs=(_class("diagnostics.config:PruneConfig"),)),
            Command("reconcile", configs=(_class("diagnostics.config:ReconcileConfig"),)),
        ),
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
