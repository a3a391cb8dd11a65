"""Takes what other ledgers hold into one: verdicts, outputs, attempts and results, each once.

A source is looked through first (`upkeep.inspected`), and is not changed: a file is read from a copy, a server in
one snapshot. An attempt is known in all ledgers by the object that booked it and its number there, also in copies of
one ledger that went on apart. One that was settled there, and is open or of unknown cost here, is settled here, too.
Its money stays its own: a run of a source gets the name RUN@ORIGIN, which no budget here counts, unless the caller
says that it is his. What is open in a source is left there, and so are its budgets.

Verdicts that differ under one key are reported, and none is used until the caller prefers one: whoever merges first
does not decide. Rows are taken in chunks, each a transaction, so that others book in between. A merge that was
interrupted is repeated: what is here is not taken again, and merging twice changes nothing.
"""

import json
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from judgeloop.core.errors import DamagedLedgerError, InputError, NoLedgerError
from judgeloop.core.work import lasting
from judgeloop.ledger.ledger import ROLL
from judgeloop.ledger.opening import Address, connected, is_ledger, server_of, writer_of
from judgeloop.ledger.records import ORIGIN, End
from judgeloop.ledger.schema import TABLES, TOKENS
from judgeloop.ledger.sqlite import errors_of_reading, to_read
from judgeloop.ledger.upkeep import TAKEN, inspected, opened_to_read
from judgeloop.ledger.writer import Connection, Statement, Writer

_NUMBER = re.compile("[0-9]{1,19}")  # of an attempt
ORIGIN_DIGITS = 12  # of the id of a ledger, in the names of its runs
LONGEST = 2**26  # bytes of a text that is read; a longer one is refused by its declared length
ROWS, CHARACTERS = 2_000, 2**22  # of a chunk, the larger of which ends it
# The columns of texts of each table.
TEXTS = {
    statement.split()[2]: re.findall(r"(\w+) TEXT\b", statement)
    for statement in TABLES
    if statement.startswith("CREATE TABLE")
}

COLUMNS = (
    *("key", "item_id", "judge", "note", "state", "ended", "reserved_p", "charged_p", "rehearsed", "outcome"),
    *TOKENS,
    *("model", "request_id", "answered", "stands_for", "began_at", "ended_at"),
)
ATTEMPTS = f"SELECT id, opener, run, {', '.join(COLUMNS)} FROM attempts WHERE ended IS NOT NULL ORDER BY id"
ADD_ATTEMPT = f"""INSERT INTO attempts (run, opener, charge_to, {", ".join(COLUMNS)})
    VALUES (:run, :opener, :charge_to, {", ".join(f":{name}" for name in COLUMNS)})"""
# Where the attempts of a chunk are here: taken before, or booked here, as in a copy of the source.
HERE = "SELECT id, opener, key FROM attempts WHERE key = ANY(:keys) AND opener = ANY(:openers)"
# What an attempt came to that this ledger saw no reply to: it is a copy that was made meanwhile, or merged before that.
CAME_TO = ("state", "ended", "charged_p", "outcome", *TOKENS, "model", "request_id", "answered", "ended_at")
UNSETTLED = "SELECT id FROM attempts WHERE key = ANY(:keys) AND (ended IS NULL OR state = 'abandoned')"
SETTLE_HERE = f"UPDATE attempts SET {', '.join(f'{name} = :{name}' for name in CAME_TO)} WHERE id = :id"
ADD_RUN = """INSERT INTO runs (id, created_at, finished, note) VALUES (:run, :created_at, :finished, :note)
    ON CONFLICT (id) DO NOTHING"""
ANSWERS = """SELECT v.key, v.score, v.reason, v.probabilities, v.crc, v.attempt, a.id, a.opener, a.run, a.item_id,
    a.judge, a.note FROM {table} v JOIN attempts a ON a.id = v.attempt {which} ORDER BY v.seq"""
ADD_ANSWER = """INSERT INTO {table} (attempt, key, score, reason, probabilities, crc)
    VALUES (:attempt, :key, :score, :reason, :probabilities, :crc)"""
