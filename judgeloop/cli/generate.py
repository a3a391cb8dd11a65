"""The command `generate`: lets a system that answers live answer items, and writes its outputs to a file."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.naming import as_flags
from judgeloop.cli.streams import say, say_settings
from judgeloop.core.money import show_usd
from judgeloop.report.words import count, visible

if TYPE_CHECKING:
    from judgeloop.run.generate import Gathered, Generation


def generate(*, output: Path, dry_run: bool, json: bool, quiet: bool, **given: Any) -> None:
    """Let a system that answers live answer items, and write its outputs as JSON lines.

    The file is one that compare, select and estimate take. Outputs that are in the ledger cost nothing, and a
    repeated command goes on.

    Exit codes: 0 all outputs are there, 1 error, 2 usage, 3 some are missing, 4 the system failed, 130 interrupted;
    what was paid for is kept.
    """
    import asyncio

    from judgeloop.cli.convert import check_rows_file, write_rows
    from judgeloop.cli.files import json_text
    from judgeloop.run.generate import gathered, prepare
    from judgeloop.settings.generate_settings import GenerateConfig

    read = click.get_current_context().obj
    say_settings(read)
    config = GenerateConfig.of(**given)
    check_rows_file(output, config.items)
    ready = prepare(config, read.environment, offline=dry_run)
    found = asyncio.run(gathered(ready)) if dry_run else _run(ready, watched=not (quiet or json))
    if not dry_run:
        write_rows(output, found.rows)
    place = "a dry run asks for nothing" if dry_run else output
    say(visible(as_flags(f"{place}: {_summary(ready, found)}")))
    if json:
        about = {"dry_run": dry_run, "run": ready.run_id, "system": config.outputs}
        print(json_text(found.to_dict() | about, read.files), end="")
    raise click.exceptions.Exit(0 if dry_run else found.exit_code)


def _run(ready: Generation, *, watched: bool) -> Gathered:
    from judgeloop.cli.progress import watching
    from judgeloop.cli.questions import driven, warn_of_place
    from judgeloop.engine.state import unobserved
    from judgeloop.run.generate import run

    config, most = ready.config, ready.limits.max_judgments
    if not ready.export_only:
        warn_of_place(config.ledger)
    opening = f"generate: {config.outputs}, {count(most, 'item')}"
    shown = watched and not ready.export_only
    watch = watching(opening, most, config.budget_p, lambda *_: "")
    return driven(partial(run, ready), watch if shown else nullcontext(unobserved))


def _summary(ready: Generation, found: Gathered) -> str:
    """Return in words what was written, what it cost, and what is missing."""
    parts = [f"{count(len(found.rows), 'output')} of {ready.config.outputs}"]
    if found.asked is not None and found.spend is not None:
        parts[0] += f", {found.asked.asked:,} asked for now ({show_usd(found.spend.now_p)})"
    if found.failed:
        parts.append(f"in {found.failed:,} of them the system gave no output by itself")
    if found.missing:
        likely, worst = map(show_usd, found.lacking_p or (0, 0))
        basis = "as the others did" if found.as_known else "a guess, as none is known yet"
        cost = f", which would cost about {likely} ({basis}), and at most {worst}" if found.lacking_p else ""
        parts.append(f"{count(found.missing, 'output')} missing{cost}")
    if found.stop is not None:
        parts.append(found.stop.sentence)
    return "; ".join(parts)
