"""Reaches the server of a ledger in PostgreSQL: connects, checks what it promises, makes the tables.

Returns connections of psycopg with the settings that a ledger needs.
"""

import logging
import os
import re
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo
from psycopg.sql import SQL, Identifier

from judgeloop.core.errors import InputError, LedgerError, NoLedgerError
from judgeloop.ledger.postgres_address import VERIFIED, PostgresAddress, is_loopback
from judgeloop.ledger.schema import FUNCTIONS, ROLES, VERSION, for_postgres
from judgeloop.ledger.sqlite import now, other_version

# What it warns of, such as a pipeline that ends with its connection, is an error here.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

Raw = psycopg.Connection[Any]
OLDEST = 14  # the version of the server
LOCK_TIMEOUT_S = 60
PATIENCE_S = 30.0  # for a server that is gone
SCHEMA = "judgeloop"
TOLD = f"judgeloop ledger, version {VERSION}"
ROW_AFTER_ANY = 1 + 4 + 8 + 16  # of a trigger: for each row, after it is inserted, deleted or updated
CONNECTING: dict[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": int(1000 * PATIENCE_S),
}
SETTINGS = (
    # Also where the server's default is to answer before a commit is on its disk.
    "SET synchronous_commit = on",
    f"SET lock_timeout = '{LOCK_TIMEOUT_S}s'",
    f"SET idle_in_transaction_session_timeout = '{LOCK_TIMEOUT_S}s'",
    # A machine that is gone gives its locks back after half a minute.
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 4",
    f"SET search_path = {SCHEMA}, pg_temp",
)
LOOK = f"""SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('server_version'),
    current_setting('fsync'), obj_description(to_regnamespace('{SCHEMA}'), 'pg_namespace')"""
# What judgeloop makes none of: views and the like, rules, and triggers but its own, as it made that.
STRANGE = f"""SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('{SCHEMA}') AND (
    relkind NOT IN ('r', 'i', 'S') OR relhasrules OR EXISTS (
        SELECT 1 FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid WHERE tgrelid = pg_class.oid
        AND NOT tgisinternal AND (relname, tgname, proname, tgtype, tgenabled, pronamespace)
        <> ('attempts', 'charge', 'charge', {ROW_AFTER_ANY}, 'O', to_regnamespace('{SCHEMA}')))) LIMIT 1"""
OURS = f"""SELECT proname, prosrc FROM pg_proc WHERE pronamespace = to_regnamespace('{SCHEMA}')
    UNION ALL SELECT 'trigger', tgname FROM pg_trigger WHERE tgrelid = to_regclass('{SCHEMA}.attempts')
    AND NOT tgisinternal"""
# The store's time, as a file has it: that of the statement, which is behind the lock.
NOW = """(to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') || '+00:00')"""
# A text of PostgreSQL holds no NUL. MARK, a character for private use, stands before what stands for it.
NUL, MARK = "\x00", "\ue000"


class LostError(Exception):
    """The connection broke; what is to be done is done again on a new one."""


def create(address: PostgresAddress, roles: Mapping[str, str]) -> None:
    """Make the tables of a new ledger, and let roles write or read them.

    `roles` names the database's role for each kind of `ROLES`; a kind may be left out.

    Raises:
        InputError: there is a ledger already.
        LedgerError: the server cannot be reached, or refuses it.
    """
    place = str(address)
    with errors_of(place), opened(address, SCHEMA) as raw:
        if _told(raw) is not None:
            raise InputError(f"`ledger={place}`: there is a ledger already")
        raw.execute("BEGIN")
        raw.execute(f"CREATE SCHEMA {SCHEMA}")
        raw.execute(f"COMMENT ON SCHEMA {SCHEMA} IS '{TOLD}'")
        for statement in for_postgres():
            raw.execute(statement)
        for kind, name in roles.items():
            for grant in ROLES[kind]:
                raw.execute(SQL(grant).format(role=Identifier(name)))
        raw.execute("INSERT INTO about VALUES (%s, %s)", [uuid.uuid4().hex, now()])
        raw.execute("COMMIT")


def exists(address: PostgresAddress) -> bool:
    """Whether a database has a ledger.

    Raises:
        LedgerError: the server cannot be reached.
    """
    with errors_of(str(address)), opened(address, SCHEMA) as raw:
        return _told(raw) is not None


def described(address: PostgresAddress) -> str:
    """In words, what keeps the ledger."""
    with errors_of(str(address)), opened(address, SCHEMA) as raw:
        return f"PostgreSQL {raw.execute('SHOW server_version').fetchone()[0]}, {address}"  # type: ignore[index]


def opened(address: PostgresAddress, name: str) -> Raw:
    """A connection with the settings that a ledger needs.

    Raises:
        LedgerError: the server does not promise what a ledger needs.
    """
    told = make_conninfo(application_name=name, **CONNECTING, **address.parameters)
    raw: Raw = psycopg.connect(told, autocommit=True)
    try:
        _check_way(raw, address)
        for statement in SETTINGS:
            raw.execute(statement)
        _check_server(raw, str(address))
    except BaseException:
        raw.close()
        raise
    return raw


def _check_way(raw: Raw, address: PostgresAddress) -> None:
    """Check that a connection to a server that was not verified stays on this machine."""
    with socket.socket(fileno=os.dup(raw.fileno())) as way:
        far = way.family in {socket.AF_INET, socket.AF_INET6} and not is_loopback(way.getpeername()[0])
        if far and address.parameters["sslmode"] != VERIFIED:
            raise LedgerError(f"{address} leads to {way.getpeername()[0]}, which was not verified ({VERIFIED})")


