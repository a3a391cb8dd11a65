"""The commands before a question is asked: `demo`, `init`, `doctor` and `generate`.

`demo` decides the shipped example, without a key and without a network: it copies the example's files to a temporary
folder, or to the one of `--keep`, and runs `compare` there. `init` writes a commented `judgeloop.toml`, or prints the
schema of such a file; both are shipped (`docs/make.py` makes them from the settings). These two read no settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.options import CONTEXT, DRY_RUN, JSON, QUIET, ROWS_FILE, settings_command
from judgeloop.cli.output import as_flags, columns, paint, say, say_settings, show
from judgeloop.cli.progress import explained
from judgeloop.core.errors import EXIT_JUDGE, InputError
from judgeloop.core.money import show_usd
from judgeloop.report.terminal import render, wrapped
from judgeloop.report.words import count, per_cent, visible
from judgeloop.settings import fields
from judgeloop.settings.setting import declared

if TYPE_CHECKING:
    from judgeloop.diagnostics.doctor import Finding
    from judgeloop.runs.generate import Gathered, RunOfOutputs
    from judgeloop.runs.prepared import Prepared
    from judgeloop.settings.run_settings import DoctorSettings
    from judgeloop.settings.sources import Read

SCHEMA_FILE = "judgeloop.schema.json"
WROTE = """\
Wrote {path}. Every setting in it is a comment, so nothing has changed.

Next: open it, and remove the "#" in front of a setting to set it. judgeloop reads it in {folder}
and, within the same repository, in every folder below. To see what a command takes from it:

  judgeloop compare A B --dry-run
"""
FOR_EDITORS = f"""
An editor that knows TOML schemas completes and checks the file by a second one beside it:

  judgeloop init --schema > {SCHEMA_FILE}
"""
FILES = FIRST, SECOND, ITEMS = "lead.jsonl", "central.jsonl", "items.jsonl"
JUDGE = "metric:rouge2"
SAME = f"judgeloop compare {FIRST} {SECOND} --items {ITEMS} --judge {JUDGE}"

INTRODUCTION = """\
Which of two summarizers is better? Both summarized the same {items} incident reports. The judge is
ROUGE-2, the overlap with a reference summary: it needs no key and no network.
"""
EXPLANATION = (
    "judgeloop drew reports at random and asked the judge which of the two summaries is better, "
    "until the evidence was enough, after {judged:,} of {items:,} judgments. With random draws, the worse "
    "system is named in at most {risk} of such runs. Here the judge costs nothing, so the demo "
    "also judged all {items}: they name {same} system ({wins}, {ties} ties).\n"
)
FORGOTTEN = "The files of this run are deleted. `judgeloop demo --keep FOLDER` keeps them."
KEPT = f"""\
The files of this run are in {{folder}}. In that folder, this command gives the result again:

  {SAME}"""
NEXT = """\
For systems of your own, write one file for each, JSON lines with "id", "prompt" and "output":

  {"id": "1", "prompt": "What is the capital of France?", "output": "Paris."}

With a key in OPENAI_API_KEY or in a file .env, a model judges them. The first command checks the
judge with one call, the second says what the run would cost, the third runs it:

  judgeloop doctor --judge openai/gpt-4.1-mini
  judgeloop compare a.jsonl b.jsonl --judge openai/gpt-4.1-mini --dry-run
  judgeloop compare a.jsonl b.jsonl --judge openai/gpt-4.1-mini --budget 2.00

Without a key, add a "reference" to each line of one file:

  judgeloop compare a.jsonl b.jsonl --judge metric:rouge2
"""


@click.command(context_settings=CONTEXT)
@click.argument("folder", type=click.Path(path_type=Path), required=False, default=Path())
@click.option(
    "--schema", "only_schema", is_flag=True, help="Print the JSON schema of judgeloop.toml, and write nothing."
)
def init(*, folder: Path, only_schema: bool) -> None:
    """Write judgeloop.toml, a settings file in which everything is commented, to the working folder or to FOLDER.

    An existing file is never overwritten.
    """
    from judgeloop.formats.own_files import shipped
    from judgeloop.settings.setting import SETTINGS_FILE

    reference = shipped("docs") / "reference"
    with explained():
        if only_schema:
            show((reference / SCHEMA_FILE).read_text(encoding="utf-8"))
            return
        text = (reference / SETTINGS_FILE).read_text(encoding="utf-8")
        path = _new_file(folder / SETTINGS_FILE, text)
        named = "this folder" if folder == Path() else str(folder)
        beside = text.startswith(f"#:schema {SCHEMA_FILE}\n")  # not the one that is published
        show(WROTE.format(path=path, folder=named) + (FOR_EDITORS if beside else ""))


def _new_file(path: Path, text: str) -> Path:
    """Write a new settings file, and return its path.

    Raises:
        InputError: the file exists, or its folder does not.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            f"{path}: this file exists, and is not overwritten; rename it, or name another FOLDER"
        ) from None
    except OSError as error:
        raise InputError(
            f"{path}: the file cannot be written: {error.strerror}; expected a FOLDER that exists"
        ) from None
    return path


