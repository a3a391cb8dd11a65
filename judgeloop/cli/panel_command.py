"""A command of click whose help lists its options by panel, and which reads settings from files.

The help of a question has two forms: `--help` lists the settings that are declared as common,
`--help-all` lists all. The options are made in `flags.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.meant import meant_by
from judgeloop.cli.naming import flag, variable
from judgeloop.cli.progress import explained
from judgeloop.settings.setting import Declared
from judgeloop.settings.shared import OUTPUT, PANELS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from judgeloop.settings.sources import Read

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
ARGUMENTS, OTHER = "Arguments", "Other"
ALL = "help_all"  # the option that lists all options, and the mark that it was given
RESULT_FILE = "output"  # the option that names what is written


class PanelOption(click.Option):
    """An option with the panel of the help in which it is listed."""

    def __init__(
        self,
        *args: Any,
        panel: str,
        declared: Declared | None = None,
        variants: tuple[Declared, ...] = (),
        **kwargs: Any,
    ) -> None:
        """As `click.Option`, with `panel` and the declaration that says who may set it.

        `variants` are the declarations of all configurations that have the setting.
        """
        super().__init__(*args, **kwargs)
        self.panel = panel
        self.declared = declared
        self.variants = variants

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """As `click.Option`; a value that is missing is named with what it is for."""
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter as error:
            said = f"{error.format_message()} {self.help or ''}".rstrip()
            raise click.UsageError(said, ctx) from error

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return what a shell offers for the value: files, or the names it may have."""
        from judgeloop.cli.completion import completions

        found = completions(self.declared, incomplete)
        return super().shell_complete(ctx, incomplete) if found is None else found

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
        try:
            given, _, order = self.make_parser(ctx).parse_args(args=list(args))
        except click.NoSuchOption as error:
            known = {flag for parameter in self.params for flag in parameter.opts}
            meant = meant_by(error.option_name, known)
            if meant is None:
                raise
            ctx.fail(f"No such option: {error.option_name}. Did you mean {meant}?")
        _refuse_two_outputs(order)
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
        from judgeloop.cli.completion import completions

        found = completions(self.declared, incomplete)
        return super().shell_complete(ctx, incomplete) if found is None else found


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


def _refuse_two_outputs(order: Iterable[click.Parameter]) -> None:
    """Refuse a second `-o` of a command that writes one file or folder.

    Raises:
        click.UsageError: the last would win unseen.
    """
    found = [one for one in order if isinstance(one, click.Option) and one.name == RESULT_FILE]
    if len(found) > 1 and not found[0].multiple:
        raise click.UsageError(f"-o: expected one, found {len(found)}")


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


def _read(command: click.Command, ctx: click.Context, config: str | None, *, skip: bool) -> Read:
    """Read what the files set for a command."""
    from judgeloop.settings.sources import Commanded, read_settings

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
        help="Settings file to trust, in place of a judgeloop.toml found in the working folder or above.",
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
