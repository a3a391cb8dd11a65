"""Makes click's options and arguments from declared settings.

A setting is declared in a configuration (`settings/setting.py`). Options that are not settings, such as
`--json` and `--dry-run`, are declared here. Values are not checked here: the configuration checks
them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import click

from judgeloop.cli.naming import flag, variable
from judgeloop.cli.panel_command import RESULT_FILE, PanelArgument, PanelOption
from judgeloop.settings.setting import Declared, Part, Setting, Source, declared
from judgeloop.settings.shared import MONEY, OUTPUT

# Of options that are not settings: a switch, a file to write, and the files of a result.
SWITCH = Declared("", bool, False, Setting("", OUTPUT, Part.REPORT, Source.FOUND, common=True))
FILE = Declared("", Path, None, Setting("", OUTPUT, Part.PLACE, Source.INSIDE, common=True))
FILES = Declared(
    RESULT_FILE,
    tuple[Path, ...],
    (),
    Setting(
        "Also write the result to this file: .json, .md, .txt, .html, .csv or .xml (JUnit). Give several for "
        "several files.",
        OUTPUT,
        Part.PLACE,
        Source.INSIDE,
        common=True,
        example=("result.html", "result.json"),
    ),
)
METAVARS = {int: "INTEGER", float: "NUMBER", Path: "PATH"}


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
        _option(field, _variants(field.name, configs), required=field.name in required)
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
    """Return the option `-o` of a command with a result, which may be given several times."""
    assert FILES.setting is not None
    return PanelOption(
        ["-o", "--output", "output"],
        type=click.Path(path_type=Path),
        multiple=True,
        help=FILES.setting.help,
        panel=OUTPUT,
        declared=FILES,
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
        declared=field,
    )


def _option(field: Declared, variants: tuple[Declared, ...], *, required: bool) -> PanelOption:
    setting, default = field.setting, _shared_default(variants)
    assert setting is not None
    names = [name for name in (setting.short, flag(field.name)) if name]
    common: dict[str, Any] = {
        "help": setting.help + _said_default(setting, default, required=required),
        "panel": setting.panel,
        "declared": field,
        "variants": variants,
        # Click splits several values in a variable at spaces, and a judge's name may hold spaces.
        # So `settings_file.py` reads the variables of options with several values.
        "envvar": None if field.many else variable(field.name),
    }
    if field.type is bool:
        names[-1] = f"{flag(field.name)}/--no-{field.name.replace('_', '-')}"
        return PanelOption([*names, field.name], default=None, **common)
    return PanelOption(
        [*names, field.name],
        type=click.UNPROCESSED,
        multiple=field.many,
        required=required,
        metavar=setting.metavar or _metavar(field.type),
        **common,
    )


def _variants(name: str, configs: tuple[type, ...]) -> tuple[Declared, ...]:
    """Return the declarations of a setting in all configurations that have it."""
    return tuple(declared(config)[name] for config in configs if name in declared(config))


def _shared_default(variants: tuple[Declared, ...]) -> Any:
    """Return the default of a setting; None if the configurations that have it differ."""
    found = [one.default for one in variants]
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
