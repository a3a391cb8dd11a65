"""The command `judgeloop replay`: reads its settings, prints its tables, and writes its files.

`replay/` runs the replays and computes the tables, in modules for each question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated, Any

import click

from judgeloop.cli.options import JSON, QUIET, settings_command
from judgeloop.cli.output import as_flags, columns
from judgeloop.cli.progress import computing, counting
from judgeloop.core.errors import InputError
from judgeloop.replay.settings import CONFIGS, ReplayCompareSettings, ReplayEstimateSettings, ReplaySelectSettings
from judgeloop.report.terminal import wrapped
from judgeloop.settings import fields
from judgeloop.settings.setting import declared, one_of

Rows = list[dict[str, Any]]
# The tables of a replay by name, and those that are printed, by the name of what is said of them.
Tables = tuple[dict[str, Rows], dict[str, Rows]]
MOST_SIZES = 12  # of a table that is printed; its file has all
# What a table shows, and what its columns are.
SAID = {
    "sizes": "How often the judged items name the better of two systems, by number of judgments.\n"
    "success: share of runs that name it; estimate, gap: mean gap among the judged items, and among all; bias: their "
    "difference.",
    "rules": "Judgments until a rule is met, and how often it names the wrong system.\n"
    "judgments: mean number; gap: mean gap; error, success, inconclusive: shares of runs that name the worse system, the "
    "better, none, and gap_…: the mean gap of these; …_met: where only the rule names, and not a whole pool.",
    "best": "Calls until the best system is named in a share of the runs (level).\n"
    "gap95: win rate lost in all but 5 % of the runs; against_random: calls more than random takes, as a share.",
    "races": "How often the race names a system.\ndecided, error: shares of runs with a name, and with a wrong one; calls: their "
    "mean number.",
    "area": "The error of a system's estimated mean, relative to it.\n"
    "area: median error, averaged over all shares of items; against_random: how much larger than random's, as a share; "
    "coverage: share of intervals that contain the mean.",
}


@dataclass(frozen=True)
class _ReplaySwitches:
    job: Annotated[str, one_of(tuple(CONFIGS))] = fields.run_setting(
        "compare (pairs of systems), select (the best of all systems, in --seeds pools drawn at "
        "random), or estimate (the mean of each system).",
        fields.PROTOCOL,
    ).field("compare")


def replay() -> click.Command:
    """The command `replay`."""
    switches = (*declared(_ReplaySwitches).values(), JSON, QUIET)
    return settings_command("replay", _replay, *CONFIGS.values(), switches=switches)


def _replay(*, job: str, json: bool, quiet: bool, **given: Any) -> None:
    """Measure selectors and stopping rules on recorded verdicts, over many pairs of systems.

    By default: how often the judged items name the better system, by number of judgments. With --iterative:
    judgments, errors and successes until a rule is met. With --job select: how often the best of all systems is
    named, by number of judge calls and of items. With --job estimate: the error of a system's estimated mean, by
    share of items judged. Asks no judge and spends nothing.

    \b
    Example:
      judgeloop replay OUTPUTS --items items.jsonl --verdicts verdicts.csv -o measured
    """  # noqa: D301 - the sign keeps the lines of the example
    runs: dict[str, Callable[..., Tables]] = {
        "compare": _replay_compare,
        "select": _replay_select,
        "estimate": _replay_estimate,
    }
    known = declared(CONFIGS[job])
    for name, value in given.items():
        if name not in known and value is not None:
            raise InputError(f"`{name}`: --job {job} has no such choice")
    config = CONFIGS[job].of(**{name: value for name, value in given.items() if name in known})
    with computing(quiet=quiet):
        tables, shown = runs[job](config, quiet=quiet)
    _write(config.output, tables)
    whole = tables if len(tables) > 1 else next(iter(tables.values()))  # of a single table, its rows
    parts = (f"{_wrapped(SAID[name])}\n\n{_render(table)}" for name, table in shown.items())
    print(dumps(whole, indent=2) if json else "\n\n".join(parts).rstrip())


def _replay_compare(config: ReplayCompareSettings, *, quiet: bool) -> Tables:
    """Run every pair; return the table by number of judgments, or by rule."""
    from judgeloop.replay.compare import check
    from judgeloop.replay.run import replay_compare
    from judgeloop.replay.tables import by_rule, by_size

    for note in check(config):
        _say(note)
    with counting("pairs", quiet=quiet) as observe:
        rows = replay_compare(config, observe)
    if config.iterative:
        table = by_rule(rows)
        return {"rules": table}, {"rules": table}
    table = by_size(rows)
    sizes = sorted({row["judgments"] for row in table})
    every = -(-len(sizes) // MOST_SIZES)
    return {"sizes": table}, {"sizes": [row for row in table if row["judgments"] in sizes[every - 1 :: every]]}


def _replay_select(config: ReplaySelectSettings, *, quiet: bool) -> Tables:
    """Run the realisations; print the calls needed to name the best."""
    from judgeloop.replay.run import replay_select
    from judgeloop.replay.select import win_rates
    from judgeloop.replay.tables import by_calls, by_queries, needed, races

    with counting("realisations", quiet=quiet) as observe:
        rows = replay_select(config, observe)
    steps, most = 120, max(row["calls"] for row in rows)
    calls = sorted({round(most ** (step / steps)) for step in range(steps + 1)})  # even on a logarithmic scale
    tables = {
        "calls": by_calls(rows, calls),
        "queries": by_queries(rows, range(1, max(row["queries"] for row in rows) + 1)),
        "needed": needed(rows),
        "rates": win_rates(config),
    }
    best = [row for row in tables["needed"] if row["goal"] == "best"]
    if not (raced := races(rows)):
        return tables, {"best": best}
    return tables | {"races": raced}, {"best": best, "races": raced}


def _replay_estimate(config: ReplayEstimateSettings, *, quiet: bool) -> Tables:
    """Estimate every system repeatedly; print each selector's error."""
    from judgeloop.replay.estimate import EVERY, check
    from judgeloop.replay.run import replay_estimate
    from judgeloop.replay.tables import areas, by_share, headlines

    check(config)
    with counting("parts", quiet=quiet) as observe:
        rows = replay_estimate(config, observe)
    run = {row["selector"] for row in rows}
    if not config.selectors and (without := [name for name in EVERY if name not in run]):
        _say(f"without {', '.join(without)}: the outputs hold no field {config.confidence!r} (`confidence`)")
    tables = {"accuracy": by_share(rows), "area": areas(rows)}
    return tables, {"area": headlines(tables["accuracy"], tables["area"])}


def _say(note: str) -> None:
    """Print a note to standard error."""
    click.echo(f"judgeloop: {as_flags(note)}", err=True)


def _write(folder: Path, tables: dict[str, Rows]) -> None:
    """Write each table as CSV and JSON."""
    from judgeloop.formats.own_files import write_whole
    from judgeloop.report.labels import csv_line

    for name, table in tables.items():
        lines = (csv_line(line) for line in (table[0] if table else {}, *map(dict.values, table)))
        write_whole(folder / f"{name}.csv", "".join(f"{line}\n" for line in lines))
        write_whole(folder / f"{name}.json", dumps(table, indent=2) + "\n")


def _wrapped(text: str) -> str:
    return "\n".join(wrapped(line, columns()) for line in text.split("\n"))


def _render(table: Rows) -> str:
    """The table in columns, without standard errors, which are in the files."""

    def cell(value: object) -> str:
        return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)

    shown = [name for name in (table[0] if table else {}) if not name.endswith("_se")]
    cells = [shown, *([cell(row[name]) for name in shown] for row in table)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(shown))]
    return "\n".join("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)) for line in cells)
