"""Brings a ledger of an earlier version to this one in one transaction; keeps a copy beside it.

The copy is `FILE.v1` or `FILE.v2`. An attempt that was open in version 1 counts as sent, because
version 1 did not record what was sent: it stays charged. Version 2 lacked the table of segments,
whose place a file beside the ledger took.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from judgeloop.ledger.rows import (
    AboutRow,
    AttemptRow,
    LedgerConnection,
    RunRow,
    VerdictRow,
    insert,
    now,
)
from judgeloop.ledger.schema import DDL_2, check_schema, create_tables, version_of
from judgeloop.ledger.seal import Sealer

DDL_1 = (
    """CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    created_at  TEXT NOT NULL,
    charged_p   INTEGER NOT NULL DEFAULT 0 CHECK (charged_p >= 0)
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE attempts (
    id          INTEGER PRIMARY KEY,
    run         TEXT NOT NULL REFERENCES runs (id),
    opener      TEXT NOT NULL,
    key         TEXT NOT NULL,
    item_id     TEXT NOT NULL,
    judge       TEXT NOT NULL,
    note        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'released', 'abandoned')),
    reserved_p  INTEGER NOT NULL CHECK (reserved_p >= 0),
    charged_p   INTEGER NOT NULL CHECK (charged_p >= 0),
    rehearsed   INTEGER NOT NULL DEFAULT 0 CHECK (rehearsed IN (0, 1)),
    outcome     TEXT,
    usage       TEXT,
    model       TEXT,
    request_id  TEXT,
    began_at    TEXT NOT NULL,
    ended_at    TEXT
) STRICT""",
    "CREATE INDEX attempts_by_run ON attempts (run)",
    "CREATE INDEX attempts_by_key ON attempts (key)",
    "CREATE INDEX attempts_by_item ON attempts (item_id)",
    """CREATE TABLE verdicts (
    key         TEXT PRIMARY KEY,
    attempt     INTEGER NOT NULL REFERENCES attempts (id),
    score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    reason      TEXT NOT NULL,
    created_at  TEXT NOT NULL
) STRICT, WITHOUT ROWID""",
)
# `seen` of a run: the verdicts that version 1 counted as recorded before the run, by the clock.
RUNS_1 = """SELECT row_number() OVER (ORDER BY created_at, id), id, created_at,
    (SELECT count(*) FROM old_verdicts WHERE created_at < old_runs.created_at), charged_p
    FROM old_runs"""
ATTEMPTS_1 = f"SELECT {', '.join(AttemptRow._fields)} FROM old_attempts ORDER BY id"  # noqa: S608 - our own names
VERDICTS_1 = """SELECT row_number() OVER (ORDER BY created_at, attempt), key, attempt, score,
    reason, created_at FROM old_verdicts"""


def migrate(connection: LedgerConnection, path: object, key: bytes | None) -> None:
    """Bring the ledger to this version, unless another process has done so meanwhile.

    Raises:
        NoLedgerError: the file does not have the tables of its version; it is not changed.
        OSError, sqlite3.Error: the copy or the ledger cannot be written; nothing is changed.
    """
    connection.execute("PRAGMA foreign_keys = OFF")  # has no effect within a transaction
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = version_of(connection, path)
        if version in EARLIER:
            ddl, bring = EARLIER[version]
            check_schema(connection, path, ddl)
            _keep_copy(Path(str(path)), version)
            bring(connection, key)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("PRAGMA foreign_keys = ON")


def make_about(connection: LedgerConnection, key: bytes | None) -> None:
    """Write the row about the ledger, with a new id; `key` seals all its rows from then on."""
    connection.sealer = Sealer(uuid.uuid4().hex, key)
    insert(connection, AboutRow(connection.sealer.ledger, now()))


def _keep_copy(path: Path, version: int) -> None:
    """Copy the ledger, which this process has locked against writing, to a file of its own."""
    copy = _free_name(path, version)
    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            target.execute("PRAGMA synchronous = EXTRA")
            source.backup(target)
    except BaseException:  # a part of a ledger would look like a copy
        for part in (copy, copy.with_name(f"{copy.name}-journal")):
            part.unlink(missing_ok=True)
        raise


def _free_name(path: Path, version: int) -> Path:
    names = (path.with_name(f"{path.name}.v{version}{end}") for end in _ends())
    return next(name for name in names if not name.exists())


def _ends() -> Iterator[str]:
    yield ""
    number = 2
    while True:
        yield f"-{number}"
        number += 1


def _from_1(connection: LedgerConnection, key: bytes | None) -> None:
    _rename_tables(connection)
    create_tables(connection)
    make_about(connection, key)
    _copy_rows(connection)


def _from_2(connection: LedgerConnection, _: bytes | None) -> None:
    create_tables(connection, besides=DDL_2)
    with suppress(OSError):  # the file that did what segments do; nothing reads it any more
        Path(os.path.realpath(str(connection.path)) + ".history").unlink(missing_ok=True)


def _rename_tables(connection: LedgerConnection) -> None:
    for index in ("attempts_by_run", "attempts_by_key", "attempts_by_item"):
        connection.execute(f"DROP INDEX {index}")
    for table in ("verdicts", "attempts", "runs"):
        connection.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    connection.execute("CREATE INDEX old_verdicts_by_time ON old_verdicts (created_at)")


def _copy_rows(connection: LedgerConnection) -> None:
    sources: tuple[tuple[str, Callable[..., Any]], ...] = (
        (RUNS_1, RunRow),
        (ATTEMPTS_1, _as_sent),
        (VERDICTS_1, VerdictRow),
    )
    for select, row in sources:
        for values in connection.execute(select):
            insert(connection, row(*values))
    for table in ("verdicts", "attempts", "runs"):
        connection.execute(f"DROP TABLE old_{table}")


def _as_sent(*values: Any) -> AttemptRow:
    row = AttemptRow(*values)
    return row._replace(state="sent") if row.state == "reserved" else row


# The tables of each earlier version, and what brings them to this one.
EARLIER: dict[int, tuple[tuple[str, ...], Callable[[LedgerConnection, bytes | None], None]]] = {
    1: (DDL_1, _from_1),
    2: (DDL_2, _from_2),
}
