"""The results of runs in an open ledger: kept, and read with the texts that were judged.

Every function is one job within a transaction of the caller, as in `booking.py`. A text is kept once,
however many results name it.
"""

import json
from dataclasses import replace

from judgeloop.core.ledger import KeptResult
from judgeloop.ledger.charges import run_row
from judgeloop.ledger.rows import (
    JudgedRow,
    LedgerConnection,
    ResultRow,
    change,
    insert,
    next_number,
    now,
    one,
    read,
)


def keep(connection: LedgerConnection, run: str, result: KeptResult) -> None:
    """Keep the result of a run in the place of an earlier one."""
    for digest, text in result.texts.items():
        if one(connection, JudgedRow, "digest = ?", digest) is None:
            insert(connection, JudgedRow(next_number(connection, JudgedRow), digest, text))
    values = {
        "headline": result.headline,
        "text": result.text,
        "document": result.document,
        "digests": json.dumps(list(result.texts)),
    }
    found = one(connection, ResultRow, "run = ?", run_row(connection, run).id)
    if found is None:
        insert(connection, ResultRow(next_number(connection, ResultRow), run, now(), **values))
        return
    at = found.created_at if found.headline == result.headline else now()
    change(connection, found, created_at=at, **values)


def results(connection: LedgerConnection) -> dict[str, KeptResult]:
    """Return the results of all runs that have one, by run, without their texts."""
    return {row.run: _kept(row) for row in read(connection, ResultRow, "true")}


def result_of(connection: LedgerConnection, run: str) -> KeptResult | None:
    """Return the result of a run with its texts; None if it has none."""
    row = one(connection, ResultRow, "run = ?", run)
    if row is None:
        return None
    named = "digest IN (SELECT value FROM json_each(?))"
    texts = {text.digest: text.text for text in read(connection, JudgedRow, named, row.digests)}
    return replace(_kept(row), texts=texts)


def forget(connection: LedgerConnection, before: str) -> None:
    """Delete the results that were first kept before a day, and the texts that no other names."""
    connection.execute("DELETE FROM results WHERE created_at < ?", (before,))
    connection.execute(
        "DELETE FROM judged WHERE digest NOT IN (SELECT value FROM results, json_each(digests))"
    )


def _kept(row: ResultRow) -> KeptResult:
    return KeptResult(row.headline, row.text, row.document, {}, row.created_at)
