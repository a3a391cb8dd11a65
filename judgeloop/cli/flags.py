"""Makes click's options and arguments from declared settings, and lists them in the help by panel.

A setting is declared in a configuration (`run/setting.py`). Options that are not settings, such as
`--json` and `--dry-run`, are declared here. Values are not checked here: the configuration checks
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import click

from judgeloop.cli.naming import flag
from judgeloop.run.setting import Declared, Setting, declared
from judgeloop.run.settings import MONEY, OUTPUT, PANELS

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
ARGUMENTS, OTHER = "Arguments", "Other"
METAVARS = {int: "INTEGER", float: "NUMBER", Path: "PATH"}


class PanelOption(click.Option):
    """An option with the panel of the help in which it is listed."""

    def __init__(self, *args: Any, panel: str, **kwargs: Any) -> None:
        """As `click.Option`, with `panel`."""
        super().__init__(*args, **kwargs)
        self.panel = panel


class PanelCommand(click.Command):
    """A command whose help lists its options by panel."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write every panel that is not empty, under its heading."""
        panels: dict[str, list[tuple[str, str]]] = {
            name: [] for name in (ARGUMENTS, *PANELS, OTHER)
        }
        for parameter in self.get_params(ctx):
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


class PanelArgument(click.Argument):
    """An argument with a help text."""

    def __init__(self, *args: Any, help: str, **kwargs: Any) -> None:  # noqa: A002 - click's own name
        """As `click.Argument`, with `help`."""
        super().__init__(*args, **kwargs)
        self.text: str = help


def variable(name: str) -> str:
    """Return the environment variable that sets a flag.

    >>> variable("max_judgments")
    'JUDGELOOP_MAX_JUDGMENTS'
    """
    return f"JUDGELOOP_{name.upper()}"


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
    return PanelOption(names, default=False, help=help_, panel=panel, envvar=variable(name))


def as_json() -> PanelOption:
    """Return the option `--json`."""
    return PanelOption(
        ["--json", "as_json"],
        is_flag=True,
        default=False,
        help="Print JSON only.",
        panel=OUTPUT,
        envvar=variable("json"),
    )


def output() -> PanelOption:
    """Return the option `-o`."""
    return PanelOption(
        ["-o", "--output", "output"],
        type=click.Path(path_type=Path),
        help="Also write the result to this file: .json, .md, .txt, .html or .csv.",
        panel=OUTPUT,
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
