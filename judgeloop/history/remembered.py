"""Reads the verdicts of other runs from the ledger.

A repeated run has to see the same verdicts as the first time, or it would draw other items. So only
verdicts count that were recorded before the run first began, and none of its own. What was recorded
before is told by the ledger's own numbers, not by the clock. `comparisons.py`, `ratings.py` and
`calibration/run.py` choose which of them to use; `matched.py` makes comparisons of systems.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing, suppress
from pathlib import Path

from judgeloop.history.gathered import Gathered, Gatherer
from judgeloop.history.segments import append, last_in_segments, load
from judgeloop.history.side_by_side import add_verdicts
from judgeloop.ledger.booking import run_row
from judgeloop.ledger.connection import connect, readable
from judgeloop.ledger.rows import LedgerConnection, RunRow, one, read

EVER = 2**62  # a number above that of every verdict
WORTH = 20_000  # verdicts; fewer are read as rows in a fraction of a second


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
    if not begin and not Path(path).exists():
        return Gatherer().gathered(EVER, run, of_runs)
    with readable(path), closing(connect(path)) as connection:
        seen = _seen_by(connection, run, begin=begin)
        return _gather(connection, seen, of_runs).gathered(seen, run, of_runs)


def _gather(connection: LedgerConnection, seen: int, of_runs: Collection[str]) -> Gatherer:
    """Return the verdicts up to the number `seen`, and further ones of the segments.

    Those of other runs than `of_runs` may be missing. Verdicts whose notes have no ingredients are
    left out. If many were read as rows, they are appended to the segments.
    """
    known = last_in_segments(connection)
    gatherer = load(connection)
    after = gatherer.last
    number = add_verdicts(connection, gatherer, until=seen, of_runs=of_runs)
    if not of_runs and number >= WORTH:
        append(connection, gatherer, after=after, known=known)
    return gatherer


def extend_segments(path: Path | str) -> None:
    """Append a ledger's verdicts to its segments, if many are in none (`segments.py`).

    Called at the end of a run, so that nobody ever waits for a million rows to be read. Where a row
    is not as it was written, nothing is appended.
    """
    if not Path(path).exists():
        return
    # Whatever is wrong with older rows, the result of a run is not lost for it.
    with suppress(Exception), closing(connect(path)) as connection:
        last = connection.execute("SELECT coalesce(max(seq), 0) FROM verdicts").fetchone()[0]
        known = last_in_segments(connection)
        if last - known >= WORTH and known >= 0:
            later = Gatherer(last=known)
            add_verdicts(connection, later, until=last)
            append(connection, later, after=known, known=known)


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
