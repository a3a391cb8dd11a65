"""The command line: flags to a configuration, results to a terminal, outcomes to exit codes.

Nothing heavy is imported at the top, so that `--help` answers at once. Statistics, money and judges are elsewhere.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgeloop.cli import flags as options
from judgeloop.cli.flags import takes
from judgeloop.cli.progress import counting, explained
from judgeloop.cli.replay import replay

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from judgeloop.compare.plan import Plan
    from judgeloop.engine.batch import Interruption
    from judgeloop.report.run_result import RunResult
    from judgeloop.run.inputs import Inputs
    from judgeloop.run.settings import CompareConfig, EstimateConfig, RunSettings, SelectConfig

EXIT_JUDGE = 4
SETTINGS_FILE = "judgeloop.toml"
app = typer.Typer(
    name="judgeloop",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and one of them is a key
    help="Find out which language model is better, how sure that is, and what it cost.",
)


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it so
    if asked:
        from importlib.metadata import version

        print(f"judgeloop {version('judgeloop')}")
        raise typer.Exit


@app.callback()
def _settings(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001, FBT002 - typer reads it, and _version acts on it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find out which language model is better, how sure that is, and what it cost.

    Every flag can also be set as JUDGELOOP_<FLAG> in the environment or in .env, or in judgeloop.toml; a flag wins
    over the environment, and that over the file.
    """
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True), override=False)
    with explained():
        context.default_map = _settings_file(Path(SETTINGS_FILE), _flags(context))


@app.command()
@takes(options.SYSTEMS, options.COMPARISON)
def compare(*, dry_run: bool, as_json: bool, output: Path | None, **flags: Any) -> None:
    """Find the better of two systems.

    Exit codes: 0 decided, 1 error, 2 usage, 3 undecided, 4 the judge failed, 5 another system than --require-winner
    won, 130 interrupted. Repeating a command resumes it, and costs nothing for what is already known.
    """
    from judgeloop.run.settings import compare_config

    with explained():
        config = compare_config(**flags)
        _compare(config, dry_run=dry_run, as_json=as_json, output=output)


@app.command()
@takes(options.BEST_OF_MANY)
def select(*, dry_run: bool, as_json: bool, output: Path | None, **flags: Any) -> None:
    """Find the best of many systems, each compared with one of them, the baseline.

    Exit codes: 0 decided, 1 error, 2 usage, 3 undecided, 4 the judge failed, 5 another system than --require-winner
    won, 130 interrupted. Repeating a command resumes it, and costs nothing for what is already known.
    """
    from judgeloop.run.settings import SelectConfig, checked

    with explained():
        config = checked(SelectConfig, flags)
        _select(config, dry_run=dry_run, as_json=as_json, output=output)


@app.command()
@takes(options.ONE_SCORE)
def estimate(*, dry_run: bool, as_json: bool, output: Path | None, **flags: Any) -> None:
    """Estimate one system's mean score over all items, from a few that are judged.

    Exit codes: 0 as precise as wanted (or the budget is used, without --half-width), 1 error, 2 usage, 3 not
    precise enough, 4 the judge failed, 5 surely below --require-score, 130 interrupted. Repeating a command
    resumes it, and costs nothing for what is already known.
    """
    from judgeloop.run.settings import EstimateConfig, checked

    with explained():
        config = checked(EstimateConfig, flags)
        _estimate(config, dry_run=dry_run, as_json=as_json, output=output)


@app.command()
@takes(options.REACHING, options.ASKING, options.TIE_MARGIN, options.BUDGET, options.LEDGER)
def doctor(
    *,
    rating: Annotated[  # typer reads it
        bool,
        typer.Option(
            "--rating", help="Have it rate one answer, as estimate does, and not compare two."
        ),
    ] = False,
    **flags: Any,
) -> None:
    """See whether a judge is fit to work: key, server, model, structured output, price. Makes one call at most.

    Exit codes: 0 fit, 2 usage, 4 not fit.
    """
    from judgeloop.run.settings import JudgeSettings, checked

    with explained():
        config = checked(JudgeSettings, flags)
        _examine(config, rating=rating)


@app.command()
@takes(options.CALIBRATION)
def calibrate(*, as_json: bool, **flags: Any) -> None:
    """See which selector and rule would have served past comparisons best, in judgments, dollars and errors.

    Asks nobody and spends nothing: it replays comparisons whose verdicts are known, as if each were new.
    """
    import json

    from judgeloop.calibration.run import calibrate_past
    from judgeloop.calibration.text import calibration_json, render_calibration
    from judgeloop.run.settings import CalibrateConfig, checked

    with explained():
        config = checked(CalibrateConfig, flags)
        with counting("ways of drawing") as observe:
            fared = calibrate_past(config, observe)
        print(
            json.dumps(calibration_json(fared), indent=2) if as_json else render_calibration(fared)
        )