DROP_ANSWER = "DELETE FROM {table} WHERE key = :key AND attempt = :attempt"
# The latest output under each key, with its attempt.
OUTPUTS = """SELECT a.id, a.opener, o.cost_p, o.key, o.text, o.failed, o.ended, o.tokens, o.seconds, o.model, o.created_at, o.crc
    FROM outputs o JOIN attempts a ON a.id = o.attempt WHERE NOT EXISTS (SELECT 1 FROM outputs p
    WHERE p.key = o.key AND (p.created_at > o.created_at OR (p.created_at = o.created_at AND p.seq > o.seq)))
    ORDER BY o.seq"""
ADD_OUTPUT = """INSERT INTO outputs (attempt, cost_p, key, text, failed, ended, tokens, seconds, model, created_at,
        crc)
    VALUES (:attempt, :cost_p, :key, :text, :failed, :ended, :tokens, :seconds, :model, :created_at, :crc)"""
RESULTS = "SELECT run, created_at, headline, text, document, digests, headline_crc, crc FROM results ORDER BY seq"
ADD_RESULT = """INSERT INTO results (run, created_at, headline, text, document, digests, headline_crc, crc)
    VALUES (:run, :created_at, :headline, :text, :document, :digests, :headline_crc, :crc)"""
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
    """What two names of one ledger have in common; a server's database is the same for all roles."""
    server = server_of(address)
    return Path(str(address)).resolve() if server is None else (*server.place.values(), server.dbname or server.user)


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
            # It waits while other sources are looked through and taken, and holds no lock.
            db.execute("SET idle_in_transaction_session_timeout = 0")
            db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            for table, columns in TEXTS.items():
                which = " OR ".join(f"octet_length({column}) > {LONGEST}" for column in columns)
                if db.execute(f"SELECT 1 FROM {table} WHERE {which} LIMIT 1").rows:
                    raise _too_long(source)
        else:
            path = Path(str(source))
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "copy.sqlite"
            with lasting(f"copying {path.name}"):
                with (
                    errors_of_reading(path),
                    closing(sqlite3.connect(to_read(path), uri=True)) as there,
                    closing(sqlite3.connect(copy)) as here,
                ):
                    there.backup(here)
                file = stack.enter_context(opened_to_read(copy, source))
                file.file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
                try:
                    for table, columns in TEXTS.items():
                        lengths = " + ".join(f"coalesce(length({column}), 0)" for column in columns)
                        file.raw(f"SELECT sum({lengths}) FROM {table}").fetchone()
                except sqlite3.DataError:
                    raise _too_long(source) from None
            db = file
        if problems := inspected(db).problems:
            raise DamagedLedgerError(
                f"{source} is not sound: {problems[0]}; nothing is taken (judgeloop ledger verify)"
            )
        yield db


def _too_long(source: Address) -> NoLedgerError:
    told = f"{source} has a text of more than {LONGEST >> 20} MiB, which judgeloop never writes; nothing is taken"
    return NoLedgerError(told)


class _Origin(NamedTuple):
    """What tells an attempt from all others of all ledgers: the object that booked it, and its number there."""

    opener: str
    number: int

    @classmethod
    def of(cls, opener: str, number: int) -> "_Origin":
        """The origin of a row of `attempts`."""
        if not opener.startswith(TAKEN):
            return cls(opener, number)
        booked_by, _, at = opener.removeprefix(TAKEN).rpartition(" ")
        return cls(booked_by, int(at)) if _NUMBER.fullmatch(at) else cls(opener, number)

    @property
    def mark(self) -> str:
        """The opener of the attempt where it was taken."""
        return f"{TAKEN}{self.opener} {self.number}"


class _Answer:
    """A verdict, the number of its attempt here, and what tells that from all others."""

    def __init__(self, row: Any, attempt: int) -> None:
        self.row, self.attempt = row, attempt
        self.key, self.score = str(row["key"]), float(row["score"])
        self.origin = _Origin.of(row["opener"], row["id"])

    def values(self) -> dict[str, Any]:
        """The values of its row in this ledger."""
        names = ("key", "score", "reason", "probabilities", "crc")
        return {name: self.row[name] for name in names} | {"attempt": self.attempt}


