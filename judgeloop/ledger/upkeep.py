"""Looks after a ledger: checks that it is sound, and deletes what is old. What was charged stays counted."""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, timedelta
from json import loads
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.core.keys import digest
from judgeloop.core.work import lasting
from judgeloop.ledger.answers import checksum
from judgeloop.ledger.ledger import DRAWN
from judgeloop.ledger.opening import Address, connected, is_ledger, server_of, writer_of
from judgeloop.ledger.records import End
from judgeloop.ledger.schema import TOKENS
from judgeloop.ledger.sqlite import SqliteConnection, check_ledger, connect, errors_of_reading, to_read
from judgeloop.ledger.writer import Connection

TAKEN = "from "  # begins the opener of an attempt that was taken from another ledger (`merging.py`)
COUNTED = ("runs", "attempts", "verdicts", "disputed", "outputs", "results", "judged", "budgets")
ANSWERS = ("verdicts", "disputed", "outputs")
# Each table with a checksum, that column and those that it is of, and how it is made.
CHECKED: tuple[tuple[str, str, Callable[..., object]], ...] = (
    ("verdicts", "crc, key, score, reason, probabilities", checksum),
    ("disputed", "crc, key, score, reason, probabilities", checksum),
    ("outputs", "crc, key, text, failed, ended", checksum),
    ("results", "headline_crc, headline", checksum),
    ("results", "crc, text, document, digests", checksum),
    ("judged", "digest, text", digest),
)
# What the triggers keep, and what it is once more: each finds what differs.
RUNS_THAT_DIFFER = """SELECT id FROM runs WHERE charged_p <>
    (SELECT coalesce(sum(charged_p), 0) FROM attempts WHERE attempts.run = runs.id)"""
BUDGETS_THAT_DIFFER = f"SELECT b.name FROM budgets b WHERE b.charged_p <> {DRAWN.format(since='b.since')}"
SUMS_THAT_DIFFER = """SELECT day, run FROM (
        SELECT substr(began_at, 1, 10) AS day, run, judge, state, stands_for AS attempts, charged_p,
            coalesce(input_tokens, 0) AS input_tokens, coalesce(output_tokens, 0) AS output_tokens
        FROM attempts WHERE ended IS NOT NULL AND rehearsed = 0
        UNION ALL SELECT day, run, judge, state, -attempts, -charged_p, -input_tokens, -output_tokens FROM sums) AS both_
    GROUP BY day, run, judge, state HAVING sum(attempts) <> 0 OR sum(charged_p) <> 0 OR sum(input_tokens) <> 0
    OR sum(output_tokens) <> 0"""
