"""The command `judgeloop` and the list of its subcommands.

A subcommand and its imports are loaded only when it is called, so that `--help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import click

from judgeloop.cli.questions import command_of
from judgeloop.cli.streams import printed
from judgeloop.core.errors import did_you_mean
from judgeloop.questions.question import QUESTIONS


def _demo() -> click.Command:
    from judgeloop.cli.demo import demo

    return demo()


def _init() -> click.Command:
    from judgeloop.cli.init import init

    return init()


def _doctor() -> click.Command:
    from judgeloop.cli.doctor import doctor

    return doctor()


def _calibrate() -> click.Command:
    from judgeloop.cli.calibrate import calibrate

    return calibrate()


def _replay() -> click.Command:
    from judgeloop.cli.replay import replay

    return replay()


def _ledger() -> click.Command:
    from judgeloop.cli.ledger import ledger

    return ledger()


def _runs() -> click.Command:
    from judgeloop.cli.runs import runs

    return runs()


def _convert() -> click.Command:
    from judgeloop.cli.convert import convert

    return convert()


# By name: the help line in the list of commands, and the function that makes the command.
COMMANDS: dict[str, tuple[str, Callable[[], click.Command]]] = {
    "demo": ("Decide an example that comes with judgeloop; needs no key and no network.", _demo),
    "init": ("Write judgeloop.toml, a settings file with a comment for each setting.", _init),
    **{question.name: (question.help, partial(command_of, question)) for question in QUESTIONS},
    "doctor": ("Check whether a judge works: key, server, model, reply, price.", _doctor),
    "calibrate": (
        "Find the selector and rule that would have served past comparisons best.",
        _calibrate,
    ),
    "replay": ("Measure selectors and stopping rules on recorded verdicts.", _replay),
    "runs": ("List the runs of a ledger, or show the result of one again.", _runs),
    "convert": ("Write a file of any format that judgeloop reads in its own form.", _convert),
    "ledger": ("Show what was spent, look up paid verdicts, check and repair the ledger.", _ledger),
}


class Commands(click.Group):
    """A group that makes a command only when it is called."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the arguments, which may print the help."""
        with printed():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; output that nobody reads becomes an exit code."""
        with printed():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order declared."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command `cmd_name`; None if there is none."""
        del ctx
        return COMMANDS[cmd_name][1]() if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is typed; a mistyped one is an error that names the nearest."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a help line for each command, without making the commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (text, _) in COMMANDS.items()])


def _version(context: click.Context, parameter: click.Parameter, asked: Any) -> None:
    del parameter
    if asked and not context.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"judgeloop {version('judgeloop')}")
        context.exit()


@click.group(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
def app() -> None:
    """Find out which language model is better, how sure that is, and what it cost.

    Every flag can also be set as JUDGELOOP_<FLAG> in the environment. What cannot send a key or
    text elsewhere, run code or raise the cost can also be set in .env in the working folder and in
    judgeloop.toml there or above, in the same repository; --config FILE trusts a file. A flag wins
    over the environment, that over .env, and that over judgeloop.toml.
    """


def main() -> None:
    """Run the command line; the entry point `judgeloop`."""
    app(prog_name="judgeloop")
