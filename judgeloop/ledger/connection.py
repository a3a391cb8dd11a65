"""Opening a ledger's file: made if there is none, private to its owner, and surely a ledger.

It returns an SQLite connection. It neither reads nor writes attempts or verdicts.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from judgeloop.core.errors import LedgerError, NoLedgerError
from judgeloop.ledger.schema import ensure_schema

BUSY_TIMEOUT_S = 60.0  # another process may hold the file for as long as it flushes to disk


def connect(path: Path | str) -> sqlite3.Connection:
    """A connection to a ledger, created if there is none.

    Raises:
        LedgerError: it cannot be created, or is something else.
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
                f"{path} is no ledger, nor any database; name another (`ledger`)"
            ) from error
        raise _cannot_open(path, error) from error
    except LedgerError:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: Path | str) -> None:
    # Not WAL: before SQLite 3.51.3 it can corrupt a file that several processes write.
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
