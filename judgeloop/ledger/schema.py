"""The schema of the ledger: creates its tables, and checks that a file has them and no others.

Does not read or write rows.
"""

from __future__ import annotations

import sqlite3

from judgeloop.core.errors import NoLedgerError
from judgeloop.core.protocols import End

APPLICATION_ID = 0x4A4C4447  # "JLDG"
VERSION = 1

# Columns that end in _p are picodollars. Each transaction updates charged_p of a run together with
# its attempts, so that the check against the budget is atomic among threads and processes. `seq`
# numbers the rows in the order written, and `seen` is the last verdict recorded before the run
# began: neither depends on the clock. `seal` is the row's checksum (`seal.py`). From `run` on, a
# verdict holds the ingredients of its key as numbers of texts, so that a history of a million is
# read in seconds. A text is a value as JSON: the id of a run, a judge, an item with the digests of
# its texts, the name of a system, or the digest of an output; number 0 is no value.
ENDS = ", ".join(f"'{end}'" for end in End)
DDL = (
    """CREATE TABLE about (
    id          TEXT PRIMARY KEY,
    created_at  TEXT NOT NULL,
    seal        BLOB NOT NULL
) STRICT, WITHOUT ROWID""",
    """CREATE TABLE runs (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    created_at  TEXT NOT NULL,
    seen        INTEGER NOT NULL CHECK (seen >= 0),
    charged_p   INTEGER NOT NULL DEFAULT 0 CHECK (charged_p >= 0),
    seal        BLOB NOT NULL
) STRICT""",
    f"""CREATE TABLE attempts (
    id          INTEGER PRIMARY KEY,
    run         TEXT NOT NULL REFERENCES runs (id),
    opener      TEXT NOT NULL,
    key         TEXT NOT NULL,
    item_id     TEXT NOT NULL,
    judge       TEXT NOT NULL,
    note        TEXT NOT NULL,
    state       TEXT NOT NULL
                CHECK (state IN ('reserved', 'sent', 'settled', 'released', 'abandoned')),
    ended       TEXT CHECK (ended IN ({ENDS})),
    reserved_p  INTEGER NOT NULL CHECK (reserved_p >= 0),
    charged_p   INTEGER NOT NULL CHECK (charged_p >= 0),
    rehearsed   INTEGER NOT NULL DEFAULT 0 CHECK (rehearsed IN (0, 1)),
    outcome     TEXT,
    usage       TEXT,
    model       TEXT,
    request_id  TEXT,
    began_at    TEXT NOT NULL,
    ended_at    TEXT,
    seal        BLOB NOT NULL,
    CHECK ((ended IS NULL) = (state IN ('reserved', 'sent')))
) STRICT""",
    "CREATE INDEX attempts_by_run ON attempts (run)",
    "CREATE INDEX attempts_by_key ON attempts (key)",
    "CREATE INDEX attempts_by_item ON attempts (item_id)",
    """CREATE TABLE texts (
    id          INTEGER PRIMARY KEY,
    text        TEXT NOT NULL UNIQUE,
    seal        BLOB NOT NULL
) STRICT""",
    """CREATE TABLE verdicts (
    seq         INTEGER PRIMARY KEY,
    attempt     INTEGER NOT NULL REFERENCES attempts (id),
    cost_p      INTEGER NOT NULL CHECK (cost_p >= 0),
    score       REAL NOT NULL CHECK (score BETWEEN 0 AND 1),
    key         TEXT NOT NULL UNIQUE,
    reason      TEXT NOT NULL,
    created_at  TEXT NOT NULL,
    run         INTEGER NOT NULL REFERENCES texts (id),
    judge       INTEGER NOT NULL REFERENCES texts (id),
    place       INTEGER NOT NULL REFERENCES texts (id),
    first       INTEGER NOT NULL REFERENCES texts (id),
    second      INTEGER NOT NULL REFERENCES texts (id),
    shown_first INTEGER NOT NULL REFERENCES texts (id),
    shown_second INTEGER NOT NULL REFERENCES texts (id),
    seal        BLOB NOT NULL
) STRICT""",
)


def version_of(connection: sqlite3.Connection, path: object) -> int:
    """Return the version of the ledger that is open; 0 for an empty file.

    Raises:
        NoLedgerError: the file is another database.
    """
    # In this order: tables that are there were made in one transaction with the id, so that another
    # process that makes the ledger meanwhile is not taken for another program.
    if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return 0
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise NoLedgerError(
            f"{path} is a SQLite file but not a judgeloop ledger; name another file (`ledger`)"
        )
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables and indexes, within the caller's transaction."""
    for statement in DDL:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def check_schema(connection: sqlite3.Connection, path: object) -> None:
    """Check that the file has the ledger's tables and indexes, and no trigger, view or other table.

    Raises:
        NoLedgerError: it has others; the message names the first.
    """
    found = {
        sql: f"{kind} {name}"
        for kind, name, sql in connection.execute(
            "SELECT type, name, coalesce(sql, '') FROM sqlite_master "
            "WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
        )
    }
    strange = [name for sql, name in found.items() if sql not in DDL]
    missing = [sql.split("(")[0].strip() for sql in DDL if sql not in found]
    if strange or missing:
        what = f"it has a strange {strange[0]}" if strange else f"it lacks {missing[0]!r}"
        raise NoLedgerError(
            f"{path} is not as judgeloop makes a ledger: {what}; somebody has changed the file. "
            "Name another file (`ledger`), or copy the rows that are as they were written: "
            "judgeloop ledger salvage"
        )
