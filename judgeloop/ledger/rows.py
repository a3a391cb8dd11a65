"""Rows of the ledger's tables: reads them with their seals checked, and writes them sealed.

What a store has to do for it is a `LedgerConnection`. Does not decide what to book (`booking.py`), and
begins no transaction.
"""

from collections.abc import Generator, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from judgeloop.core.errors import DamagedLedgerError, LedgerError
from judgeloop.core.ledger import NOTHING, ORIGIN
from judgeloop.core.verdict_key import as_text
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.seals import CRC_BYTES, KEY_VARIABLE, Sealer

TAKEN = "from "  # begins the opener of an attempt that was taken from another ledger (`merging.py`)
OWN_RUN = f"run NOT LIKE '%{ORIGIN}%'"
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


class SumRow(NamedTuple):
    """What the attempts of a day, run, judge and state were charged that have ended, and their tokens.

    `name` is these four as JSON. Attempts that were only rehearsed are left out.
    """

    seq: int
    name: str
    attempts: int = 0
    charged_p: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


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
    """A budget: its limit for a period, when the latest period began that was drawn on, and its charge."""

    seq: int
    name: str
    limit_p: int
    per: str
    day_starts: str
    since: str
    charged_p: int


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
    SumRow,
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
    SumRow: "sums",
    TextRow: "texts",
    VerdictRow: "verdicts",
    OutputRow: "outputs",
    ResultRow: "results",
    JudgedRow: "judged",
    BudgetRow: "budgets",
    DrawRow: "draws",
}


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


def damaged(connection: LedgerConnection, kind: type[Any], number: object, problem: str) -> DamagedLedgerError:
    """Return the error for a row that cannot be believed."""
    return DamagedLedgerError(
        f"row {number} of the table {TABLES[kind]} in the ledger {connection.place} {problem}; it is "
        "not used. `judgeloop ledger verify` lists all such rows, and `judgeloop ledger salvage` "
        "copies all others to a new file"
    )


def read(connection: LedgerConnection, kind: type[Row], where: str, *parameters: object) -> Generator[Row, None, None]:
    """Yield the rows that fulfil `where`, an SQL condition with its parameters.

    Raises:
        DamagedLedgerError: a row is not as it was written.
    """
    select = f"SELECT {columns(kind)} FROM {TABLES[kind]} WHERE {where}"  # noqa: S608 - our own names
    for values in connection.stream(select, parameters):
        yield checked(connection, kind, values)


def read_many(
    connection: LedgerConnection, kind: type[Row], where: str, *parameters: object
) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows that fulfil `where` as tuples with their seals, thousands at a time.

    Raises:
        DamagedLedgerError: a row is not as it was written.
    """
    table = TABLES[kind]
    select = f"SELECT {columns(kind)} FROM {table} WHERE {where}"  # noqa: S608 - our own names
    found = connection.stream(select, parameters)
    while rows := list(islice(found, AT_ONCE)):
        seals = connection.sealer.seals(table, [values[:-1] for values in rows])
        if seals != [values[-1] for values in rows]:
            for values in rows:
                checked(connection, kind, values)
        yield rows


def by(connection: LedgerConnection, kind: type[Row], column: str, *values: object) -> list[Row]:
    """Return the rows with one of these values in a column, by number.

    Raises:
        DamagedLedgerError: a row is not as it was written.
    """
    return list(connection.lookup(kind, column, values))


def one(connection: LedgerConnection, kind: type[Row], column: str, value: object) -> Row | None:
    """Return the row with this value in a column, the first of several; None if there is none."""
    return next(iter(connection.lookup(kind, column, [value])), None)


def insert(connection: LedgerConnection, row: Row) -> None:
    """Write a new row with its seal."""
    connection.write(type(row), None, row)


def change(connection: LedgerConnection, row: Row, **changes: object) -> None:
    """Write the changed columns of a row that was read, and its new seal."""
    replace(connection, row, row._replace(**changes))  # type: ignore[arg-type]


def replace(connection: LedgerConnection, row: Row, changed: Row) -> None:
    """Write what is `changed` in a row that was read, and its new seal."""
    connection.write(type(row), row, changed)


def delete(connection: LedgerConnection, row: Row) -> None:
    """Delete a row that was read."""
    connection.write(type(row), row, None)


def statement_of(
    sealer: Sealer, kind: type[Any], before: Sequence[Any] | None, after: Sequence[Any] | None
) -> tuple[str, Sequence[Any]]:
    """Return the SQL and the values by which a row is written and sealed (`LedgerConnection.write`)."""
    if after is None:
        assert before is not None, "there is nothing to write"
        return f"DELETE FROM {TABLES[kind]} WHERE {kind._fields[0]} = ?", (before[0],)  # noqa: S608 - our own names
    sealed = (*after, sealer.seal(TABLES[kind], after))
    if before is None:
        return _inserting(kind), sealed  # type: ignore[arg-type]
    places = [place for place, value in enumerate(before) if value != sealed[place]]
    changed = (*places, -1)  # and the seal, which changes with any of them
    return _updating(kind, changed), (*(sealed[place] for place in changed), before[0])  # type: ignore[arg-type]


@lru_cache
def _inserting(kind: type[Any]) -> str:
    names = (*kind._fields, "seal")
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {TABLES[kind]} ({', '.join(names)}) VALUES ({marks})"  # noqa: S608 - our own names


@lru_cache
def _updating(kind: type[Any], places: tuple[int, ...]) -> str:
    names = (*kind._fields, "seal")
    changed = ", ".join(f"{names[place]} = ?" for place in places)
    return f"UPDATE {TABLES[kind]} SET {changed} WHERE {names[0]} = ?"  # noqa: S608 - our own names


def next_number(connection: LedgerConnection, kind: type[Any]) -> int:
    """Return the number of the next row of a table that numbers its rows."""
    return connection.next_number(kind)


def now() -> str:
    """Return this machine's time in ISO 8601 (UTC), in milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_first_rows(connection: LedgerConnection, created_at: str) -> None:
    """Write the rows that every ledger has, for the id and with the key of the connection's sealer."""
    insert(connection, AboutRow(connection.sealer.ledger, created_at))
    insert(connection, TextRow(NOTHING, as_text(None)))


def use_key(connection: LedgerConnection, key: bytes | None) -> None:
    """Check that the ledger is sealed with `key`, and seal with it from now on."""
    found = connection.execute(f"SELECT {columns(AboutRow)} FROM about").fetchall()  # noqa: S608 - our own names
    if len(found) != 1:
        raise damaged(connection, AboutRow, len(found), "is not the only one, or is missing")
    ledger, created_at, seal = found[0]
    if key is None and isinstance(seal, bytes) and len(seal) > CRC_BYTES:
        raise LedgerError(
            f"the ledger {connection.place} is signed; set {KEY_VARIABLE} to the key that it was "
            "written with, or name another file (`ledger`)"
        )
    connection.sealer = Sealer(ledger, key)
    problem = connection.sealer.problem("about", (ledger, created_at), seal)
    if problem is not None and len(seal) == CRC_BYTES and key is not None:
        raise LedgerError(
            f"the ledger {connection.place} {problem}, so that nobody can tell who wrote it; name "
            "another file (`ledger`), or, if you trust this one, sign its rows into a new file: "
            "judgeloop ledger salvage --sign"
        )
    if problem is not None:
        raise damaged(connection, AboutRow, ledger, problem)
