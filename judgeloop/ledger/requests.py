"""Every request of a ledger with its time, model, tokens and cost, to compare with an invoice.

Reads the file and checks every row's seal. Changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from judgeloop.core.money import to_usd
from judgeloop.core.protocols import End
from judgeloop.ledger.connection import readable
from judgeloop.ledger.inspection import open_to_read
from judgeloop.ledger.rows import AttemptRow, read

# Attempts that were sent, or may have been; a reservation of a call that was never sent is none.
SENT = (
    "NOT rehearsed AND state <> 'reserved' "
    f"AND ifnull(ended, '') NOT IN ('{End.UNSENT}', '{End.UNNEEDED}')"
)


class Request(NamedTuple):
    """A request to a judge; times are in UTC (ISO 8601), tokens those that its reply reported.

    `usd` is what it was charged: at its worst case if nobody knows what it cost.
    """

    began_at: str
    ended_at: str | None
    run: str
    judge: str
    model: str | None
    request_id: str | None
    item_id: str
    state: str
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    usd: Decimal


def requests_of(path: Path) -> Iterator[Request]:
    """Yield the requests in the order of their attempts.

    Raises:
        InputError: there is no such file, or it is a ledger of another version.
        LedgerError: the file cannot be read, or a row is not as it was written.
    """
    with readable(path), closing(open_to_read(path)) as connection:
        for row in read(connection, AttemptRow, f"{SENT} ORDER BY id"):
            yield _request(row)


def _request(row: AttemptRow) -> Request:
    usage = {} if row.usage is None else json.loads(row.usage)
    return Request(
        row.began_at,
        row.ended_at,
        row.run,
        row.judge,
        row.model or None,
        row.request_id or None,
        row.item_id,
        row.state,
        usage.get("input_tokens"),
        usage.get("cache_read_tokens"),
        usage.get("output_tokens"),
        to_usd(row.charged_p),
    )
