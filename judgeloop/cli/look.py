"""The commands `doctor`, `calibrate` and `ledger`: they find no winner and estimate no score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli import flags
from judgeloop.cli.naming import as_flags
from judgeloop.cli.panel_command import CONTEXT, PanelArgument, PanelCommand
from judgeloop.cli.progress import counting, explained
from judgeloop.cli.results import quiet_option
from judgeloop.cli.streams import columns, say
from judgeloop.settings.shared import JUDGE

if TYPE_CHECKING:
    from judgeloop.settings.sources import Read


def doctor() -> click.Command:
    """Return the command `doctor`."""
    from judgeloop.settings.run_settings import JudgeSettings

    rating = flags.switch(
        "rating", "Let the judge rate a single answer, as estimate does, not compare two.", JUDGE
    )
    return PanelCommand(
        "doctor",
        callback=_examine,
        params=[*flags.parameters_of(JudgeSettings), rating],
        help="Check whether a judge works: key, server, model, structured output, price. Makes at most one "
        "call for each judge.\n\nExit codes: 0 the judge works, 2 usage, 4 a check failed.",
        context_settings=CONTEXT,
    )  # fmt: skip


def _examine(*, rating: bool, **given: Any) -> None:
    import asyncio

    from judgeloop.core.errors import EXIT_JUDGE
    from judgeloop.diagnostics.doctor import examine
    from judgeloop.diagnostics.findings import render_findings
    from judgeloop.settings.run_settings import JudgeSettings

    read = click.get_current_context().obj
    _say_settings(read)
    with explained():
        config, fit = JudgeSettings.of(**given), True
        for spec in config.judge:
            findings = asyncio.run(examine(config, spec, read.environment, rating=rating))
            print(as_flags(render_findings(findings, columns())))
            fit = fit and all(finding.fine is not False for finding in findings)
        raise click.exceptions.Exit(0 if fit else EXIT_JUDGE)


def _say_settings(read: Read) -> None:
    """Say on standard error which files set something."""
    from judgeloop.report.escaping import visible

    if read.sentence is not None:
        say(visible(read.sentence))


def calibrate() -> click.Command:
    """Return the command `calibrate`."""
    from judgeloop.calibration.config import CalibrateConfig

    return PanelCommand(
        "calibrate",
        callback=_calibrate,
        params=[*flags.parameters_of(CalibrateConfig), flags.as_json(), quiet_option()],
        help="Find the selector and rule that would have served past comparisons best, in judgments, dollars and "
        "errors.\n\nIt replays comparisons whose verdicts are known, each as if it were new. It asks no judge and "
        "spends nothing.",
        context_settings=CONTEXT,
    )  # fmt: skip


def _calibrate(*, as_json: bool, quiet: bool, **given: Any) -> None:
    import json
    import os

    # Its products of matrices are small: threads of the library would only wait for each other,
    # which takes processor time. The library reads this variable when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from judgeloop.calibration.config import CalibrateConfig
    from judgeloop.calibration.run import calibrate_past
    from judgeloop.calibration.text import calibration_json, render_calibration

    _say_settings(click.get_current_context().obj)
    with explained():
        config = CalibrateConfig.of(**given)
        with counting("ways of drawing", quiet=quiet) as observe:
            figures = calibrate_past(config, observe)
        if as_json:
            values = calibration_json(figures)
            values["beside"] = [as_flags(what) for what in values["beside"]]
            for advice in values["advice"]:
                advice["flags"] = _flags(advice["settings"])
            print(json.dumps(values, indent=2))
        else:
            print(as_flags(render_calibration(figures)))


def _flags(settings: dict[str, str] | None) -> str | None:
    """Return settings as flags; None for no settings."""
    if settings is None:
        return None
    return " ".join(as_flags(f"`{name}={value}`") for name, value in settings.items())


def ledger() -> click.Command:
    """Return the command `ledger` with its subcommands."""
    from judgeloop.cli.ledger import export, reconcile, salvage, show, verify
    from judgeloop.questions.compare.config import CompareConfig

    item = PanelArgument(["item"], metavar="ITEM", required=True, help="The item's id.")
    explain = PanelCommand(
        "explain",
        callback=_explain,
        params=[item, *flags.parameters_of(CompareConfig)],
        help="Explain why an item was, or was not, answered from the ledger. Give the flags of the comparison.",
        context_settings=CONTEXT,
    )
    return click.Group(
        "ledger",
        commands=[show(), export(), explain, verify(), salvage(), reconcile()],
        no_args_is_help=True,
        help="Show what was spent, look up paid verdicts in the ledger, check it, settle what is unknown.",
        context_settings=CONTEXT,
    )


def _explain(*, item: str, **given: Any) -> None:
    import asyncio

    from judgeloop.diagnostics.explain import explain
    from judgeloop.diagnostics.findings import render_explanation
    from judgeloop.questions.compare.config import CompareConfig
    from judgeloop.questions.compare.prepare import prepare

    read = click.get_current_context().obj
    with explained():
        comparison = prepare(CompareConfig.of(**given), read.environment, offline=True)
        for explanation in asyncio.run(explain(comparison, item)):
            print(render_explanation(explanation))
