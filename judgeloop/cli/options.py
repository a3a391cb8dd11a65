"""A command of click made of declared settings: its options, its help, and what a shell completes.

The help lists the options by panel, in two forms: `--help` lists the settings that are declared as
common, `--help-all` lists all. Click reads the command line only. `settings/sources.py` reads files
and variables, and the configurations check the values.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, replace
from inspect import cleandoc
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from judgeloop.cli.output import EVERY, LOG, SETTINGS
from judgeloop.cli.progress import explained, seen_while_it_lasts
from judgeloop.core.errors import JudgeloopError
from judgeloop.settings import fields
from judgeloop.settings.fields import OUTPUT
from judgeloop.settings.setting import Declared, declared, key, one_of
from judgeloop.settings.sources import RESULT_FILE, Read, inside, read_settings, several

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

CONTEXT: Final = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 110,
    "allow_extra_args": True,  # refused here, with a hint
}
ARGUMENTS, OTHER = "Arguments", "Other"
ALL = "help_all"  # the option that lists all options, and the mark that it was given
WITHOUT_RESULT = ("dry_run", "help", ALL)  # options of a command that writes no result
FEW = 15  # options that the short help lists, whether common or not
METAVARS = {int: "INTEGER", float: "NUMBER", Path: "PATH"}


@dataclass(frozen=True)
class _Switches:
    """What commands have beside the settings of their configurations."""

    json: bool = fields.report_setting("Print JSON only.", OUTPUT, common=True).field(False)
    quiet: bool = fields.report_setting(
        "Show no progress and no messages but warnings and errors.", OUTPUT, short="-q"
    ).field(False)
    details: bool = fields.report_setting(
        "Print all of a result: what must hold, the groups, the judge, the run. `runs show RUN --details` prints it later.",
        OUTPUT,
    ).field(False)
    dry_run: bool = fields.report_setting(
        "Forecast judgments, calls and cost; spend nothing.", fields.MONEY, common=True
    ).field(False)
    log_format: Annotated[str, one_of(("text", "json"))] = fields.report_setting(
        "Form of what goes to standard error: text, or json (an object a line).", OUTPUT
    ).field("text")
    output: tuple[Path, ...] = fields.place_setting(
        "Write it to this file, too: .json, .md, .txt, .html, .csv, .tex, .xml; of a run .svg. May be given several times.",
        may_set=inside,
        short="-o",
        common=True,
        example=("result.html", "result.json"),
        many=True,
        adds=True,
    ).field(())
    # Read before all others: it says where they are read from.
    config: Path | None = fields.place_setting(
        "Settings file to trust, in place of a judgeloop.toml found in the working folder or "
        "above; none to read neither that nor .env."
    ).field(None)


@dataclass(frozen=True)
class _RowsFile:
    output: Path = fields.place_setting("File to write, as JSON lines.", may_set=inside, short="-o").field()


JSON, QUIET, DETAILS, DRY_RUN, LOG_FORMAT, RESULT_FILES, CONFIG = declared(_Switches).values()
(ROWS_FILE,) = declared(_RowsFile).values()
OF_RUNS: Final = (DRY_RUN, JSON, QUIET, LOG_FORMAT, RESULT_FILES)  # of commands that ask judges


def settings_command(
    path: str,
    callback: Callable[..., None],
    *configs: Any,
    switches: Sequence[Declared] = (),
    arguments: Sequence[click.Parameter] = (),
    text: str = "",
) -> SettingsCommand:
    """The command at `path`, such as `ledger show`, with the settings of `configs` as options.

    `callback` takes the settings and switches by name, None for what is not given, and the `arguments`. Its docstring
    is the help, unless there is a `text`. Arguments that are settings are those of the first of `configs`.
    """
    paragraphs = cleandoc(callback.__doc__ or "").split("\n\n")
    return SettingsCommand(
        tuple(path.split()),
        configs,
        switches,
        callback=callback,
        params=list(arguments),
        help=text or "\n\n".join(" ".join(one.split()) for one in paragraphs),
        context_settings=CONTEXT,
    )


def settings_of(configs: Sequence[Any], switches: Sequence[Declared] = ()) -> dict[str, Declared]:
    """The settings of a command, by name: those of its configurations, and its switches.

    Of a setting that several configurations have, the help is that of the first. Where their defaults differ, none
    holds for the command, and it requires only its arguments and what all of them do.
    """
    found: dict[str, Declared] = {}
    for table in map(declared, configs):
        for name, one in table.items():
            known = found.setdefault(name, one)
            if known.default != one.default:
                found[name] = replace(known, default=None)
    own = declared(configs[0]) if configs else {}
    found = {name: one for name, one in found.items() if not one.setting.argument or name in own}
    for name, one in found.items():
        if one.required and not one.setting.argument and not all(name in declared(config) for config in configs):
            found[name] = replace(one, default=None)
    return found | {one.name: one for one in switches}


class DefaultGroup(click.Group):
    """A group that runs a subcommand, `default`, if none is typed: its options are that one's."""

    default = "show"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take options, or nothing, as those of the default; a shell is offered the subcommands."""
        first = args[0] if args else "" if ctx.resilient_parsing else "-"
        if first.startswith("-") and first not in ctx.help_option_names:
            args = [self.default, *args]
        return super().parse_args(ctx, args)


class PanelOption(click.Option):
    """The option of a setting. It has no default: what is not typed may be read from a file."""

    def __init__(self, field: Declared) -> None:
        """As `click.Option`, with what the declaration says."""
        setting, name = field.setting, key(field.name)
        flags = [one for one in (setting.short, f"--{name}") if one]
        common: dict[str, Any] = {"help": setting.help + default_of(field), "default": None}
        if field.type is bool:
            super().__init__([*flags[:-1], f"--{name}/--no-{name}", field.name], **common)
        else:
            kinds = getattr(field.type, "__args__", (field.type,))
            plain = next((METAVARS[kind] for kind in kinds if kind in METAVARS), "TEXT")
            super().__init__(
                [*flags, field.name],
                type=click.UNPROCESSED,
                multiple=setting.many or field.name == RESULT_FILE,
                metavar=setting.metavar or plain,
                **common,
            )
        self.declared = field
        self.panel = setting.panel
        self.common = setting.common

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Its line of the help, which leaves out that `--no-` turns a switch off."""
        record = super().get_help_record(ctx)
        return record and (record[0].partition(" / ")[0], record[1])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a shell offers for the value: files, or the names that it may have."""
        del ctx
        return completions(self.declared, incomplete)


class PanelArgument(click.Argument):
    """An argument with a help text and, if it is a setting, its declaration."""

    def __init__(
        self,
        *args: Any,
        help: str,  # noqa: A002 - click's own name
        declared: Declared | None = None,
        **kwargs: Any,
    ) -> None:
        """As `click.Argument`, with `help`."""
        super().__init__(*args, **kwargs)
        self.text: str = help
        self.declared = declared

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What a shell offers for the value: files."""
        if self.declared is None:
            return super().shell_complete(ctx, incomplete)
        return completions(self.declared, incomplete)


