"""Takes what other ledgers hold into one: verdicts, outputs, attempts and results, each once.

A source is looked through first (`upkeep.inspected`), and is not changed: a file is read from a copy, a server in
one snapshot. An attempt is known in all ledgers by the object that booked it and its number there, also in copies of
one ledger that went on apart. Its money stays its own: a run of a source gets the name RUN@ORIGIN, which no budget
here counts, unless the caller says that it is his. What is open in a source is left there, and so are its budgets.

Verdicts that differ under one key are reported, and none is used until the caller prefers one: whoever merges first
does not decide. Rows are taken in chunks, each a transaction, so that others book in between. A merge that was
interrupted is repeated: what is here is not taken again, and merging twice changes nothing.
"""

import json
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from judgeloop.core.errors import DamagedLedgerError, InputError, NoLedgerError
from judgeloop.core.ledger import ORIGIN
from judgeloop.ledger.ledger import ROLL
from judgeloop.ledger.opening import Address, connected, is_ledger, server_of, writer_of
from judgeloop.ledger.schema import TOKENS
from judgeloop.ledger.sqlite import errors_of_reading
from judgeloop.ledger.upkeep import TAKEN, inspected, opened_to_read
from judgeloop.ledger.writer import Connection, Statement, Writer

ORIGIN_DIGITS = 12  # of the id of a ledger, in the names of its runs
LONGEST = 2**26  # bytes of a text that is read; a longer one is refused by its declared length
ROWS, CHARACTERS = 2_000, 2**22  # of a chunk, the larger of which ends it
TEXTS = {
    "attempts": ("item_id", "note", "outcome"),
    "verdicts": ("reason",),
    "disputed": ("reason",),
    "outputs": ("text",),
    "results": ("headline", "text", "document", "digests"),
    "judged": ("text",),
    "runs": ("note",),
}
TOO_LONG = "SELECT count(*) FROM {table} WHERE octet_length({column}) > :longest"

COLUMNS = (
    *("key", "item_id", "judge", "note", "state", "ended", "reserved_p", "charged_p", "rehearsed", "outcome"),
    *TOKENS,
    *("model", "request_id", "answered", "stands_for", "began_at", "ended_at"),
)
ATTEMPTS = f"SELECT id, opener, run, {', '.join(COLUMNS)} FROM attempts WHERE ended IS NOT NULL ORDER BY id"
ADD_ATTEMPT = f"""INSERT INTO attempts (run, opener, charge_to, {", ".join(COLUMNS)})
    VALUES (:run, :opener, :charge_to, {", ".join(f":{name}" for name in COLUMNS)})"""
# Where the attempts of a chunk are here: taken before, or booked here, as in a copy of the source.
HERE = "SELECT id, opener FROM attempts WHERE key = ANY(:keys) AND opener = ANY(:openers)"
ADD_RUN = """INSERT INTO runs (id, created_at, finished, note) VALUES (:run, :created_at, :finished, :note)
    ON CONFLICT (id) DO NOTHING"""
ANSWERS = """SELECT v.key, v.score, v.reason, v.probabilities, v.crc, v.attempt, a.id, a.opener, a.run, a.item_id,
    a.judge, a.note FROM {table} v JOIN attempts a ON a.id = v.attempt {which} ORDER BY v.seq"""
ADD_ANSWER = """INSERT INTO {table} (attempt, key, score, reason, probabilities, crc)
    VALUES (:attempt, :key, :score, :reason, :probabilities, :crc)"""
DROP_ANSWER = "DELETE FROM {table} WHERE key = :key AND attempt = :attempt"
# The latest output under each key, with its attempt.
OUTPUTS = """SELECT a.id, a.opener, o.cost_p, o.key, o.text, o.failed, o.cut, o.tokens, o.seconds, o.model, o.created_at, o.crc
    FROM outputs o JOIN attempts a ON a.id = o.attempt WHERE NOT EXISTS (SELECT 1 FROM outputs p
    WHERE p.key = o.key AND (p.created_at > o.created_at OR (p.created_at = o.created_at AND p.seq > o.seq)))
    ORDER BY o.seq"""
