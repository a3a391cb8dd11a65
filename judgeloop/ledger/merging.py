"""Takes what other ledgers hold into one: verdicts, outputs, attempts and results, each once.

A source is read as a stranger's file: from a copy of our own, with exactly the tables
of a ledger, and row by row with its seal. Its money stays its own: a run of a source gets the name
RUN@ORIGIN, which no budget here counts, unless the caller says that it is his. What is open in a
source is left there, and so are its budgets. A verdict that differs under one key is reported, and
neither is used until the caller prefers one: whoever merges first does not decide. All of it is one
transaction, and merging twice changes nothing.
"""

import json
import os
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from judgeloop.core.errors import InputError, NoLedgerError
from judgeloop.core.ledger import ORIGIN
from judgeloop.ledger import rows
from judgeloop.ledger.booking import ingredients_of, texts_of
from judgeloop.ledger.budgets import count_anew
from judgeloop.ledger.charges import book, charge_run
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.opening import Address, writer_of
from judgeloop.ledger.schema import VERSION
from judgeloop.ledger.seals import CRC_BYTES, Sealer, key_of
from judgeloop.ledger.sqlite import SqliteConnection, check_schema, errors_of_reading, version_of

DISPUTED = "disputed"
ORIGIN_DIGITS = 12  # of the id of a ledger, in the names of its runs


@dataclass(frozen=True, slots=True)
class Believing:
    """Why the rows of sources are believed.

    - `key`: the key that others sealed theirs with; None if they have none, or that of this ledger.
    - `as_they_are`: sources that the caller believes without one.
    """

    key: bytes | None = None
    as_they_are: frozenset[Path] = frozenset()


@dataclass(slots=True)
class Merged:
    """What was taken from a source, and what it spent itself, in picodollars.

    `open` is the number of reservations that were left in it, and `disputed` names the item, the
    judge, the systems as shown, and both verdicts with their runs, where one differs from the one here.
    """

    source: Path
    attempts: int = 0
    verdicts: int = 0
    outputs: int = 0
    spent_p: int = 0
    open: int = 0
    disputed: tuple[str, ...] = ()


def merge(
    target: Address, sources: Sequence[Path], believing: Believing, *, own: bool = False, prefer: Address | None = None
) -> list[Merged]:
    """Take the rows of `sources` into `target`, which is made if it is missing.

    With `own`, what the sources spent counts for the runs and budgets of `target`. `prefer` is the
    source, or the target, whose verdict is used where two differ.

    Raises:
        InputError: a source is missing, is no ledger as judgeloop makes it, or is not believed;
            nothing was taken.
        LedgerError: a file cannot be read or written, or a row is not as it was written.
    """
    if prefer is not None and prefer not in {target, *sources}:
        raise InputError(f"`prefer={prefer}`: expected one of the ledgers that are merged")
    if missing := next((path for path in sources if not path.is_file()), None):
        raise InputError(f"{missing}: there is no ledger there")

    def take(new: LedgerConnection) -> list[Merged]:
        found = []
        for path in sources:
            wins = None if prefer is None else path == prefer
            with _opened(path, believing) as old:
                found.append(_Merge(new, old, Merged(path), own=own, wins=wins).all())
        if own:
            count_anew(new, "")
        return found

    with closing(writer_of(target)) as writer:
        return writer.do(take)


@contextmanager
def _opened(path: Path, believing: Believing) -> Iterator[SqliteConnection]:
    """Yield a connection to a copy of a ledger, with what checks its seals."""
    with tempfile.TemporaryDirectory() as folder, errors_of_reading(path):
        copy = Path(folder) / "copy.sqlite"
        uri = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as read_only, closing(sqlite3.connect(copy)) as to:
            read_only.backup(to)
        connection = sqlite3.connect(copy, isolation_level=None, factory=SqliteConnection)
        with closing(connection):
            connection.place = str(path)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA query_only = ON")
            if version_of(connection, path) != VERSION:
                raise NoLedgerError(f"{path}: expected a ledger of version {VERSION}")
            check_schema(connection, path)
            connection.sealer = _believed(connection, path, believing)
            yield connection


def _believed(connection: SqliteConnection, path: Path, believing: Believing) -> Sealer:
    """Return what checks the seals of a source.

    Raises:
        InputError: nothing says who wrote it.
    """
    found = connection.execute(f"SELECT {rows.columns(rows.AboutRow)} FROM about").fetchall()  # noqa: S608 - our own names
    if len(found) != 1:
        raise NoLedgerError(f"{path}: expected one row of about, found {len(found)}")
    *about, seal = found[0]
    for key in {believing.key, key_of(os.environ)} - {None}:
        sealer = Sealer(str(about[0]), key)
        if sealer.problem("about", about, seal) is None:
            return sealer
    if path in believing.as_they_are:
        return Sealer(str(about[0]))
    if isinstance(seal, bytes) and len(seal) > CRC_BYTES:
        raise InputError(
            f"{path} is signed with another key; name the variable that holds it "
            "(`their_key_variable`), or believe the file as it is (`trust_origin`)"
        )
    raise InputError(
        f"{path} is not signed: anybody may have written it, and its verdicts would be believed. If you "
        f"trust the file as it is: `trust_origin={path}`"
    )


