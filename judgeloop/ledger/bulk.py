"""Reads the verdicts of a whole ledger with their attempts, each row checked, in little time.

Returns rows one by one, so that a million take no memory. Does not interpret them
(`history/remembered.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple
from zlib import crc32

from judgeloop.ledger.rows import AttemptRow, LedgerConnection, VerdictRow, checked, columns

# Where the verdict begins in a row of both tables.
VERDICT = len(AttemptRow._fields) + 1
RUN = AttemptRow._fields.index("run")
OF_BOTH = f"{columns(AttemptRow, of='attempts.')}, {columns(VerdictRow, of='verdicts.')}"


class Given(NamedTuple):
    """A verdict, its number, and what of its attempt a history needs."""

    seq: int
    attempt: int
    run: str
    item_id: str
    note: str
    charged_p: int
    score: float


def given_verdicts(
    connection: LedgerConnection, *, after: int, until: int, of_runs: Collection[str] = ()
) -> Iterator[Given]:
    """Yield the verdicts `after` a number and up to another, in the order recorded.

    If `of_runs` has any run, those of all other runs are left out.

    Raises:
        DamagedLedgerError: a verdict or its attempt is not as it was written.
    """
    # Sorted by the attempts' numbers, all rows would be copied to a temporary table.
    found = connection.execute(
        f"SELECT {OF_BOTH} FROM verdicts "  # noqa: S608 - our own names
        "CROSS JOIN attempts ON attempts.id = verdicts.attempt "
        "WHERE verdicts.seq > ? AND verdicts.seq <= ? ORDER BY verdicts.seq",
        (after, until),
    )
    with closing(found):
        for values in found:
            if not of_runs or values[RUN] in of_runs:
                yield _given(connection, values)


def _given(connection: LedgerConnection, values: Sequence[Any]) -> Given:
    """Return a row of both tables once both its seals are checked.

    The messages are those of `seal.py`, written out: so they take a third of the time. Where a text
    needs escapes that are not written here, the checksums differ, and the row is checked again as
    any other. A row with a key is checked so in any case, because a message may not be ambiguous.
    """
    (
        number, run, opener, key, item, judge, note, state, reserved, charged, rehearsed, outcome,
        usage, model, request, began, ended, seal, seq, own_key, attempt, score, reason, at, own_seal,
    ) = values  # fmt: skip
    if not isinstance(note, str) or not isinstance(seal, bytes) or not isinstance(own_seal, bytes):
        checked(connection, AttemptRow, values[:VERDICT])
        checked(connection, VerdictRow, values[VERDICT:])
    escaped = note.replace("\\", "\\\\").replace("'", "\\'")
    of_attempt = (
        f"('attempts', {number}, '{run}', '{opener}', '{key}', {item!a}, {judge!a}, '{escaped}', "
        f"'{state}', {reserved}, {charged}, {rehearsed}, {outcome!a}, {usage!a}, {model!a}, "
        f"{request!a}, '{began}', {ended!a})"
    )
    of_verdict = f"('verdicts', {seq}, '{own_key}', {attempt}, {score!a}, {reason!a}, '{at}')"
    if (
        connection.sealer.key is not None
        or crc32(of_attempt.encode("ascii", "backslashreplace")) != int.from_bytes(seal)
        or crc32(of_verdict.encode("ascii", "backslashreplace")) != int.from_bytes(own_seal)
    ):
        checked(connection, AttemptRow, values[:VERDICT])
        checked(connection, VerdictRow, values[VERDICT:])
    return Given(seq, number, run, item, note, charged, score)
