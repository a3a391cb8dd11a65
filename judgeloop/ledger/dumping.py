"""Writes what a ledger holds as JSON lines, and reads such lines into another.

A line is an object with one key, which names what it is: `ledger` (the first line), or a kind of row, whose
value has the row's columns. A verdict that comes from elsewhere is a line of the kind `recorded`, with
its texts in place of keys and attempts. Lines have no seals: who loads them believes them. They are
first made into a ledger of their own, and this is merged (`merging.py`): everything is taken once, and money
keeps its origin.
"""

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from judgeloop.core.errors import DataError, some
from judgeloop.core.ledger import End
from judgeloop.core.records import Call, Item, JudgeIdentity
from judgeloop.core.verdict_key import KeyIngredients, digest
from judgeloop.ledger import rows, sqlite
from judgeloop.ledger.booking import ingredients_of
from judgeloop.ledger.charges import book, charge_run, run_row
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.merging import Believing, Merged, merge
from judgeloop.ledger.opening import Address, connected
from judgeloop.ledger.schema import VERSION
from judgeloop.ledger.seals import Sealer

FORM = {"form": "judgeloop ledger", "version": VERSION}
# The kinds of rows, in the order in which they refer to each other. What only counts or caches stays.
KINDS: dict[str, type[Any]] = {
    "run": rows.RunRow,
    "attempt": rows.AttemptRow,
    "verdict": rows.VerdictRow,
    "output": rows.OutputRow,
}
CLOSED = {"attempt": "ended IS NOT NULL"}
LEFT_OUT = {"ingredients"}  # made from the note of the attempt
RECORDED = "recorded"
LONG_AGO = "1970-01-01T00:00:00.000+00:00"  # when a verdict was given, if its line does not say so


def dump(address: Address) -> Iterator[str]:
    """Yield what a ledger holds as lines of JSON.

    Open reservations, budgets and results stay: they are of this ledger alone.

    Raises:
        InputError: there is no ledger at this address.
        LedgerError: it cannot be read, or a row is not as it was written.
    """
    with connected(address) as connection:
        yield json.dumps({"ledger": FORM | {"id": connection.sealer.ledger}})
        for name, kind in KINDS.items():
            for row in rows.read(connection, kind, f"{CLOSED.get(name, 'true')} ORDER BY {kind._fields[0]}"):
                values = {key: value for key, value in row._asdict().items() if key not in LEFT_OUT}
                yield json.dumps({name: values})


