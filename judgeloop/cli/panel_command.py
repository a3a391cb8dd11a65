"""A command of click made of declared settings: its options, its help, and what a shell completes.

The help lists the options by panel, in two forms: `--help` lists the settings that are declared as
common, `--help-all` lists all. Click reads the command line only. `settings/sources.py` reads files
and variables, and the configurations check the values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from judgeloop.cli.commands import DRY_RUN, FIELDS, LOG_FORMAT, SETTINGS, command_at
from judgeloop.cli.progress import explained
from judgeloop.cli.streams import LOG
from judgeloop.core.errors import JudgeloopError
from judgeloop.settings import shared
from judgeloop.settings.setting import Declared, Source, key

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

CONTEXT: Final = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": 110,
    "allow_extra_args": True,  # refused here, with a hint
}
ARGUMENTS, OTHER = "Arguments", "Other"
ALL = "help_all"  # the option that lists all options, and the mark that it was given
RESULT_FILE = "output"  # the setting that names what is written
WITHOUT_RESULT = ("dry_run", "help", ALL)  # options of a command that writes no result
FEW = 15  # options that the short help lists, whether common or not
METAVARS = {int: "INTEGER", float: "NUMBER", Path: "PATH"}
# Read before all others: it says where they are read from.
CONFIG = Declared(
    "config",
    Annotated[
        Path | None,
        shared.place_setting(
            "Settings file to trust, in place of a judgeloop.toml found in the working folder or "
            "above; none to read neither that nor .env."
        ),
    ],
    None,
)


def settings_command(
    path: str, callback: Callable[..., None], *arguments: click.Parameter, text: str = ""
) -> PanelCommand:
    """Return the command at `path`, such as `ledger show`, with its settings as options.

    `callback` takes them by name, None for what is not given, and the `arguments`. Its docstring is
    the help, unless there is a `text`.
    """
    paragraphs = cleandoc(callback.__doc__ or "").split("\n\n")
    return PanelCommand(
        tuple(path.split()),
        callback=callback,
        params=list(arguments),
        help=text or "\n\n".join(" ".join(one.split()) for one in paragraphs),
        context_settings=CONTEXT,
    )


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
            super().__init__(
                [*flags, field.name],
                type=click.UNPROCESSED,
                multiple=setting.many or field.name == RESULT_FILE,
                metavar=setting.metavar or _metavar(field.type),
                **common,
            )
        self.declared = field
        self.panel = setting.panel
        self.common = setting.common

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return its line of the help, which leaves out that `--no-` turns a switch off."""
        record = super().get_help_record(ctx)
        return record and (record[0].partition(" / ")[0], record[1])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what a shell offers for the value: files, or the names that it may have."""
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
        """Return what a shell offers for the value: files."""
        if self.declared is None:
            return super().shell_complete(ctx, incomplete)
        return completions(self.declared, incomplete)


class PanelCommand(click.Command):
    """A command of the table in `commands.py`, which reads its settings from all sources."""

    def __init__(self, path: tuple[str, ...], *, params: Sequence[click.Parameter] = (), **kwargs: Any) -> None:
        """As `click.Command`, with the settings of the command as parameters."""
        self.path, self.row = path, command_at(path)
        self.settings = self.row.settings()
        places = [_argument(one) for one in self.settings.values() if one.setting.argument]
        shown = [one for one in FIELDS[path].values() if not one.setting.file_only]
        options = [PanelOption(one) for one in (*shown, CONFIG)]
        super().__init__(path[-1], params=[*params, *places, *options, _help_all()], **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line, then read files and variables for what is not typed."""
        ctx.meta[SETTINGS] = self.settings
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        with explained():
            try:
                return self._parsed(ctx, [*args])
            except (click.UsageError, JudgeloopError):
                from judgeloop.cli.files import unfinished

                with unfinished(self._results(args), self.path[-1]):
                    raise

    def _parsed(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            option = error.option_name
            if field := FIELDS[self.path].get(option.removeprefix("--")):
                ctx.fail(f"No such option: {option}. Set {field.key} in judgeloop.toml, or {field.variable}.")
            if option == f"--no-{CONFIG.key}":
                ctx.fail(f"No such option: {option}. Did you mean --{CONFIG.key} none?")
            raise
        if ctx.args:
            many = " The best of several: judgeloop select" if self.path == ("compare",) else ""
            ctx.fail(f"Got an argument too many: {ctx.args[0]!r}.{many}")
        self._settle(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error becomes a line of text and an exit code."""
        with explained():
            return super().invoke(ctx)

    def _settle(self, ctx: click.Context) -> None:
        """Put the value of each setting into the context, and what was read."""
        from judgeloop.settings.sources import read_settings
        from judgeloop.settings.validation import checked_value

        typed = {name: value for name, value in ctx.params.items() if value not in {None, ()}}
        if RESULT_FILE in typed and not self.settings[RESULT_FILE].setting.many:
            typed[RESULT_FILE] = _only(typed[RESULT_FILE])
        ctx.obj = read_settings(FIELDS, self.path, _config(typed))
        values = ctx.obj.values | typed
        for name in typed.keys() & ctx.obj.values.keys():
            if self.settings[name].setting.adds:
                more = (one for one in _several(ctx.obj.values[name]) if one not in typed[name])
                values[name] = (*more, *typed[name])
        for field in self.row.switches:
            values[field.name] = checked_value(field, values.get(field.name))
        ctx.meta[LOG] = values.get(LOG_FORMAT.name)
        names, own = dict.fromkeys((*ctx.params, *self.settings)), {CONFIG.name, LOG_FORMAT.name}
        ctx.params = {name: values.get(name) for name in names if name not in own}

    def _results(self, args: Sequence[str]) -> list[Path]:
        """Return the files of the result of a question or a suite that is wrong: typed, in variables and in files."""
        from judgeloop.settings.sources import read_settings

        lenient = click.Context(self, ignore_unknown_options=True, resilient_parsing=True)
        typed, _, _ = self.make_parser(lenient).parse_args([*args])
        if not {RESULT_FILE, DRY_RUN.name} <= self.settings.keys() or any(map(typed.get, WITHOUT_RESULT)):
            return []
        found = [*typed.get(RESULT_FILE, ())]
        found += os.environ.get(self.settings[RESULT_FILE].variable, "").splitlines()
        with suppress(JudgeloopError):
            read = read_settings(FIELDS, self.path, _config(typed), only=RESULT_FILE)
            found += _several(read.values.get(RESULT_FILE))
        return [Path(one) for one in found if isinstance(one, str)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every panel that is not empty, under its heading."""
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in (ARGUMENTS, *shared.PANELS, OTHER)}
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
    """Return what can stand in place of `incomplete`: files, or the names that a value may have."""
    from click.shell_completion import CompletionItem

    if field.is_path or field.setting.source is Source.INSIDE:
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(name) for name in field.names if name.startswith(incomplete)]