@click.command(context_settings=CONTEXT)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Run in this folder, new or empty, and keep the files.",
)
def demo(*, keep: Path | None) -> None:
    """Compare two bundled systems.

    Needs no key and no network, reads no settings, and leaves no files.
    """
    # Once until it is decided, and once on all items.
    from judgeloop.api.questions import compare
    from judgeloop.formats.own_files import HOME

    with explained(), _example_folder(keep) as folder:
        example = partial(
            compare,
            folder / FIRST,
            folder / SECOND,
            items=folder / ITEMS,
            judge=JUDGE,
            ledger=folder / HOME / "ledger.sqlite",
            environment={},
        )
        result = example()
        every = example(min_judgments=result.items, max_judgments=result.items)
    explanation = EXPLANATION.format(
        judged=result.judged,
        items=result.items,
        risk=per_cent(result.setup.risk_threshold),
        same="the same" if every.winner == result.winner else "the other",
        wins=", ".join(f"{count} for {name}" for name, count in every.wins.items()),
        ties=every.ties,
    )
    parts = [
        _fitted(INTRODUCTION.format(items=result.items)),
        f"{render(result.page.said(as_flags), width=columns(), paint=paint, short=True)}\n",
        _fitted(explanation),
        _fitted(FORGOTTEN if keep is None else KEPT.format(folder=keep)),
        _fitted(NEXT),
    ]
    show("\n".join(parts))


