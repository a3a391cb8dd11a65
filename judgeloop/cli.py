"""The command line: flags to a configuration, results to a terminal, outcomes to exit codes.

Nothing heavy is imported at the top, so that `--help` answers at once. Statistics, money and judges are elsewhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from judgeloop.asking import Interruption
    from judgeloop.jobs.preparing import Comparison
    from judgeloop.report.result import Result

EXIT_ERROR, EXIT_USAGE = 1, 2
SETTINGS_FILE = "judgeloop.toml"
JUDGES = (
    "openai/MODEL, anthropic/MODEL, vllm/NAME, metric:NAME, replay:FILE, human or python:MODULE:FUNCTION; give several "
    "for a panel."
)

app = typer.Typer(
    name="judgeloop",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its tracebacks show local variables, and one of them is a key
    help="Find out which language model is better, how sure that is, and what it cost.",
)


def _flag(panel: str, flag: str, help_text: str, *more: str) -> Any:
    variable = "JUDGELOOP_" + flag.removeprefix("--").replace("-", "_").upper()
    return typer.Option(
        flag, *more, help=help_text, envvar=variable, show_envvar=False, rich_help_panel=panel
    )


def _version(asked: bool) -> None:  # noqa: FBT001 - typer calls it so
    if asked:
        from importlib.metadata import version

        print(f"judgeloop {version('judgeloop')}")
        raise typer.Exit


@app.callback()
def _settings(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find out which language model is better, how sure that is, and what it cost.

    Every flag can also be set as JUDGELOOP_<FLAG> in the environment or in .env, or in judgeloop.toml; a flag wins
    over the environment, and that over the file.
    """
    from dotenv import find_dotenv, load_dotenv

    load_dotenv(find_dotenv(usecwd=True), override=False)
    with _explained():
        context.default_map = _settings_file(Path(SETTINGS_FILE), _flags(context))


@app.command()
def compare(
    context: typer.Context,
    first: Annotated[Path, typer.Argument(metavar="A", help="Outputs of one system: JSONL, CSV or JSON.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Outputs of the other.")],
    judge: Annotated[list[str], _flag("Judge", "--judge", JUDGES)],
    judge_base_url: Annotated[
        str | None, _flag("Judge", "--judge-base-url", "An OpenAI-compatible server.")
    ] = None,
    judge_price: Annotated[
        str | None, _flag("Judge", "--judge-price", "IN,OUT: dollars per million tokens.")
    ] = None,
    prices: Annotated[Path | None, _flag("Judge", "--prices", "Your own prices, a TOML file.")] = None,
    judge_timeout: Annotated[
        float, _flag("Judge", "--judge-timeout", "Seconds for one attempt, in all.")
    ] = 120.0,
    judge_max_tokens: Annotated[
        int, _flag("Judge", "--judge-max-tokens", "Tokens that a reply may have.")
    ] = 512,
    items: Annotated[
        Path | None, _flag("Items", "--items", "Prompts and references, joined by id or prompt.")
    ] = None,
    allow_partial: Annotated[
        bool, _flag("Items", "--allow-partial", "Judge the items that all files have.")
    ] = False,
    selector: Annotated[str, _flag("Selection", "--selector", "random or diffuse.")] = "random",
    represent: Annotated[
        str, _flag("Selection", "--represent", "lexical, minilm or minilm:FOLDER.")
    ] = "lexical",
    rule: Annotated[str, _flag("Stopping", "--rule", "tie-aware or hypergeometric.")] = "tie-aware",
    risk: Annotated[float, _flag("Stopping", "--risk", "Stated risk at which to stop.")] = 0.1,
    min_judgments: Annotated[int, _flag("Stopping", "--min-judgments", "Judge at least so many.")] = 5,
    max_judgments: Annotated[int, _flag("Stopping", "--max-judgments", "Judge at most so many.")] = 200,
    vote: Annotated[str, _flag("Judge", "--vote", "A panel's: majority, mean or unanimous.")] = "majority",
    verdict: Annotated[str, _flag("Judge", "--verdict", "schema, tool or logprob.")] = "schema",
    prompt: Annotated[
        str | None, _flag("Judge", "--prompt", "Your own, a .md file, or one of judgeloop's.")
    ] = None,
    rubric: Annotated[str | None, _flag("Judge", "--rubric", "Judge by this text, or file.")] = None,
    allow_plugins: Annotated[bool, _flag("Judge", "--allow-plugins", "Run python:MODULE:FUNCTION.")] = False,
    decoys: Annotated[int, _flag("Judge", "--decoys", "Try so many empty or constant answers on it.")] = 0,
    rpm: Annotated[int | None, _flag("Money and pace", "--rpm", "Calls a minute, at most.")] = None,
    tpm: Annotated[int | None, _flag("Money and pace", "--tpm", "Tokens a minute, at most.")] = None,
    max_abstentions: Annotated[
        float, _flag("Stopping", "--max-abstentions", "Share without a verdict to bear.")
    ] = 0.05,
    budget: Annotated[
        str, _flag("Money and pace", "--budget", "Dollars this run may ever cost, or none.")
    ] = "5.00",
    order: Annotated[str, _flag("Judge", "--order", "both, random or fixed.")] = "both",
    tie_margin: Annotated[float, _flag("Judge", "--tie-margin", "Scores closer than this are a tie.")] = 0.0,
    concurrency: Annotated[int, _flag("Money and pace", "--concurrency", "Calls in flight at a time.")] = 8,
    seed: Annotated[int, _flag("Selection", "--seed", "Starts all random numbers.")] = 0,
    ledger: Annotated[Path, _flag("Files and output", "--ledger", "Remembers verdicts and money.")] = Path(
        ".judgeloop/ledger.sqlite"
    ),
    run_dir: Annotated[
        Path | None, _flag("Files and output", "--run-dir", "Folder for the verdicts and the result.")
    ] = None,
    dry_run: Annotated[
        bool, _flag("Money and pace", "--dry-run", "Print what it would take; spend nothing.")
    ] = False,
    as_json: Annotated[bool, _flag("Files and output", "--json", "Print JSON and nothing else.")] = False,
    output: Annotated[
        Path | None, _flag("Files and output", "--output", "Also write the result: .json, .md, .txt.", "-o")
    ] = None,
    require_winner: Annotated[
        str | None, _flag("Stopping", "--require-winner", "Exit with 5 if another wins.")
    ] = None,
) -> None:
    """Find the better of two systems.

    Exit codes: 0 decided, 1 error, 2 usage, 3 undecided, 4 the judge failed, 5 another system than --require-winner
    won, 130 interrupted. Repeating a command resumes it, and costs nothing for what is already known.
    """
    from judgeloop.config import compare_config

    own = {"context", "dry_run", "as_json", "output"}
    with _explained():
        values = {name: value for name, value in context.params.items() if name not in own}
        config = compare_config(**values)
        _compare(config, dry_run=dry_run, as_json=as_json, output=output)