app.command()(replay)

ledger_app = typer.Typer(no_args_is_help=True, help="Look into what was paid for.")
app.add_typer(ledger_app, name="ledger")


@ledger_app.command()
@takes(
    options.SYSTEMS,
    options.REACHING,
    options.ASKING,
    options.ORDER,
    options.TIE_MARGIN,
    options.ITEMS,
    options.SEED,
    options.LEDGER,
)
def explain(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="The item's id.")], **flags: Any
) -> None:
    """Say why an item was, or was not, answered from the ledger. Give the flags of the comparison."""
    from judgeloop.run.settings import compare_config

    with explained():
        _explain(compare_config(**flags), item)


def _examine(config: Any, *, rating: bool) -> None:
    import asyncio

    from judgeloop.report.findings import render_findings
    from judgeloop.run.doctor import examine

    fit = True
    for spec in config.judge:
        findings = asyncio.run(examine(config, spec, os.environ, rating=rating))
        print(render_findings([(one.what, one.fine, one.sentence) for one in findings]))
        fit = fit and all(one.fine is not False for one in findings)
    raise typer.Exit(0 if fit else EXIT_JUDGE)


def _explain(config: Any, item: str) -> None:
    import asyncio

    from judgeloop.compare.prepare import prepare
    from judgeloop.report.findings import render_failed, render_held, render_unknown
    from judgeloop.run.explain import explain as explained

    for one in asyncio.run(explained(prepare(config, os.environ, offline=True), item)):
        if one.verdict is not None:
            print(render_held(one.judge, one.shown_first, one.verdict))
        elif one.attempts:
            rows = [(a.began_at, a.state, a.outcome, a.charged_p) for a in one.attempts]
            print(render_failed(one.judge, one.shown_first, rows))
        else:
            print(render_unknown(one.judge, one.shown_first, one.differences))


def _compare(config: CompareConfig, *, dry_run: bool, as_json: bool, output: Path | None) -> None:
    from judgeloop.cli.files import write_pictures
    from judgeloop.compare.prepare import prepare
    from judgeloop.compare.run import foresee, judge
    from judgeloop.replay.analyse import check_pictures, pictures_of_run
    from judgeloop.report.escaping import visible

    _check_outputs(config, dry_run=dry_run, output=output)
    if config.analyse:
        check_pictures("--analyse")
    comparison = prepare(config, os.environ, offline=dry_run)
    if comparison.instead is not None:
        print(f"judgeloop: {visible(comparison.instead)}; so it goes by sequential, with random draws", file=sys.stderr)  # fmt: skip
    if dry_run:
        _foresee(foresee(comparison), comparison, as_json=as_json)
        return
    result = _run(judge, comparison, config, as_json=as_json)
    folder = _show(config, result, as_json=as_json, output=output)
    if config.analyse:
        write_pictures(folder, pictures_of_run(comparison, result))
    raise typer.Exit(result.exit_code)


def _select(config: SelectConfig, *, dry_run: bool, as_json: bool, output: Path | None) -> None:
    from judgeloop.select.prepare import prepare_selection
    from judgeloop.select.run import foresee_all, judge_all

    _check_outputs(config, dry_run=dry_run, output=output)
    selection = prepare_selection(config, os.environ, offline=dry_run)
    if dry_run:
        _foresee(foresee_all(selection), selection, as_json=as_json)
    else:
        _finish(judge_all, selection, config, as_json=as_json, output=output)


def _estimate(config: EstimateConfig, *, dry_run: bool, as_json: bool, output: Path | None) -> None:
    from judgeloop.estimate.prepare import prepare_estimate
    from judgeloop.estimate.run import foresee_estimate, rate

    _check_outputs(config, dry_run=dry_run, output=output)
    estimation = prepare_estimate(config, os.environ, offline=dry_run)
    if dry_run:
        _foresee(foresee_estimate(estimation), estimation, as_json=as_json)
    else:
        _finish(rate, estimation, config, as_json=as_json, output=output)


def _finish(
    judge: Callable[..., Any],
    ready: Inputs,
    config: RunSettings,
    *,
    as_json: bool,
    output: Path | None,
) -> None:
    """Run, show the result, and exit with its code."""
    result = _run(judge, ready, config, as_json=as_json)
    _show(config, result, as_json=as_json, output=output)
    raise typer.Exit(result.exit_code)


