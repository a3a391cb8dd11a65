"""Rows of the ledger's tables: reads them with their seals checked, and writes them sealed.

A seal is a CRC-32 of the table's name and all values of the row, its number included, as bytes. In a ledger
with a key, an HMAC-SHA256 of the same and the ledger's id follows, of which the first 16 bytes are
kept. Only who has the key can make it, so that nobody else can change a row or move one here. A
seal does not show that a row is missing, nor that a row was replaced by an earlier state of itself.

Does not decide what to book (`booking.py`), and begins no transaction.
"""

import hmac
import marshal
import sqlite3
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

from judgeloop.core.errors import DamagedLedgerError

KEY_VARIABLE = "JUDGELOOP_LEDGER_KEY"
SHORTEST_KEY = 16  # characters
CRC_BYTES, MAC_BYTES = 4, 16
# Of marshal: the same bytes in every version of Python, and others for 1 than for "1", 1.0 or None.
# It takes a fourth of the time of ascii(), which a history of a million notices.
FORMAT = 2


@dataclass(frozen=True, slots=True)
class Sealer:
    """Makes and checks the seals of a ledger's rows; `key` is None in a ledger without a key."""

    ledger: str
    key: bytes | None = None

    def seal(self, table: str, row: Sequence[object]) -> bytes:
        """Return the seal of `row`, whose values are in the order of the table's columns."""
        return self.seals(table, [tuple(row)])[0]

    def seals(self, table: str, rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
        """Return the seal of each of `rows`."""
        messages = [marshal.dumps(row, FORMAT) for row in rows]
        begin = zlib.crc32(table.encode())
        sums = [zlib.crc32(message, begin).to_bytes(CRC_BYTES, "big") for message in messages]
        if self.key is None:
            return sums
        own = f"{self.ledger} {table} ".encode()
        macs = (hmac.digest(self.key, own + message, "sha256") for message in messages)
        return [total + mac[:MAC_BYTES] for total, mac in zip(sums, macs, strict=True)]

    def problem(self, table: str, row: Sequence[object], seal: object) -> str | None:
        """Return in words what is wrong with a row; None if it has its seal."""
        if not isinstance(seal, bytes):
            return "was changed after it was written (it has no checksum)"
        right = self.seal(table, row)
        if seal[:CRC_BYTES] != right[:CRC_BYTES]:
            return "was changed after it was written (its checksum does not match)"
        if self.key is None:
            return None
        if len(seal) == CRC_BYTES:
            return f"is not signed with {KEY_VARIABLE}"
        if not hmac.compare_digest(seal, right):
            return f"was not written with this {KEY_VARIABLE}"
        return None


# Of what was taken from another ledger: RUN@ORIGIN is the name of a run that spent its own money, and
# the opener of an attempt says which it was there (`merging.py`).
ORIGIN, TAKEN = "@", "from "
OWN_RUN = f"instr({{}}, '{ORIGIN}') = 0"  # the condition, with the name of the column
AT_ONCE = 2_000  # rows that are in memory while a whole table is read; they fit into a cache


INGREDIENTS = 7  # of a verdict
NUMBER = "<i4"  # how the number of an ingredient is written
NO_INGREDIENTS = bytes(4 * INGREDIENTS)


class AboutRow(NamedTuple):
    """The ledger itself: a random id, and when it was made."""

    id: str
    created_at: str


class RunRow(NamedTuple):
    """A run, and what it has been charged in picodollars.

    `seen` is the number of the last verdict that was recorded before the run began. `finished` is 1
    once it has ended by itself. `note` is a `RunNote` as JSON.
    """

    seq: int
    id: str
    created_at: str
    seen: int
    charged_p: int
    finished: int = 0
    note: str = "{}"


class AttemptRow(NamedTuple):
    """An attempt; see the states in `sqlite.py`.

    `ended` is the value of an `End`, `outcome` a sentence for people.
    """

    id: int
    run: str
    opener: str
    key: str
    item_id: str
    judge: str
    note: str
    state: str
    ended: str | None
    reserved_p: int
    charged_p: int
    rehearsed: int
    outcome: str | None
    usage: str | None
    model: str | None
    request_id: str | None
    began_at: str
    ended_at: str | None


class TextRow(NamedTuple):
    """A text that verdicts name by its number: a JSON value."""

    id: int
    text: str


class VerdictRow(NamedTuple):
    """A verdict, the attempt that brought it, and the ingredients of its key.

    `ingredients` are seven numbers of texts (`connection.py`), four bytes each.
    """

    seq: int
    attempt: int
    cost_p: int
    score: float
    key: str
    reason: str
    ingredients: bytes = NO_INGREDIENTS


class OutputRow(NamedTuple):
    """What a system gave for an item; `core/records.py` explains the columns of an `Output`."""

    seq: int
    attempt: int
    cost_p: int
    key: str
    text: str | None
    failed: str
    cut: int
    tokens: int | None
    seconds: float
    model: str
    created_at: str


class ResultRow(NamedTuple):
    """The result of a run (`KeptResult`); `digests` are those of its texts, as a JSON list."""

    seq: int
    run: str
    created_at: str
    headline: str
    text: str
    document: str
    digests: str


class JudgedRow(NamedTuple):
    """A text that was judged, or a prompt, by its digest."""

    seq: int
    digest: str
    text: str


class BudgetRow(NamedTuple):
    """A budget: its limit for a period, and when the latest period began that was drawn on."""

    seq: int
    name: str
    limit_p: int
    per: str
    day_starts: str
    since: str


class DrawRow(NamedTuple):
    """What an opener's attempts, from the number `first` on, took of a budget in a period."""

    seq: int
    budget: int
    since: str
    opener: str
    first: int
    charged_p: int


Row = TypeVar(
    "Row",
    AboutRow,
    RunRow,
    AttemptRow,
    TextRow,
    VerdictRow,
    OutputRow,
    ResultRow,
    JudgedRow,
    BudgetRow,
    DrawRow,
)
TABLES: dict[type[Any], str] = {
    AboutRow: "about",
    RunRow: "runs",
    AttemptRow: "attempts",
    TextRow: "texts",
    VerdictRow: "verdicts",
    OutputRow: "outputs",
    ResultRow: "results",
    JudgedRow: "judged",
    BudgetRow: "budgets",
    DrawRow: "draws",
}


class LedgerConnection(sqlite3.Connection):
    """A connection to a ledger file, with what seals its rows."""

    path: object = ""
    sealer = Sealer("")


def columns(kind: type[Any]) -> str:
    """Return the columns of a table and its seal for a SELECT."""
    return ", ".join((*kind._fields, "seal"))


def checked(connection: LedgerConnection, kind: type[Row], values: Sequence[Any]) -> Row:
    """Return the row of `values`, the last of which is its seal.

    Raises:
        DamagedLedgerError: the row is not as it was written.
    """
    *own, seal = values
    problem = connection.sealer.problem(TABLES[kind], own, seal)
    if problem is not None:
        raise damaged(connection, kind, own[0], problem)
    return kind(*own)


def damaged(
    connection: LedgerConnection, kind: type[Any], number: object, problem: str
) -> DamagedLedgerError:
    """Return the error for a row that cannot be believed."""
    return DamagedLedgerError(
        f"row {number} of the table {TABLES[kind]} in the ledger {connection.path} {problem}; it is "
        "not used. `judgeloop ledger verify` lists all such rows, and `judgeloop ledger salvage` "
        "copies all others to a new file"
    )


def read(
    connection: LedgerConnection, kind: type[Row], where: str, *parameters: object
) -> Generator[Row, None, None]:
    """Yield the rows that fulfil `where`, an SQL condition with its parameters.

    Raises:
        DamagedLedgerError: a row is not as it was written.
    """
    found = connection.execute(
        f"SELECT {columns(kind)} FROM {TABLES[kind]} WHERE {where}",  # noqa: S608 - our own names
        parameters,
    )
    # An open cursor would keep the file locked as long as somebody holds the error.
    with closing(found):
        for values in found:
            yield checked(connection, kind, values)


def read_many(
    connection: LedgerConnection, kind: type[Row], where: str, *parameters: object
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows that fulfil `where` as tuples with their seals, thousands at a time.

    Raises:
        DamagedLedgerError: a row is not as it was written.
    """
    table = TABLES[kind]
    found = connection.execute(
        f"SELECT {columns(kind)} FROM {table} WHERE {where}",  # noqa: S608 - our own names
        parameters,
    )
    with closing(found):
        while rows := found.fetchmany(AT_ONCE):
            seals = connection.sealer.seals(table, [values[:-1] for values in rows])
            if seals != [values[-1] for values in rows]:
                for values in rows:
                    checked(connection, kind, values)
            yield rows


def one(
    connection: LedgerConnection, kind: type[Row], where: str, *parameters: object
) -> Row | None:
    """Return the first row that fulfils `where`; None if there is none."""
    with closing(read(connection, kind, where, *parameters)) as found:
        return next(found, None)


def insert(connection: LedgerConnection, row: Row) -> None:
    """Write a new row with its seal."""
    table, marks = TABLES[type(row)], ", ".join("?" * (len(row) + 1))
    connection.execute(
        f"INSERT INTO {table} ({columns(type(row))}) VALUES ({marks})",  # noqa: S608 - our own names
        (*row, connection.sealer.seal(table, row)),
    )


def change(connection: LedgerConnection, row: Row, **changes: object) -> None:
    """Write the changed columns of a row that was read, and its new seal."""
    changed, table = row._replace(**changes), TABLES[type(row)]  # type: ignore[arg-type]
    places = ", ".join(f"{name} = ?" for name in (*changes, "seal"))
    connection.execute(
        f"UPDATE {table} SET {places} WHERE {row._fields[0]} = ?",  # noqa: S608 - our own names
        (*changes.values(), connection.sealer.seal(table, changed), row[0]),
    )


def next_number(connection: sqlite3.Connection, kind: type[Any]) -> int:
    """Return the number of the next row of a table that numbers its rows."""
    found = connection.execute(
        f"SELECT max((SELECT coalesce(max({kind._fields[0]}), 0) FROM {TABLES[kind]}), "  # noqa: S608 - our own names
        "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?)) + 1",
        (TABLES[kind],),
    )
    return int(found.fetchone()[0])


def now() -> str:
    """Return the time in ISO 8601 (UTC), in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
