"""Looks through the file of a ledger that may be damaged: says what is wrong, or saves the rest.

The file is only read. `inspect` lists the rows that are not as they were written. `salvage` copies
all others into a new ledger. Money is never lost: what a run was charged by attempts that cannot be
read stays charged, in an attempt that says so. A verdict whose attempt cannot be read is kept, but
serves no history, because its ingredients are taken from the note of the attempt.
"""

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judgeloop.core.errors import InputError, NoLedgerError
from judgeloop.core.ledger import End
from judgeloop.ledger import rows
from judgeloop.ledger.booking import ingredients_of
from judgeloop.ledger.budgets import count_anew
from judgeloop.ledger.charges import summed
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.opening import Address, connected, server_of
from judgeloop.ledger.schema import VERSION
from judgeloop.ledger.seals import CRC_BYTES, Sealer, key_of
from judgeloop.ledger.sqlite import SqliteConnection, check_schema, connect, errors_of_reading, version_of

CHARGES = """SELECT runs.seq, runs.id FROM runs WHERE charged_p <>
    (SELECT coalesce(sum(charged_p), 0) FROM attempts WHERE attempts.run = runs.id)"""
LOST = "the attempts that cost this could not be read"
# In the order in which they refer to each other; what only counts or repeats is made anew.
COPIED = [kind for kind in rows.TABLES if kind not in {rows.AboutRow, rows.SumRow, rows.TextRow}]
UNKNOWN_RUN = "salvaged"  # holds the attempts of verdicts whose own attempt could not be read


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a ledger holds: the number of sound rows by table, and its problems in words."""

    rows: dict[str, int]
    problems: tuple[str, ...]
    signed: bool


def inspect(address: Address) -> Inspection:
    """Check every row, the tables, and the sums of what was charged.

    Raises:
        InputError: there is no such ledger, or it is one of another version.
        LedgerError: it cannot be read.
    """
    if server_of(address) is not None:
        with connected(address) as connection:
            return _inspected(connection, [])
    with opened_to_read(Path(str(address))) as file:
        return _inspected(file, list(_of_file(file)))


def _inspected(connection: LedgerConnection, problems: list[str]) -> Inspection:
    """Check every row and sum; `problems` are those that were found before."""
    sound = Counter(dict.fromkeys(rows.TABLES.values(), 0))
    for kind, table in rows.TABLES.items():
        for found in every_row(connection, kind, problems.append):
            problem = connection.sealer.problem(table, found[:-1], found[-1])
            sound[table] += problem is None
            if problem is not None:
                problems.append(f"row {found[0]} of {table} {problem}")
    problems += _of_sums(connection)
    problems += _of_texts(connection)
    return Inspection(dict(sound), tuple(problems), connection.sealer.key is not None)


def _opened(uri: str) -> SqliteConnection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, factory=SqliteConnection)


@contextmanager
def opened_to_read(path: Path) -> Iterator[SqliteConnection]:
    """Yield a connection that cannot write, with the id and the key of the ledger.

    Raises:
        InputError: there is no such file, or it is a ledger of another version.
        LedgerError: it cannot be read.
    """
    if not path.is_file():
        raise InputError(f"`ledger={path}`: there is no ledger there")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with errors_of_reading(path), closing(_opened(uri)) as connection:
        connection.place = str(path)
        if (version := version_of(connection, path)) != VERSION:
            raise NoLedgerError(f"`ledger={path}`: expected a ledger of version {VERSION}, found version {version}")
        found = next(_rows(connection, "SELECT id FROM about", lambda _: None), ("",))
        connection.sealer = Sealer(str(found[0]), key_of(os.environ))
        yield connection


def every_row(
    connection: LedgerConnection, kind: type[Any], report: Callable[[str], None]
) -> Iterator[tuple[Any, ...]]:
    """Yield the values of every row of a table that can be read, its seal last.

    `report` is called with a sentence for what cannot be read. Behind a damaged page of a file each row
    is looked up by its number.
    """
    table, number = rows.TABLES[kind], kind._fields[0]
    select = f"SELECT {rows.columns(kind)} FROM {table}"  # noqa: S608 - our own names
    if kind is rows.AboutRow or not isinstance(connection, SqliteConnection):
        yield from _rows(connection, select, report)
        return
    select += " NOT INDEXED"
    last = 0
    damage: list[str] = []
    for values in _rows(connection, f"{select} ORDER BY {number}", damage.append):
        last = values[0]
        yield values
    if damage:
        report(f"{table}: {damage[0]}, behind row {last}")
        for at in range(last + 1, _highest(connection, kind) + 1):
            yield from _rows(connection, f"{select} WHERE {number} = {at}", lambda _: None)


def _rows(connection: LedgerConnection, select: str, report: Callable[[str], None]) -> Iterator[tuple[Any, ...]]:
    """Yield what a SELECT finds, up to damage, which is reported."""
    try:
        yield from connection.stream(select)
    except sqlite3.DatabaseError as error:
        report(str(error))


def _highest(connection: LedgerConnection, kind: type[Any]) -> int:
    """Return the highest number of a row; 0 if it cannot be read."""
    select = f"SELECT coalesce(max({kind._fields[0]}), 0) FROM {rows.TABLES[kind]}"  # noqa: S608 - our own names
    return int(next(_rows(connection, select, lambda _: None), (0,))[0])


def _of_file(connection: SqliteConnection) -> Iterator[str]:
    """Yield what SQLite itself finds, and what is strange about the tables."""
    try:
        check_schema(connection, connection.place)
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
    ended = (row for row in _sound(connection, rows.AttemptRow) if row.ended is not None)
    right = summed(ended)
    for row in _sound(connection, rows.SumRow):
        other = right.pop(row.name, rows.SumRow(0, row.name))
        if row.charged_p != other.charged_p:
            yield f"row {row.seq} of sums is not the sum of its attempts"
    yield from (f"the sum of {name} is missing" for name in right)


def _of_texts(connection: LedgerConnection) -> Iterator[str]:
    known = {number for number, *_ in every_row(connection, rows.TextRow, lambda _: None)}
    sound = (verdict.ingredients for verdict in _sound(connection, rows.VerdictRow))
    used = np.frombuffer(b"".join(sound), rows.NUMBER)
    for number in sorted(set(used.tolist()) - known):
        yield f"row {number} of texts is missing"


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The number of rows copied and of rows left behind, by table."""

    copied: dict[str, int]
    left: dict[str, int]