def load(address: Address, lines: Iterable[str], source: str, *, own: bool = False) -> Merged:
    """Take what lines of JSON hold into a ledger; `source` is what errors call them.

    With `own`, what was spent elsewhere counts for the runs and budgets of this ledger.

    Raises:
        DataError: a line is not what `dump` writes, nor a recorded verdict; nothing was taken.
        LedgerError: the ledger cannot be written.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines.sqlite"
        with closing(sqlite.connect(file)) as made:
            made.execute("BEGIN IMMEDIATE")
            _Loading(made, source).all(lines)
            made.execute("COMMIT")
        (found,) = merge(address, [file], Believing(as_they_are=frozenset([file])), own=own)
    return replace(found, source=Path(source))


class _Loading:
    """Makes rows of lines, in a ledger that is only theirs."""

    def __init__(self, made: LedgerConnection, source: str) -> None:
        self._made, self._source = made, source
        self._ledger(FORM | {"id": digest(RECORDED)[:32]})  # unless the first line names another

    def all(self, lines: Iterable[str]) -> None:
        """Read every line.

        Raises:
            DataError: a line cannot be read; names it.
        """
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    self._read(line)
                except (ValueError, TypeError, KeyError, AttributeError, sqlite3.Error) as error:
                    said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
                    raise DataError(
                        self._source,
                        f"expected a line of `judgeloop ledger dump`, or a recorded verdict: {said}",
                        line=number,
                    ) from error

    def _read(self, line: str) -> None:
        found = json.loads(line)
        if not (isinstance(found, dict) and [*map(type, found.values())] == [dict]):
            raise ValueError("it is no object with one key and the columns of a row")
        ((kind, values),) = found.items()
        if kind == "ledger":
            self._ledger(values)
        elif kind == RECORDED:
            self._recorded(values)
        elif kind in KINDS:
            self._row(KINDS[kind], values)
        else:
            raise ValueError(f"{kind!r} is none of ledger, {RECORDED}, {', '.join(KINDS)}")

    def _ledger(self, values: dict[str, Any]) -> None:
        """Take the id of the ledger that the lines are from: it tells its attempts from all others."""
        if {key: values[key] for key in FORM} != FORM:
            raise ValueError(f"expected {FORM}, found {values}")
        self._made.sealer = Sealer(str(values["id"]))
        self._made.execute("DELETE FROM about")
        self._made.execute("DELETE FROM texts")
        rows.write_first_rows(self._made, LONG_AGO)

    def _row(self, kind: type[Any], values: dict[str, Any]) -> None:
        """Insert a row of a kind, and book what it says."""
        if other := sorted((set(kind._fields) - LEFT_OUT) ^ values.keys()):
            raise ValueError(f"expected the columns of {kind.__name__}; {some(other)} differ")
        row = kind(**values)
        if isinstance(row, rows.RunRow):
            rows.insert(self._made, row._replace(charged_p=0))
        elif isinstance(row, rows.AttemptRow):
            self._attempt(row)
        elif isinstance(row, rows.VerdictRow):
            self._verdict(row)
        else:
            rows.insert(self._made, row)

    def _attempt(self, row: rows.AttemptRow) -> None:
        datetime.fromisoformat(row.began_at)
        rows.insert(self._made, row)
        charge_run(self._made, row.run, row.charged_p)
        book(self._made, row)

    def _verdict(self, row: rows.VerdictRow) -> None:
        attempt = rows.one(self._made, rows.AttemptRow, "id", row.attempt)
        if attempt is None:
            raise ValueError(f"no line before has its attempt {row.attempt}")
        found = KeyIngredients.from_note(json.loads(attempt.note).get("ingredients", {}))
        if row.key.rpartition(" ")[2] != (found.key if found else attempt.key):
            raise ValueError("the key of the verdict is not that of its ingredients")
        rows.insert(self._made, row._replace(ingredients=ingredients_of(self._made, attempt)))

    def _recorded(self, values: dict[str, Any]) -> None:
        """Take a verdict that comes from elsewhere, as one of the judge `recorded:NAME`."""
        item = Item(str(values["item"]), values["prompt"], values.get("reference"))
        call = Call(item, tuple(values["systems"]), tuple(values["outputs"]))
        identity = JudgeIdentity(RECORDED, str(values["judge"]), {}, mark=":")
        ingredients = KeyIngredients.of(identity, call, blind=False)
        note = {"ingredients": ingredients.to_note(), "systems": list(call.systems)}
        at = values.get("at", LONG_AGO)
        run = digest([RECORDED, identity.model])[:16]
        run_row(self._made, run)
        self._attempt(
            rows.AttemptRow(
                id=(number := rows.next_number(self._made, rows.AttemptRow)),
                run=run,
                opener=f"{rows.TAKEN}{ingredients.key}",
                key=ingredients.key,
                item_id=item.id,
                judge=identity.name,
                note=json.dumps(note),
                state="settled",
                ended=End.VERDICT.value,
                reserved_p=0,
                charged_p=0,
                rehearsed=0,
                outcome="recorded elsewhere",
                usage=None,
                model=None,
                request_id=None,
                began_at=at,
                ended_at=at,
            )
        )
        verdict = rows.next_number(self._made, rows.VerdictRow)
        reason = str(values.get("reason", ""))
        self._verdict(rows.VerdictRow(verdict, number, 0, float(values["score"]), ingredients.key, reason))
