"""The notes and results of runs in an open ledger, kept with the texts that were judged.

Every function is one job within a transaction of the caller, as in `booking.py`. A text is kept once,
however many results name it.
"""

import json
from dataclasses import asdict, replace

from judgeloop.core.ledger import KeptResult, RunNote
from judgeloop.ledger import rows
from judgeloop.ledger.charges import run_row
from judgeloop.ledger.connection import LedgerConnection


def note(connection: LedgerConnection, run: str, note: RunNote, kept: int = 0) -> None:
    """Note what a run is, who works on it, and how many results are `kept` with that."""
    row = run_row(connection, run)
    note = replace(note, results=note_of(row).results + kept)
    rows.change(connection, row, note=json.dumps(asdict(note)))


def noted(connection: LedgerConnection, run: str) -> RunNote:
    """Return what is noted of a run that may be missing."""
    row = rows.one(connection, rows.RunRow, "id", run)
    return note_of(row) if row else RunNote()


def note_of(row: rows.RunRow) -> RunNote:
    """Return what is noted of a run."""
    values = json.loads(row.note)
    lists = {name: tuple(values.get(name, ())) for name in ("systems", "judges")}
    return RunNote(**(values | lists))


def keep(connection: LedgerConnection, run: str, result: KeptResult) -> None:
    """Keep the result of a run in the place of an earlier one, and note with which exit code it ended.

    One that says the same as the earlier one is no further result.
    """
    for digest, text in result.texts.items():
        if rows.one(connection, rows.JudgedRow, "digest", digest) is None:
            rows.insert(connection, rows.JudgedRow(rows.next_number(connection, rows.JudgedRow), digest, text))
    values = {
        "headline": result.headline,
        "text": result.text,
        "document": result.document,
        "digests": json.dumps(list(result.texts)),
    }
    found = rows.one(connection, rows.ResultRow, "run", run)
    same = found is not None and found.headline == result.headline
    known = replace(noted(connection, run), exit_code=result.exit_code, decided=result.decided, tied=result.tied)
    note(connection, run, known, kept=int(not same))
    if found is None:
        rows.insert(
            connection, rows.ResultRow(rows.next_number(connection, rows.ResultRow), run, connection.now(), **values)
        )
        return
    at = found.created_at if same else connection.now()
    rows.change(connection, found, created_at=at, **values)


def forget(connection: LedgerConnection, before: str) -> None:
    """Delete the results that were first kept before a day, and the texts that no other names."""
    connection.execute("DELETE FROM results WHERE created_at < ?", (before,))
    every = rows.read(connection, rows.ResultRow, "true")
    named = {digest for row in every for digest in json.loads(row.digests)}
    for text in list(rows.read(connection, rows.JudgedRow, "true")):
        if text.digest not in named:
            rows.delete(connection, text)