def salvage(source: Address, target: Path, *, sign: bool = False) -> Salvaged:
    """Copy the rows of `source` that have their seal to a new file, `target`.

    With `sign` the checksum alone is enough, and the copies are signed with the key in the
    environment: the caller trusts the file as it is.

    Raises:
        InputError: `target` exists, or `source` does not.
        LedgerError: a file cannot be read or written.
    """
    if server_of(source) is not None:
        raise InputError(f"`ledger={source}`: salvage reads files; a server's database is restored from its backups")
    if target.exists():
        raise InputError(f"`to={target}`: this file exists; name a new one")
    with opened_to_read(Path(str(source))) as old:
        if sign:
            old.sealer = Sealer(old.sealer.ledger)
        try:
            with closing(connect(target)) as new:
                new.execute("BEGIN IMMEDIATE")
                found = _copy(old, new)
                new.execute("COMMIT")
        except BaseException:
            with suppress(OSError):
                target.unlink()
            raise
    return found


def _copy(old: SqliteConnection, new: SqliteConnection) -> Salvaged:
    _take_id(old, new)
    copied, left = Counter({rows.TABLES[kind]: 0 for kind in COPIED}), Counter[str]()
    for kind in COPIED:
        for row in _sound(old, kind, left):
            # A key that two rows claim: the first stays. Or what was drawn on a budget that is lost.
            with suppress(sqlite3.IntegrityError):
                rows.insert(new, _fitted(new, row))
                copied[rows.TABLES[kind]] += 1
    if left[rows.TABLES[rows.DrawRow]]:
        for budget in list(rows.read(new, rows.BudgetRow, "true")):
            count_anew(new, budget.name)
    _correct_charges(new)
    for total in summed(rows.read(new, rows.AttemptRow, "ended IS NOT NULL")).values():
        rows.insert(new, total._replace(seq=rows.next_number(new, rows.SumRow)))
    return Salvaged(dict(copied), {table: left[table] for table in copied})


