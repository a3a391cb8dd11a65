"""Reads the verdicts of other runs from the ledger.

A repeated run has to see the same verdicts as the first time, or it would draw other items. So only
verdicts count that were recorded before the run first began, and none of its own. What was recorded
before is told by the ledger's own numbers, not by the clock. `comparisons.py`, `ratings.py` and
`calibration/past.py` choose which of them to use; `matched.py` makes comparisons of systems.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from pydantic_core import from_json

from judgeloop.core.verdict_key import (
    FIRST,
    ITEM,
    PROMPT,
    PROVIDER,
    RATED,
    REFERENCE,
    SECOND,
    KeyedJudge,
)
from judgeloop.core.verdict_key import SYSTEMS as NAMES
from judgeloop.history.gathered import Gathered, Gatherer
from judgeloop.ledger.booking import run_row
from judgeloop.ledger.connection import connect
from judgeloop.ledger.rows import (
    TABLES,
    AttemptRow,
    LedgerConnection,
    RunRow,
    VerdictRow,
    checked,
    columns,
    one,
    read,
)

EVER = 2**62  # a number above that of every verdict
# Where the columns stand in a row of both tables, and where the seals and the verdict begin.
_AT = {name: at for at, name in enumerate(AttemptRow._fields)}
ID, RUN, ITEM_ID, NOTE, CHARGED = (
    _AT[name] for name in ("id", "run", "item_id", "note", "charged_p")
)
SEAL, VERDICT = len(AttemptRow._fields), len(AttemptRow._fields) + 1
SCORE = VERDICT + VerdictRow._fields.index("score")
OF_BOTH = f"{columns(AttemptRow, of='attempts.')}, {columns(VerdictRow, of='verdicts.')}"


def remembered_verdicts(
    path: Path | str, run: str | None, *, begin: bool, of_runs: Collection[str] = ()
) -> Gathered:
    """Return other runs' verdicts that were recorded before `run` began, the oldest first.

    With `begin`, the start of `run` is recorded as now, unless it has begun already. For a run that
    has not begun, and for None, all recorded verdicts count. Only verdicts of `of_runs` are
    returned, if any are given. Without a ledger file the result is empty; only `begin` creates the
    file.

    Raises:
        LedgerError: the file cannot be opened, or is not a ledger.
        DamagedLedgerError: a verdict or its attempt is not as it was written.
    """
    found = _Reading()
    if begin or Path(path).exists():
        with closing(connect(path)) as connection:
            seen = _seen_by(connection, run, begin=begin)
            # Not sorted here: that would copy all rows to a temporary table.
            rows = connection.execute(
                f"SELECT {OF_BOTH} FROM verdicts "  # noqa: S608 - our own names
                "CROSS JOIN attempts ON attempts.id = verdicts.attempt "
                "WHERE verdicts.seq <= ? AND attempts.run IS NOT ?",
                (seen, run),
            )
            for values in rows:
                if not of_runs or values[RUN] in of_runs:
                    _check(connection, values)
                    found.add(values)
    return found.gatherer.gathered()


def known_runs(path: Path | str) -> dict[str, str]:
    """Return the start time of every run in the ledger, by id, the oldest first."""
    if not Path(path).exists():
        return {}
    with closing(connect(path)) as connection:
        return {row.id: row.created_at for row in read(connection, RunRow, "true ORDER BY seq")}


def _seen_by(connection: LedgerConnection, run: str | None, *, begin: bool) -> int:
    """Return the number of the last verdict that was recorded before `run` began."""
    if begin and run is not None:
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits
            return run_row(connection, run).seen
    found = one(connection, RunRow, "id IS ?", run)
    return found.seen if found else EVER


def _check(connection: LedgerConnection, values: Sequence[Any]) -> None:
    """Check the seals of an attempt and of its verdict.

    Raises:
        DamagedLedgerError: one of them is not as it was written.
    """
    problem = connection.sealer.problem
    if problem(TABLES[AttemptRow], values[:SEAL], values[SEAL]):
        checked(connection, AttemptRow, values[:VERDICT])
    if problem(TABLES[VerdictRow], values[VERDICT:-1], values[-1]):
        checked(connection, VerdictRow, values[VERDICT:])


def _noted(note: str) -> dict[str, Any]:
    """Read a note; three times as fast as `json`, which also reads halves of surrogate pairs."""
    try:
        found: dict[str, Any] = from_json(note)
    except ValueError:
        found = json.loads(note)
    return found


@final
@dataclass(slots=True)
class _Reading:
    """Gathers the verdicts from their attempts' notes; the same judge is read once."""

    gatherer: Gatherer = field(default_factory=Gatherer)
    _judges: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, values: Sequence[Any]) -> None:
        """Take a row of both tables; one whose note has no ingredients is left out."""
        noted = _noted(values[NOTE])
        note, systems = noted.get("ingredients", {}), noted.get("systems", ())
        shown = [note.pop(name) for name in (RATED, FIRST, SECOND) if name in note]
        if not shown or len(shown) != len(systems) or PROVIDER not in note:
            return
        place = values[ITEM_ID], note.pop(PROMPT, ""), note.pop(REFERENCE, "")
        self.gatherer.add(
            (values[ID], values[CHARGED]),
            (values[RUN], self._judge(note), place),
            systems,
            shown,
            values[SCORE],
        )

    def _judge(self, note: dict[str, str]) -> int:
        """Return the number of the judge of a note without what differs from call to call."""
        for name in (ITEM, NAMES):
            note.pop(name, None)
        told = (*note, *note.values())
        number = self._judges.get(told)
        if number is None:
            number = self.gatherer.judges.number(KeyedJudge.from_note(note))
            self._judges[told] = number
        return number
