"""The command `judgeloop replay`: reads its settings, prints its tables, and writes its files.

`replay/` runs the replays and computes the tables, in modules for each question.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from judgeloop.cli.naming import as_flags
from judgeloop.cli.panel_command import settings_command
from judgeloop.cli.progress import counting, explained
from judgeloop.core.errors import InputError
from judgeloop.settings.published import published_name

if TYPE_CHECKING:
    from judgeloop.replay.config import (
        ReplayConfig,
        ReplayEstimateConfig,
        ReplaySelectConfig,
        ReplaySettings,
    )

Rows = list[dict[str, Any]]
PAPER = "published"  # the column that names the paper whose configuration was used


def replay() -> click.Command:
    """Return the command `replay`."""
    return settings_command(
        "replay",
        _replay,
        "Measure selectors and stopping rules on recorded verdicts, over many pairs of systems.\n\n"
        "By default: how often the judged items name the better system, by number of judgments. With --iterative: "
        "judgments, errors and successes until a rule is met. With --job select: how often the best of all systems is "
        "named, by number of judge calls and of items. With --job estimate: the error of a system's estimated mean, by "
        "share of items judged. Asks no judge and spends nothing.",
    )


def _replay(*, job: str, json: bool, quiet: bool, **given: Any) -> None:
    from judgeloop.replay.config import CONFIGS
    from judgeloop.settings.setting import declared

    runs: dict[str, Callable[..., None]] = {
        "compare": _replay_compare,
        "select": _replay_select,
        "estimate": _replay_estimate,
    }
    with explained():
        known = declared(CONFIGS[job])
        for name, value in given.items():
            if name not in known and value is not None:
                raise InputError(f"`{name}`: --job {job} has no such choice")
        own = {name: value for name, value in given.items() if name in known}
        runs[job](CONFIGS[job].of(**own), as_json=json, quiet=quiet)


def _replay_compare(config: ReplayConfig, *, as_json: bool, quiet: bool) -> None:
    """Run every pair, write the table and its pictures, print the table."""
    from judgeloop.replay.compare_inputs import check, without_lengths
    from judgeloop.replay.run import replay_compare
    from judgeloop.replay.tables import by_rule, by_size

    for note in check(config):
        _say(note)
    with counting("pairs", quiet=quiet) as observe:
        rows = replay_compare(config, observe)
    if note_of_lengths := without_lengths(config):
        _say(note_of_lengths)
    table = _named(config, by_rule(rows) if config.iterative else by_size(rows))

    def drawn() -> dict[str, str]:
        from judgeloop.replay import pictures

        if config.iterative:
            return {"rules": pictures.rules_picture(table)}
        return {"success": pictures.success_picture(table), "bias": pictures.bias_picture(table)}

    _write(config.output, {"rules" if config.iterative else "sizes": table}, drawn)
    print(json.dumps(table, indent=2) if as_json else _render(table))


def _replay_select(config: ReplaySelectConfig, *, as_json: bool, quiet: bool) -> None:
    """Run the realisations, write tables and pictures, print the calls needed to name the best."""
    from judgeloop.replay.run import replay_select
    from judgeloop.replay.select_inputs import win_rates
    from judgeloop.replay.tables import by_calls, by_queries, needed, races

    with counting("realisations", quiet=quiet) as observe:
        rows = replay_select(config, observe)
    found = {
        "calls": by_calls(rows, _grid(max(row["calls"] for row in rows))),
        "queries": by_queries(rows, range(1, max(row["queries"] for row in rows) + 1)),
        "needed": needed(rows),
        "races": races(rows),
        "rates": win_rates(config),
    }
    tables = {name: _named(config, table) for name, table in found.items()}

    def drawn() -> dict[str, str]:
        from judgeloop.replay.pictures import identification_picture, win_rates_picture

        rates = [row["win_rate"] for row in tables["rates"] if row["win_rate"] is not None]
        by_unit = {
            f"identified-by-{unit}": identification_picture(tables[unit], unit)
            for unit in ("calls", "queries")
            if tables[unit]
        }
        return by_unit | {"win-rates": win_rates_picture(rates)}

    _write(config.output, tables, drawn)
    best = [row for row in tables["needed"] if row["goal"] == "best"]
    shown = "\n\n".join(map(_render, (best, tables["races"]))).rstrip()
    print(json.dumps(tables, indent=2) if as_json else shown)


def _grid(most: int) -> list[int]:
    """Return numbers of calls from 1 to `most`, evenly spaced on a logarithmic scale."""
    steps = 120
    return sorted({round(most ** (step / steps)) for step in range(steps + 1)})


def _replay_estimate(config: ReplayEstimateConfig, *, as_json: bool, quiet: bool) -> None:
    """Estimate every system repeatedly, write tables and pictures, print each selector's error."""
    from judgeloop.replay.estimate_inputs import EVERY, check
    from judgeloop.replay.run import replay_estimate
    from judgeloop.replay.tables import areas, by_share, headlines

    check(config)
    with counting("parts", quiet=quiet) as observe:
        rows = replay_estimate(config, observe)
    run = {row["selector"] for row in rows}
    if not config.selectors and (without := [name for name in EVERY if name not in run]):
        _say(
            f"without {', '.join(without)}: the outputs hold no field {config.confidence!r} "
            "(`confidence`)"
        )
    table = _named(config, by_share(rows))
    tables = {"accuracy": table, "area": _named(config, areas(rows))}

    def drawn() -> dict[str, str]:
        from judgeloop.replay.pictures import shares_picture

        known = [
            name for name in ("error", "coverage") if any(row[name] is not None for row in table)
        ]
        return {name: shares_picture(table, name) for name in known}

    _write(config.output, tables, drawn)
    shown = headlines(table, tables["area"])
    print(json.dumps(tables, indent=2) if as_json else _render(shown))


def _named(config: ReplaySettings, table: Rows) -> Rows:
    """Return the table with a column that names the paper, if its configuration was used."""
    name = published_name(config.PAPER, config)
    return table if name is None else [row | {PAPER: name} for row in table]


def _say(note: str) -> None:
    """Print a note to standard error."""
    click.echo(f"judgeloop: {as_flags(note)}", err=True)


def _write(folder: Path, tables: dict[str, Rows], drawn: Callable[[], dict[str, str]]) -> None:
    """Write each table as CSV and JSON, and the pictures if matplotlib is installed."""
    from importlib.util import find_spec

    from judgeloop.cli.files import write_pictures
    from judgeloop.formats.own_files import write_whole

    for name, table in tables.items():
        write_whole(folder / f"{name}.csv", _csv(table))
        write_whole(folder / f"{name}.json", json.dumps(table, indent=2) + "\n")
    if find_spec("matplotlib") is None:
        _say("no pictures; they need pip install 'judgeloop[pictures]'")
    else:
        write_pictures(folder, drawn())


def _csv(table: Rows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def _render(table: Rows) -> str:
    """Return the table in columns, without standard errors, which are in the files.

    The paper whose configuration was used stands over the table.
    """
    columns = table[0] if table else {}
    paper = [f"as published: {columns[PAPER]}"] if PAPER in columns else []
    shown = [name for name in columns if name != PAPER and not name.endswith("_se")]
    cells = [shown, *([_cell(row[name]) for name in shown] for row in table)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(shown))]
    lines = (
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in cells
    )
    return "\n".join([*paper, *lines])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
