"""The notes and results of runs in an open ledger: kept, and read with the texts that were judged.

Every function is one job within a transaction of the caller, as in `booking.py`. A text is kept once,
however many results name it.
"""

import json
from dataclasses import asdict, replace

from judgeloop.core.ledger import KeptResult, RunNote
from judgeloop.ledger.charges import run_row
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.rows import (
    JudgedRow,
    ResultRow,
    RunRow,
    by,
    change,
    delete,
    insert,
    next_number,
    one,
    read,
)


def note(connection: LedgerConnection, run: str, note: RunNote) -> None:
    """Note what a run is, and who works on it."""
    change(connection, run_row(connection, run), note=json.dumps(asdict(note)))


def noted(connection: LedgerConnection, run: str) -> RunNote:
    """Return what is noted of a run that may be missing."""
    row = one(connection, RunRow, "id", run)
    return note_of(row) if row else RunNote()


def note_of(row: RunRow) -> RunNote:
    """Return what is noted of a run."""
    values = json.loads(row.note)
    lists = {name: tuple(values.get(name, ())) for name in ("systems", "judges")}
    return RunNote(**(values | lists))


def keep(connection: LedgerConnection, run: str, result: KeptResult) -> None:
    """Keep the result of a run in the place of an earlier one, and note with which exit code it ended."""
    for digest, text in result.texts.items():
        if one(connection, JudgedRow, "digest", digest) is None:
            insert(connection, JudgedRow(next_number(connection, JudgedRow), digest, text))
    values = {
        "headline": result.headline,
        "text": result.text,
        "document": result.document,
        "digests": json.dumps(list(result.texts)),
    }
    note(connection, run, replace(noted(connection, run), exit_code=result.exit_code))
    found = one(connection, ResultRow, "run", run)
    if found is None:
        insert(
            connection,
            ResultRow(next_number(connection, ResultRow), run, connection.now(), **values),
        )
        return
    at = found.created_at if found.headline == result.headline else connection.now()
    change(connection, found, created_at=at, **values)


def headlines(connection: LedgerConnection) -> dict[str, str]:
    """Return the decisions of all runs that have a result, by run."""
    return {row.run: row.headline for row in read(connection, ResultRow, "true")}


def result_of(connection: LedgerConnection, run: str) -> KeptResult | None:
    """Return the result of a run with its texts; None if it has none."""
    row = one(connection, ResultRow, "run", run)
    if row is None:
        return None
    named = by(connection, JudgedRow, "digest", *json.loads(row.digests))
    texts = {text.digest: text.text for text in named}
    return KeptResult(row.headline, row.text, row.document, texts, row.created_at)


def forget(connection: LedgerConnection, before: str) -> None:
    """Delete the results that were first kept before a day, and the texts that no other names."""
    connection.execute("DELETE FROM results WHERE created_at < ?", (before,))
    every = read(connection, ResultRow, "true")
    named = {digest for row in every for digest in json.loads(row.digests)}
    for text in list(read(connection, JudgedRow, "true")):
        if text.digest not in named:
            delete(connection, text)
