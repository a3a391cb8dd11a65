"""The command `judgeloop`, a group of the commands in `commands.py`."""

from typing import Any

import click

from judgeloop.cli.commands import COMMANDS, FIELDS, command
from judgeloop.cli.output import EVERY, TYPED, printed
from judgeloop.core.errors import did_you_mean

_ROWS = {row.name: row for row in COMMANDS}


class Commands(click.Group):
    """A group that makes a command only when it is called."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments, which may print the help; they are kept as typed."""
        typed = tuple(args)
        with printed():
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[TYPED], context.meta[EVERY] = typed, FIELDS
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; output that nobody reads becomes an exit code."""
        with printed():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order declared."""
        del ctx
        return list(_ROWS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command `cmd_name`; None if there is none."""
        del ctx
        return command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is typed; a mistyped one is an error that names the nearest."""
        name = args[0]
        if name not in _ROWS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}{did_you_mean(name, _ROWS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a help line for each command, without making the commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in COMMANDS])


@click.group(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="judgeloop", message="judgeloop %(version)s", help="Print the version.")
def app() -> None:
    """Find out which language model is better, how sure that is, and what it cost.

    Every flag is also a variable, JUDGELOOP_<FLAG>, and a key of judgeloop.toml. A flag wins over
    the environment, that over .env, and that over judgeloop.toml. Files that judgeloop finds cannot
    send a key or text elsewhere, run code or raise the cost; --config FILE trusts a file.
    """
