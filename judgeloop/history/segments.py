"""What a ledger remembers, once more as columns, so that a million verdicts are read in a second.

The columns are segments of the ledger itself: each holds the verdicts after those of the segment
before. They are made of checked rows and are sealed as rows are (`ledger/seal.py`). Verdicts never
change, so that only those behind the last segment are still to be read (`side_by_side.py`). Where
segments cannot be believed they are passed over, and written anew.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress

from judgeloop.core.errors import DamagedLedgerError
from judgeloop.history.gathered import Gatherer
from judgeloop.history.packed import head_of, packed, unpacked
from judgeloop.ledger.rows import LedgerConnection, SegmentRow, insert, read

FORM = 1  # raised whenever the columns or what is read from a note change
LONGEST = 100_000  # verdicts of a segment: some 10 MB
TO_LAST = "SELECT coalesce(max(until), 0) FROM segments"
ROWS = "SELECT (SELECT count(*) FROM verdicts) - (SELECT count(*) FROM verdicts WHERE seq > ?)"
SEAL = "SELECT hex(seal) FROM verdicts WHERE seq = ?"


def load(connection: LedgerConnection) -> Gatherer:
    """Return the verdicts that the segments hold, as far as these can be believed."""
    found, head = Gatherer(), None
    unreadable = suppress(DamagedLedgerError, ValueError, LookupError, TypeError)
    # Closed: an open cursor keeps the file locked.
    with unreadable, closing(read(connection, SegmentRow, "true ORDER BY until")) as segments:
        for segment in segments:
            following = head_of(segment.content)
            if (following["form"], following["after"]) != (FORM, found.last):
                break
            found.extend(unpacked(memoryview(segment.content)))
            head = following
    if head is None or (head["rows"], head["seal"]) == _state(connection, found.last):
        return found
    return Gatherer()


def last_in_segments(connection: LedgerConnection) -> int:
    """Return the number of the last verdict that the segments say they hold, unchecked."""
    return int(connection.execute(TO_LAST).fetchone()[0])


def append(connection: LedgerConnection, gatherer: Gatherer, *, after: int, known: int) -> None:
    """Write the verdicts of `gatherer` behind the number `after` as segments, in one transaction.

    Segments behind `after`, which were not believed, are replaced. `known` is the last number that
    they said they held. Where the ledger cannot be written, or another process has appended
    meanwhile, nothing is written.
    """
    with suppress(sqlite3.Error):
        connection.execute("BEGIN IMMEDIATE")
        with connection:  # commits
            if last_in_segments(connection) == known:
                connection.execute("DELETE FROM segments WHERE until > ?", (after,))
                for part in gatherer.parts(after, LONGEST):
                    insert(connection, _segment(connection, part, after))
                    after = part.last


def _segment(connection: LedgerConnection, part: Gatherer, after: int) -> SegmentRow:
    rows, seal = _state(connection, part.last)
    pieces = packed(part, form=FORM, after=after, rows=rows, seal=seal)
    return SegmentRow(part.last, b"".join(pieces))


def _state(connection: LedgerConnection, last: int) -> tuple[int, str | None]:
    """Return how many verdicts there are up to the number `last`, and the seal of that one."""
    rows = connection.execute(ROWS, (last,)).fetchone()[0]
    seal = connection.execute(SEAL, (last,)).fetchone()
    return rows, seal[0] if seal else None
