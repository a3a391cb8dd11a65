"""The commands that ask no question: `doctor`, `calibrate`, and what looks into the ledger."""

from __future__ import annotations

import os
from typing import Any

import click

from judgeloop.cli import flags
from judgeloop.cli.naming import as_flags
from judgeloop.cli.progress import counting, explained
from judgeloop.run.settings import JUDGE


def doctor() -> click.Command:
    """The command `doctor`."""
    from judgeloop.run.settings import JudgeSettings

    rating = flags.switch(
        "rating", "Have it rate one answer, as estimate does, and not compare two.", JUDGE
    )
    return flags.PanelCommand(
        "doctor",
        callback=_examine,
        params=[*flags.parameters_of(JudgeSettings), rating],
        help="See whether a judge is fit to work: key, server, model, structured output, price. Makes one call "
        "at most.\n\nExit codes: 0 fit, 2 usage, 4 not fit.",
        context_settings=flags.CONTEXT,
    )  # fmt: skip


def _examine(*, rating: bool, **given: Any) -> None:
    import asyncio

    from judgeloop.report.run_result import EXIT_JUDGE
    from judgeloop.run.doctor import examine
    from judgeloop.run.findings import render_findings
    from judgeloop.run.settings import JudgeSettings

    with explained():
        config, fit = JudgeSettings.of(**given), True
        for spec in config.judge:
            findings = asyncio.run(examine(config, spec, os.environ, rating=rating))
            print(as_flags(render_findings(findings)))
            fit = fit and all(one.fine is not False for one in findings)
        raise click.exceptions.Exit(0 if fit else EXIT_JUDGE)


def calibrate() -> click.Command:
    """The command `calibrate`."""
    from judgeloop.calibration.config import CalibrateConfig

    return flags.PanelCommand(
        "calibrate",
        callback=_calibrate,
        params=[*flags.parameters_of(CalibrateConfig), flags.as_json()],
        help="See which selector and rule would have served past comparisons best, in judgments, dollars and "
        "errors.\n\nAsks nobody and spends nothing: it replays comparisons whose verdicts are known, as if each "
        "were new.",
        context_settings=flags.CONTEXT,
    )  # fmt: skip


def _calibrate(*, as_json: bool, **given: Any) -> None:
    import json

    from judgeloop.calibration.config import CalibrateConfig
    from judgeloop.calibration.run import calibrate_past
    from judgeloop.calibration.text import calibration_json, render_calibration

    with explained():
        config = CalibrateConfig.of(**given)
        with counting("ways of drawing") as observe:
            fared = calibrate_past(config, observe)
        if as_json:
            values = calibration_json(fared)
            values["beside"] = [as_flags(one) for one in values["beside"]]
            for one in values["advice"]:
                one["flags"] = _flags(one["settings"])
            print(json.dumps(values, indent=2))
        else:
            print(as_flags(render_calibration(fared)))


def _flags(settings: dict[str, str] | None) -> str | None:
    """Settings as on the command line."""
    if settings is None:
        return None
    return " ".join(as_flags(f"`{name}={value}`") for name, value in settings.items())


def ledger() -> click.Command:
    """The commands that look into the ledger."""
    from judgeloop.compare.config import CompareConfig

    item = flags.PanelArgument(["item"], metavar="ITEM", required=True, help="The item's id.")
    explain = flags.PanelCommand(
        "explain",
        callback=_explain,
        params=[item, *flags.parameters_of(CompareConfig)],
        help="Say why an item was, or was not, answered from the ledger. Give the flags of the comparison.",
        context_settings=flags.CONTEXT,
    )
    return click.Group(
        "ledger",
        commands={"explain": explain},
        no_args_is_help=True,
        help="Look into what was paid for.",
        context_settings=flags.CONTEXT,
    )


def _explain(*, item: str, **given: Any) -> None:
    import asyncio

    from judgeloop.compare.config import CompareConfig
    from judgeloop.compare.prepare import prepare
    from judgeloop.run.explain import explain
    from judgeloop.run.findings import render_explanation

    with explained():
        comparison = prepare(CompareConfig.of(**given), os.environ, offline=True)
        for one in asyncio.run(explain(comparison, item)):
            print(render_explanation(one))