def _compare(config: Any, *, dry_run: bool, as_json: bool, output: Path | None) -> None:
    from judgeloop.errors import InputError
    from judgeloop.files import check_output, check_run_folder, render_json, write_output, write_run
    from judgeloop.jobs.preparing import prepare
    from judgeloop.report.text import render

    if output is not None and dry_run:
        raise InputError("-o is for a result, and a dry run has none; print it with --json")
    if output is not None:
        check_output(output, config.files_read())
    if config.run_dir is not None:
        check_run_folder(config.run_dir)
    comparison = prepare(config, os.environ, offline=dry_run)
    if dry_run:
        _foresee(comparison, as_json=as_json)
        return
    result = _run(comparison, quiet=as_json or comparison.by_hand)
    folder = config.run_dir or config.ledger.parent / "runs" / result.setup.run
    print(
        render_json(result) if as_json else f"{render(result)}\n  {'files':<8}  {folder}",
        end="" if as_json else "\n",
    )
    write_run(folder, result)
    if output is not None:
        write_output(output, result)
    raise typer.Exit(result.exit_code)


def _run(comparison: Comparison, *, quiet: bool) -> Result:
    import asyncio

    from judgeloop.asking import Interruption
    from judgeloop.jobs.compare import judge
    from judgeloop.terminal import watching

    async def run() -> Result:
        interruption = Interruption()
        _catch_signals(interruption)
        if quiet:
            return await judge(comparison, interruption=interruption)
        config = comparison.config
        with watching(config.max_judgments, config.budget_p) as observe:
            return await judge(comparison, interruption=interruption, observe=observe)

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
            else ("stopping: waiting for what is in flight; again gives it up, and leaves it charged")
        )
        print(f"judgeloop: {text}", file=sys.stderr, flush=True)
        interruption.request()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, request)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(request))


def _foresee(comparison: Comparison, *, as_json: bool) -> None:
    import asyncio
    import json

    from judgeloop.jobs.compare import foresee
    from judgeloop.report.text import plan_json, render_plan

    plan, result = asyncio.run(foresee(comparison))
    priced = all(judge.priced for judge in comparison.judges)
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

    from judgeloop.errors import DataError

    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
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
    return settings


@contextmanager
def _explained() -> Iterator[None]:
    """Turn an error that judgeloop raises on purpose into one line and an exit code."""
    from judgeloop.errors import InputError, JudgeloopError

    try:
        yield
    except JudgeloopError as error:
        from judgeloop.report.escaping import visible

        print(f"judgeloop: {visible(str(error))}", file=sys.stderr)
        raise typer.Exit(EXIT_USAGE if isinstance(error, InputError) else EXIT_ERROR) from None


def main() -> None:
    """The entry point `judgeloop`."""
    app()