class _Merge:
    """Takes the rows of one source."""

    def __init__(
        self, new: LedgerConnection, old: LedgerConnection, found: Merged, *, own: bool, wins: bool | None
    ) -> None:
        self._new, self._old, self._found, self._own, self._wins = new, old, found, own, wins
        self._known = _marks(new)
        self._here: dict[int, rows.AttemptRow] = {}  # by the attempt's number in the source

    def all(self) -> Merged:
        """Take everything."""
        for attempts in _some(rows.read(self._old, rows.AttemptRow, "ended IS NOT NULL ORDER BY id")):
            self._attempts(attempts)
        disputed = list[str]()
        for verdicts in _some(rows.read(self._old, rows.VerdictRow, "true ORDER BY seq")):
            self._look_up(verdicts)
            disputed += map(self._verdict, verdicts)
        for outputs in _some(rows.read(self._old, rows.OutputRow, "true ORDER BY seq")):
            self._new.lookup(rows.OutputRow, "key", [row.key for row in outputs])
            for output in outputs:
                self._output(output)
        for result in rows.read(self._old, rows.ResultRow, "true ORDER BY seq"):
            self._result(result)
        self._found.disputed = tuple(said for said in disputed if said)
        (self._found.open,) = self._old.execute("SELECT count(*) FROM attempts WHERE ended IS NULL").fetchone()
        return self._found

    def _attempts(self, attempts: Sequence[rows.AttemptRow]) -> None:
        """Take the attempts that are not here yet, and what they were charged."""
        marks = [mark_of(self._old.sealer.ledger, attempt) for attempt in attempts]
        held = rows.by(self._new, rows.AttemptRow, "id", *filter(None, map(self._known.get, marks)))
        here, taken = {row.id: row for row in held}, list[rows.AttemptRow]()
        for attempt, mark in zip(attempts, marks, strict=True):
            if mark in self._known:
                self._here[attempt.id] = here[self._known[mark]]
            else:
                row = self._insert_attempt(attempt, mark)
                self._known[mark], self._here[attempt.id], here[row.id] = row.id, row, row
                taken.append(row)
        book(self._new, *taken)
        charged_p = Counter[str]()
        for row in taken:
            charged_p[row.run] += row.charged_p
        for run, more_p in charged_p.items():
            charge_run(self._new, run, more_p)
        self._found.attempts += len(taken)
        self._found.spent_p += charged_p.total()

    def _insert_attempt(self, attempt: rows.AttemptRow, mark: str) -> rows.AttemptRow:
        run = self._run(attempt.run, attempt.began_at)
        taken = attempt._replace(id=rows.next_number(self._new, rows.AttemptRow), run=run, opener=mark)
        rows.insert(self._new, taken)
        return taken

    def _look_up(self, verdicts: Sequence[rows.VerdictRow]) -> None:
        """Look up together what is known of some verdicts: on a server, each time costs a trip."""
        keys = [row.key.rpartition(" ")[2] for row in verdicts]
        shelves = [self._shelf(of, key) for of in (self._new, self._old) for key in keys]
        attempts = [self._here[row.attempt] for row in verdicts if row.attempt in self._here]
        texts = [text for row in attempts for text in texts_of(row.run, row.item_id, row.note)]
        self._new.lookup(rows.VerdictRow, "key", [*keys, *shelves])
        self._new.lookup(rows.AttemptRow, "id", [row.id for row in attempts])
        self._new.lookup(rows.TextRow, "text", texts)

    def _run(self, run: str, began_at: str) -> str:
        """Return the name that a run of the source has here; it is made if it is missing."""
        name = run
        if not self._own and ORIGIN not in run:
            run = f"{run}{ORIGIN}{self._old.sealer.ledger[:ORIGIN_DIGITS]}"
        if rows.one(self._new, rows.RunRow, "id", run) is None:
            row = rows.RunRow(rows.next_number(self._new, rows.RunRow), run, began_at, 0, 0)
            rows.insert(self._new, row._replace(note=self._note(name)))
        return run

    def _note(self, run: str) -> str:
        """Return what the source notes of a run."""
        found = rows.one(self._old, rows.RunRow, "id", run)
        return found.note if found else "{}"

    def _result(self, row: rows.ResultRow) -> None:
        """Take the result of a run with its texts, unless the run has one here."""
        run = self._run(row.run, row.created_at)
        if rows.one(self._new, rows.ResultRow, "run", run) is None:
            for text in rows.by(self._old, rows.JudgedRow, "digest", *json.loads(row.digests)):
                if rows.one(self._new, rows.JudgedRow, "digest", text.digest) is None:
                    rows.insert(self._new, text._replace(seq=rows.next_number(self._new, rows.JudgedRow)))
            rows.insert(self._new, row._replace(seq=rows.next_number(self._new, rows.ResultRow), run=run))
            held = rows.one(self._new, rows.RunRow, "id", run)
            assert held is not None, "it was made just now"
            rows.change(self._new, held, note=self._note(row.run))

    def _verdict(self, row: rows.VerdictRow) -> str:
        """Take a verdict; return what differs if it is not the one here, and none is used."""
        key = row.key.rpartition(" ")[2]
        used = self._under(key)
        theirs = self._under(self._shelf(self._old, key)) or self._if_theirs(used)
        mine = self._under(self._shelf(self._new, key)) or (used if theirs != used else None)
        if mine is None:
            if theirs is None and key == row.key:
                self._insert(row, key)
            return ""
        settled = self._wins is None and used is not None and theirs is not None
        asked_anew = used not in {None, mine, theirs}
        if mine.score == row.score or settled or asked_anew:
            return ""
        theirs = theirs or self._insert(row, self._shelf(self._old, key))
        shelved = {mine: self._new, theirs: self._old}
        winner = {None: None, True: theirs, False: mine}[self._wins]
        for each, of in shelved.items():
            if each != winner:
                self._put(each, self._shelf(of, key))
        if winner is not None:
            self._put(winner, key)
            return ""
        attempt = self._attempt_of(row)
        shown = " before ".join(json.loads(attempt.note).get("systems", ()))
        about = ", ".join(filter(None, (f"item {attempt.item_id}", attempt.judge, shown)))
        scores = (mine.score, self._own_attempt(mine).run), (row.score, attempt.run)
        return f"{about}: {' and '.join(f'{score:g} in run {run}' for score, run in scores)}"

    def _under(self, key: str) -> rows.VerdictRow | None:
        return rows.one(self._new, rows.VerdictRow, "key", key)

    def _if_theirs(self, row: rows.VerdictRow | None) -> rows.VerdictRow | None:
        """Return a verdict of this ledger if it was taken from the source."""
        mark = f"{rows.TAKEN}{self._old.sealer.ledger}:"
        return row if row is not None and self._own_attempt(row).opener.startswith(mark) else None

    def _shelf(self, of: LedgerConnection, key: str) -> str:
        """Return the key under which the verdict of a ledger is kept, and not found."""
        return f"{DISPUTED} {of.sealer.ledger} {key}"

    def _insert(self, row: rows.VerdictRow, key: str) -> rows.VerdictRow:
        attempt = self._attempt_of(row)
        number = rows.next_number(self._new, rows.VerdictRow)
        usable = self._usable(attempt, key)
        taken = row._replace(seq=number, attempt=attempt.id, key=key, ingredients=usable)
        rows.insert(self._new, taken)
        self._found.verdicts += 1
        return taken

    def _put(self, row: rows.VerdictRow, key: str) -> rows.VerdictRow:
        """Put a verdict under a key; only under its own it serves a history."""
        usable = self._usable(self._own_attempt(row), key)
        rows.change(self._new, row, key=key, ingredients=usable)
        return row._replace(key=key, ingredients=usable)

    def _usable(self, attempt: rows.AttemptRow, key: str) -> bytes:
        return ingredients_of(self._new, attempt) if key == attempt.key else rows.NO_INGREDIENTS

    def _attempt_of(self, row: rows.VerdictRow | rows.OutputRow) -> rows.AttemptRow:
        """Return the attempt here of a row of the source."""
        found = self._here.get(row.attempt)
        if found is None:
            raise NoLedgerError(f"{self._found.source}: {row.key} has no attempt that has ended")
        return found

    def _own_attempt(self, row: rows.VerdictRow) -> rows.AttemptRow:
        found = rows.one(self._new, rows.AttemptRow, "id", row.attempt)
        assert found is not None, "the file refuses a verdict without an attempt"
        return found

    def _output(self, row: rows.OutputRow) -> None:
        """Take an output, unless there is one under its key: each is as good as the other."""
        if rows.one(self._new, rows.OutputRow, "key", row.key) is None:
            number = rows.next_number(self._new, rows.OutputRow)
            rows.insert(self._new, row._replace(seq=number, attempt=self._attempt_of(row).id))
            self._found.outputs += 1


def mark_of(ledger: str, attempt: rows.AttemptRow) -> str:
    """Return what tells an attempt from all others of all ledgers, in the place of its opener."""
    if attempt.opener.startswith(rows.TAKEN):
        return attempt.opener
    return f"{rows.TAKEN}{ledger}:{attempt.id}:{attempt.began_at}"


def _some(every: Iterator[rows.Row]) -> Iterator[list[rows.Row]]:
    """Yield rows, thousands at a time."""
    while found := list(islice(every, rows.AT_ONCE)):
        yield found


def _marks(connection: LedgerConnection) -> dict[str, int]:
    return {
        mark_of(connection.sealer.ledger, row): row.id
        for row in rows.read(connection, rows.AttemptRow, "ended IS NOT NULL")
    }
