"""The command `demo`: it decides the shipped example, without a key and without a network.

It copies the example's files to a temporary folder, or to the one of `--keep`, and runs `compare`
there. It reads no settings, and writes nothing to any other folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from judgeloop.cli.panel_command import CONTEXT
from judgeloop.cli.progress import explained
from judgeloop.cli.streams import columns, paint, show
from judgeloop.core.errors import InputError
from judgeloop.report.terminal import render, wrapped
from judgeloop.report.words import per_cent

if TYPE_CHECKING:
    from judgeloop.questions.compare.result import Comparison

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
    from judgeloop.cli.naming import as_flags
    from judgeloop.formats.own_files import HOME

    with explained(), _folder(keep) as folder:
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
    parts = [
        _fitted(INTRODUCTION.format(items=result.items)),
        f"{render(result.page.said(as_flags), width=columns(), paint=paint)}\n",
        _explained(result, every),
        _fitted(FORGOTTEN if keep is None else KEPT.format(folder=keep)),
        _fitted(NEXT),
    ]
    show("\n".join(parts))


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
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


def _explained(result: Comparison, every: Comparison) -> str:
    """Return what the decision means, compared with the decision by all items."""
    text = EXPLANATION.format(
        judged=result.judged,
        items=result.items,
        risk=per_cent(result.setup.risk_threshold),
        same="the same" if every.winner == result.winner else "the other",
        wins=", ".join(f"{count} for {name}" for name, count in every.wins.items()),
        ties=every.ties,
    )
    return _fitted(text)


def _fitted(text: str) -> str:
    """Return paragraphs wrapped to the terminal; indented ones, which are commands, stay as is."""
    blocks = text.strip("\n").split("\n\n")
    fitted = (block if block.startswith("  ") else wrapped(block, columns()) for block in blocks)
    return "\n\n".join(fitted) + "\n"
