"""The store of a ledger in a file (SQLite): opens it, creates it if missing, refuses what is no ledger.

The file is readable by its owner only, and refused if everybody may write it. The lock of a run is a file
beside it, which the process that works on the run holds. Returns connections that know the key of the
seals, and carries out jobs in transactions. Does not know what is booked.
"""

import json
import os
import sqlite3
import uuid
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from judgeloop.core.errors import DamagedLedgerError, LedgerError, NoLedgerError
from judgeloop.ledger.grouping import Group, Grouping, Lookup, Statement, lookups_of
from judgeloop.ledger.place import refuse_if_anybody_writes
from judgeloop.ledger.rows import TABLES, columns, now, use_key, write_first_rows
from judgeloop.ledger.schema import DDL, VERSION
from judgeloop.ledger.seals import Sealer, key_of
from judgeloop.ledger.writer import Done, Job

FOLDER = ".judgeloop"  # the default one, which holds texts and spending
BUSY_TIMEOUT_S = 60.0  # another process locks the file until its writes are flushed to disk
MEMORY = ":memory:"
AT_ONCE = 500  # SQLite limits the number of parameters of a statement
PAUSE_S = 0.02
APPLICATION_ID = 0x4A4C4447  # "JLDG"


class SqliteConnection(Grouping, sqlite3.Connection):
    """A connection to a ledger's file, with the locks of runs that it holds."""

    def __init__(self, database: Path | str, **more: Any) -> None:
        """Open the file; nothing is read or written yet."""
        super().__init__(database, **more)
        self.place = str(database)
        self.sealer = Sealer("")
        self._locks: dict[str, tuple[FileLock, int]] = {}  # by run, with the inodes of their files

    def execute(self, statement: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Carry out a statement, behind all that was written before."""
        if self.group is not None:
            self.flush()
            if not statement.startswith("SELECT"):
                self.group.known.clear()
        return super().execute(statement, parameters)

    def stream(self, statement: str, parameters: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows that a SELECT finds, of which only some are in memory."""
        found = self.execute(statement, parameters)
        try:
            yield from chain(found)  # which has no `close` that a generator that ends would call
        finally:  # an open cursor would keep the file locked as long as somebody holds the error
            with suppress(sqlite3.ProgrammingError):  # the connection was closed before
                found.close()

    def fetched(self, wanted: Sequence[Lookup]) -> list[list[Any]]:
        """Return the rows that each lookup finds, with their seals, by number."""
        return [list(self._found(*one)) for one in wanted]

    def _found(self, kind: type[Any], column: str, values: list[Any]) -> Iterator[Any]:
        left = iter(values)
        while some := tuple(islice(left, AT_ONCE)):
            where = f"{column} IN ({', '.join('?' * len(some))}) ORDER BY {kind._fields[0]}"
            yield from self.execute(
                f"SELECT {columns(kind)} FROM {TABLES[kind]} WHERE {where}",  # noqa: S608 - our own names
                some,
            ).fetchall()

    def send(self, statements: Sequence[Statement]) -> None:
        """Carry out statements that write."""
        for statement, some in groupby(statements, itemgetter(0)):
            self.executemany(statement, [values for _, values in some])

    def last_number(self, kind: type[Any]) -> int:
        """Return the last number that was given in a table."""
        found = self.execute(
            f"SELECT max((SELECT coalesce(max({kind._fields[0]}), 0) FROM {TABLES[kind]}), "  # noqa: S608 - our own names
            "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?))",
            (TABLES[kind],),
        )
        return int(found.fetchone()[0])

    def now(self) -> str:
        """Return the time in ISO 8601 (UTC), in milliseconds; a group has one."""
        return now() if self.group is None else self.group.now

    def among(self, column: str, texts: Collection[str]) -> tuple[str, Sequence[object]]:
        """Return the condition that a column holds one of any number of texts, with its values."""
        return f"{column} IN (SELECT value FROM json_each(?))", (json.dumps(list(texts)),)  # noqa: S608 - our own names

    def digits_of(self, column: str, begin: int, count: int) -> str:
        """Return what stands for some bytes of a column, as hexadecimal digits in capitals."""
        return f"hex(substr({column}, {begin}, {count}))"

    def lock(self, run: str, patience_s: float) -> bool:
        """Lock a run against other processes, within `patience_s`; return whether it is ours now.

        A ledger in memory has no locks: it has no other process.

        Raises:
            LedgerError: the file of the lock cannot be made.
        """
        if run in self._locks:
            return False
        if self.place == MEMORY:
            return True
        folder = locks_of(self.place)
        lock = FileLock(folder / run, mode=0o600)
        try:
            folder.mkdir(exist_ok=True, mode=0o700)
            lock.acquire(timeout=patience_s, poll_interval=PAUSE_S)
        except Timeout:
            return False
        except OSError as error:
            raise LedgerError(f"the run {run} cannot be locked: {error}") from error
        self._locks[run] = lock, inode(lock.lock_file)
        return True

    def unlock(self, run: str) -> None:
        """Give the lock of a run back."""
        if run in self._locks:
            self._locks.pop(run)[0].release()

    def is_locked(self, run: str) -> bool:
        """Return whether a process holds the lock of a run, this one included; nothing is changed."""
        if run in self._locks:
            return True
        if self.place == MEMORY or not (locks_of(self.place) / run).exists():
            return False
        free = self.lock(run, 0)
        if free:
            self.unlock(run)
        return not free

    def check_locks(self) -> None:
        """Check that the files of the locks that are held are still there: others look for them.

        Raises:
            LedgerError: one was removed.
        """
        for lock, held in self._locks.values():
            if inode(lock.lock_file) != held:
                raise LedgerError(
                    f"{lock.lock_file}, which locks this run, was removed while it went on, so that "
                    "another process may work on it; nothing more is sent, and what was paid for is kept"
                )

    def transact(self, jobs: Sequence[Job]) -> Sequence[Done]:
        """Carry out jobs in one transaction; return what hands out their results."""
        held = set(self._locks)
        try:
            self.execute("BEGIN IMMEDIATE")
            self.group = Group(now(), {})
            for wanted in lookups_of(jobs):
                self.group.learn(*wanted, *self.fetched([wanted]))
            results = [partial(job.future.set_result, job.action(self)) for job in jobs]
            self.flush()
            self.group = None
            self.execute("COMMIT")
        except BaseException:
            self.group = None
            with suppress(sqlite3.Error):
                self.execute("ROLLBACK")
            for run in set(self._locks) - held:
                self.unlock(run)
            raise
        return results

    def close(self) -> None:
        """Close the connection, and give its locks back."""
        super().close()
        for run in list(self._locks):
            self.unlock(run)


def locks_of(path: Path | str) -> Path:
    """Return the folder of a ledger's locks: beside the file itself, not beside a link to it."""
    return Path(f"{os.path.realpath(path)}.locks")


def inode(path: str) -> int:
    """Return what identifies the file at a path; 0 if there is none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - asked before every call
    except OSError:
        return 0


def connect(path: Path | str) -> SqliteConnection:
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
        if str(path) != MEMORY:
            make_private(Path(path))
            refuse_if_anybody_writes(Path(path), signed=key is not None)
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, factory=SqliteConnection)
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
                f"the ledger {path} is damaged ({error}); copy what can be read to a new file: judgeloop ledger salvage"
            ) from error
        raise _cannot_open(path, error) from error


def _is_damage(error: Exception) -> bool:
    """Whether SQLite found what it did not write."""
    damage = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT
    return damage or isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)


def _set_up(connection: SqliteConnection, path: Path | str, key: bytes | None) -> None:
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
    use_key(connection, key)


def _create(connection: SqliteConnection, path: object, key: bytes | None) -> None:
    """Create the tables, unless another process has done so meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if version_of(connection, path) == 0:
            for statement in DDL:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.sealer = Sealer(uuid.uuid4().hex, key)
            write_first_rows(connection, now())
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # of a disk that is full, the first error is the one to show
            connection.execute("ROLLBACK")
        raise


def _cannot_open(path: object, error: Exception) -> LedgerError:
    return LedgerError(f"the ledger {path} cannot be opened: {error}; name a file that can be written (`ledger`)")


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
        raise NoLedgerError(f"{path} is a SQLite file but not a judgeloop ledger; name another file (`ledger`)")
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_schema(connection: sqlite3.Connection, path: object) -> None:
    """Check that the file has the ledger's tables and indexes, and no trigger, view or other table.

    Raises:
        NoLedgerError: it has others; the message names the first.
    """
    found = {
        sql: f"{kind} {name}"
        for kind, name, sql in connection.execute(
            "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
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


def carry_out(connection: SqliteConnection, jobs: Sequence[Job]) -> Sequence[Done]:
    """Carry out jobs in one transaction; return what hands out their results, once they are on disk.

    If a job fails, each is carried out alone, but for a full disk or a missing file: then all fail.
    """
    try:
        return connection.transact(jobs)
    except BaseException as error:  # noqa: BLE001 - else its callers would wait for ever
        of_job = isinstance(error, Exception) and not isinstance(error, sqlite3.OperationalError)
        if of_job and len(jobs) > 1:
            return [done for job in jobs for done in carry_out(connection, [job])]
        failure = _typed(error) if of_job else LedgerError(f"the ledger could not be written: {error}")
        if failure is not error:
            failure.__cause__ = error
    return [partial(job.future.set_exception, failure) for job in jobs]


def _typed(error: BaseException) -> BaseException:
    """Return the ledger's error for an error of SQLite; other errors are returned as they are."""
    if not isinstance(error, sqlite3.Error | OverflowError):
        return error
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
        typed: Exception = DamagedLedgerError(
            f"the ledger's file is damaged: {error}; `judgeloop ledger salvage` copies what can be read to a new file"
        )
    else:
        typed = LedgerError(f"this cannot be written to the ledger: {error}")
    typed.__cause__ = error
    return typed