@contextmanager
def _example_folder(keep: Path | None) -> Iterator[Path]:
    """Yield a folder with copies of the example's files: `keep`, or one that is deleted at the end.

    Raises:
        InputError: `keep` cannot be made, or is not empty.
    """
    from tempfile import TemporaryDirectory

    from judgeloop.formats.own_files import shipped

    with TemporaryDirectory(prefix="judgeloop-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) if keep is None else keep
        try:
            if folder.exists() and not folder.is_dir():
                raise InputError(f"--keep {folder}: expected a new or an empty folder, found a file")
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise InputError(f"--keep {folder}: expected a new or an empty folder, found files")
            for name in FILES:
                example = shipped("examples") / "incidents" / name
                (folder / name).write_bytes(example.read_bytes())
        except OSError as error:
            raise InputError(f"--keep {folder}: the folder cannot be written: {error.strerror}") from error
        yield folder


def _fitted(text: str) -> str:
    """Paragraphs wrapped to the terminal; indented ones, which are commands, stay as is."""
    blocks = text.strip("\n").split("\n\n")
    fitted = (block if block.startswith("  ") else wrapped(block, columns()) for block in blocks)
    return "\n\n".join(fitted) + "\n"


@dataclass(frozen=True)
class _DoctorSwitches:
    rating: bool = fields.report_setting(
        "Test a rating of one answer, as estimate asks for, instead of a comparison.", fields.JUDGE, common=True
    ).field(False)


def doctor() -> click.Command:
    """The command `doctor`."""
    from judgeloop.settings.run_settings import DoctorSettings

    return settings_command("doctor", _doctor, DoctorSettings, switches=tuple(declared(_DoctorSwitches).values()))


def _doctor(*, rating: bool, **given: Any) -> None:
    """Check whether a judge works: key, server, model, structured output, price; or a system that answers live.

    Makes at most one call for each. With --truth and the OUTPUTS that people labelled, the judge is asked about these,
    too: the first sentence of `judgeloop agree`.

    Exit codes: 0 all work, 2 usage, 4 a check failed.
    """
    import asyncio

    from judgeloop.diagnostics.doctor import examine, examine_system, render_findings
    from judgeloop.settings.run_settings import DoctorSettings

    read = click.get_current_context().obj
    say_settings(read)
    config, fit = DoctorSettings.of(**given), True
    if not config.specs and not config.systems:
        raise InputError(
            "`judge`: expected a judge to check, or a system with `system=NAME`; of a file, doctor reads the "
            "tables [shared] and [doctor], and not [compare]"
        )
    if bool(config.truth) != bool(config.outputs) or (config.truth and not config.specs):
        raise InputError(
            "`truth`: expected labels, the outputs that they are about, and a judge: OUTPUTS, `judge`, `truth`; "
            "to check a judge alone, `judge` names it"
        )
    checks = [
        *((examine(config, spec, read.environment, rating=rating), spec) for spec in config.specs),
        *((examine_system(config, name, read.environment), None) for name in config.systems),
    ]
    for check, judge in checks:
        findings = asyncio.run(check)
        works = all(finding.fine is not False for finding in findings)
        if works and judge and config.truth:
            findings.append(_agreement(config, judge, read))
            works = findings[-1].fine is not False
        print(as_flags(render_findings(findings, columns())))
        fit = fit and works
    raise click.exceptions.Exit(0 if fit else EXIT_JUDGE)


def _agreement(config: DoctorSettings, judge: str, read: Read) -> Finding:
    """The first sentence of `agree` on the judge and the labels; the ledger keeps its result."""
    from judgeloop.cli.questions import Asking, driven
    from judgeloop.diagnostics.doctor import Finding
    from judgeloop.engine.state import unobserved
    from judgeloop.questions.catalogue import AGREE
    from judgeloop.questions.kept import keep
    from judgeloop.runs.begin import opened
    from judgeloop.settings.run_settings import JudgeSettings

    asking = Asking(AGREE)
    shared = {name: getattr(config, name) for name in declared(JudgeSettings)}
    wanted = shared | {"judge": (judge,), "outputs": config.outputs, "truth": config.truth}
    question = asking.question.load()
    ready = question.prepare(asking.question.settings().of(**wanted), read.environment)
    with opened(ready) as begun:
        found = driven(partial(question.run, begun), nullcontext(unobserved))
        result = asking.as_reported(begun, found, read)
        if begun.booked:
            keep(begun, result)
    known = not result.answer.broke_off
    return Finding("labels", known, result.page.headline if known else result.stop_sentence)


def generate() -> click.Command:
    """The command `generate`."""
    from judgeloop.settings.run_settings import GenerateSettings

    return settings_command("generate", _generate, GenerateSettings, switches=(DRY_RUN, JSON, QUIET, ROWS_FILE))


def _generate(*, output: Path, dry_run: bool, json: bool, quiet: bool, **given: Any) -> None:
    """Let a system that answers live answer items, and write its outputs as JSON lines.

    The file is one that compare, select and estimate take. Outputs that are in the ledger cost nothing, and a
    repeated command goes on.

    Exit codes: 0 all outputs are there, 1 error, 2 usage, 3 some are missing, 4 the system failed, 130 interrupted;
    what was paid for is kept.
    """
    import asyncio

    from judgeloop.cli.convert import check_rows_file, write_rows
    from judgeloop.cli.files import json_text
    from judgeloop.runs.generate import known, prepare
    from judgeloop.settings.run_settings import GenerateSettings

    read = click.get_current_context().obj
    say_settings(read)
    config = GenerateSettings.of(**given)
    check_rows_file(output, config.items)
    ready = prepare(config, read.environment, offline=dry_run)
    if dry_run or config.export_only:
        found = asyncio.run(known(ready))
    else:
        found = _run_generation(ready, watched=not (quiet or json))
    if not dry_run:
        write_rows(output, found.rows)
    place = "a dry run asks for nothing" if dry_run else output
    say(visible(as_flags(f"{place}: {_gathered(ready, found)}")))
    if json:
        about = {"dry_run": dry_run, "run": ready.run_id, "system": config.outputs}
        print(json_text(found.to_dict() | about, read.files), end="")
    raise click.exceptions.Exit(0 if dry_run else found.exit_code)


def _run_generation(ready: Prepared[RunOfOutputs], *, watched: bool) -> Gathered:
    from judgeloop.cli.progress import watching
    from judgeloop.cli.questions import driven, warn_of_place
    from judgeloop.engine.state import unobserved
    from judgeloop.runs.generate import run

    config, most = ready.config, ready.limits.max_judgments
    warn_of_place(config.ledger)
    opening = f"generate: {config.outputs}, {count(most, 'item')}"
    watch = watching(opening, most, config.budget_p, lambda *_: "")
    return driven(partial(run, ready), watch if watched else nullcontext(unobserved))


def _gathered(ready: Prepared[RunOfOutputs], found: Gathered) -> str:
    """In words, what was written, what it cost, and what is missing."""
    parts = [f"{count(len(found.rows), 'output')} of {ready.config.outputs}"]
    if found.new is not None and found.spend is not None:
        parts[0] += f", {found.new.asked:,} asked for now ({show_usd(found.spend.now_p)})"
    if found.failed:
        parts.append(f"in {found.failed:,} of them the system gave no output by itself")
    if found.missing:
        likely, worst = map(show_usd, found.lacking_p or (0, 0))
        basis = "as the others did" if found.as_known else "a guess, as none is known yet"
        cost = f", which would cost about {likely} ({basis}), and at most {worst}" if found.lacking_p else ""
        parts.append(f"{count(found.missing, 'output')} missing{cost}")
    if found.stop is not None:
        parts.append(found.stop.sentence)
        if found.stop.need_p and found.spend and not found.spend.ledger_is_short:
            parts.append("rerun the command with a higher `budget` to resume")
    return "; ".join(parts)
