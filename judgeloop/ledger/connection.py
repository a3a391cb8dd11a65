"""Opens a ledger file: creates it if missing, readable by its owner only, and checks its schema.

Returns an SQLite connection. Does not read or write attempts or verdicts (`reading.py`,
`sqlite.py`).
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from judgeloop.core.errors import LedgerError, NoLedgerError
from judgeloop.ledger.schema import ensure_schema

BUSY_TIMEOUT_S = 60.0  # another process locks the file until its writes are flushed to disk


def connect(path: Path | str) -> sqlite3.Connection:
    """Return a connection to the ledger at `path`, which is created if missing.

    Raises:
        LedgerError: the file cannot be created or opened.
        NoLedgerError: the file is not a ledger, or a ledger of another version.
    """
    try:
        if str(path) != ":memory:":
            _make_private(Path(path))
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        _set_up(connection, path)
    except sqlite3.Error as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise NoLedgerError(
                f"{path} is not a ledger, nor any SQLite database; name another file (`ledger`)"
            ) from error
        raise _cannot_open(path, error) from error
    except LedgerError:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: Path | str) -> None:
    # Not WAL: before SQLite 3.51.3, WAL can corrupt a file that several processes write.
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    ensure_schema(connection, path)


def _cannot_open(path: Path | str, error: Exception) -> LedgerError:
    return LedgerError(
        f"the ledger {path} cannot be opened: {error}; name a file that can be written (`ledger`)"
    )


def _make_private(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
