"""The schema of the ledger: creates its tables, and checks that a file is a ledger.

Does not read or write rows.
"""

from __future__ import annotations

import sqlite3

from judgeloop.core.errors import NoLedgerError

APPLICATION_ID = 0x4A4C4F50  # "JLOP"
VERSION = 1

# Columns that end in _p are picodollars. Each transaction updates charged_p of a run together with
# its attempts. So the check against the budget is a single conditional update, which is atomic
# among threads and processes.
DDL = """
CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    created_at  TEXT NOT NULL,
    charged_p   INTEGER NOT NULL DEFAULT 0 CHECK (charged_p >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempts (
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
) STRICT;
CREATE INDEX attempts_by_run ON attempts (run);
CREATE INDEX attempts_by_key ON attempts (key);
CREATE INDEX attempts_by_item ON attempts (item_id);

CREATE TABLE verdicts (
    key         TEXT PRIMARY KEY,
    attempt     INTEGER NOT NULL REFERENCES attempts (id),
    score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    reason      TEXT NOT NULL,
    created_at  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""


def ensure_schema(connection: sqlite3.Connection, path: object) -> None:
    """Create the tables in an empty file; accept a ledger of this version.

    Raises:
        NoLedgerError: the file is a ledger of another version, or another database.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION_ID:
        if version != VERSION:
            raise NoLedgerError(
                f"{path} is a ledger of version {version}, but this judgeloop reads version {VERSION}; "
                "use the version of judgeloop that wrote it, or name another file (`ledger`)"
            )
        return
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise NoLedgerError(
            f"{path} is a SQLite file but not a judgeloop ledger; name another file (`ledger`)"
        )
    connection.executescript(
        f"BEGIN IMMEDIATE; {DDL} PRAGMA application_id = {APPLICATION_ID}; "
        f"PRAGMA user_version = {VERSION}; COMMIT;"
    )
