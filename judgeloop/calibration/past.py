"""Reads all past comparisons of one judge on one test set, from a ledger, its runs or a file.

Returns a `WholePast`. `run.py` chooses which comparisons to replay.
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
    comparisons = [verdict for verdict in held if verdict.compares]
    return _of_ledger(comparisons, source, config.judge_name)


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


def _of_ledger(held: Sequence[RememberedVerdict], source: str, judge_name: str | None) -> WholePast:
    if not held:
        if judge_name is not None:
            raise InputError(f"`judge_name={judge_name}`: there are no comparisons in {source}")
        return WholePast(no_past(0), source, None, (), None)
    judge, verdicts, others = _of_one_judge(held, source, judge_name)
    chosen, *sets = _by_test_set(verdicts)
    places = sorted({verdict.place for verdict in chosen})
    positions = {place: at for at, place in enumerate(places)}
    past = compared(chosen, positions)
    beside = [f"{name}, {count(len(own), 'verdict')} (`judge_name`)" for name, own in others]
    if sets:
        beside.append(f"{_sets(sets)} (`history=RUN,RUN...`)")
    cost_p = sum(verdict.charged_p for verdict in chosen)
    return WholePast(past, source, judge, tuple(beside), _mean(cost_p, past.verdicts))


def _sets(sets: Sequence[Verdicts]) -> str:
    return f"{count(len(sets), 'other test set')}, {count(sum(map(len, sets)), 'verdict')}"


def _of_one_judge(
    held: Sequence[RememberedVerdict], source: str, judge_name: str | None
) -> tuple[str, Verdicts, list[tuple[str, Verdicts]]]:
    """Return the name and verdicts of the chosen judge, then those of each other judge.

    The chosen judge has the name `judge_name`, or has given most verdicts if that is None.

    Raises:
        InputError: no judge has the name.
    """
    judges: dict[KeyedJudge, Verdicts] = {}
    for verdict in held:
        judges.setdefault(verdict.ingredients.judge, []).append(verdict)
    named = [(name_of(judge.provider, judge.model), own) for judge, own in judges.items()]
    known = ", ".join(sorted({name for name, _ in named}))
    named.sort(key=lambda judge: (judge[0] == judge_name, len(judge[1])), reverse=True)
    (name, verdicts), *others = named
    if judge_name not in {None, name}:
        raise InputError(f"`judge_name={judge_name}`: no such judge in {source}; it has {known}")
    return name, verdicts, [(_other(other, name), own) for other, own in others]


def _other(name: str, chosen: str) -> str:
    return f"{name} with another prompt or other settings" if name == chosen else name


def _by_test_set(verdicts: Sequence[RememberedVerdict]) -> list[Verdicts]:
    """Group the verdicts by test set, the largest first; runs that share an item share a set."""
    runs: dict[str, Verdicts] = {}
    for verdict in verdicts:
        runs.setdefault(verdict.run, []).append(verdict)
    sets: list[tuple[set[Place], Verdicts]] = []
    for own in runs.values():
        places, together = {verdict.place for verdict in own}, own
        for held in [held for held in sets if held[0] & places]:
            sets.remove(held)
            places, together = held[0] | places, held[1] + together
        sets.append((places, together))
    return sorted((found for _, found in sets), key=len, reverse=True)
