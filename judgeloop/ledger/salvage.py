"""Copies every row of a ledger that can be believed into a new ledger.

The source is only read. Money is never lost: what a run was charged by attempts that cannot be
read stays charged, in an attempt that says so. A verdict whose attempt cannot be read is kept, but
serves no history.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import End
from judgeloop.ledger.booking import ingredients_of
from judgeloop.ledger.connection import connect, readable
from judgeloop.ledger.inspection import every_row, open_to_read
from judgeloop.ledger.rows import (
    INGREDIENTS,
    NOTHING,
    TABLES,
    AboutRow,
    AttemptRow,
    LedgerConnection,
    Row,
    RunRow,
    VerdictRow,
    change,
    insert,
    next_number,
    now,
    one,
    read,
)
from judgeloop.ledger.seal import Sealer

# The texts that the numbers of a verdict stand for are taken from the note of its attempt.
NO_INGREDIENTS = dict.fromkeys(INGREDIENTS, NOTHING)
LOST = "the attempts that cost this could not be read"
UNKNOWN_RUN = "salvaged"  # holds the attempts of verdicts whose own attempt could not be read


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The number of rows copied and of rows left behind, by table."""

    copied: dict[str, int]
    left: dict[str, int]


def salvage(source: Path, target: Path, *, sign: bool = False) -> Salvaged:
    """Copy the rows of `source` that have their seal to a new file, `target`.

    With `sign` the checksum alone is enough, and the copies are signed with the key in the
    environment: the caller trusts the file as it is.

    Raises:
        InputError: `target` exists, or `source` does not.
        LedgerError: a file cannot be read or written.
    """
    if target.exists():
        raise InputError(f"`to={target}`: this file exists; name a new one")
    with readable(source), closing(open_to_read(source)) as old:
        if sign:
            old.sealer = Sealer(old.sealer.ledger)
        try:
            with closing(connect(target)) as new:
                new.execute("BEGIN IMMEDIATE")
                found = _copy(old, new)
                new.execute("COMMIT")
        except BaseException:
            with suppress(OSError):
                target.unlink()
            raise
    return found


def _copy(old: LedgerConnection, new: LedgerConnection) -> Salvaged:
    _take_id(old, new)
    copied = dict.fromkeys((TABLES[kind] for kind in (RunRow, AttemptRow, VerdictRow)), 0)
    left = dict(copied)
    charged_p: dict[str, int] = {}
    for run in _sound(old, RunRow, left):
        insert(new, run)
        charged_p[run.id] = run.charged_p
        copied["runs"] += 1
    for attempt in _sound(old, AttemptRow, left):
        _ensure_run(new, attempt.run, attempt.began_at)
        insert(new, attempt)
        copied["attempts"] += 1
    for verdict in _sound(old, VerdictRow, left):
        ingredients = ingredients_of(new, _ensure_attempt(new, verdict))
        with suppress(sqlite3.IntegrityError):  # a key that two rows claim: the first stays
            insert(new, verdict._replace(**(NO_INGREDIENTS | ingredients)))
            copied["verdicts"] += 1
    _correct_charges(new, charged_p)
    return Salvaged(copied, left)


def _take_id(old: LedgerConnection, new: LedgerConnection) -> None:
    """Give the new ledger the id of the old one, if that can be believed."""
    abouts = list(_sound(old, AboutRow, {"about": 0}))
    if len(abouts) == 1:
        new.execute("DELETE FROM about")
        new.sealer = Sealer(abouts[0].id, new.sealer.key)
        insert(new, abouts[0])


def _sound(old: LedgerConnection, kind: type[Row], left: dict[str, int]) -> Iterator[Row]:
    """Yield the rows that have their seal; count the others."""
    table = TABLES[kind]
    for *values, seal in every_row(old, kind, lambda _: None):
        if old.sealer.problem(table, values, seal) is None:
            yield kind(*values)
        else:
            left[table] += 1


def _ensure_run(new: LedgerConnection, run: str, began_at: str) -> None:
    if one(new, RunRow, "id = ?", run) is None:
        insert(new, RunRow(next_number(new, RunRow), run, began_at, 0, 0))


def _ensure_attempt(new: LedgerConnection, verdict: VerdictRow) -> AttemptRow:
    found = one(new, AttemptRow, "id = ?", verdict.attempt)
    if found is None:
        _ensure_run(new, UNKNOWN_RUN, verdict.created_at)
        found = _stand_in(verdict.attempt, UNKNOWN_RUN, verdict.key, "settled", 0)
        insert(new, found)
    return found


def _stand_in(number: int, run: str, key: str, state: str, cost_p: int) -> AttemptRow:
    """Return an attempt in place of one or more that could not be read."""
    told: tuple[Any, ...] = (LOST, None, None, None, now(), now())
    return AttemptRow(
        number, run, "", key, "", "", "{}", state, End.LOST.value, cost_p, cost_p, 0, *told
    )


def _correct_charges(new: LedgerConnection, charged_p: dict[str, int]) -> None:
    """Charge each run at least what it was charged before, and the sum of its attempts."""
    for run in list(read(new, RunRow, "true")):
        known_p = _sum_of(new, run.id)
        lost_p = max(0, charged_p.get(run.id, 0) - known_p)
        if lost_p:
            number = next_number(new, AttemptRow)
            insert(new, _stand_in(number, run.id, "", "abandoned", lost_p))
        if run.charged_p != known_p + lost_p:
            change(new, run, charged_p=known_p + lost_p)


def _sum_of(new: LedgerConnection, run: str) -> int:
    found = new.execute(
        "SELECT coalesce(sum(charged_p), 0) FROM attempts WHERE run = ?", (run,)
    ).fetchone()
    return int(found[0])
