"""The commands `runs` and `runs show`: the runs beside a ledger, and the result of one of them."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from judgeloop.cli.panel_command import CONTEXT, PanelArgument, settings_command
from judgeloop.cli.progress import explained
from judgeloop.diagnostics.config import LedgerConfig

SECOND = 19  # characters of a time in ISO 8601 up to its seconds
_ID = frozenset("0123456789abcdef")  # what a run's id is made of


class Runs(click.Group):
    """A group that lists the runs if no subcommand is given, and shows a run if its id is."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the beginning of a run's id as `runs show`, and options as those of `runs list`."""
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)  # a shell is to be offered the subcommands
        first = args[0] if args else "-"
        if first not in self.commands and set(first) <= _ID:
            args = ["show", *args]
        elif first.startswith("-") and first not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


def runs() -> click.Command:
    """Return the command `runs` with its subcommands."""
    run = PanelArgument(
        ["run"],
        metavar="[RUN]",
        required=False,
        help="The run's id, or its beginning; without it, the latest run that has a result here.",
    )
    show = settings_command(
        "runs show",
        _show,
        "Print the result of a run again, or write it to files with -o: the ledger has all of it.",
        run,
    )
    every = settings_command("runs list", _list, "List the runs of a ledger, the latest first.")
    return Runs(
        "runs",
        commands=[every, show],
        help="List the runs of a ledger, or show the result of one again.",
        context_settings=CONTEXT,
    )


def _list(*, json: bool, **given: Any) -> None:
    from json import dumps

    from judgeloop.core.money import show_usd, to_usd
    from judgeloop.diagnostics.past_runs import past_runs
    from judgeloop.report.escaping import visible

    with explained():
        found = past_runs(LedgerConfig.of(**given).ledger)
        if json:
            rows = [
                asdict(run)
                | {"headline": run.headline, "charged_usd": float(to_usd(run.charged_p))}
                for run in found
            ]
            print(dumps(rows, indent=2))
            return
        for run in found:
            began = run.began_at[:SECOND].replace("T", " ")
            print(visible(f"{run.id}  {began}  {show_usd(run.charged_p):>8}  {run.headline}"))
        if not found:
            print("no runs yet")


def _show(*, run: str | None, output: tuple[Path, ...], **given: Any) -> None:
    from judgeloop.cli.files import check_outputs, write_outputs
    from judgeloop.core.errors import InputError
    from judgeloop.diagnostics.past_runs import latest_run, past_run
    from judgeloop.questions.stored import result_in

    with explained():
        ledger = LedgerConfig.of(**given).ledger
        check_outputs(output, [ledger])
        found = latest_run(ledger) if run is None else past_run(ledger, run)
        if found.text is None:
            raise InputError(
                f"RUN {run}: the ledger has no result of it: the run has not ended. Rerun its command to "
                "resume it"
            )
        print(found.text, end="")
        if output:
            write_outputs(output, result_in(ledger, found.id))
