"""Declared settings as options of a command, for click to read; the help by panels.

A setting is declared once, in a configuration (`run/setting.py`). What a command takes beside its
settings (`--json`, `--dry-run`) is declared here. Values are not checked: the configuration does.
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
    """An option with the panel of the help that it stands in."""

    def __init__(self, *args: Any, panel: str, **kwargs: Any) -> None:
        """As click's own."""
        super().__init__(*args, **kwargs)
        self.panel = panel


class PanelCommand(click.Command):
    """A command whose help lists its options by panel."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The panels that have something, each under its heading."""
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
        """As click's own."""
        super().__init__(*args, **kwargs)
        self.text: str = help


def variable(name: str) -> str:
    """The environment variable that sets a flag.

    >>> variable("max_judgments")
    'JUDGELOOP_MAX_JUDGMENTS'
    """
    return f"JUDGELOOP_{name.upper()}"


def parameters_of(*configs: type) -> list[click.Parameter]:
    """The arguments and options of a command that takes the settings of these configurations.

    A setting of several is one option, required if it is in all of them, with the help of the first.
    """
    fields: dict[str, Declared] = {}
    for config in configs:
        for name, field in declared(config).items():
            fields.setdefault(name, field)
    required = {
        name
        for name in fields
        if all(name in declared(one) and declared(one)[name].required for one in configs)
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
    """A flag of a command's own that is on or off."""
    names = [f"{flag(name)}/--no-{name.replace('_', '-')}", name]
    return PanelOption(names, default=False, help=help_, panel=panel, envvar=variable(name))


def as_json() -> PanelOption:
    """`--json`."""
    return PanelOption(
        ["--json", "as_json"],
        is_flag=True,
        default=False,
        help="Print JSON and nothing else.",
        panel=OUTPUT,
        envvar=variable("json"),
    )


def output() -> PanelOption:
    """`-o`."""
    return PanelOption(
        ["-o", "--output", "output"],
        type=click.Path(path_type=Path),
        help="Also write the result: .json, .md, .txt, .html or .csv.",
        panel=OUTPUT,
        envvar=variable("output"),
    )


def dry_run() -> PanelOption:
    """`--dry-run`."""
    return switch("dry_run", "Print what it would take; spend nothing.", MONEY)


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
        # One name may hold spaces, at which several values in a variable are split; read in `settings_file.py`.
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
    """The default of a setting, None where the configurations that have it differ."""
    found = [declared(one)[field.name].default for one in configs if field.name in declared(one)]
    return found[0] if all(value == found[0] for value in found) else None


def _said_default(setting: Setting, default: Any, *, required: bool) -> str:
    """The default in words, where it says something."""
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
    return next((METAVARS[one] for one in plain if one in METAVARS), "TEXT")
