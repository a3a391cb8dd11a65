"""Makes click's options and arguments from declared settings, and lists them in the help by panel.

The help of a question has two forms: `--help` lists the settings that are declared as common,
`--help-all` lists all.

A setting is declared in a configuration (`run/setting.py`). Options that are not settings, such as
`--json` and `--dry-run`, are declared here. Values are not checked here: the configuration checks
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.naming import flag, variable
from judgeloop.cli.progress import explained
from judgeloop.run.setting import Declared, Part, Setting, Source, declared
from judgeloop.run.shared_settings import MONEY, OUTPUT, PANELS

if TYPE_CHECKING:
    from judgeloop.cli.settings_file import Read

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
ARGUMENTS, OTHER = "Arguments", "Other"
ALL = "help_all"  # the option that lists all options, and the mark that it was given
# Of options that are not settings: a switch, and a file to write.
SWITCH = Declared("", bool, False, Setting("", OUTPUT, Part.REPORT, Source.FOUND, common=True))
FILE = Declared("", Path, None, Setting("", OUTPUT, Part.PLACE, Source.INSIDE, common=True))
METAVARS = {int: "INTEGER", float: "NUMBER", Path: "PATH"}


class PanelOption(click.Option):
    """An option with the panel of the help in which it is listed."""

    def __init__(
        self, *args: Any, panel: str, declared: Declared | None = None, **kwargs: Any
    ) -> None:
        """As `click.Option`, with `panel` and the declaration that says who may set it."""
        super().__init__(*args, **kwargs)
        self.panel = panel
        self.declared = declared

    @property
    def common(self) -> bool:
        """Whether the short help lists it."""
        setting = self.declared.setting if self.declared else None
        return self.name == ALL or (setting is not None and setting.common)


class PanelCommand(click.Command):
    """A command whose help lists its options by panel, and which reads settings from files."""

    def __init__(self, name: str, *, params: list[click.Parameter], **kwargs: Any) -> None:
        """As `click.Command`, with the options that say which files to read."""
        super().__init__(name, params=[*params, *reading(), _help_all()], **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the settings files first: they give the defaults of all other options."""
        given, *_ = self.make_parser(ctx).parse_args(args=list(args))
        help_option = self.get_help_option(ctx)
        asked_for_help = given.get(ALL) or (
            help_option is not None and given.get(str(help_option.name))
        )
        if not ctx.resilient_parsing and not asked_for_help:
            config = given.get("config") or os.environ.get(variable("config"))
            with explained():
                ctx.obj = _read(self, ctx, config, skip=bool(given.get("no_config")))
            ctx.default_map = ctx.obj.defaults
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every panel that is not empty, under its heading."""
        panels: dict[str, list[tuple[str, str]]] = {
            name: [] for name in (ARGUMENTS, *PANELS, OTHER)
        }
        shown, left_out = _shown_in_help(self.get_params(ctx), everything=bool(ctx.meta.get(ALL)))
        for parameter in shown:
            if isinstance(parameter, PanelArgument):
                panels[ARGUMENTS].append((parameter.make_metavar(ctx), parameter.text))
                continue
            record = parameter.get_help_record(ctx)
            if record is not None:
                panels[getattr(parameter, "panel", OTHER)].append(record)
        for panel, records in panels.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl(records)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"{left_out} more options: {ctx.command_path} {flag(ALL)}")


class PanelArgument(click.Argument):
    """An argument with a help text."""

    def __init__(self, *args: Any, help: str, **kwargs: Any) -> None:  # noqa: A002 - click's own name
        """As `click.Argument`, with `help`."""
        super().__init__(*args, **kwargs)
        self.text: str = help


def _shown_in_help(
    parameters: list[click.Parameter], *, everything: bool
) -> tuple[list[click.Parameter], int]:
    """Return the parameters that the help lists, and the number of those that it leaves out.

    A command without common settings lists all.
    """
    options = [one for one in parameters if isinstance(one, PanelOption)]
    left_out = [option for option in options if not option.common]
    if everything or len(left_out) == len(options) - 1:  # only `--help-all` is common
        return parameters, 0
    return [one for one in parameters if one not in left_out], len(left_out)


def _help_all() -> click.Option:
    """Return the option `--help-all`."""

    def listed(ctx: click.Context, _: click.Parameter, asked: Any) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.meta[ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return PanelOption(
        [flag(ALL)],
        panel=OTHER,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=listed,
        help="Show all options and exit.",
    )


def parameters_of(*configs: type) -> list[click.Parameter]:
    """Return the arguments and options of a command with the settings of these configurations.

    A setting of several configurations is a single option, with the help of the first of them. It
    is required if all configurations have and require it.
    """
    fields: dict[str, Declared] = {}
    for config in configs:
        for name, field in declared(config).items():
            fields.setdefault(name, field)
    required = {
        name
        for name in fields
        if all(name in declared(config) and declared(config)[name].required for config in configs)
    }
    shown = [field for field in fields.values() if field.setting and field.setting.flag]
    places = [_argument(field) for field in shown if field.setting and field.setting.argument]
    options = [
        _option(field, required=field.name in required, default=_shared_default(field, configs))
        for field in shown
        if field.setting and not field.setting.argument
    ]
    return [*places, *options]


def switch(name: str, help_: str, panel: str) -> PanelOption:
    """Return an option that is on or off, and is no setting."""
    names = [f"{flag(name)}/--no-{name.replace('_', '-')}", name]
    return PanelOption(
        names, default=False, help=help_, panel=panel, envvar=variable(name), declared=SWITCH
    )


def _read(command: click.Command, ctx: click.Context, config: str | None, *, skip: bool) -> Read:
    """Read what the files set for a command."""
    from judgeloop.cli.settings_file import Commanded, read_settings

    root = ctx.find_root()
    table = tuple(ctx.command_path.removeprefix(str(root.info_name)).split())
    commands = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
    asked = Commanded(command, table, tuple(commands), root.command)
    return read_settings(asked, Path(config) if config else None, skip=skip)


def reading() -> list[click.Parameter]:
    """Return the options that say which files settings are read from."""
    config = PanelOption(
        ["--config"],
        type=click.Path(path_type=Path),
        expose_value=False,
        help="Settings file to trust, in place of a judgeloop.toml found in the working folder.",
        panel=OUTPUT,
        envvar=variable("config"),
    )
    no_config = PanelOption(
        ["--no-config"],
        is_flag=True,
        expose_value=False,
        help="Read neither judgeloop.toml nor .env.",
        panel=OUTPUT,
    )
    return [config, no_config]


def as_json() -> PanelOption:
    """Return the option `--json`."""
    return PanelOption(
        ["--json", "as_json"],
        is_flag=True,
        default=False,
        help="Print JSON only.",
        panel=OUTPUT,
        declared=SWITCH,
        envvar=variable("json"),
    )


def output() -> PanelOption:
    """Return the option `-o`."""
    return PanelOption(
        ["-o", "--output", "output"],
        type=click.Path(path_type=Path),
        help="Also write the result to this file: .json, .md, .txt, .html or .csv.",
        panel=OUTPUT,
        declared=FILE,
        envvar=variable("output"),
    )


def dry_run() -> PanelOption:
    """Return the option `--dry-run`."""
    return switch("dry_run", "Print a forecast of judgments, calls and cost; spend nothing.", MONEY)


def _argument(field: Declared) -> PanelArgument:
    assert field.setting is not None
    return PanelArgument(
        [field.name],
        metavar=field.setting.argument,
        nargs=-1 if field.repeated else 1,
        type=click.UNPROCESSED,
        required=True,
        help=field.setting.help,
    )


def _option(field: Declared, *, required: bool, default: Any) -> PanelOption:
    setting = field.setting
    assert setting is not None
    names = [name for name in (setting.short, flag(field.name)) if name]
    common: dict[str, Any] = {
        "help": setting.help + _said_default(setting, default, required=required),
        "panel": setting.panel,
        "declared": field,
        # Click splits several values in a variable at spaces, and a judge's name may hold spaces.
        # So `settings_file.py` reads the variable of the judges.
        "envvar": None if field.name == "judge" else variable(field.name),
    }
    if field.type is bool:
        names[-1] = f"{flag(field.name)}/--no-{field.name.replace('_', '-')}"
        return PanelOption([*names, field.name], default=None, **common)
    return PanelOption(
        [*names, field.name],
        type=click.UNPROCESSED,
        multiple=field.repeated and field.name == "judge",
        required=required,
        metavar=setting.metavar or _metavar(field.type),
        **common,
    )


def _shared_default(field: Declared, configs: tuple[type, ...]) -> Any:
    """Return the default of a setting; None if the configurations that have it differ."""
    found = [
        declared(config)[field.name].default for config in configs if field.name in declared(config)
    ]
    return found[0] if all(value == found[0] for value in found) else None


def _said_default(setting: Setting, default: Any, *, required: bool) -> str:
    """Return the default for the help; empty if it says nothing or the help names it already."""
    if required or default is MISSING or default is None or default is False or default == ():
        return ""
    if "Default:" in setting.help:
        return ""
    value = getattr(default, "value", default)
    if isinstance(value, tuple):
        value = ",".join(map(str, value))
    return f"  [default: {value}]"


def _metavar(kind: Any) -> str:
    plain: Iterable[Any] = getattr(kind, "__args__", (kind,))
    return next((METAVARS[type_] for type_ in plain if type_ in METAVARS), "TEXT")
