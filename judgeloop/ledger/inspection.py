"""Looks through a whole ledger file and says what in it cannot be believed.

It opens the file for reading only, so that a damaged file can be looked at too. It changes nothing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError, NoLedgerError
from judgeloop.ledger.connection import key_of, readable
from judgeloop.ledger.rows import (
    TABLES,
    AboutRow,
    LedgerConnection,
    columns,
)
from judgeloop.ledger.schema import VERSION, check_schema, version_of
from judgeloop.ledger.seal import CRC_BYTES, Sealer

CHARGES = """SELECT runs.seq, runs.id FROM runs WHERE charged_p <>
    (SELECT coalesce(sum(charged_p), 0) FROM attempts WHERE attempts.run = runs.id)"""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a ledger holds: the number of sound rows by table, and its problems in words."""

    rows: dict[str, int]
    problems: tuple[str, ...]
    signed: bool


def inspect(path: Path) -> Inspection:
    """Check every row, the tables, and the sums of each run's charges.

    Raises:
        InputError: there is no such file, or it is a ledger of another version.
        LedgerError: the file cannot be read.
    """
    with readable(path), closing(open_to_read(path)) as connection:
        rows: dict[str, int] = {}
        problems = list(_of_file(connection))
        for kind, table in TABLES.items():
            rows[table] = 0
            for found in every_row(connection, kind, problems.append):
                problem = connection.sealer.problem(table, found[:-1], found[-1])
                rows[table] += problem is None
                if problem is not None:
                    problems.append(f"row {found[0]} of {table} {problem}")
        problems += _of_sums(connection)
        return Inspection(rows, tuple(problems), connection.sealer.key is not None)


def open_to_read(path: Path) -> LedgerConnection:
    """Return a connection that cannot write, with the id and the key of the ledger.

    Raises:
        InputError: there is no such file, or it is a ledger of another version.
    """
    if not path.is_file():
        raise InputError(f"`ledger={path}`: there is no such file")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, factory=LedgerConnection)
    try:
        connection.path = path
        _check_version(connection, path)
        found = next(_rows(connection, "SELECT id FROM about", lambda _: None), ("",))
        connection.sealer = Sealer(str(found[0]), key_of(os.environ))
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: LedgerConnection, path: Path) -> None:
    version = version_of(connection, path)
    if version != VERSION:
        raise NoLedgerError(
            f"`ledger={path}`: expected a ledger of version {VERSION}, found version {version}"
        )


def every_row(
    connection: LedgerConnection, kind: type[Any], report: Callable[[str], None]
) -> Iterator[tuple[Any, ...]]:
    """Yield the values of every row of a table that can be read, its seal last.

    `report` is called with a sentence for what cannot be read. Behind a damaged page each row is
    looked up by its number.
    """
    table, number = TABLES[kind], kind._fields[0]
    select = f"SELECT {columns(kind)} FROM {table} NOT INDEXED"  # noqa: S608 - our own names
    if kind is AboutRow:
        yield from _rows(connection, f"SELECT {columns(kind)} FROM {table}", report)  # noqa: S608 - our own names
        return
    last = 0
    damage: list[str] = []
    for values in _rows(connection, f"{select} ORDER BY {number}", damage.append):
        last = values[0]
        yield values
    if damage:
        report(f"{table}: {damage[0]}, behind row {last}")
    if damage:
        for at in range(last + 1, _highest(connection, kind) + 1):
            yield from _rows(connection, f"{select} WHERE {number} = {at}", lambda _: None)


def _rows(
    connection: LedgerConnection, select: str, report: Callable[[str], None]
) -> Iterator[tuple[Any, ...]]:
    """Yield what a SELECT finds, up to damage, which is reported."""
    try:
        yield from connection.execute(select)
    except sqlite3.DatabaseError as error:
        report(str(error))


def _highest(connection: LedgerConnection, kind: type[Any]) -> int:
    """Return the highest number of a row; 0 if it cannot be read."""
    select = f"SELECT coalesce(max({kind._fields[0]}), 0) FROM {TABLES[kind]}"  # noqa: S608 - our own names
    return int(next(_rows(connection, select, lambda _: None), (0,))[0])


def _of_file(connection: LedgerConnection) -> Iterator[str]:
    """Yield what SQLite itself finds, and what is strange about the tables."""
    try:
        check_schema(connection, connection.path)
    except NoLedgerError as error:
        yield str(error)
    damage: list[str] = []
    for (said,) in _rows(connection, "PRAGMA integrity_check(20)", damage.append):
        if said != "ok":
            yield f"SQLite: {said}"
    for table, *_ in _rows(connection, "PRAGMA foreign_key_check", damage.append):
        yield f"a row of {table} belongs to none"
    yield from damage
    abouts = list(_rows(connection, "SELECT seal FROM about", damage.append))
    if len(abouts) != 1:
        yield f"expected one row of about, found {len(abouts)}"
    elif connection.sealer.key is None and len(abouts[0][0] or b"") > CRC_BYTES:
        yield "the ledger is signed, and its key is not set: only checksums were compared"


def _of_sums(connection: LedgerConnection) -> Iterator[str]:
    for number, run in _rows(connection, CHARGES, lambda _: None):
        yield f"row {number} of runs ({run}) is not charged the sum of its attempts"
