"""The command `judgeloop replay`: its flags, its tables on the terminal, its files.

What is run stands in `jobs/replaying.py`, what the tables say in `replay/tables.py`.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from judgeloop.cli import flags as options
from judgeloop.cli.flags import REQUIRED, Argument, Flag, Group, takes
from judgeloop.cli.progress import counting, explained
from judgeloop.core.errors import InputError

if TYPE_CHECKING:
    from judgeloop.replay.config import ReplayConfig

Rows = list[dict[str, Any]]
JOBS = ("compare", "select", "estimate")
OF_MANY = ("baseline", "pool", "calls", "weak_judges", "epsilon")
OF_PAIRS = (
    "combine", "clustering", "representative", "budgets", "iterative", "rules", "pairs", "subset", "min_judgments",
    "max_judgments", "give_up", "analyse", "history_power",
)  # fmt: skip
OF_ONE = ("shares", "layer", "confidence", "confidence_by", "proxy")
# What only other jobs take, by the names of parameters.
OF_ANOTHER_JOB = {
    "compare": (*OF_MANY, *OF_ONE),
    "select": ("represent", "vectors", "history_systems", *OF_PAIRS, *OF_ONE),
    "estimate": (*OF_MANY, *OF_PAIRS, "tie_margin"),
}
# Where the jobs' defaults differ.
COMPARE_DEFAULTS: dict[str, Any] = {
    "selectors": "random,diffuse,max-norm",
    "risk": "0.1,0.2",
    "seeds": 10,
}
SELECT_DEFAULTS: dict[str, Any] = {
    "selectors": "race,halving,random,llm-selector,bradley-terry,most-draws,confidence,uncertainty",
    "risk": 0.1,
    "seeds": 100,
}
ESTIMATE_DEFAULTS: dict[str, Any] = {"selectors": (), "risk": 0.1, "seeds": 10}  # all that can be

DATA: Group = (
    Argument("outputs", "OUTPUTS_DIR", Path, "Output files, one a system."),
    Flag("Data", "--items", Path, REQUIRED, "Prompts, joined by id or prompt."),
    Flag("Data", "--verdicts", Path, REQUIRED, "Recorded scores: item_id, model, score."),
    Flag("Data", "--leave-out", str, "", "Systems to leave out, with commas between."),
)
FILES: Group = (
    Flag(
        "Files and output",
        "--output",
        Path,
        REQUIRED,
        "Folder for tables, pictures and the journal.",
        short="-o",
    ),
    Flag("Files and output", "--jobs", int, -1, "Processes; -1 for one a core."),
    Flag("Files and output", "--resume", bool, False, "Go on with the pairs not finished."),
    Flag(
        "Files and output",
        "--analyse",
        int | None,
        None,
        "Also draw what DiffUse picks at this budget.",
    ),
    options.AS_JSON,
)
SELECTION: Group = (
    Flag(
        "Selection",
        "--selectors",
        str,
        "random,diffuse,max-norm",
        "random, decisive, diffuse, max-norm, input-cluster; with --job select or estimate those of that command, by default all.",
    ),
    replace(
        options.REPRESENT,
        help="lexical, minilm, minilm:FOLDER; with --job estimate also hidden:MODEL.",
    ),
    Flag(
        "Selection",
        "--vectors",
        Path | None,
        None,
        "Outputs' vectors: an .npz with models and embeddings.",
    ),
    *options.CLUSTERS,
    Flag(
        "Selection",
        "--history-systems",
        int,
        0,
        "For decisive, and for --proxy history: so many other systems were judged before.",
    ),
    Flag(
        "Selection",
        "--history-power",
        float | None,
        None,
        "For decisive: the exponent of its weights, not the one by their number.",
    ),
    options.SEED,
)
PROTOCOL: Group = (
    Flag(
        "Protocol", "--budgets", str, "5:200:5", "FIRST:LAST:STEP, or numbers with commas between."
    ),
    Flag("Protocol", "--iterative", bool, False, "Run until a rule is met, not to fixed budgets."),
    Flag(
        "Protocol",
        "--rules",
        str,
        "sequential,anytime,tie-aware,hypergeometric",
        "sequential, anytime, tie-aware, hypergeometric.",
    ),
    Flag("Protocol", "--risk", str, "0.1,0.2", "Stated risks, with commas between."),
    Flag("Protocol", "--pairs", int, 300, "Pairs of systems, at most."),
    Flag("Protocol", "--seeds", int, 10, "Repetitions of each pair."),
    Flag("Protocol", "--subset", float, 0.8, "Share of the items in a repetition."),
)
ENDING: Group = (options.MIN_JUDGMENTS, options.MAX_JUDGMENTS, options.GIVE_UP)
MANY: Group = (
    Flag(
        "Best of many",
        "--baseline",
        str | None,
        None,
        "The system that all others are compared with.",
    ),
    Flag("Best of many", "--pool", int, 400, "Items in a realisation."),
    Flag(
        "Best of many", "--calls", str, "", "Judgments that halving is given, with commas between."
    ),
    Flag(
        "Best of many",
        "--weak-judges",
        int,
        10,
        "Models of word sequences that guess for the judge.",
    ),
    Flag("Best of many", "--epsilon", str, "auto", "For llm-selector: E1,E2."),
)
ONE: Group = (
    Flag(
        "How good is one",
        "--shares",
        str,
        "5:50:1",
        "Per cent of the items: FIRST:LAST:STEP, or numbers.",
    ),
    *(
        replace(flag, panel="How good is one")
        for flag in options.ONE_SCORE
        if isinstance(flag, Flag) and flag.name in {"--layer", "--confidence", "--confidence-by"}
    ),
    Flag(
        "How good is one",
        "--proxy",
        str | None,
        None,
        "confidence or history: it helps the selectors that draw.",
    ),
)
JOB = Flag(
    "Protocol",
    "--job",
    str,
    "compare",
    "compare (pairs of systems), select (the best of all, in --seeds pools drawn at random), or estimate (each one's mean).",
)


@takes(DATA, FILES, options.TIE_MARGIN, JOB, SELECTION, PROTOCOL, ENDING, MANY, ONE)
def replay(*, job: str, as_json: bool, **flags: Any) -> None:
    """Measure selectors and stopping rules on recorded verdicts, over many pairs of systems.

    By budget: how often the judged items name the better system. With --iterative: judgments, errors and successes until a rule is
    met. With --job select: how often the best of all systems is named, by judge calls and by items. With --job estimate: how far from
    each system's mean score the estimate is from some of its scores. Asks nobody and spends nothing.
    """
    with explained():
        if job not in JOBS:
            raise InputError(f"--job: expected {' or '.join(JOBS)}, found {job!r}")
        given = _for_job(job, flags)
        runs = {"compare": _replay_compare, "select": _replay_select, "estimate": _replay_estimate}
        runs[job](given, as_json=as_json)


def _for_job(job: str, flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that a job takes; those of another job may not be given."""
    every = (*SELECTION, *PROTOCOL, *ENDING, *FILES, *MANY, *ONE, options.TIE_MARGIN)
    defaults = {flag.parameter: flag.default for flag in every if isinstance(flag, Flag)}
    for name in OF_ANOTHER_JOB[job]:
        if flags[name] != defaults[name]:
            raise InputError(f"--{name.replace('_', '-')}: --job {job} has no such choice")
    return {name: value for name, value in flags.items() if name not in OF_ANOTHER_JOB[job]}