class SettingsCommand(click.Command):
    """A command that reads its settings from all sources.

    `settings` are all that it has, by name; `fields` those with a key in a settings file, by key.
    """

    def __init__(
        self,
        path: tuple[str, ...],
        configs: Sequence[Any],
        switches: Sequence[Declared],
        *,
        params: Sequence[click.Parameter] = (),
        **kwargs: Any,
    ) -> None:
        """As `click.Command`, with the settings of the command as parameters."""
        self.path, self.configs, self.switches = path, configs, switches
        self.settings = settings_of(configs, switches)
        self.fields = {one.key: one for one in self.settings.values() if not one.setting.argument}
        places = [
            PanelArgument(
                [one.name],
                metavar=one.setting.argument,
                nargs=-1 if one.repeated else 1,
                type=click.UNPROCESSED,
                required=one.required,
                help=one.setting.help,
                declared=one,
            )
            for one in self.settings.values()
            if one.setting.argument
        ]
        shown = [one for one in self.fields.values() if not one.setting.file_only]
        options = [PanelOption(one) for one in (*shown, CONFIG)]
        super().__init__(path[-1], params=[*params, *places, *options, _help_all()], **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, then read files and variables for what is not typed."""
        ctx.meta[SETTINGS] = self.settings
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ctx.obj = Read()
        with explained():
            try:
                return self._parsed(ctx, [*args])
            except (click.UsageError, JudgeloopError):
                from judgeloop.cli.files import unfinished

                with unfinished(self._stale(ctx, args), self.path[-1]):
                    raise

    def _parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        typed = [*args]  # which are taken from
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = error.option_name
            if field := self.fields.get(option.removeprefix("--")):
                ctx.fail(f"No such option: {option}. Set {field.key} in judgeloop.toml, or {field.variable}.")
            if option == f"--no-{CONFIG.key}":
                ctx.fail(f"No such option: {option}. Did you mean --{CONFIG.key} none?")
            every = ctx.meta.get(EVERY)
            if every is not None and option.removeprefix("--").replace("-", "_") in every.by_name:
                own = f"judgeloop {' '.join(self.path)} --help-all"
                ctx.fail(f"No such option: {option}. Another command has it; {own} lists those of this one.")
            raise
        if ctx.args:
            taking = {name: one.type for one in self.params for name in one.opts if not getattr(one, "is_flag", True)}
            for option, value in pairwise(typed):
                if option in taking and value.startswith("-"):  # it took the next flag for its value
                    choices = getattr(taking[option], "choices", ())
                    ctx.fail(f"{option} needs {' or '.join(map(str, choices)) or 'a value'}, found {value!r}.")
            many = " The best of several: judgeloop select" if self.path == ("compare",) else ""
            ctx.fail(f"Got an argument too many: {ctx.args[0]!r}.{many}")
        self._settle(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error becomes a line of text and an exit code."""
        with explained(), seen_while_it_lasts(quiet=bool(ctx.params.get(QUIET.name))):
            return super().invoke(ctx)

    def _settle(self, ctx: click.Context) -> None:
        """Put the value of each setting into the context, and what was read."""
        from judgeloop.settings.checking import checked_value

        typed = {name: value for name, value in ctx.params.items() if value not in {None, ()}}
        if RESULT_FILE in typed and not self.settings[RESULT_FILE].setting.many:
            if len(typed[RESULT_FILE]) > 1:  # the last would win unseen
                raise click.UsageError(f"-o: expected one, found {len(typed[RESULT_FILE])}")
            (typed[RESULT_FILE],) = typed[RESULT_FILE]
        self._read(ctx, typed)
        values = typed | ctx.obj.values
        for field in self.switches:
            values[field.name] = checked_value(field, values.get(field.name))
        ctx.meta[LOG] = values.get(LOG_FORMAT.name)
        names, own = dict.fromkeys((*ctx.params, *self.settings)), {CONFIG.name, LOG_FORMAT.name}
        ctx.params = {name: values.get(name) for name in names if name not in own}

    def _read(self, ctx: click.Context, typed: Mapping[str, Any]) -> None:
        named = typed.get(CONFIG.name) or os.environ.get(CONFIG.variable)
        every = ChainMap(
            {self.path: self.fields}, ctx.meta.get(EVERY, {})
        )  # the others' are made if a name is none of these
        read_settings(every, self.path, Path(named) if named else None, typed, into=ctx.obj)

    def _stale(self, ctx: click.Context, args: Sequence[str]) -> list[Path]:
        """The files of the result of a command that is wrong: what is typed, in variables and in files."""
        # Click takes nothing of a line in which it finds an unknown option.
        lenient = click.Context(self, ignore_unknown_options=True, resilient_parsing=True)
        typed, _, _ = self.make_parser(lenient).parse_args([*args])
        if not {RESULT_FILE, DRY_RUN.name} <= self.settings.keys() or any(map(typed.get, WITHOUT_RESULT)):
            return []
        if not ctx.obj.values:
            with suppress(JudgeloopError):
                self._read(ctx, {CONFIG.name: typed.get(CONFIG.name)})
        found = [*typed.get(RESULT_FILE, ()), *several(ctx.obj.values.get(RESULT_FILE, []))]
        found += os.environ.get(self.settings[RESULT_FILE].variable, "").splitlines()
        return [Path(one) for one in found if isinstance(one, str)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every panel that is not empty, under its heading."""
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in (ARGUMENTS, *fields.PANELS, OTHER)}
        shown, left_out = _shown_in_help(self.get_params(ctx), everything=bool(ctx.meta.get(ALL)))
        for parameter in shown:
            if isinstance(parameter, PanelArgument):
                panels[ARGUMENTS].append((parameter.make_metavar(ctx), parameter.text))
            elif record := parameter.get_help_record(ctx):
                panels[getattr(parameter, "panel", OTHER)].append(record)
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{left_out} more options: {ctx.command_path} --{key(ALL)}")


def completions(field: Declared, incomplete: str) -> list[CompletionItem]:
    """What can stand in place of `incomplete`: files, or the names that a value may have."""
    from click.shell_completion import CompletionItem

    if field.is_path or field.setting.may_set is inside:
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(name) for name in field.names if name.startswith(incomplete)]


def _shown_in_help(parameters: list[click.Parameter], *, everything: bool) -> tuple[list[click.Parameter], int]:
    """The parameters that the help lists, and the number of those that it leaves out.

    A command with few options lists all.
    """
    options = [one for one in parameters if isinstance(one, PanelOption)]
    left_out = [option for option in options if not option.common]
    if everything or len(options) <= FEW:
        return parameters, 0
    return [one for one in parameters if one not in left_out], len(left_out)


def _help_all() -> click.Option:
    """The option `--help-all`."""

    def listed(ctx: click.Context, _: click.Parameter, asked: Any) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.meta[ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return click.Option(
        [f"--{key(ALL)}"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=listed,
        help="Show all options and exit.",
    )


def default_of(field: Declared) -> str:
    """The default for the help; empty if it says nothing or the help names it already."""
    default = field.default
    silent = any(default is one for one in (MISSING, None, False)) or default == ()
    if silent or "Default:" in field.setting.help:
        return ""
    value = getattr(default, "value", default)
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return f" [default: {value}]"