ADD_OUTPUT = """INSERT INTO outputs (attempt, cost_p, key, text, failed, cut, tokens, seconds, model, created_at,
        crc)
    VALUES (:attempt, :cost_p, :key, :text, :failed, :cut, :tokens, :seconds, :model, :created_at, :crc)"""
RESULTS = "SELECT run, created_at, headline, text, document, digests FROM results ORDER BY seq"
ADD_RESULT = """INSERT INTO results (run, created_at, headline, text, document, digests)
    VALUES (:run, :created_at, :headline, :text, :document, :digests)"""
ADD_TEXT = "INSERT INTO judged (digest, text) VALUES (:digest, :text) ON CONFLICT (digest) DO NOTHING"


@dataclass(slots=True)
class Merged:
    """What was taken from a source, and what it spent itself, in picodollars.

    `open` is the number of reservations that were left in it, and `disputed` names the item, the
    judge, the systems as shown, and both verdicts with their runs, where one differs from the one here.
    """

    source: Address
    attempts: int = 0
    verdicts: int = 0
    outputs: int = 0
    spent_p: int = 0
    open: int = 0
    disputed: tuple[str, ...] = ()


def merge(
    target: Address, sources: Sequence[Address], *, own: bool = False, prefer: Address | None = None
) -> list[Merged]:
    """Take the rows of `sources` into `target`, a file that is made if it is missing, or a server.

    With `own`, what the sources spent counts for the runs and the budget of every run of `target`. `prefer` is
    the source, or the target, whose verdict is used where two differ.

    Raises:
        InputError: a source is missing; nothing was taken.
        NoLedgerError: a source is not as judgeloop makes a ledger; nothing was taken.
        DamagedLedgerError: a source is not sound; nothing was taken.
        LedgerError: a ledger cannot be read or written.
    """
    places = {where(one): one for one in sources}
    if where(target) in places:
        raise InputError(f"{places[where(target)]}: this is the ledger itself")
    if prefer is not None and where(prefer) not in {where(target), *places}:
        raise InputError(f"`prefer={prefer}`: expected one of the ledgers that are merged")
    for one in sources:
        if not is_ledger(one) or not (server_of(one) or Path(str(one)).is_file()):
            raise InputError(f"{one}: there is no ledger there")
    preferred = None if prefer is None else where(prefer)
    with ExitStack() as stack:
        merges = [_Merge(stack.enter_context(_opened(one)), Merged(one), own=own) for one in sources]
        writer = stack.enter_context(closing(writer_of(target)))
        for source in merges:
            source.wins = {where(source.found.source): True, where(target): False}.get(preferred)
        # Last comes the one that settles what the others differ in.
        for source in sorted(merges, key=lambda source: source.wins is True):
            source.take(writer)
        for source in merges:
            source.report(writer)
    return [source.found for source in merges]


def where(address: Address) -> object:
    """Return what two names of one ledger have in common."""
    return server_of(address) or Path(str(address)).resolve()


@contextmanager
def _opened(source: Address) -> Iterator[Connection]:
    """Yield a source in one state, which is sound.

    Raises:
        NoLedgerError: it is not as judgeloop makes a ledger, or a text is longer than any that it writes.
        DamagedLedgerError: it is not sound.
    """
    with ExitStack() as stack:
        db: Connection
        if server_of(source) is not None:
            db = stack.enter_context(connected(source))
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            for table, columns in TEXTS.items():
                for column in columns:
                    found = db.execute(TOO_LONG.format(table=table, column=column), {"longest": LONGEST})
                    if found.rows[0][0]:
                        raise NoLedgerError(_too_long(source))
        else:
            path = Path(str(source))
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "copy.sqlite"
            with errors_of_reading(path), closing(_read_only(path)) as there, closing(sqlite3.connect(copy)) as here:
                there.backup(here)
            file = stack.enter_context(opened_to_read(copy, source))
            file.file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            db = file
        problems = inspected(db).problems
        if any("too big" in problem for problem in problems):
            raise NoLedgerError(_too_long(source))
        if problems:
            raise DamagedLedgerError(
                f"{source} is not sound: {problems[0]}; nothing is taken (judgeloop ledger verify)"
            )
        yield db


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _too_long(source: Address) -> str:
    return f"{source} has a text of more than {LONGEST >> 20} MiB, which judgeloop never writes; nothing is taken"