def _check_outputs(config: RunSettings, *, dry_run: bool, output: Path | None) -> None:
    """Refuse, before anything is spent, files that could not be written."""
    from judgeloop.cli.files import check_output, check_run_folder
    from judgeloop.core.errors import InputError

    if output is not None and dry_run:
        raise InputError("-o is for a result, and a dry run has none; print it with --json")
    if output is not None:
        check_output(output, config.files_read())
    if config.run_dir is not None:
        check_run_folder(config.run_dir)


def _show(config: RunSettings, result: RunResult, *, as_json: bool, output: Path | None) -> Path:
    """Print a result and write its files; the folder that they are in."""
    from judgeloop.cli.files import render_json, write_output, write_run
    from judgeloop.report.page import render

    folder = config.run_dir or config.ledger.parent / "runs" / result.setup.run
    print(
        render_json(result) if as_json else render(result, files=str(folder)),
        end="" if as_json else "\n",
    )
    write_run(folder, result)
    if output is not None:
        write_output(output, result)
    return folder


def _run(judge: Callable[..., Any], ready: Inputs, config: RunSettings, *, as_json: bool) -> Any:
    """The result of awaiting `judge` on what is `ready`, watched where somebody may look."""
    import asyncio

    from judgeloop.cli.progress import watching
    from judgeloop.engine.batch import Interruption

    async def run() -> Any:
        interruption = Interruption()
        _catch_signals(interruption)
        if as_json or ready.by_hand:
            return await judge(ready, interruption=interruption)
        every = len(ready.pool) * len(config.questions(ready.pool.systems))
        with watching(min(config.max_judgments, every), config.budget_p) as observe:
            return await judge(ready, interruption=interruption, observe=observe)

    return asyncio.run(run())


def _catch_signals(interruption: Interruption) -> None:
    """Let the first Ctrl-C (or SIGTERM) drain what is in flight, and the second abandon it."""
    import asyncio
    import signal

    loop = asyncio.get_running_loop()

    def request() -> None:
        again = interruption.requested.is_set()
        text = (
            "giving up what is in flight; it stays charged"
            if again
            else (
                "stopping: waiting for what is in flight; again gives it up, and leaves it charged"
            )
        )
        print(f"judgeloop: {text}", file=sys.stderr, flush=True)
        interruption.request()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, request)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(request))


def _foresee(
    foreseen: Coroutine[Any, Any, tuple[Plan, RunResult]], ready: Inputs, *, as_json: bool
) -> None:
    import asyncio
    import json

    from judgeloop.report.plan_text import plan_json, render_plan

    plan, result = asyncio.run(foreseen)
    priced = all(judge.priced for judge in ready.judges)
    if as_json:
        print(json.dumps(plan_json(plan, result, priced=priced), indent=2))
    else:
        print(render_plan(plan, result, priced=priced))


def _flags(context: typer.Context) -> dict[str, dict[str, str]]:
    """The flags of each command, without their dashes, with the names of their parameters."""
    commands = getattr(context.command, "commands", {})
    return {
        name: {
            parameter.opts[0].removeprefix("--"): str(parameter.name)
            for parameter in command.params
            if parameter.opts[0].startswith("--")
        }
        for name, command in commands.items()
    }


def _settings_file(path: Path, flags: dict[str, dict[str, str]]) -> dict[str, Any]:
    """The defaults in judgeloop.toml: a table a command, its keys spelt as the flags."""
    import tomllib

    from judgeloop.core.errors import DataError

    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(path, f"this is no TOML: {error}") from None
    settings: dict[str, Any] = {}
    for command, table in tables.items():
        if command not in flags or not isinstance(table, dict):
            known = ", ".join(f"[{name}]" for name in flags)
            raise DataError(path, f"expected the tables {known}, found {command!r}")
        if unknown := table.keys() - flags[command].keys():
            raise DataError(path, f"[{command}] has no flag {min(unknown)!r}")
        settings[command] = {flags[command][flag]: value for flag, value in table.items()}
    for command, names in flags.items():
        _name_judges(settings.setdefault(command, {}), names)
    return settings


def _name_judges(settings: dict[str, Any], known: dict[str, str]) -> None:
    """One judge or several, from the file or, line by line, from JUDGELOOP_JUDGE; a name may hold spaces."""
    given = os.environ.get("JUDGELOOP_JUDGE")
    if "judge" in known and given:
        settings["judge"] = given.splitlines()
    elif isinstance(settings.get("judge"), str):
        settings["judge"] = [settings["judge"]]


def main() -> None:
    """The entry point `judgeloop`."""
    app()