WITHOUT_ATTEMPT = """SELECT v.seq FROM {table} v LEFT JOIN attempts a ON a.id = v.attempt
    WHERE a.id IS NULL OR a.key <> v.key OR a.ended IS NULL"""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a ledger holds: the number of rows by table, and its problems in words."""

    rows: dict[str, int]
    problems: tuple[str, ...]


def verify(address: Address) -> Inspection:
    """Check the file, the tables, the sums of what was charged, and the checksum of each answer and result.

    Raises:
        InputError: there is no such ledger.
        NoLedgerError: it is one of another version.
        LedgerError: it cannot be read.
    """
    if server_of(address) is not None:
        with connected(address) as db:
            return inspected(db)
    if not Path(str(address)).is_file():
        raise InputError(f"`ledger={address}`: there is no ledger there")
    with opened_to_read(Path(str(address)), address) as file:
        return inspected(file)


@contextmanager
def opened_to_read(path: Path, place: Address) -> Iterator[SqliteConnection]:
    """Yield a connection that cannot write to a file of this version; `place` is what errors call it.

    Raises:
        NoLedgerError: it is another file.
        LedgerError: it cannot be read.
    """
    with errors_of_reading(place), closing(SqliteConnection(to_read(path), uri=True)) as file:
        file.place = str(place)
        file.raw("PRAGMA trusted_schema = OFF")
        file.raw("PRAGMA cell_size_check = ON")
        check_ledger(file, str(place))
        yield file


def inspected(db: Connection) -> Inspection:
    """Look through an open ledger."""
    problems: list[str] = []
    counts = dict.fromkeys(COUNTED, 0)
    with suppress(sqlite3.DatabaseError):  # what is wrong is found below
        counts = {table: db.execute(f"SELECT count(*) FROM {table}").rows[0][0] for table in COUNTED}
    # The file, the sums and the checksums take about as long for a row.
    file, sums, checksums = sum(counts.values()), counts["attempts"], sum(counts[table] for table, *_ in CHECKED)
    with lasting("rows checked", file + sums + checksums) as step:
        try:
            if isinstance(db, SqliteConnection):
                problems += [f"SQLite: {said}" for (said,) in db.raw("PRAGMA integrity_check(20)") if said != "ok"]
                problems += [f"a row of {row[0]} belongs to none" for row in db.raw("PRAGMA foreign_key_check")]
            step.done(file)
            problems += _of_sums(db)
            for table in ANSWERS:
                lost = db.execute(WITHOUT_ATTEMPT.format(table=table)).rows
                problems += [f"row {seq} of {table} has no attempt with its key that has ended" for (seq,) in lost]
            step.done(sums)
            for table, columns, crc_of in CHECKED:
                for seq, crc, *values in step.over(db.stream(f"SELECT seq, {columns} FROM {table}")):
                    if crc != crc_of(*values):
                        problems.append(f"row {seq} of {table} is not as it was written (its checksum does not match)")
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            problems.append(f"SQLite: {error}")
    return Inspection(counts, tuple(problems))


def _of_sums(db: Connection) -> Iterator[str]:
    for (run,) in db.execute(RUNS_THAT_DIFFER).rows:
        yield f"the run {run} is not charged the sum of its attempts"
    for (name,) in db.execute(BUDGETS_THAT_DIFFER).rows:
        yield f"the budget {name or 'of every run'} is not charged the sum of its attempts"
    for day, run in db.execute(SUMS_THAT_DIFFER).rows:
        yield f"the sums of {day} and the run {run} are not those of its attempts"


MOST_DIGITS = 5  # of a number of days
NAMED_DAYS = {"today": "0", "yesterday": "1"}
# Attempts of a day that brought no answer, of known cost, and not of another ledger.
OLD = f"""a.began_at >= :day AND a.began_at < :next AND a.ended IS NOT NULL AND a.ended <> '{End.PRUNED}'
    AND NOT (a.state = 'abandoned' AND a.charged_p > 0) AND a.opener NOT LIKE '{TAKEN}%'
    AND {
    " AND ".join(f"NOT EXISTS (SELECT 1 FROM {table} v WHERE v.key = a.key AND v.attempt = a.id)" for table in ANSWERS)
}"""
# One attempt for all of a run, judge and state; those before and after the beginning of a budget's period stay apart.
SUM_UP = f"""INSERT INTO attempts (run, opener, key, item_id, judge, note, state, ended, reserved_p, charged_p,
        rehearsed, outcome, {", ".join(TOKENS)}, stands_for, began_at, ended_at, charge_to)
    SELECT a.run, :opener, '', '', a.judge, '{{}}', a.state, '{End.PRUNED}', CAST(sum(a.reserved_p) AS BIGINT),
        CAST(sum(a.charged_p) AS BIGINT), a.rehearsed, 'attempts of which only the sum is kept',
        {", ".join(f"CAST(sum(a.{name}) AS BIGINT)" for name in TOKENS)}, CAST(sum(a.stands_for) AS BIGINT),
        min(a.began_at), max(a.ended_at), a.charge_to
    FROM attempts a WHERE {OLD} GROUP BY a.run, a.judge, a.state, a.rehearsed, a.charge_to,
        (SELECT count(*) FROM budgets b WHERE b.since <= a.began_at)"""
FORGET = f"DELETE FROM attempts AS a WHERE {OLD}"
UNKNOWN_DAYS = "SELECT DISTINCT substr(began_at, 1, 10) FROM attempts WHERE state = 'abandoned' AND charged_p > 0"
NEXT_DAY = "SELECT substr(min(began_at), 1, 10) FROM attempts WHERE began_at >= :day AND began_at < :before"
OLD_VERDICTS = "DELETE FROM {table} WHERE attempt IN (SELECT id FROM attempts WHERE ended_at < :before)"


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows went; of a file, also its size before and after, in bytes."""

    attempts: int
    verdicts: int
    sizes: tuple[int, int] | None