def _fitted(new: SqliteConnection, row: rows.Row) -> rows.Row:
    """Make stand-ins for what a row refers to and is lost; return the row for the new ledger."""
    if isinstance(row, rows.AttemptRow):
        _ensure_run(new, row.run, row.began_at)
    elif isinstance(row, rows.ResultRow):
        _ensure_run(new, row.run, row.created_at)
    elif isinstance(row, rows.OutputRow):
        _ensure_attempt(new, row)
    elif isinstance(row, rows.VerdictRow):
        return row._replace(ingredients=ingredients_of(new, _ensure_attempt(new, row)))
    return row


def _take_id(old: SqliteConnection, new: SqliteConnection) -> None:
    """Give the new ledger the id of the old one, if that can be believed."""
    abouts = list(_sound(old, rows.AboutRow))
    if len(abouts) == 1:
        new.execute("DELETE FROM about")
        new.execute("DELETE FROM texts")
        new.sealer = Sealer(abouts[0].id, new.sealer.key)
        rows.write_first_rows(new, abouts[0].created_at)


def _sound(old: LedgerConnection, kind: type[rows.Row], left: Counter[str] | None = None) -> Iterator[rows.Row]:
    """Yield the rows that have their seal; count the others in `left`."""
    table, others = rows.TABLES[kind], Counter[str]() if left is None else left
    for *values, seal in every_row(old, kind, lambda _: None):
        if old.sealer.problem(table, values, seal) is None:
            yield kind(*values)
        else:
            others[table] += 1


def _ensure_run(new: SqliteConnection, run: str, began_at: str) -> None:
    if rows.one(new, rows.RunRow, "id", run) is None:
        rows.insert(new, rows.RunRow(rows.next_number(new, rows.RunRow), run, began_at, 0, 0))


def _ensure_attempt(new: SqliteConnection, verdict: rows.VerdictRow | rows.OutputRow) -> rows.AttemptRow:
    found = rows.one(new, rows.AttemptRow, "id", verdict.attempt)
    if found is None:
        _ensure_run(new, UNKNOWN_RUN, new.now())
        found = _stand_in(verdict.attempt, UNKNOWN_RUN, verdict.key, "settled", 0)
        rows.insert(new, found)
    return found


def _stand_in(number: int, run: str, key: str, state: str, cost_p: int) -> rows.AttemptRow:
    """Return an attempt in place of one or more that could not be read."""
    told: tuple[Any, ...] = (LOST, None, None, None, rows.now(), rows.now())
    return rows.AttemptRow(number, run, "", key, "", "", "{}", state, End.LOST.value, cost_p, cost_p, 0, *told)


def _correct_charges(new: SqliteConnection) -> None:
    """Charge each run at least what it was charged before, and the sum of its attempts."""
    known = "SELECT coalesce(sum(charged_p), 0) FROM attempts WHERE run = ?"
    for run in list(rows.read(new, rows.RunRow, "true")):
        known_p = int(new.execute(known, (run.id,)).fetchone()[0])
        if lost_p := max(0, run.charged_p - known_p):
            number = rows.next_number(new, rows.AttemptRow)
            rows.insert(new, _stand_in(number, run.id, "", "abandoned", lost_p))
        if run.charged_p != known_p + lost_p:
            rows.change(new, run, charged_p=known_p + lost_p)