class _Answers:
    """The verdicts here under the keys of some rows: which are used, and which are put by, as they differ."""

    def __init__(self, db: Connection, rows: Sequence[Any]) -> None:
        self._db = db
        keys = {"keys": [row["key"] for row in rows]}
        used, put_by = (
            db.execute(ANSWERS.format(table=table, which="WHERE v.key = ANY(:keys)"), keys).rows
            for table in ("verdicts", "disputed")
        )
        self.used = {row["key"]: _Answer(row, row["attempt"]) for row in used}
        self.others: dict[str, dict[_Origin, _Answer]] = {row["key"]: {} for row in rows}
        for row in put_by:
            one = _Answer(row, row["attempt"])
            self.others[one.key][one.origin] = one

    def own(self, key: str) -> _Answer | None:
        """This ledger's own verdict, if it is put by."""
        return next((one for one in self.others[key].values() if not one.row["opener"].startswith(TAKEN)), None)

    def put_by(self, one: _Answer) -> None:
        """Put a verdict by, which is then used no longer."""
        if one.origin not in self.others[one.key]:
            mine = self.used.get(one.key)
            if mine is not None and mine.origin == one.origin:
                self._db.execute(DROP_ANSWER.format(table="verdicts"), mine.values())
                del self.used[one.key]
            self._db.execute(ADD_ANSWER.format(table="disputed"), one.values())
            self.others[one.key][one.origin] = one

    def use(self, one: _Answer) -> None:
        """Use a verdict in the place of the one that is used."""
        if (mine := self.used.get(one.key)) is not None:
            self.put_by(mine)
        if self.others[one.key].pop(one.origin, None) is not None:
            self._db.execute(DROP_ANSWER.format(table="disputed"), one.values())
        self._db.execute(ADD_ANSWER.format(table="verdicts"), one.values())
        self.used[one.key] = one


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
        tables = ("attempts", "disputed", "verdicts", "outputs")
        every = sum(self._old.execute(f"SELECT count(*) FROM {table}").rows[0][0] for table in tables)
        with lasting(f"rows of {self.found.source} taken", every) as step:
            for statement, taking in parts:
                for rows in chunks(self._old.stream(statement)):
                    writer.do(lambda db, taking=taking, rows=rows: taking(db, rows))  # type: ignore[misc]
                    step.done(len(rows))
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

    def _here(self, db: Connection, rows: Sequence[Any]) -> dict[tuple[str, _Origin], int]:
        """The numbers here of the attempts of some rows, by their keys and origins."""
        origins = [_Origin.of(row["opener"], row["id"]) for row in rows]
        openers = sorted({name for one in origins for name in (one.opener, one.mark)})
        found = db.execute(HERE, {"keys": sorted({row["key"] for row in rows}), "openers": openers}).rows
        return {(key, _Origin.of(opener, number)): number for number, opener, key in found}

    def _attempts(self, db: Connection, rows: list[Any]) -> None:
        if self._own:
            db.execute(ROLL)  # what began in a new period is counted there
        here, new, known = self._here(db, rows), list[Statement](), list[Statement]()
        taken = set[tuple[str, _Origin]]()
        unsettled = {number for (number,) in db.execute(UNSETTLED, {"keys": sorted({row["key"] for row in rows})}).rows}
        names = {row["run"]: self._run(row["run"]) for row in rows}
        self._add_runs(db, names)
        for row in rows:
            origin = _Origin.of(row["opener"], row["id"])
            at = row["key"], origin
            if at in taken:
                continue  # a source that names one attempt twice
            if at not in here:
                taken.add(at)
                ours = ORIGIN not in names[row["run"]]
                values = {name: row[name] for name in COLUMNS} | {"charge_to": "" if ours else None}
                new.append((ADD_ATTEMPT, values | {"run": names[row["run"]], "opener": origin.mark}))
            elif here[at] in unsettled and (row["state"] == "settled" or row["ended"] == End.RECONCILED):
                known.append((SETTLE_HERE, {name: row[name] for name in CAME_TO} | {"id": here[at]}))
        db.execute_all(new + known)
        self.found.attempts += len(new)
        self.found.spent_p += sum(values["charged_p"] for _, values in new)

    def _run(self, run: str) -> str:
        """The name that a run of the source has here."""
        return run if self._own or ORIGIN in run else f"{run}{ORIGIN}{self._old.ledger[:ORIGIN_DIGITS]}"

    def _add_runs(self, db: Connection, names: dict[str, str]) -> None:
        there = db.execute("SELECT id FROM runs WHERE id = ANY(:keys)", {"keys": sorted(set(names.values()))}).rows
        known = {run for (run,) in there}
        db.execute_all([(ADD_RUN, self._runs[run] | {"run": name}) for run, name in names.items() if name not in known])

    def _disputed(self, db: Connection, rows: list[Any]) -> None:
        """Take verdicts that the source does not use: where this ledger uses one of them, or another, neither is."""
        answers, here = _Answers(db, rows), self._here(db, rows)
        for row in rows:
            theirs = _Answer(row, here[row["key"], _Origin.of(row["opener"], row["id"])])
            mine = answers.used.get(theirs.key)
            settled = mine is not None and (answers.others[theirs.key] or self.wins is False)
            if settled or (mine is not None and mine.origin != theirs.origin and mine.score == theirs.score):
                continue
            for one in filter(None, (mine, theirs)):
                answers.put_by(one)
            if self.wins is False and (own := answers.own(theirs.key)) is not None:
                answers.use(own)
            else:
                self._say(answers, theirs)

    def _verdicts(self, db: Connection, rows: list[Any]) -> None:
        answers, here = _Answers(db, rows), self._here(db, rows)
        for row in rows:
            self._verdict(answers, _Answer(row, here[row["key"], _Origin.of(row["opener"], row["id"])]))

    def _verdict(self, answers: _Answers, theirs: _Answer) -> None:
        """Take a verdict; where it is not the one here, use the one that is preferred, or none."""
        mine, others = answers.used.get(theirs.key), answers.others[theirs.key]
        own, same = answers.own(theirs.key), mine is not None and mine.origin == theirs.origin
        if mine is None and not others:
            answers.use(theirs)
            self.found.verdicts += 1
        elif mine is not None and not same and mine.score == theirs.score:
            pass
        elif self.wins:
            if not same:
                answers.use(theirs)
        elif self.wins is False and own is not None and (mine is None or same):
            if mine is None:
                answers.put_by(theirs)
            answers.use(own)
        elif mine is None:
            answers.put_by(theirs)
            self._say(answers, theirs)
        elif not same and theirs.origin not in others:  # else it has been settled
            answers.put_by(theirs)
            if self.wins is None:
                answers.put_by(mine)
                self._say(answers, theirs)

    def _say(self, answers: _Answers, theirs: _Answer) -> None:
        """Say that a verdict differs from another that is not used either, if one does."""
        mine = next((one for one in answers.others[theirs.key].values() if one.score != theirs.score), None)
        if mine is not None:
            shown = " before ".join(json.loads(theirs.row["note"]).get("systems", ()))
            about = ", ".join(filter(None, (f"item {theirs.row['item_id']}", theirs.row["judge"], shown)))
            said = f"{mine.score:g} in run {mine.row['run']} and {theirs.score:g} in run {self._run(theirs.row['run'])}"
            self._said.setdefault(theirs.key, f"{about}: {said}")

    def _outputs(self, db: Connection, rows: list[Any]) -> None:
        """Take outputs, unless there is one under their keys: each is as good as the other."""
        there = db.execute("SELECT key FROM outputs WHERE key = ANY(:keys)", {"keys": [row["key"] for row in rows]})
        known, here = {key for (key,) in there.rows}, self._here(db, rows)
        new = [
            (
                ADD_OUTPUT,
                dict(zip(row.keys(), row, strict=True))
                | {"attempt": here[row["key"], _Origin.of(row["opener"], row["id"])]},
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
