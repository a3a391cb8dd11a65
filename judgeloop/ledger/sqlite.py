"""The store of a ledger in a file (SQLite): opens it, creates it if missing, refuses what is no ledger.

The file is readable by its owner only, and refused if everybody may write it. The lock of a run is a file
beside it, which the process that works on the run holds. Jobs are carried out in transactions; their SQL is
PostgreSQL's, and the few words that SQLite lacks are translated.
"""

import json
import os
import re
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgeloop.core.errors import DamagedLedgerError, LedgerError, NoLedgerError
from judgeloop.ledger.periods import began
from judgeloop.ledger.place import refuse_if_anybody_writes
from judgeloop.ledger.schema import VERSION, for_sqlite
from judgeloop.ledger.writer import Batch, Done, Found, Job, Statement, Values

if TYPE_CHECKING:
    from filelock import FileLock

FOLDER = ".judgeloop"  # the default one, which holds texts and spending
BUSY_TIMEOUT_S = 60.0  # another process locks the file until its writes are flushed to disk
MEMORY = ":memory:"
PAUSE_S = 0.02
APPLICATION_ID = 0x4A4C4447  # "JLDG"
# Not WAL: before SQLite 3.51.3, WAL can corrupt a file that several processes write.
PRAGMAS = (
    "journal_mode = DELETE",
    "synchronous = EXTRA",
    "foreign_keys = ON",
    "trusted_schema = OFF",
    "cell_size_check = ON",
)
RESTORE = "restore it from a copy, or name a new one (`ledger`); `judgeloop ledger verify` says what is wrong"
ROWS = re.compile(r"json_to_recordset\(CAST\(:(\w+) AS json\)\)\s+AS (\w+)\(([^)]*)\)")


class SqliteConnection:
    """A connection to a ledger's file, with the locks of runs that it holds."""

    grace_s = 0.0  # only the end of its process gives a lock back

    def __init__(self, database: Path | str, *, uri: bool = False) -> None:
        """Open the file; nothing is read or written yet."""
        self.place, self.ledger = str(database), ""
        self.file = sqlite3.connect(database, timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=uri)
        self.file.row_factory = sqlite3.Row
        self.file.create_function("began", 3, began, deterministic=True)
        self._now = ""  # of the transaction
        self._locks: dict[str, tuple[FileLock, int]] = {}  # by run, with the inodes of their files

    def raw(self, sql: str, values: Any = (), /) -> sqlite3.Cursor:
        """Carry out what is written for SQLite."""
        return self.file.execute(sql, values)

    def execute(self, statement: str, values: Values | None = None, /) -> Found:
        """Carry out a statement in PostgreSQL's words; lists are passed as JSON, and `:now` is known."""
        given = {name: as_json(value) if isinstance(value, list) else value for name, value in (values or {}).items()}
        found = self.raw(translated(statement), given | {"now": self._now or now()})
        return Found(found.fetchall() if found.description else (), found.rowcount)

    def execute_all(self, statements: Sequence[Statement]) -> list[Found]:
        """Carry out statements, one after the other."""
        return [self.execute(*one) for one in statements]

    def stream(self, statement: str, values: Values | None = None) -> Iterator[Any]:
        """Yield the rows that a SELECT finds, of which only one is in memory."""
        found = self.raw(translated(statement), values or {})
        try:
            yield from iter(found.fetchone, None)
        finally:  # an open cursor would keep the file locked as long as somebody holds the error
            with suppress(sqlite3.ProgrammingError):  # the connection was closed before
                found.close()

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
        from filelock import FileLock, Timeout  # which a forecast need not wait for

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
        """Whether a process holds the lock of a run, this one included; nothing is changed."""
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
            self.raw("BEGIN IMMEDIATE")
            self._now = now()
            results = [partial(job.future.set_result, self._result(job)) for job in jobs]
            self.raw("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self.raw("ROLLBACK")
            for run in set(self._locks) - held:
                self.unlock(run)
            raise
        finally:
            self._now = ""
        return results

    def _result(self, job: Job) -> Any:
        if not isinstance(job.action, Batch):
            return job.action(self)
        if job.action.guarded:
            self.check_locks()
        return job.action.fold(self.execute_all(job.action.statements))

    def close(self) -> None:
        """Close the connection, and give its locks back."""
        self.file.close()
        for run in list(self._locks):
            self.unlock(run)


@cache
def translated(statement: str) -> str:
    """A statement in the words of SQLite.

    >>> translated("SELECT 1 FROM verdicts WHERE key = ANY(:keys)")
    'SELECT 1 FROM verdicts WHERE key IN (SELECT value FROM json_each(:keys))'
    """

    def rows(found: re.Match[str]) -> str:
        names = [one.split()[0] for one in found[3].split(",")]
        columns = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)
        return f"(SELECT {columns} FROM json_each(:{found[1]})) AS {found[2]}"

    said = re.sub(r"= ANY\(:(\w+)\)", r"IN (SELECT value FROM json_each(:\1))", ROWS.sub(rows, statement))
    return said.replace("greatest(", "max(").replace("strpos(", "instr(")


def as_json(value: object) -> str:
    """A value as JSON. What SQLite could not write as UTF-8 is refused when it is passed, not stored."""
    return json.dumps(value, ensure_ascii=False)


