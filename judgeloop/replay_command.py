"""The command `judgeloop replay`: its flags, its tables on the terminal, its files.

What is run stands in `jobs/replaying.py`, what the tables say in `replay/tables.py`.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgeloop import options
from judgeloop.options import flag
from judgeloop.terminal import counting, explained

if TYPE_CHECKING:
    from judgeloop.config import ReplayConfig

Outputs = Annotated[Path, typer.Argument(metavar="OUTPUTS_DIR", help="Output files, one a system.")]
Items = Annotated[Path, flag("Data", "--items", "Prompts, joined by id or prompt.")]
Verdicts = Annotated[Path, flag("Data", "--verdicts", "Recorded scores: item_id, model, score.")]
LeaveOut = Annotated[str, flag("Data", "--leave-out", "Systems to leave out, with commas between.")]
Vectors = Annotated[
    Path | None, flag("Selection", "--vectors", "Outputs' vectors: an .npz with models and embeddings.")
]
Selectors = Annotated[str, flag("Selection", "--selectors", "random, diffuse, max-norm, input-cluster.")]
Budgets = Annotated[str, flag("Protocol", "--budgets", "FIRST:LAST:STEP, or numbers with commas between.")]
Iterative = Annotated[bool, flag("Protocol", "--iterative", "Run until a rule is met, not to fixed budgets.")]
Rules = Annotated[str, flag("Protocol", "--rules", "sequential, anytime, tie-aware, hypergeometric.")]
Risks = Annotated[str, flag("Protocol", "--risk", "Stated risks, with commas between.")]
Pairs = Annotated[int, flag("Protocol", "--pairs", "Pairs of systems, at most.")]
Seeds = Annotated[int, flag("Protocol", "--seeds", "Repetitions of each pair.")]
Subset = Annotated[float, flag("Protocol", "--subset", "Share of the items in a repetition.")]
Jobs = Annotated[int, flag("Files and output", "--jobs", "Processes; -1 for one a core.")]
Resume = Annotated[bool, flag("Files and output", "--resume", "Go on with the pairs not finished.")]
Analyse = Annotated[
    int | None, flag("Files and output", "--analyse", "Also draw what DiffUse picks at this budget.")
]
OutputDir = Annotated[
    Path, flag("Files and output", "--output", "Folder for tables, pictures and the journal.", "-o")
]


def replay(
    context: typer.Context,
    outputs: Outputs,
    items: Items,
    verdicts: Verdicts,
    output: OutputDir,
    leave_out: LeaveOut = "",
    tie_margin: options.TieMargin = 0.0,
    selectors: Selectors = "random,diffuse,max-norm",
    represent: options.Represent = "lexical",
    vectors: Vectors = None,
    combine: options.Combine = "difference",
    clustering: options.Clustering = "ward",
    representative: options.Representative = "cosine",
    budgets: Budgets = "5:200:5",
    iterative: Iterative = False,
    rules: Rules = "sequential,anytime,tie-aware,hypergeometric",
    risk: Risks = "0.1,0.2",
    pairs: Pairs = 300,
    seeds: Seeds = 10,
    subset: Subset = 0.8,
    min_judgments: options.MinJudgments = 5,
    max_judgments: options.MaxJudgments = 200,
    seed: options.Seed = 0,
    jobs: Jobs = -1,
    resume: Resume = False,
    analyse: Analyse = None,
    as_json: options.AsJson = False,
) -> None:
    """Measure selectors and stopping rules on recorded verdicts, over many pairs of systems.

    By budget: how often the judged items name the better system. With --iterative: judgments, errors and successes until a rule is
    met. Asks nobody and spends nothing.
    """
    from judgeloop.config import ReplayConfig, checked
    from judgeloop.files import write_pictures
    from judgeloop.jobs.analysing import pictures_of_replay

    with explained():
        given = {name: value for name, value in context.params.items() if name not in {"context", "as_json"}}
        config = checked(ReplayConfig, given)
        _check(config)
        rows, table = _table(config)
        _write(config, table)
        if config.analyse is not None:
            write_pictures(config.output, pictures_of_replay(config, rows, config.analyse))
        print(json.dumps(table, indent=2) if as_json else _render(table))


Rows = list[dict[str, Any]]


def _check(config: ReplayConfig) -> None:
    from judgeloop.errors import InputError
    from judgeloop.jobs.analysing import check_pictures

    if config.analyse is None:
        return
    check_pictures("--analyse")
    if config.iterative or config.analyse not in config.budgets or "diffuse" not in config.selectors:
        raise InputError(
            "--analyse: expected one of --budgets, with diffuse among --selectors and not --iterative"
        )


def _table(config: ReplayConfig) -> tuple[Rows, Rows]:
    """The rows of all runs, and what they say together."""
    from judgeloop.jobs.replaying import replay as run
    from judgeloop.replay.tables import by_budget, by_rule

    with counting("pairs") as observe:
        rows = run(config, observe)
    return rows, by_rule(rows) if config.iterative else by_budget(rows)


def _write(config: ReplayConfig, table: Rows) -> None:
    """The table as CSV and JSON, and pictures where matplotlib is installed."""
    from judgeloop.files import write_pictures, write_whole

    name = "rules" if config.iterative else "budgets"
    write_whole(config.output / f"{name}.csv", _csv(table))
    write_whole(config.output / f"{name}.json", json.dumps(table, indent=2) + "\n")
    write_pictures(config.output, _pictures(config, table))


def _pictures(config: ReplayConfig, table: Rows) -> dict[str, str]:
    from importlib.util import find_spec

    from judgeloop.replay import pictures

    if find_spec("matplotlib") is None:
        typer.echo("judgeloop: no pictures; they need pip install 'judgeloop[pictures]'", err=True)
        return {}
    if config.iterative:
        return {"rules": pictures.rules_picture(table)}
    return {"success": pictures.success_picture(table), "bias": pictures.bias_picture(table)}


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
        "  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)) for line in cells
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