def day_before(older_than: str, today: date, setting: str = "older_than") -> str:
    """The day (ISO 8601) before which everything is old; `setting` is what it was given by.

    >>> day_before("30", date(2026, 3, 31)), day_before("2026-01-31", date(2026, 3, 31))
    ('2026-03-01', '2026-01-31')

    Raises:
        InputError: it is neither a number of days nor a date.
    """
    older_than = NAMED_DAYS.get(older_than, older_than)
    try:
        if older_than.isascii() and older_than.isdecimal() and len(older_than) <= MOST_DIGITS:
            return (today - timedelta(days=int(older_than))).isoformat()
        return date.fromisoformat(older_than).isoformat()
    except ValueError:
        raise InputError(
            f"`{setting}={older_than}`: expected today, yesterday, a number of days, such as 90, or a "
            "date, such as 2026-01-31"
        ) from None


def prune(address: Address, before: str, *, verdicts: bool = False) -> Pruned:
    """Delete what began before the day `before` (UTC), and shrink the file; a server shrinks its own.

    The attempts of a day, run, judge and state that brought no answer become one, which is charged their sum.
    Verdicts stay, with their attempts, unless they are to go, too: a judge is then asked anew. Attempts of unknown
    cost stay, and those of the days around them, because an export of the provider is compared with both. So do
    those that are open, and those of other ledgers. Each day is a transaction: others book in between.

    Raises:
        InputError: there is no such ledger.
        LedgerError: it cannot be written.
    """
    if not is_ledger(address):
        raise InputError(f"`ledger={address}`: there is no ledger there")
    path = None if server_of(address) is not None else Path(str(address))
    before_bytes = path.stat().st_size if path else 0
    with closing(writer_of(address)) as writer:
        with lasting("deleting old verdicts"):
            gone = writer.do(lambda db: _forget_verdicts(db, before)) if verdicts else 0
        kept = writer.do(_days_of_unknown)
        attempts, day = 0, writer.do(lambda db: _day_from(db, "", before))
        with lasting("days summed up", _days(day, before)) as step:
            while day is not None:
                after = (date.fromisoformat(day) + timedelta(days=1)).isoformat()
                if day not in kept:
                    # Without a key and an item, it is known by who pruned, and by its number.
                    values = {"day": day, "next": after, "opener": uuid.uuid4().hex}
                    _, found = writer.do(lambda db, values=values: db.execute_all([(SUM_UP, values), (FORGET, values)]))  # type: ignore[misc]
                    attempts += found.count
                before_it, day = day, writer.do(lambda db, after=after: _day_from(db, after, before))  # type: ignore[misc]
                step.done(_days(before_it, day or before))
    if path is None:
        return Pruned(attempts, gone, None)
    with lasting("shrinking the file"), errors_of_reading(path), closing(connect(path)) as file:
        file.raw("VACUUM")
    return Pruned(attempts, gone, (before_bytes, path.stat().st_size))


def _days(day: str | None, until: str) -> int:
    return 0 if day is None else (date.fromisoformat(until) - date.fromisoformat(day)).days


def _day_from(db: Connection, day: str, before: str) -> str | None:
    found: str | None = db.execute(NEXT_DAY, {"day": day, "before": before}).rows[0][0]
    return found


def _days_of_unknown(db: Connection) -> set[str]:
    """The days of attempts of unknown cost, and those before and after them."""
    days = [date.fromisoformat(day) for (day,) in db.execute(UNKNOWN_DAYS).rows]
    return {(day + timedelta(days=more)).isoformat() for day in days for more in (-1, 0, 1)}


def _forget_verdicts(db: Connection, before: str) -> int:
    """Delete old verdicts, the results that were first kept before that day, and the texts that no other names."""
    gone = sum(
        db.execute(OLD_VERDICTS.format(table=table), {"before": before}).count for table in ("verdicts", "disputed")
    )
    db.execute("DELETE FROM results WHERE created_at < :before", {"before": before})
    named = {one for (digests,) in db.execute("SELECT digests FROM results").rows for one in loads(digests)}
    every = {one for (one,) in db.execute("SELECT digest FROM judged").rows}
    db.execute("DELETE FROM judged WHERE digest = ANY(:digests)", {"digests": sorted(every - named)})
    return gone