def _config(typed: Mapping[str, Any]) -> Path | None:
    """Return the settings file that the caller names; None without one."""
    named = typed.get(CONFIG.name) or os.environ.get(CONFIG.variable)
    return Path(named) if named else None


def _several(value: object) -> list[Any]:
    """Return the values of a setting that may have several; one that is no list is refused later."""
    from judgeloop.settings.written import listed

    found = listed(value)
    return found if isinstance(found, list) else [found]


def _only(values: Sequence[Any]) -> Any:
    """Return the only `-o` of a command that writes one file: the last would win unseen.

    Raises:
        click.UsageError: there are several.
    """
    if len(values) > 1:
        raise click.UsageError(f"-o: expected one, found {len(values)}")
    return values[0]


def _shown_in_help(parameters: list[click.Parameter], *, everything: bool) -> tuple[list[click.Parameter], int]:
    """Return the parameters that the help lists, and the number of those that it leaves out.

    A command with few options lists all.
    """
    options = [one for one in parameters if isinstance(one, PanelOption)]
    left_out = [option for option in options if not option.common]
    if everything or len(options) <= FEW:
        return parameters, 0
    return [one for one in parameters if one not in left_out], len(left_out)


def _help_all() -> click.Option:
    """Return the option `--help-all`."""

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


def _argument(field: Declared) -> PanelArgument:
    return PanelArgument(
        [field.name],
        metavar=field.setting.argument,
        nargs=-1 if field.repeated else 1,
        type=click.UNPROCESSED,
        required=True,
        help=field.setting.help,
        declared=field,
    )


def default_of(field: Declared) -> str:
    """Return the default for the help; empty if it says nothing or the help names it already."""
    default = field.default
    silent = any(default is one for one in (MISSING, None, False)) or default == ()
    if silent or "Default:" in field.setting.help:
        return ""
    value = getattr(default, "value", default)
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return f" [default: {value}]"


def _metavar(kind: Any) -> str:
    plain = getattr(kind, "__args__", (kind,))
    return next((METAVARS[type_] for type_ in plain if type_ in METAVARS), "TEXT")