def _check_server(raw: Raw, place: str) -> None:
    pid, is_standby, version, fsync, _ = raw.execute(LOOK).fetchone()  # type: ignore[misc]
    problem = ""
    if pid != raw.info.backend_pid:
        problem = "a pooler stands before it, which may change the session; name the server itself"
    elif is_standby:
        problem = "it is a standby, which cannot be written; name the primary server"
    elif fsync != "on":
        problem = "it does not wait for its disk (fsync=off): a power failure would lose what was paid for"
    elif int(version.split(".")[0]) < OLDEST:
        problem = f"it is PostgreSQL {version}; expected {OLDEST} or newer"
    if problem:
        raise LedgerError(f"{place} cannot keep a ledger: {problem}")


def _told(raw: Raw) -> str | None:
    """What the schema says of itself; None if there is none."""
    found: str | None = raw.execute(LOOK).fetchone()[4]  # type: ignore[index]
    return found


def check_ledger(raw: Raw, place: str) -> None:
    """Check that a database has a ledger of this version.

    Raises:
        NoLedgerError: it has none, or another.
    """
    told = _told(raw)
    if told is None:
        raise NoLedgerError(f"{place} has no ledger; who owns the database makes one: judgeloop ledger create {place}")
    if told != TOLD:
        found = re.fullmatch(r"judgeloop ledger, version (\d+)", told)
        raise NoLedgerError(
            other_version(place, int(found[1])) if found else f"{place}: expected a {TOLD}, found: {told}"
        )
    strange = raw.execute(STRANGE).fetchone()
    if strange is not None or dict(raw.execute(OURS).fetchall()) != FUNCTIONS | {"trigger": "charge"}:
        what = f"{strange[0]} is no table of it, or has a trigger or a rule" if strange else "its functions are others"
        raise NoLedgerError(f"{place} is not as this judgeloop makes a ledger: {what}; the database was changed")


@contextmanager
def errors_of(place: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into errors of the ledger."""
    try:
        yield
    except psycopg.Error as error:
        raise error_of(error, place, "opened") from error


def error_of(error: BaseException, place: str, done: str) -> LedgerError:
    """The ledger's error for what went wrong with a server."""
    if isinstance(error, LedgerError):
        return error
    said = first_line(error)
    if isinstance(error, errors.InsufficientPrivilege):
        said += "; this role may not do that: take another, or ask who owns the ledger"
    elif isinstance(error, errors.LockNotAvailable):
        said = f"another process has held it for {LOCK_TIMEOUT_S} s"
    elif "root certificate" in str(error):
        said += "; name the certificates by ?sslrootcert=FILE, or take this machine's: ?sslrootcert=system"
    elif isinstance(error, LostError):
        said = f"no connection for {PATIENCE_S:.0f} s ({said})"
    elif "connection failed" in str(error):
        said += "; check the address and the role, and whether the server runs"
    return LedgerError(f"the ledger {place} could not be {done}: {said}")


def first_line(error: BaseException) -> str:
    """What a server said, without what it says about the place in a statement."""
    return str(error).strip().partition("\n")[0]


@cache
def translated(statement: str, time: str = NOW) -> str:
    """A statement with the marks of psycopg in the place of `:name`, and the store's time in that of `:now`.

    >>> translated("SELECT :key, :now", "now()")
    'SELECT %(key)s, now()'
    """

    def mark(found: re.Match[str]) -> str:
        return time if found[1] == "now" else f"%({found[1]})s"

    return re.sub(r":([a-z_]+)\b", mark, statement.replace("%", "%%"))


def escaped(value: Any) -> Any:
    """A value as the server can hold it.

    >>> escaped("a" + NUL) == "a" + MARK + "0", escaped(MARK) == MARK + "1"
    (True, True)
    """
    if isinstance(value, str) and (NUL in value or MARK in value):
        return value.replace(MARK, f"{MARK}1").replace(NUL, f"{MARK}0")
    if isinstance(value, list):
        return list(map(escaped, value))
    if isinstance(value, dict):
        return {name: escaped(one) for name, one in value.items()}
    return value


class ServerRow(tuple[Any, ...]):
    """A row, by place and by name, as SQLite has it."""

    __slots__ = ()
    names: dict[str, int]

    def __getitem__(self, at: Any) -> Any:
        """The value at a place, or under a name."""
        return tuple.__getitem__(self, self.names[at] if isinstance(at, str) else at)

    def keys(self) -> list[str]:
        """The names."""
        return list(self.names)


@cache
def row_of(*names: str) -> type[ServerRow]:
    """What makes rows with these columns."""
    return type(
        "ServerRow", (ServerRow,), {"__slots__": (), "names": {name: place for place, name in enumerate(names)}}
    )


def rows_of(cursor: psycopg.Cursor[Any]) -> list[ServerRow]:
    """The rows that a statement found."""
    if not cursor.description:
        return []
    kind = row_of(*(column.name for column in cursor.description))
    return [kind(restored(row)) for row in cursor.fetchall()]


def restored(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row of the server as it was written.

    >>> restored((1, escaped(NUL + MARK + "01"))) == (1, NUL + MARK + "01")
    True
    """
    if not any(isinstance(value, str) and MARK in value for value in row):
        return row
    return tuple(
        value.replace(f"{MARK}0", NUL).replace(f"{MARK}1", MARK) if isinstance(value, str) else value for value in row
    )
