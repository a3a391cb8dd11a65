"""Opens a ledger's file (SQLite): creates it if missing, and refuses what is no ledger.

The file is readable by its owner only, and refused if everybody may write it. Returns an SQLite
connection that knows the key of the seals. Reads and writes no attempts and no verdicts.
"""

import os
import sqlite3
import stat
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from judgeloop.core.errors import DamagedLedgerError, InputError, LedgerError, NoLedgerError
from judgeloop.core.ledger import NOTHING
from judgeloop.core.verdict_key import as_text
from judgeloop.ledger.rows import (
    CRC_BYTES,
    KEY_VARIABLE,
    SHORTEST_KEY,
    AboutRow,
    LedgerConnection,
    Sealer,
    TextRow,
    columns,
    damaged,
    insert,
    now,
)
from judgeloop.ledger.schema import DDL

FOLDER = ".judgeloop"  # the default one, which holds texts and spending
BUSY_TIMEOUT_S = 60.0  # another process locks the file until its writes are flushed to disk
MOUNTS = Path("/proc/self/mountinfo")  # Linux: the file systems that are mounted
# File systems that other machines may write at the same time; their locks are not to be relied on.
NETWORK = (
    "afs afp_fs beegfs ceph cifs coda fuse.ceph fuse.glusterfs fuse.gcsfuse fuse.rclone fuse.s3fs "
    "fuse.sshfs gfs gfs2 glusterfs gpfs lustre nfs nfs4 ocfs2 orangefs smb3 smbfs"
)
# Those that a virtual machine or a container shares with its host.
OF_HOST = "9p fuse.vmhgfs-fuse vboxsf virtiofs vmhgfs"
APPLICATION_ID = 0x4A4C4447  # "JLDG"
VERSION = 1


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
        with errors_of_reading(path):
            _set_up(connection, path, key)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def errors_of_reading(path: object) -> Iterator[None]:
    """Turn errors of SQLite into errors of the ledger."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
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
            for statement in DDL:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            write_first_rows(connection, Sealer(uuid.uuid4().hex, key), now())
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # of a disk that is full, the first error is the one to show
            connection.execute("ROLLBACK")
        raise


def write_first_rows(connection: LedgerConnection, sealer: Sealer, created_at: str) -> None:
    """Write the rows that every ledger has; `sealer` seals all its rows from then on."""
    connection.sealer = sealer
    insert(connection, AboutRow(sealer.ledger, created_at))
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


def _cannot_open(path: object, error: Exception) -> LedgerError:
    return LedgerError(
        f"the ledger {path} cannot be opened: {error}; name a file that can be written (`ledger`)"
    )


def make_private(path: Path) -> None:
    """Create the file and its folder, if missing, for their owner only; git ignores the default folder.

    A file that is there is not opened: closing it would drop the locks that this process holds on
    it through SQLite (POSIX).
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.parent.name == FOLDER:  # a cache may be there before the ledger
        with suppress(OSError), (path.parent / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
    if not path.exists():
        with suppress(FileExistsError):  # another process was faster
            os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


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


def refuse_if_anybody_writes(path: Path, *, signed: bool) -> None:
    """Refuse a ledger that every user of the machine may write, unless its rows are signed.

    Raises:
        LedgerError: anybody may write it.
    """
    if not signed and path.stat().st_mode & stat.S_IWOTH:
        raise LedgerError(
            f"the ledger {path} can be written by every user of this machine, and its verdicts and "
            f"spending are believed; `chmod o-w {path}`, or sign its rows ({KEY_VARIABLE})"
        )


def described(path: Path) -> str:
    """Return in words what keeps the ledger, and on what file system."""
    kind = file_system_of(path) or "a file system of unknown type"
    return f"SQLite {sqlite3.sqlite_version}, {path} on {kind}"


def warnings_about(path: Path) -> list[str]:
    """Return a sentence for each reason not to rely on the place of a ledger."""
    found = []
    if writers := _other_writers(path):
        found.append(
            f"the ledger {path} can be changed by {writers}; take their permission away, or sign "
            f"its rows ({KEY_VARIABLE})"
        )
    kind = file_system_of(path)
    if kind in OF_HOST.split():
        found.append(
            f"the ledger {path} is on a file system of the host ({kind}), where locks may fail: let "
            "only one machine use it at a time, or keep it on a local disk"
        )
    return found


def refuse_network(path: Path) -> None:
    """Refuse to book in a file that several machines may write.

    Raises:
        LedgerError: it is on a network file system.
    """
    kind = file_system_of(path)
    if kind in NETWORK.split():
        raise LedgerError(
            f"the ledger {path} is on a network file system ({kind}). Its locks do not keep two "
            "machines apart: both could spend the same money. Keep a ledger on a local disk "
            "of each machine (`ledger=PATH`), and bring them together with `judgeloop ledger merge`"
        )


def _other_writers(path: Path) -> str:
    """Return in words who else may write the file or replace it in its folder; empty if nobody."""
    real = Path(os.path.realpath(path))
    if not hasattr(os, "getuid") or not real.exists():
        return ""
    file, folder = real.stat(), real.parent.stat()
    # In a sticky folder nobody replaces the files of others.
    places = [file] if folder.st_mode & stat.S_ISVTX else [file, folder]
    if any(place.st_mode & stat.S_IWOTH for place in places):
        return "every user of this machine"
    # By convention a user's own group, which has no other users, has the user's number.
    if any(place.st_mode & stat.S_IWGRP and place.st_gid != os.getuid() for place in places):
        return "the other users of its group"
    return "" if file.st_uid in {0, os.getuid()} else f"its owner (user {file.st_uid})"


def file_system_of(path: Path) -> str | None:
    """Return the type of the file system that `path` is on; None where that is not known."""
    real = os.path.realpath(path)
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    mounts = [
        (line.split(" ")[4].replace("\\040", " "), line.partition(" - ")[2].split(" ")[0])
        for line in lines
    ]
    found = [
        (point, kind) for point, kind in mounts if f"{real}/".startswith(f"{point.rstrip('/')}/")
    ]
    return max(found, key=lambda mount: len(mount[0]))[1] if found else None
