"""Reads the verdicts that a ledger remembers of other runs.

Returns `VerdictColumns` and writes at most that a run has begun. `comparisons.py`, `ratings.py` and
`calibration/run.py` choose which of them to use; `pairing.py` makes comparisons of systems.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from judgeloop.history.verdict_columns import VerdictColumns
from judgeloop.ledger.booking import run_row
from judgeloop.ledger.connection import connect, readable
from judgeloop.ledger.reading import no_verdicts, recorded_verdicts
from judgeloop.ledger.rows import LedgerConnection, RunRow, one, read

EVER = 2**62  # a number above that of every verdict


def remembered_verdicts(
    path: Path | str, run: str | None, *, begin: bool, of_runs: Collection[str] = ()
) -> VerdictColumns:
    """Return other runs' verdicts that were recorded before `run` began, the oldest first.

    With `begin`, the start of `run` is recorded as now, unless it has begun already. For a run that
    has not begun, and for None, all recorded verdicts count. Only verdicts of `of_runs` are
    returned, if any are given. Without a ledger file the result is empty; only `begin` creates the
    file.

    Raises:
        LedgerError: the file cannot be opened, or is not a ledger.
        DamagedLedgerError: a verdict is not as it was written.
    """
    if not begin and not Path(path).exists():
        return VerdictColumns.of(no_verdicts())
    with readable(path), closing(connect(path)) as connection:
        seen = _seen_by(connection, run, begin=begin)
        return VerdictColumns.of(recorded_verdicts(connection, seen, of_runs))


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