def _with_defaults(flags: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """The flags with a job's own defaults for those not given."""
    own = {name: value for name, value in defaults.items() if flags[name] == COMPARE_DEFAULTS[name]}
    return {name: value for name, value in flags.items() if value != ""} | own


def _replay_select(flags: dict[str, Any], *, as_json: bool) -> None:
    """Run the realisations, write their tables and pictures, print what it takes to name the best so often."""
    from judgeloop.cli.files import write_pictures
    from judgeloop.replay.config import ReplaySelectConfig
    from judgeloop.replay.select_inputs import replay_selection
    from judgeloop.replay.select_tables import by_calls, by_queries, needed, races
    from judgeloop.run.settings import checked

    if flags["baseline"] is None:
        raise InputError(
            "--job select needs --baseline, the system that all others are compared with"
        )
    config = checked(ReplaySelectConfig, _with_defaults(flags, SELECT_DEFAULTS))
    with counting("realisations") as observe:
        rows = replay_selection(config, observe)
    calls = _grid(max(row["calls"] for row in rows))
    tables = {
        "calls": by_calls(rows, calls),
        "queries": by_queries(rows, range(1, max(row["queries"] for row in rows) + 1)),
        "needed": needed(rows),
        "races": races(rows),
    }
    _write_tables(config.output, tables)
    write_pictures(config.output, _select_pictures(tables))
    best = [row for row in tables["needed"] if row["goal"] == "best"]
    print(
        json.dumps(tables, indent=2)
        if as_json
        else "\n\n".join(map(_render, (best, tables["races"]))).rstrip()
    )


def _grid(most: int) -> list[int]:
    """Calls to look at, closer together where they are few."""
    steps = 120
    return sorted({round(most ** (step / steps)) for step in range(steps + 1)})


def _select_pictures(tables: dict[str, Rows]) -> dict[str, str]:
    if not _can_draw():
        return {}
    from judgeloop.replay import pictures

    drawn = {"identified-by-calls": pictures.identification_picture(tables["calls"], "calls")}
    if tables["queries"]:
        drawn["identified-by-queries"] = pictures.identification_picture(
            tables["queries"], "queries"
        )
    return drawn


def _replay_estimate(flags: dict[str, Any], *, as_json: bool) -> None:
    """Estimate every system again and again, write the tables and pictures, print how far off each selector is."""
    from judgeloop.cli.files import write_pictures
    from judgeloop.replay.config import ReplayEstimateConfig
    from judgeloop.replay.estimate_inputs import EVERY
    from judgeloop.replay.estimate_run import replay_estimate
    from judgeloop.replay.estimate_tables import areas, by_share, headlines
    from judgeloop.run.settings import checked

    config = checked(ReplayEstimateConfig, _with_defaults(flags, ESTIMATE_DEFAULTS))
    if (config.proxy == "history") != (config.history_systems > 0):
        raise InputError(
            "--proxy history and --history-systems N: neither says anything without the other"
        )
    with counting("parts") as observe:
        rows = replay_estimate(config, observe)
    run = {row["selector"] for row in rows}
    if not config.selectors and (without := [name for name in EVERY if name not in run]):
        typer.echo(
            f"judgeloop: without {', '.join(without)}: the outputs hold no field {config.confidence!r} (--confidence)",
            err=True,
        )
    tables = {"accuracy": by_share(rows), "area": areas(rows)}
    _write_tables(config.output, tables)
    if _can_draw():
        from judgeloop.replay.pictures import shares_picture

        rows = tables["accuracy"]
        known = [
            name for name in ("error", "coverage") if any(row[name] is not None for row in rows)
        ]
        drawn = {name: shares_picture(rows, name) for name in known}
        write_pictures(config.output, drawn)
    shown = headlines(tables["accuracy"], tables["area"])
    print(json.dumps(tables, indent=2) if as_json else _render(shown))


def _replay_compare(flags: dict[str, Any], *, as_json: bool) -> None:
    from judgeloop.cli.files import write_pictures
    from judgeloop.replay.analyse import pictures_of_replay
    from judgeloop.replay.config import ReplayConfig
    from judgeloop.run.settings import checked

    config = checked(ReplayConfig, flags)
    _check(config)
    rows, table = _table(config)
    if config.looks_at_lengths and not config.outputs.is_dir():
        typer.echo(
            f"judgeloop: {config.outputs} is no folder: decisive draws by the history alone, and not by lengths of outputs",
            err=True,
        )
    _write(config, table)
    if config.analyse is not None:
        write_pictures(config.output, pictures_of_replay(config, rows, config.analyse))
    print(json.dumps(table, indent=2) if as_json else _render(table))


def _check(config: ReplayConfig) -> None:
    from judgeloop.replay.analyse import check_pictures

    if "decisive" not in config.selectors and (
        config.history_systems or config.history_power is not None
    ):
        raise InputError(
            "--history-systems and --history-power: only the selector decisive draws by a history"
        )
    if config.history_power is not None and not config.history_systems:
        raise InputError("--history-power: there is no history without --history-systems")
    if config.give_up is not None and not config.iterative:
        raise InputError("--give-up: only runs until a rule is met can end before; use --iterative")
    if config.iterative:
        _check_rules(config)
    if config.analyse is None:
        return
    check_pictures("--analyse")
    if (
        config.iterative
        or config.analyse not in config.budgets
        or "diffuse" not in config.selectors
    ):
        raise InputError(
            "--analyse: expected one of --budgets, with diffuse among --selectors and not --iterative"
        )


def _check_rules(config: ReplayConfig) -> None:
    """Say which rules are not run with which selectors.

    Raises:
        InputError: there is nothing to run.
    """
    from judgeloop.replay.compare import suiting

    refused = {
        name: set(config.rules) - set(suiting(config.rules, name)) for name in config.selectors
    }
    if all(rules == set(config.rules) for rules in refused.values()):
        raise InputError(
            "--rules: expected one that holds for these --selectors; a guarantee needs random"
        )
    rules = [rule for rule in config.rules if any(rule in one for one in refused.values())]
    if rules:
        picky = ", ".join(name for name, one in refused.items() if one)
        typer.echo(
            f"judgeloop: {', '.join(rules)} not run with {picky}: they hold only for random draws that prefer no item",
            err=True,
        )


def _table(config: ReplayConfig) -> tuple[Rows, Rows]:
    """The rows of all runs, and what they say together."""
    from judgeloop.replay.compare_inputs import replay as run
    from judgeloop.replay.compare_tables import by_budget, by_rule

    with counting("pairs") as observe:
        rows = run(config, observe)
    return rows, by_rule(rows) if config.iterative else by_budget(rows)


def _write(config: ReplayConfig, table: Rows) -> None:
    """The table as CSV and JSON, and pictures where matplotlib is installed."""
    from judgeloop.cli.files import write_pictures

    _write_tables(config.output, {"rules" if config.iterative else "budgets": table})
    write_pictures(config.output, _pictures(config, table))


def _pictures(config: ReplayConfig, table: Rows) -> dict[str, str]:
    if not _can_draw():
        return {}
    from judgeloop.replay import pictures

    if config.iterative:
        return {"rules": pictures.rules_picture(table)}
    return {"success": pictures.success_picture(table), "bias": pictures.bias_picture(table)}


def _can_draw() -> bool:
    """Whether matplotlib is installed; says so if not."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        typer.echo("judgeloop: no pictures; they need pip install 'judgeloop[pictures]'", err=True)
        return False
    return True


def _write_tables(folder: Path, tables: dict[str, Rows]) -> None:
    """Each as CSV and JSON."""
    from judgeloop.cli.files import write_whole

    for name, table in tables.items():
        write_whole(folder / f"{name}.csv", _csv(table))
        write_whole(folder / f"{name}.json", json.dumps(table, indent=2) + "\n")


def _csv(table: Rows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]) if table else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()


def _render(table: Rows) -> str:
    """The table in columns; standard errors and win distances are in the files."""
    shown = [name for name in table[0] if not name.endswith("_se")] if table else []
    cells = [shown, *([_cell(row[name]) for name in shown] for row in table)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(shown))]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
