"""Runs a whole replay on all cores and returns its rows.

Every finished part is written to the journal, so that an interrupted replay can be resumed.
`compare.py`, `select.py` and `estimate.py` run a single part; the `*_tables.py` modules sum up the
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from judgeloop.replay.compare import Row, run_pair
from judgeloop.replay.compare_config import ReplayConfig
from judgeloop.replay.compare_inputs import protocol_of, recordings_for
from judgeloop.replay.estimate import parts_of, run_part
from judgeloop.replay.estimate_config import ReplayEstimateConfig
from judgeloop.replay.estimate_inputs import plan_for as estimate_plan
from judgeloop.replay.estimate_inputs import read_systems
from judgeloop.replay.journal import Journal, Part
from judgeloop.replay.select import realise
from judgeloop.replay.select_config import ReplaySelectConfig
from judgeloop.replay.select_inputs import field_for
from judgeloop.replay.select_inputs import plan_for as select_plan
from judgeloop.replay.settings import ReplaySettings

JOURNAL = "runs.jsonl"
Observe = Callable[[int, int], None]  # called with the numbers of finished and of all parts


def replay_compare(config: ReplayConfig, observe: Observe) -> list[Row]:
    """Run every pair of systems; return the rows in the order of the pairs.

    The order does not depend on which pair finished first.

    Raises:
        InputError: a setting or a file is wrong.
    """
    journal = _journal(config)
    recordings, protocol = recordings_for(config), protocol_of(config)
    pairs = recordings.pairs(config.pairs, np.random.default_rng(config.seed))
    return _run_all(
        config, journal, pairs, lambda pair: (run_pair, recordings, pair, protocol), observe
    )


def replay_select(config: ReplaySelectConfig, observe: Observe) -> list[Row]:
    """Run every realisation; return the rows in the order of the realisations.

    Raises:
        InputError: a setting or a file is wrong.
    """
    journal = _journal(config)
    field = field_for(config)
    plan = select_plan(config, field)
    numbers = [(number, number) for number in range(config.seeds)]
    return _run_all(config, journal, numbers, lambda part: (realise, field, part[0], plan), observe)


def replay_estimate(config: ReplayEstimateConfig, observe: Observe) -> list[Row]:
    """Run every system at every share.

    The rows are in the order of systems, selectors, shares and repetitions.

    Raises:
        InputError: a setting or a file is wrong.
    """
    journal = _journal(config)
    subjects, selectors = read_systems(config)
    plan = estimate_plan(config, selectors)
    parts = [(number, part) for number in range(len(subjects)) for part in parts_of(plan)]
    rows = _run_all(
        config, journal, parts, lambda part: (run_part, subjects[part[0]], *part, plan), observe
    )
    places = {name: place for place, name in enumerate(plan.selectors)}

    def order(row: Row) -> tuple[Any, ...]:
        return row["system"], places[row["selector"]], row["share"], row["repetition"]

    return sorted(rows, key=order)


def _journal(config: ReplaySettings) -> Journal:
    return Journal(config.output / JOURNAL, config.decisive(), resume=config.resume)


def _run_all(
    config: ReplaySettings,
    journal: Journal,
    parts: Sequence[Part],
    work: Callable[[Part], tuple[Any, ...]],
    observe: Observe,
) -> list[Row]:
    """Run all unfinished parts and return the rows of all parts.

    `work` returns the function that runs a part, and its arguments.
    """
    from joblib import Parallel, delayed

    wanted = set(parts)
    todo = [part for part in parts if part not in journal.finished]
    observe(len(parts) - len(todo), len(parts))
    run = Parallel(n_jobs=config.jobs, return_as="generator_unordered")
    for part, rows in run(delayed(_run_one)(part, *work(part)) for part in todo):
        journal.add(part, rows)
        observe(len(wanted & journal.finished.keys()), len(parts))
    return [row for part in parts for row in journal.finished[part]]


def _run_one(part: Part, function: Callable[..., list[Row]], *given: Any) -> tuple[Part, list[Row]]:
    return part, function(*given)
