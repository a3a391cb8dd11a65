"""Deletes what is old in the file of a ledger; what was charged stays counted.

The attempts of a day, run, judge and state that brought no verdict become one, which is charged
their sum. Verdicts stay, with their attempts, unless they are to go, too: a judge is then asked
anew. Attempts of unknown cost stay, and those of the days around them, because an export of the
provider is compared with both (`ledger reconcile`). So do those that are open. Runs stay.
"""

import json
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from judgeloop.core.errors import InputError
from judgeloop.core.ledger import NOTHING, End
from judgeloop.core.records import NO_TOKENS, Usage
from judgeloop.ledger import rows
from judgeloop.ledger.charges import DAY
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.opening import Address, is_ledger, server_of, writer_of
from judgeloop.ledger.results import forget
from judgeloop.ledger.sqlite import connect, errors_of_reading

MOST_DIGITS = 5  # of a number of days
NAMED_DAYS = {"today": "0", "yesterday": "1"}
OLD = f"""began_at < ? AND ended IS NOT NULL AND ended <> '{End.PRUNED}'
    AND NOT (state = 'abandoned' AND charged_p > 0) AND opener NOT LIKE '{rows.TAKEN}%'
    AND id NOT IN (SELECT attempt FROM verdicts UNION SELECT attempt FROM outputs)"""  # noqa: S608 - our own names


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went; of a file, also its size before and after, in bytes."""

    attempts: int
    verdicts: int
    sizes: tuple[int, int] | None


def day_before(older_than: str, today: date, setting: str = "older_than") -> str:
    """Return the day (ISO 8601) before which everything is old; `setting` is what it was given by.

    >>> day_before("30", date(2026, 3, 31)), day_before("2026-01-31", date(2026, 3, 31))
    ('2026-03-01', '2026-01-31')

    Raises:
        InputError: it is neither a number of days nor a date.
    """
    older_than = NAMED_DAYS.get(older_than, older_than)
    try:
        if older_than.isascii() and older_than.isdecimal() and len(older_than) <= MOST_DIGITS:
            return (today - timedelta(days=int(older_than))).isoformat()
        return date.fromisoformat(older_than).isoformat()
    except ValueError:
        raise InputError(
            f"`{setting}={older_than}`: expected today, yesterday, a number of days, such as 90, or a "
            "date, such as 2026-01-31"
        ) from None


def prune(address: Address, before: str, *, verdicts: bool = False) -> Pruned:
    """Delete what began before the day `before` (UTC), and shrink the file; a server shrinks its own.

    Raises:
        InputError: there is no such ledger.
        LedgerError: it cannot be written, or a row is not as it was written; nothing is deleted.
    """
    if not is_ledger(address):
        raise InputError(f"`ledger={address}`: there is no ledger there")
    with closing(writer_of(address)) as writer:
        gone, merged = writer.do(
            lambda connection: (_forget_verdicts(connection, before) if verdicts else 0, _merge(connection, before))
        )
    if server_of(address) is not None:
        return Pruned(merged, gone, None)
    path = Path(str(address))
    before_bytes = path.stat().st_size
    with errors_of_reading(path), closing(connect(path)) as file:
        file.execute("VACUUM")
    return Pruned(merged, gone, (before_bytes, path.stat().st_size))


def _forget_verdicts(connection: LedgerConnection, before: str) -> int:
    old = "attempt IN (SELECT id FROM attempts WHERE ended_at < ?)"
    gone = list(rows.read(connection, rows.VerdictRow, old, before))
    forget(connection, before)
    for verdict in gone:
        rows.delete(connection, verdict)
    left = [row.ingredients for row in rows.read(connection, rows.VerdictRow, "true")]
    used = {NOTHING, *np.frombuffer(b"".join(left), rows.NUMBER).tolist()}
    for text in list(rows.read(connection, rows.TextRow, "true")):
        if text.id not in used:
            rows.delete(connection, text)
    return len(gone)


def _merge(connection: LedgerConnection, before: str) -> int:
    """Replace old attempts by one for each day, run, judge and state that were charged."""
    groups: dict[tuple[object, ...], list[rows.AttemptRow]] = {}
    unknown = _days_of_unknown(connection)
    for row in rows.read(connection, rows.AttemptRow, OLD, before):
        group = (row.began_at[:DAY], row.run, row.judge, row.state, row.rehearsed)
        if group[0] not in unknown:
            groups.setdefault(group, []).append(row)
    for old in groups.values():
        for row in old:
            rows.delete(connection, row)
        if any(row.charged_p for row in old):
            rows.insert(connection, _one_for(old)._replace(id=rows.next_number(connection, rows.AttemptRow)))
    return sum(map(len, groups.values()))


def _days_of_unknown(connection: LedgerConnection) -> set[object]:
    """Return the days of attempts of unknown cost, and those before and after them."""
    unknown = rows.read(connection, rows.AttemptRow, "state = 'abandoned' AND charged_p > 0")
    days = {date.fromisoformat(row.began_at[:DAY]) for row in unknown}
    return {(day + timedelta(days=more)).isoformat() for day in days for more in (-1, 0, 1)}


def _one_for(old: list[rows.AttemptRow]) -> rows.AttemptRow:
    """Return an attempt that is charged what `old` ones were."""
    tokens = sum((Usage(**json.loads(row.usage)) for row in old if row.usage), NO_TOKENS)
    return old[0]._replace(
        opener="",
        key="",
        item_id="",
        note="{}",
        ended=End.PRUNED.value,
        reserved_p=sum(row.reserved_p for row in old),
        charged_p=sum(row.charged_p for row in old),
        outcome=f"{len(old)} attempts, of which only the sum is kept",
        usage=json.dumps(asdict(tokens)),
        model=None,
        request_id=None,
    )
