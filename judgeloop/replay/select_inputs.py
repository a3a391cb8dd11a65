"""`replay --job select`: how selectors fare at finding the best of many, on recorded verdicts.

It reads, asks the weak judges, and runs the realisations on all cores. Tables are made in `replay/identifying.py`; printing is the
command's business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.pool import Pool
from judgeloop.core.records import TIE
from judgeloop.core.verdict_table import VerdictTable
from judgeloop.formats.join import join
from judgeloop.formats.outputs import read_items, read_outputs
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.history.past import ROUNDING
from judgeloop.replay.compare import Row
from judgeloop.replay.compare_inputs import JOURNAL
from judgeloop.replay.config import ReplaySelectConfig
from judgeloop.replay.journal import Journal
from judgeloop.replay.select import Field, Realisations, realise
from judgeloop.selectors.picking import PICKERS
from judgeloop.stats.information import choose_epsilons
from judgeloop.stats.racing import Floats

# Judgments that halving is given, as shares of all there are.
SHARES = (
    0.01,
    0.015,
    0.02,
    0.03,
    0.04,
    0.05,
    0.06,
    0.07,
    0.085,
    0.1,
    0.125,
    0.15,
    0.2,
    0.25,
    0.35,
    0.5,
    1.0,
)
BUDGET_OF_EPSILONS = 50  # queries


def replay_selection(config: ReplaySelectConfig, observe: Callable[[int, int], None]) -> list[Row]:
    """Run every realisation that is not run yet; all rows, in order.

    `observe` is told how many of how many are finished.

    Raises:
        InputError: something given is wrong.
    """
    from joblib import Parallel, delayed

    journal = Journal(config.output / JOURNAL, config.decisive(), resume=config.resume)
    field = field_for(config)
    plan = plan_for(config, field)
    wanted = [(number, number) for number in range(config.seeds)]
    todo = [one for one in wanted if one not in journal.finished]
    observe(len(wanted) - len(todo), len(wanted))
    run = Parallel(n_jobs=config.jobs, return_as="generator_unordered")
    for number, rows in run(delayed(_numbered)(field, number, plan) for number, _ in todo):
        journal.add((number, number), rows)
        observe(len(journal.finished), len(wanted))
    return [row for one in wanted for row in journal.finished[one]]


def _numbered(field: Field, number: int, plan: Realisations) -> tuple[int, list[Row]]:
    return number, realise(field, number, plan)


def plan_for(config: ReplaySelectConfig, field: Field) -> Realisations:
    """What to run in every pool."""
    epsilons = config.epsilon
    if epsilons is None and "llm-selector" in config.selectors:
        assert field.opinions is not None
        budget = min(BUDGET_OF_EPSILONS, config.pool)
        epsilons = choose_epsilons(
            field.opinions, budget, np.random.default_rng([config.seed, budget])
        )
    pool = min(config.pool, field.scores.shape[1])
    every = pool * (len(field.systems) - 1)
    calls = config.calls or tuple(
        sorted({max(len(field.systems) - 1, round(share * every)) for share in SHARES})
    )
    return Realisations(config.selectors, pool, config.risk, calls, epsilons, config.seed)


def field_for(config: ReplaySelectConfig) -> Field:
    """Read the verdicts and the outputs, and ask the weak judges where a selector does.

    Raises:
        InputError: a file is wrong, or they do not go together.
    """
    table = read_verdicts(config.verdicts)
    if table.paired:
        raise DataError(
            config.verdicts, "expected a score a system (item_id, model, score), found pairs"
        )
    systems = sorted((table.systems | {config.baseline}) - set(config.leave_out))
    if unknown := sorted(set(config.leave_out) - table.systems):
        raise InputError(f"--leave-out {unknown[0]}: the verdicts know no such system")
    baseline = systems.index(config.baseline)
    if set(config.selectors) <= {"race", "random"}:
        items = sorted({row[0] for row in table.rows})
        return Field(tuple(systems), baseline, _scores(config, table, systems, items))
    pool = _pool(config, systems)
    scores = _scores(config, table, systems, [item.id for item in pool.items])
    lengths = np.array([[len(text) for text in outputs] for outputs in pool.outputs])
    opinions = None
    if set(config.selectors) & set(PICKERS):
        from judgeloop.represent.weak_judges import weak_opinions

        folder = config.cache_dir / "weak-judges"
        opinions = weak_opinions(pool.outputs, baseline, config.weak_judges, folder)
    return Field(tuple(systems), baseline, scores, lengths, opinions)


def _scores(
    config: ReplaySelectConfig, table: VerdictTable, systems: Sequence[str], items: Sequence[str]
) -> Floats:
    """1, ½ or 0 against the baseline: by its own scores where the table has them, else the scores are against it already."""
    raw = np.full((len(systems), len(items)), np.nan)
    rows, columns = (
        {name: number for number, name in enumerate(names)} for names in (systems, items)
    )
    for (item, system), recorded in table.rows.items():
        if system in rows and item in columns and recorded.score is not None:
            raw[rows[system], columns[item]] = recorded.score
    own = rows[config.baseline]
    apart = raw - (raw[own] if config.baseline in table.systems else TIE)
    ties = np.abs(apart) <= config.tie_margin + ROUNDING
    scores = np.where(np.isnan(apart), np.nan, np.where(ties, TIE, apart > 0))
    scores[own] = TIE
    return scores


def _pool(config: ReplaySelectConfig, systems: Sequence[str]) -> Pool:
    """The outputs of all systems on the items that all of them have, in the order of `systems`."""
    if not config.outputs.is_dir():
        raise InputError(f"{config.outputs}: expected a folder of output files, one a system")
    files = sorted(path for path in config.outputs.iterdir() if not path.name.startswith("."))
    found: dict[str, Any] = {
        one.system: one for one in map(read_outputs, files) if one.system in systems
    }
    if missing := [name for name in systems if name not in found]:
        raise InputError(
            f"{config.outputs}: no outputs of {missing[0]!r}, which has verdicts or is the baseline; leave it out with --leave-out"
        )
    return join(
        [found[name] for name in systems],
        read_items(config.items),
        config.items,
        allow_partial=True,
    ).pool