def now() -> str:
    """This machine's time in ISO 8601 (UTC), in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def locks_of(path: Path | str) -> Path:
    """The folder of a ledger's locks: beside the file itself, not beside a link to it."""
    return Path(f"{os.path.realpath(path)}.locks")


def inode(path: str) -> int:
    """What identifies the file at a path; 0 if there is none."""
    try:
        return os.stat(path).st_ino  # noqa: PTH116 - asked before every call
    except OSError:
        return 0


def connect(path: Path | str) -> SqliteConnection:
    """A connection to the ledger at `path`, which is created if missing.

    Raises:
        LedgerError: the file cannot be created or opened, or anybody may write it.
        NoLedgerError: the file is not a ledger, or a ledger of another version.
    """
    try:
        if str(path) != MEMORY:
            make_private(Path(path))
            refuse_if_anybody_writes(Path(path))
        connection = SqliteConnection(path)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_open(path, error) from error
    try:
        with errors_of_reading(path):
            _set_up(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def to_read(path: Path) -> str:
    """The URI of a file for a connection that cannot write.

    What a process that was killed left half written is taken back first, as such a connection could not read it.
    """
    uri = path.absolute().as_uri()
    if Path(f"{path.resolve()}-journal").exists():
        with closing(sqlite3.connect(f"{uri}?mode=rw", timeout=BUSY_TIMEOUT_S, uri=True)) as file:
            file.execute("SELECT 1 FROM sqlite_schema").fetchone()
    return f"{uri}?mode=ro"


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
            raise DamagedLedgerError(f"the ledger {path} is damaged ({error}); {RESTORE}") from error
        raise _cannot_open(path, error) from error


def _is_damage(error: Exception) -> bool:
    """Whether SQLite found what it did not write."""
    damage = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_CORRUPT
    return damage or isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error)


def _set_up(connection: SqliteConnection, path: Path | str) -> None:
    for setting in PRAGMAS:
        connection.raw(f"PRAGMA {setting}")
    if version_of(connection, path) == 0:
        _create(connection, path)
    check_ledger(connection, path)


def check_ledger(connection: SqliteConnection, path: Path | str) -> None:
    """Check that the open file is a ledger of this version, as judgeloop makes it.

    Raises:
        NoLedgerError: it is not.
    """
    if (version := version_of(connection, path)) != VERSION:
        raise NoLedgerError(other_version(path, version))
    check_schema(connection, path)
    abouts = connection.raw("SELECT id FROM about").fetchall()
    if len(abouts) != 1:
        raise NoLedgerError(
            f"{path} is not as judgeloop makes a ledger: expected one row of about, found {len(abouts)}"
        )
    connection.ledger = abouts[0][0]


def other_version(place: object, version: object) -> str:
    """In words, that a ledger is of another version."""
    if isinstance(version, int) and version > VERSION:
        return f"{place} is a ledger of a later judgeloop (version {version}); use that one, or name another (`ledger`)"
    return (
        f"{place} is a ledger of an earlier judgeloop (version {version}), whose verdicts and spending this one does "
        f"not read (version {VERSION}); name another (`ledger`), or move this one away, and a new one is made"
    )


def _create(connection: SqliteConnection, path: object) -> None:
    """Create the tables, unless another process has done so meanwhile."""
    connection.raw("BEGIN IMMEDIATE")
    try:
        if version_of(connection, path) == 0:
            for statement in for_sqlite():
                connection.raw(statement)
            connection.raw(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.raw(f"PRAGMA user_version = {VERSION}")
            connection.raw("INSERT INTO about VALUES (?, ?)", (uuid.uuid4().hex, now()))
        connection.raw("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # of a disk that is full, the first error is the one to show
            connection.raw("ROLLBACK")
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


def version_of(connection: SqliteConnection, path: object) -> int:
    """The version of the ledger that is open; 0 for an empty file.

    Raises:
        NoLedgerError: the file is another database.
    """
    # In this order: tables that are there were made in one transaction with the id, so that another
    # process that makes the ledger meanwhile is not taken for another program.
    if not connection.raw("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return 0
    if connection.raw("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise NoLedgerError(f"{path} is a SQLite file but not a judgeloop ledger; name another file (`ledger`)")
    return int(connection.raw("PRAGMA user_version").fetchone()[0])


def check_schema(connection: SqliteConnection, path: object) -> None:
    """Check that the file has the ledger's tables, indexes and triggers, and nothing else.

    Raises:
        NoLedgerError: it has others; the message names the first.
    """
    ours = for_sqlite()
    found = {
        sql: f"{kind} {name}"
        for kind, name, sql in connection.raw(
            "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
        )
    }
    strange = [name for sql, name in found.items() if sql not in ours]
    missing = [sql.split("(")[0].strip() for sql in ours if sql not in found]
    if strange or missing:
        what = f"it has a strange {strange[0]}" if strange else f"it lacks {missing[0]!r}"
        raise NoLedgerError(
            f"{path} is not as this judgeloop makes a ledger: {what}. The file was changed, or made by a version between "
            "two releases. Put back a copy, or use that version; another file (`ledger`) asks for all verdicts anew"
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
    """The ledger's error for an error of SQLite; other errors are returned as they are."""
    if not isinstance(error, sqlite3.Error | OverflowError):
        return error
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT:
        typed: Exception = DamagedLedgerError(f"the ledger's file is damaged: {error}; {RESTORE}")
    else:
        typed = LedgerError(f"this cannot be written to the ledger: {error}")
    typed.__cause__ = error
    return typed
