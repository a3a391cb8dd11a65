"""What a ledger remembers, once more as columns, so that a million verdicts are read in a second.

The columns are segments of the ledger itself: each holds the verdicts after those of the segment
before. They are made of checked rows and are sealed as rows are (`ledger/seal.py`). Verdicts never
change, so that only those behind the last segment are still to be read (`side_by_side.py`). Where
segments cannot be believed they are passed over, and written anew.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import Any

from judgeloop.core.errors import DamagedLedgerError
from judgeloop.history.gathered import Gatherer
from judgeloop.history.packed import head_of, packed, unpacked
from judgeloop.ledger.rows import LedgerConnection, SegmentRow, insert, read

FORM = 1  # raised whenever the columns or what is read from a note change
LONGEST = 100_000  # verdicts of a segment: some 10 MB
WAIT_MS = 2000  # for other processes that write: segments can be appended another time
# A segment ends at a verdict. A number above that of the last, or below 1, was not written so.
TO_LAST = """SELECT coalesce(max(until), 0) FROM segments
    WHERE until <= (SELECT coalesce(max(seq), 0) FROM verdicts)"""
DOUBTFUL = "FROM segments WHERE until > ? OR until < 1"
# How many verdicts a segment holds, and the seal of its last.
ROWS = "SELECT count(*) FROM verdicts WHERE seq > ? AND seq <= ?"
SEAL = "SELECT hex(seal) FROM verdicts WHERE seq = ?"
# What reading a segment may raise that is damaged, or that somebody has made.
UNREADABLE = (
    DamagedLedgerError, sqlite3.Error, ValueError, LookupError, TypeError, ArithmeticError, RecursionError,
)  # fmt: skip


def load(connection: LedgerConnection) -> Gatherer:
    """Return the verdicts that the segments hold, as far as these can be believed.

    Each is compared with the rows that it was made of: their number, and the seal of the last. So a
    segment is passed over from which rows are missing, or whose rows were replaced.
    """
    found = Gatherer()
    # Closed: an open cursor keeps the file locked.
    with (
        suppress(*UNREADABLE),
        closing(read(connection, SegmentRow, "true ORDER BY until")) as rows,
    ):
        for row in rows:
            if row.until > 0:
                told = _told(connection, found.last, row.until)
                head = head_of(row.content)
                if any(head[name] != value for name, value in told.items()):
                    break
                found.extend(unpacked(memoryview(row.content)))
    return found


def last_in_segments(connection: LedgerConnection) -> int:
    """Return the number of the last verdict that the segments say they hold, unchecked.

    -1 if they cannot be read.
    """
    with suppress(sqlite3.Error):
        return int(connection.execute(TO_LAST).fetchone()[0])
    return -1


def append(connection: LedgerConnection, gatherer: Gatherer, *, after: int, known: int) -> None:
    """Write the verdicts of `gatherer` behind the number `after` as segments, in one transaction.

    Segments behind `after`, which were not believed, are replaced. `known` is the last number that
    they said they held. Where the ledger cannot be written, or another process has appended
    meanwhile, nothing is written.
    """
    with suppress(sqlite3.Error):
        connection.execute(f"PRAGMA busy_timeout = {WAIT_MS}")
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits
            if last_in_segments(connection) == known and _cleared(connection, after):
                for part in gatherer.parts(after, LONGEST):
                    told = _told(connection, after, part.last)
                    insert(connection, SegmentRow(part.last, b"".join(packed(part, **told))))
                    after = part.last


def _cleared(connection: LedgerConnection, after: int) -> bool:
    """Delete the segments that were not believed; return whether segments can be written.

    Where the file itself is damaged, a deletion may free pages that hold sound rows.
    """
    if connection.execute(f"SELECT count(*) {DOUBTFUL}", (after,)).fetchone()[0]:
        if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            return False
        connection.execute(f"DELETE {DOUBTFUL}", (after,))
    return True


def _told(connection: LedgerConnection, after: int, until: int) -> dict[str, Any]:
    """Return what the head of a segment of the verdicts between two numbers says."""
    rows = connection.execute(ROWS, (after, until)).fetchone()[0]
    seal = connection.execute(SEAL, (until,)).fetchone()
    told = {"form": FORM, "after": after, "last": until, "rows": rows}
    return told | {"seal": seal[0] if seal else None}
