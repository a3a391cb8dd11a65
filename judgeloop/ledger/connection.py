"""Opens a ledger file: creates it if missing, readable by its owner only, and checks its schema.

Returns an SQLite connection that knows the key of the seals. Does not read or write attempts or
verdicts (`reading.py`, `booking.py`).
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from judgeloop.core.errors import DamagedLedgerError, InputError, LedgerError, NoLedgerError
from judgeloop.core.verdict_key import as_text
from judgeloop.ledger.place import refuse_if_anybody_writes
from judgeloop.ledger.rows import (
    NOTHING,
    AboutRow,
    LedgerConnection,
    TextRow,
    columns,
    damaged,
    insert,
    now,
)
from judgeloop.ledger.schema import VERSION, check_schema, create_tables, version_of
from judgeloop.ledger.seal import CRC_BYTES, KEY_VARIABLE, SHORTEST_KEY, Sealer

BUSY_TIMEOUT_S = 60.0  # another process locks the file until its writes are flushed to disk


def key_of(environment: Mapping[str, str]) -> bytes | None:
    """Return the key that seals rows; None without one.

    Raises:
        InputError: the key is short enough to be guessed.
    """
    given = environment.get(KEY_VARIABLE, "")
    if given and len(given) < SHORTEST_KEY:
        raise InputError(
            f"{KEY_VARIABLE}: expected at least {SHORTEST_KEY} characters, found {len(given)}; "
            "make one with `openssl rand -hex 32`"
        )
    return given.encode() or None


def connect(path: Path | str) -> LedgerConnection:
    """Return a connection to the ledger at `path`, which is created if missing.

    Rows are sealed with the key in the environment, if there is one.

    Raises:
        LedgerError: the file cannot be created or opened, or anybody may write it.
        DamagedLedgerError: the file has another key, or was changed.
        NoLedgerError: the file is not a ledger, or a ledger of another version.
        InputError: the key is too short.
    """
    key = key_of(os.environ)
    try:
        if str(path) != ":memory:":
            make_private(Path(path))
            refuse_if_anybody_writes(Path(path), signed=key is not None)
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_S, isolation_level=None, factory=LedgerConnection
        )
    except (OSError, sqlite3.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        with readable(path):
            _set_up(connection, path, key)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def readable(path: object) -> Iterator[None]:
    """Turn errors of SQLite while a ledger is opened into errors of the ledger."""
    try:
        yield
    except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise NoLedgerError(
                f"{path} is not a ledger, nor any SQLite database; name another file (`ledger`)"
            ) from error
        if _is_damage(error):
            raise DamagedLedgerError(
                f"the ledger {path} is damaged ({error}); copy what can be read to a new file: "
                "judgeloop ledger salvage"
            ) from error
        raise _cannot_open(path, error) from error


def _is_damage(error: Exception) -> bool:
    """Whether SQLite found what it did not write."""
    damage = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT
    return damage or isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)


def _set_up(connection: LedgerConnection, path: Path | str, key: bytes | None) -> None:
    connection.path = path
    # Not WAL: before SQLite 3.51.3, WAL can corrupt a file that several processes write.
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    version = version_of(connection, path)
    if version == 0:
        _create(connection, path, key)
    elif version != VERSION:
        raise NoLedgerError(
            f"{path} is a ledger of version {version}, but this judgeloop reads version {VERSION}; "
            "use the version of judgeloop that wrote it, or name another file (`ledger`)"
        )
    check_schema(connection, path)
    _use_key(connection, key)


def _create(connection: LedgerConnection, path: object, key: bytes | None) -> None:
    """Create the tables, unless another process has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection, path) == 0:
            create_tables(connection)
            _begin(connection, key)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _begin(connection: LedgerConnection, key: bytes | None) -> None:
    """Write the row about the ledger, with a new id; `key` seals all its rows from then on."""
    connection.sealer = Sealer(uuid.uuid4().hex, key)
    insert(connection, AboutRow(connection.sealer.ledger, now()))
    insert(connection, TextRow(NOTHING, as_text(None)))


def _use_key(connection: LedgerConnection, key: bytes | None) -> None:
    """Check that the ledger is sealed with `key`, and seal with it from now on."""
    found = connection.execute(f"SELECT {columns(AboutRow)} FROM about").fetchall()  # noqa: S608 - our own names
    if len(found) != 1:
        raise damaged(connection, AboutRow, len(found), "is not the only one, or is missing")
    ledger, created_at, seal = found[0]
    if key is None and isinstance(seal, bytes) and len(seal) > CRC_BYTES:
        raise LedgerError(
            f"the ledger {connection.path} is signed; set {KEY_VARIABLE} to the key that it was "
            "written with, or name another file (`ledger`)"
        )
    connection.sealer = Sealer(ledger, key)
    problem = connection.sealer.problem("about", (ledger, created_at), seal)
    if problem is not None and len(seal) == CRC_BYTES and key is not None:
        raise LedgerError(
            f"the ledger {connection.path} {problem}, so that nobody can tell who wrote it; name "
            "another file (`ledger`), or, if you trust this one, sign its rows into a new file: "
            "judgeloop ledger salvage --sign"
        )
    if problem is not None:
        raise damaged(connection, AboutRow, ledger, problem)


def ledger_id(path: Path) -> str | None:
    """Return the id of the ledger at `path`; None if there is no such file.

    Raises:
        LedgerError: the file cannot be opened, or is not a ledger.
    """
    if not path.exists():
        return None
    with closing(connect(path)) as connection:
        return connection.sealer.ledger


def _cannot_open(path: object, error: Exception) -> LedgerError:
    return LedgerError(
        f"the ledger {path} cannot be opened: {error}; name a file that can be written (`ledger`)"
    )


def make_private(path: Path) -> None:
    """Create the file and its folder, if missing, for their owner only.

    A file that is there is not opened: closing it would drop the locks that this process holds on
    it through SQLite (POSIX).
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        with suppress(FileExistsError):  # another process was faster
            os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
