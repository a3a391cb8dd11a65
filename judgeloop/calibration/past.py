"""All earlier comparisons by one judge on one test set: from a ledger, from some of its runs, or from a file.

Which of them are replayed, and how they fare, is the business of `jobs/calibrate.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from judgeloop.calibration.config import CalibrateConfig
from judgeloop.core.errors import InputError
from judgeloop.core.verdict_key import KeyedJudge, Place
from judgeloop.core.verdict_table import VerdictTable
from judgeloop.formats.verdicts import read_verdicts
from judgeloop.history.comparisons import NONE, named_runs, past_of_table, where_of
from judgeloop.history.past import Past, no_past
from judgeloop.history.remembered import RememberedVerdict, compared, remembered_verdicts
from judgeloop.judges.catalogue import judge_name as name_of
from judgeloop.report.sentences import count

Verdicts = list[RememberedVerdict]


@dataclass(frozen=True, slots=True)
class WholePast:
    """Comparisons, where they are from, and what the verdicts on an item cost on average, in picodollars; None if nothing.

    `judge` is None where a file does not say; `beside` says what else there was, in words.
    """

    past: Past
    source: str
    judge: str | None
    beside: tuple[str, ...]
    item_cost_p: int | None


def whole_past(config: CalibrateConfig) -> WholePast:
    """The comparisons that `config` names.

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
            f"`ledger={config.ledger}`: there is no ledger there; name that of the comparisons to replay, or give a table of verdicts, "
            "`history=FILE`"
        )
    held = remembered_verdicts(config.ledger, None, begin=False, of_runs=runs)
    source = f"{where_of(runs)} ({config.ledger})"
    return _of_ledger([one for one in held if one.compares], source, config.judge_name)


def _of_file(path: Path, config: CalibrateConfig) -> WholePast:
    if config.judge_name is not None:
        raise InputError(
            f"`judge_name={config.judge_name}`: a file of verdicts names no judge; leave it out"
        )
    table = read_verdicts(path)
    past = past_of_table(table, table.items, config.tie_margin)
    return WholePast(past, path.name, None, (), _item_cost_p(table))


def _item_cost_p(table: VerdictTable) -> int | None:
    """What comparing two systems on an item cost on average: one verdict on both, or one on each."""
    costs = [recorded.cost_p for recorded in table.rows.values() if recorded.score is not None]
    verdicts = 1 if table.paired else 2
    return _mean(verdicts * sum(costs), len(costs))


def _mean(cost_p: int, items: int) -> int | None:
    return round(cost_p / items) if cost_p else None


def _of_ledger(held: Sequence[RememberedVerdict], source: str, judge_name: str | None) -> WholePast:
    if not held:
        if judge_name is not None:
            raise InputError(f"`judge_name={judge_name}`: there are no comparisons in {source}")
        return WholePast(no_past(0), source, None, (), None)
    judge, verdicts, others = _of_one_judge(held, source, judge_name)
    chosen, *sets = _by_test_set(verdicts)
    positions = {place: at for at, place in enumerate(sorted({one.place for one in chosen}))}
    past = compared(chosen, positions)
    beside = [f"{name}, {count(len(own), 'verdict')} (`judge_name`)" for name, own in others]
    if sets:
        beside.append(f"{_sets(sets)} (`history=RUN,RUN...`)")
    cost_p = sum(one.charged_p for one in chosen)
    return WholePast(past, source, judge, tuple(beside), _mean(cost_p, past.verdicts))


def _sets(sets: Sequence[Verdicts]) -> str:
    return f"{count(len(sets), 'other test set')}, {count(sum(map(len, sets)), 'verdict')}"


def _of_one_judge(
    held: Sequence[RememberedVerdict], source: str, judge_name: str | None
) -> tuple[str, Verdicts, list[tuple[str, Verdicts]]]:
    """The verdicts of the judge so named, or of the one who gave most, by name; and those of the others.

    Raises:
        InputError: none has the name.
    """
    judges: dict[KeyedJudge, Verdicts] = {}
    for one in held:
        judges.setdefault(one.ingredients.judge, []).append(one)
    named = [(name_of(judge.provider, judge.model), own) for judge, own in judges.items()]
    known = ", ".join(sorted({name for name, _ in named}))
    named.sort(key=lambda one: (one[0] == judge_name, len(one[1])), reverse=True)
    (name, verdicts), *others = named
    if judge_name not in {None, name}:
        raise InputError(f"`judge_name={judge_name}`: no such judge in {source}; it has {known}")
    return name, verdicts, [(_other(one, name), own) for one, own in others]


def _other(name: str, chosen: str) -> str:
    return f"{name} with another prompt or other settings" if name == chosen else name


def _by_test_set(verdicts: Sequence[RememberedVerdict]) -> list[Verdicts]:
    """The verdicts by test set, that with most first: runs that share an item are about the same one."""
    runs: dict[str, Verdicts] = {}
    for one in verdicts:
        runs.setdefault(one.run, []).append(one)
    sets: list[tuple[set[Place], Verdicts]] = []
    for own in runs.values():
        places, together = {one.place for one in own}, own
        for held in [held for held in sets if held[0] & places]:
            sets.remove(held)
            places, together = held[0] | places, held[1] + together
        sets.append((places, together))
    return sorted((found for _, found in sets), key=len, reverse=True)