class _Origin(NamedTuple):
    """What tells an attempt from all others of all ledgers: the object that booked it, and its number there."""

    opener: str
    number: int

    @classmethod
    def of(cls, opener: str, number: int) -> "_Origin":
        """Return the origin of a row of `attempts`."""
        if not opener.startswith(TAKEN):
            return cls(opener, number)
        booked_by, _, at = opener.removeprefix(TAKEN).rpartition(" ")
        return cls(booked_by, int(at)) if at.isdecimal() else cls(opener, number)

    @property
    def mark(self) -> str:
        """The opener of the attempt where it was taken."""
        return f"{TAKEN}{self.opener} {self.number}"


@dataclass(slots=True)
class _Answer:
    """A verdict, the origin of its attempt, and where that is."""

    row: Any
    attempt: int
    origin: _Origin = field(init=False)

    def __post_init__(self) -> None:
        self.origin = _Origin.of(self.row["opener"], self.row["id"])

    def values(self) -> dict[str, Any]:
        """Return the values of its row in this ledger."""
        names = ("key", "score", "reason", "probabilities", "crc")
        return {name: self.row[name] for name in names} | {"attempt": self.attempt}


class _Merge:
    """Takes the rows of one source."""

    def __init__(self, old: Connection, found: Merged, *, own: bool) -> None:
        self._old, self.found, self._own = old, found, own
        self.wins: bool | None = None  # where two differ: the source, the target, or neither
        self._said: dict[str, str] = {}  # of verdicts that differ, by key
        self._runs = {
            row["id"]: dict(zip(row.keys(), row, strict=True)) for row in old.execute("SELECT * FROM runs").rows
        }

    def take(self, writer: Writer[Any]) -> None:
        """Take everything, in chunks."""
        parts: tuple[tuple[str, Callable[[Connection, list[Any]], None]], ...] = (
            (ATTEMPTS, self._attempts),
            (ANSWERS.format(table="disputed", which=""), self._disputed),
            (ANSWERS.format(table="verdicts", which=""), self._verdicts),
            (OUTPUTS, self._outputs),
        )
        for statement, taking in parts:
            for rows in chunks(self._old.stream(statement)):
                writer.do(lambda db, taking=taking, rows=rows: taking(db, rows))  # type: ignore[misc]
        for row in self._old.stream(RESULTS):
            named = "SELECT digest, text FROM judged WHERE digest = ANY(:digests)"
            texts = self._old.execute(named, {"digests": json.loads(row["digests"])}).rows
            writer.do(lambda db, row=row, texts=texts: self._result(db, row, texts))  # type: ignore[misc]
        opened = "SELECT count(*) FROM attempts WHERE ended IS NULL"
        self.found.open = self._old.execute(opened).rows[0][0]

    def report(self, writer: Writer[Any]) -> None:
        """Say which verdicts differ, of which none is used now."""
        used = "SELECT key FROM verdicts WHERE key = ANY(:keys)"
        settled = writer.do(lambda db: {key for (key,) in db.execute(used, {"keys": list(self._said)}).rows})
        self.found.disputed = tuple(said for key, said in self._said.items() if key not in settled)

    def _here(self, db: Connection, rows: Sequence[Any]) -> dict[_Origin, int]:
        """Return the numbers here of the attempts of some rows, by their origins."""
        origins = [_Origin.of(row["opener"], row["id"]) for row in rows]
        openers = sorted({name for one in origins for name in (one.opener, one.mark)})
        found = db.execute(HERE, {"keys": sorted({row["key"] for row in rows}), "openers": openers}).rows
        return {_Origin.of(opener, number): number for number, opener in found}

    def _attempts(self, db: Connection, rows: list[Any]) -> None:
        if self._own:
            db.execute(ROLL)  # what began in a new period is counted there
        here, new = self._here(db, rows), list[Statement]()
        names = {row["run"]: self._run(row["run"]) for row in rows}
        self._add_runs(db, names)
        for row in rows:
            origin = _Origin.of(row["opener"], row["id"])
            if origin not in here:
                ours = ORIGIN not in names[row["run"]]
                values = {name: row[name] for name in COLUMNS} | {"charge_to": "" if ours else None}
                new.append((ADD_ATTEMPT, values | {"run": names[row["run"]], "opener": origin.mark}))
        db.execute_all(new)
        self.found.attempts += len(new)
        self.found.spent_p += sum(values["charged_p"] for _, values in new)

    def _run(self, run: str) -> str:
        """Return the name that a run of the source has here."""
        return run if self._own or ORIGIN in run else f"{run}{ORIGIN}{self._old.ledger[:ORIGIN_DIGITS]}"

    def _add_runs(self, db: Connection, names: dict[str, str]) -> None:
        there = db.execute("SELECT id FROM runs WHERE id = ANY(:keys)", {"keys": sorted(set(names.values()))}).rows
        known = {run for (run,) in there}
        db.execute_all([(ADD_RUN, self._runs[run] | {"run": name}) for run, name in names.items() if name not in known])

    def _disputed(self, db: Connection, rows: list[Any]) -> None:
        """Take verdicts that the source does not use: where this ledger uses one of them, or another, neither is."""
        used, put_by, here = self._known(db, rows)
        for row in rows:
            mine, others = used.get(row["key"]), put_by.setdefault(row["key"], {})
            theirs = _Answer(row, here[_Origin.of(row["opener"], row["id"])])
            if mine is not None and (others or self.wins is False):
                continue  # it is settled here
            if theirs.origin not in others:
                if mine is not None and mine.origin != theirs.origin and mine.row["score"] == row["score"]:
                    continue
                if mine is not None:
                    self._put_by(db, mine, others, used)
                if theirs.origin not in others:
                    self._put_by(db, theirs, others, {})
            self._say(others, theirs)

    def _verdicts(self, db: Connection, rows: list[Any]) -> None:
        used, put_by, here = self._known(db, rows)
        for row in rows:
            mine, others = used.get(row["key"]), put_by.setdefault(row["key"], {})
            theirs = _Answer(row, here[_Origin.of(row["opener"], row["id"])])
            # This ledger's own verdict, if it was put by.
            own = next((one for one in others.values() if not one.row["opener"].startswith(TAKEN)), None)
            if mine is None and not others:
                db.execute(ADD_ANSWER.format(table="verdicts"), theirs.values())
                used[row["key"]] = theirs
                self.found.verdicts += 1
            elif mine is not None and mine.origin == theirs.origin:
                if self.wins is False and own is not None:
                    self._use(db, own, others, used)
            elif mine is not None and mine.row["score"] == row["score"]:
                continue
            elif self.wins:
                self._use(db, theirs, others, used)
            elif mine is None:
                if theirs.origin not in others:
                    self._put_by(db, theirs, others, {})
                if self.wins is False and own is not None:
                    self._use(db, own, others, used)
                else:
                    self._say(others, theirs)
            elif theirs.origin not in others:  # else it has been settled
                self._put_by(db, theirs, others, {})
                if self.wins is None:
                    self._put_by(db, mine, others, used)
                    self._say(others, theirs)

    def _known(
        self, db: Connection, rows: list[Any]
    ) -> tuple[dict[str, _Answer], dict[str, dict[_Origin, _Answer]], dict[_Origin, int]]:
        """Return the verdicts here under the keys of some rows, used and put by, and where their attempts are."""
        keys = {"keys": [row["key"] for row in rows]}
        used, put_by = (
            db.execute(ANSWERS.format(table=table, which="WHERE v.key = ANY(:keys)"), keys).rows
            for table in ("verdicts", "disputed")
        )
        by_key: dict[str, dict[_Origin, _Answer]] = {}
        for row in put_by:
            one = _Answer(row, row["attempt"])
            by_key.setdefault(row["key"], {})[one.origin] = one
        return {row["key"]: _Answer(row, row["attempt"]) for row in used}, by_key, self._here(db, rows)

    @staticmethod
    def _put_by(db: Connection, one: _Answer, others: dict[_Origin, _Answer], used: dict[str, _Answer]) -> None:
        """Put a verdict to those that are not used."""
        if used.pop(one.row["key"], None) is not None:
            db.execute(DROP_ANSWER.format(table="verdicts"), one.values())
        db.execute(ADD_ANSWER.format(table="disputed"), one.values())
        others[one.origin] = one

    def _use(self, db: Connection, one: _Answer, others: dict[_Origin, _Answer], used: dict[str, _Answer]) -> None:
        """Use a verdict in the place of the one that is used."""
        if (mine := used.get(one.row["key"])) is not None:
            self._put_by(db, mine, others, used)
        if others.pop(one.origin, None) is not None:
            db.execute(DROP_ANSWER.format(table="disputed"), one.values())
        db.execute(ADD_ANSWER.format(table="verdicts"), one.values())
        used[one.row["key"]] = one

    def _say(self, others: dict[_Origin, _Answer], theirs: _Answer) -> None:
        """Say that a verdict differs from another that is not used either, if one does."""
        for mine in others.values():
            if mine.row["score"] != theirs.row["score"]:
                shown = " before ".join(json.loads(theirs.row["note"]).get("systems", ()))
                about = ", ".join(filter(None, (f"item {theirs.row['item_id']}", theirs.row["judge"], shown)))
                said = f"{mine.row['score']:g} in run {mine.row['run']} and {theirs.row['score']:g} in run"
                self._said.setdefault(theirs.row["key"], f"{about}: {said} {self._run(theirs.row['run'])}")

    def _outputs(self, db: Connection, rows: list[Any]) -> None:
        """Take outputs, unless there is one under their keys: each is as good as the other."""
        there = db.execute("SELECT key FROM outputs WHERE key = ANY(:keys)", {"keys": [row["key"] for row in rows]})
        known, here = {key for (key,) in there.rows}, self._here(db, rows)
        new = [
            (
                ADD_OUTPUT,
                dict(zip(row.keys(), row, strict=True)) | {"attempt": here[_Origin.of(row["opener"], row["id"])]},
            )
            for row in rows
            if row["key"] not in known
        ]
        db.execute_all(new)
        self.found.outputs += len(new)

    def _result(self, db: Connection, row: Any, texts: Sequence[Any]) -> None:
        """Take the result of a run with its texts, unless the run has one here."""
        run = self._run(row["run"])
        self._add_runs(db, {row["run"]: run})
        if not db.execute("SELECT 1 FROM results WHERE run = :run", {"run": run}).rows:
            db.execute_all([(ADD_TEXT, {"digest": digest, "text": text}) for digest, text in texts])
            db.execute(ADD_RESULT, dict(zip(row.keys(), row, strict=True)) | {"run": run})
            note = "UPDATE runs SET note = :note WHERE id = :run"
            db.execute(note, {"run": run, "note": self._runs[row["run"]]["note"]})


def chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield rows some at a time, by number and by length."""
    some, length = list[Any](), 0
    for row in rows:
        some.append(row)
        length += sum(len(value) for value in row if isinstance(value, str))
        if len(some) >= ROWS or length >= CHARACTERS:
            yield some
            some, length = [], 0
    if some:
        yield some
