"""Reads all past comparisons of one judge on one test set, from a ledger, its runs or a file.

Returns a `WholePast`. `run.py` chooses which comparisons to replay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgeloop.calibration.config import CalibrateConfig
from judgeloop.core.errors import InputError
from judgeloop.formats.verdicts import VerdictTable, read_verdicts
from judgeloop.history.comparisons import NONE, named_runs, past_of_table, where_of
from judgeloop.history.ledger_source import remembered_verdicts
from judgeloop.history.pairing import compared
from judgeloop.history.past import Past, no_past
from judgeloop.history.verdict_columns import VerdictColumns, distinct
from judgeloop.judges.catalogue import judge_name as name_of
from judgeloop.report.words import count


@dataclass(frozen=True, slots=True)
class WholePast:
    """Past comparisons and their source.

    `source` says in words where the comparisons come from. `judge` is the judge's name; None for a
    file, which names no judge. `beside` describes in words the verdicts of other judges and test
    sets, which are not used. `item_cost_p` is the mean cost of comparing two systems on an item, in
    picodollars; None if the cost is unknown or zero.
    """

    past: Past
    source: str
    judge: str | None
    beside: tuple[str, ...]
    item_cost_p: int | None


def whole_past(config: CalibrateConfig) -> WholePast:
    """Return the past comparisons that `config` names.

    Raises:
        InputError: there is no such file, run or judge.
    """
    if config.history == NONE:
        raise InputError("`history=none`: without earlier comparisons there is nothing to replay")
    if Path(config.history).is_file():
        return _of_file(Path(config.history), config)
    runs = named_runs(config.history, config.ledger)
    if not (config.ledger.is_file() and config.ledger.stat().st_size):
        raise InputError(
            f"`ledger={config.ledger}`: there is no ledger there; name the ledger with the "
            "comparisons to replay, or give a table of verdicts, `history=FILE`"
        )
    held = remembered_verdicts(config.ledger, None, begin=False, of_runs=runs)
    source = f"{where_of(runs)} ({config.ledger})"
    return _of_ledger(held.only(held.compares), source, config.judge_name)


def _of_file(path: Path, config: CalibrateConfig) -> WholePast:
    if config.judge_name is not None:
        raise InputError(
            f"`judge_name={config.judge_name}`: a file of verdicts names no judge; leave it out"
        )
    table = read_verdicts(path)
    past = past_of_table(table, table.items, config.tie_margin)
    return WholePast(past, path.name, None, (), _item_cost_p(table))


def _item_cost_p(table: VerdictTable) -> int | None:
    """Return the mean cost of comparing two systems on an item; None if it is unknown or zero.

    That is one verdict on both systems in a table of pairs, and two ratings in a table of scores.
    """
    costs = [recorded.cost_p for recorded in table.rows.values() if recorded.score is not None]
    verdicts = 1 if table.paired else 2
    return _mean(verdicts * sum(costs), len(costs))


def _mean(cost_p: int, items: int) -> int | None:
    return round(cost_p / items) if cost_p else None


def _of_ledger(held: VerdictColumns, source: str, judge_name: str | None) -> WholePast:
    if not len(held):
        if judge_name is not None:
            raise InputError(f"`judge_name={judge_name}`: there are no comparisons in {source}")
        return WholePast(no_past(0), source, None, (), None)
    judge, verdicts, others = _of_one_judge(held, source, judge_name)
    chosen, *sets = _by_test_set(verdicts)
    positions = {place: at for at, place in enumerate(sorted(chosen.places.values()))}
    past = compared(chosen, positions)
    beside = [f"{name}, {count(own, 'verdict')} (`judge_name`)" for name, own in others]
    if sets:
        beside.append(f"{_sets(sets)} (`history=RUN,RUN...`)")
    cost_p = sum(chosen.costs_p.tolist())
    return WholePast(past, source, judge, tuple(beside), _mean(cost_p, past.verdicts))


def _sets(sets: Sequence[VerdictColumns]) -> str:
    return f"{count(len(sets), 'other test set')}, {count(sum(map(len, sets)), 'verdict')}"


def _of_one_judge(
    held: VerdictColumns, source: str, judge_name: str | None
) -> tuple[str, VerdictColumns, list[tuple[str, int]]]:
    """Return the name and verdicts of the chosen judge, then the number of each other judge's.

    The chosen judge has the name `judge_name`, or has given most verdicts if that is None.

    Raises:
        InputError: no judge has the name.
    """
    judges = held.judges
    numbers, own = distinct(held.judge)
    named = [
        (name_of(judges[number].provider, judges[number].model), given, number)
        for number, given in zip(numbers, own, strict=True)
    ]
    known = ", ".join(sorted({name for name, _, _ in named}))
    named.sort(key=lambda judge: (judge[0] == judge_name, judge[1]), reverse=True)
    (name, _, number), *others = named
    if judge_name not in {None, name}:
        raise InputError(f"`judge_name={judge_name}`: no such judge in {source}; it has {known}")
    chosen = held.only(held.judge == number)
    return name, chosen, [(_other(other, name), given) for other, given, _ in others]


def _other(name: str, chosen: str) -> str:
    return f"{name} with another prompt or other settings" if name == chosen else name


def _by_test_set(verdicts: VerdictColumns) -> list[VerdictColumns]:
    """Group the verdicts by test set, the largest first; runs that share an item share a set."""
    sets: list[tuple[set[int], list[int]]] = []  # the places of each set, and its runs
    numbers, given = distinct(verdicts.run)
    order = np.argsort(verdicts.run, kind="stable")
    _, begins = np.unique(verdicts.run[order], return_index=True)
    by_run = dict(zip(sorted(numbers), np.split(order, begins[1:]), strict=True))
    for run in numbers:
        places, together = set(np.unique(verdicts.place[by_run[run]]).tolist()), [run]
        for held in [held for held in sets if held[0] & places]:
            sets.remove(held)
            places, together = held[0] | places, held[1] + together
        sets.append((places, together))
    sizes = dict(zip(numbers, given, strict=True))
    sets.sort(key=lambda found: sum(sizes[run] for run in found[1]), reverse=True)
    return [verdicts.only(np.concatenate([by_run[run] for run in runs])) for _, runs in sets]
