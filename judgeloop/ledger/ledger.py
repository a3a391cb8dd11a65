"""The ledger: attempts, money and verdicts. Each method is a few statements of SQL, the same in both stores.

Each HTTP request is an attempt:

    reserve ──▶ reserved ──sending──▶ sent ──settle──▶ settled     charged its actual cost; its
                    │                   │                          verdict is recorded
                    │                   ├───abandon──▶ abandoned   charged its worst case: billing
                    │                   │                          is unknown
                    │                   └───release──▶ released    charged nothing: it was certainly
                    │                                              not billed
                    └─release: deleted, as it was never sent

A reservation is durable before the request is sent, and so is the note that it is sent. When a process dies, the
next that works on the run releases what was never sent, and abandons what was sent (`recover`).

What many calls do at once is a `Batch` (`writer.py`): the SQL decides, and what it found is folded to the answer. So
the statements of all calls that wait travel together. What is done once a run is a function of the open transaction.
Sums of what runs and budgets were charged are kept by triggers (`schema.py`).
"""

import asyncio
import json
import os
import platform
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, TypeVar, cast, final

from judgeloop.core.errors import DamagedLedgerError, InputError, LedgerError
from judgeloop.core.keys import KeyIngredients
from judgeloop.core.records import Abstention, Output, Reply, Verdict
from judgeloop.core.spend import Spend
from judgeloop.ledger.answers import checksum, outputs_of, verdicts_of
from judgeloop.ledger.periods import ends
from judgeloop.ledger.records import (
    ORIGIN,
    Balance,
    Clearance,
    End,
    KeptResult,
    RecordedAttempt,
    Reservation,
    RunNote,
    Settlement,
    Ticket,
)
from judgeloop.ledger.schema import TOKENS
from judgeloop.ledger.writer import Batch, Connection, Found, Statement, Writer

T = TypeVar("T")
Groups = Sequence[Sequence[Reservation]]  # of calls
# Another process that looks whether a run is worked on holds its lock for an instant.
PATIENCE_S = 0.3
NEVER_SENT = "its process ended before it was sent"
MAY_BE_BILLED = "sent by a process that ended before the reply; it may have been billed"
LATE = "; the reply came after another process had closed the attempt"

BEGIN_RUN = "INSERT INTO runs (id, created_at) VALUES (:run, :now) ON CONFLICT (id) DO NOTHING"
DRAWS_ON = "(b.name = '' OR strpos(:charge_to, '\n' || b.name || '\n') > 0)"
# What attempts drew on the budget b from a moment on.
DRAWN = """(SELECT CAST(coalesce(sum(a.charged_p), 0) AS BIGINT) FROM attempts a WHERE a.began_at >= {since}
    AND a.charge_to IS NOT NULL AND (b.name = '' OR strpos(a.charge_to, '\n' || b.name || '\n') > 0))"""
PRESENT = "began(b.per, b.day_starts, :now)"
# The next period of a budget begins, or the first of one that is set; a clock that jumps back opens no second one.
ANEW = "anew"
ROLL = f"""UPDATE budgets AS b SET since = {PRESENT}, charged_p = {DRAWN.format(since=PRESENT)}
    WHERE since < {PRESENT} OR since = '{ANEW}'"""
# The longest prefix of whole groups that the run's own budget and those that it draws on still cover, with what
# `instead` gives back. Each wanted call says what it and all before it cost, to the end of its group (`upto_p`). None
# where a budget is gone that the run is charged to. No attempt is older than a period that has begun.
RESERVE = f"""INSERT INTO attempts (run, opener, key, item_id, judge, note, state, reserved_p, charged_p, rehearsed,
        outcome, charge_to, began_at)
    SELECT :run, :opener, t.key, t.item_id, t.judge, t.note, 'reserved', t.cost_p, t.cost_p, t.rehearsed,
        :call, :charge_to, greatest(:now, (SELECT coalesce(max(since), '') FROM budgets))
    FROM json_to_recordset(CAST(:rows AS json))
        AS t(key text, item_id text, judge text, note text, cost_p bigint, rehearsed bigint,
            upto_p bigint, place bigint)
    WHERE t.upto_p <= (SELECT coalesce(min(left_p), 9223372036854775807) FROM (
        SELECT CAST(:budget_p AS BIGINT) - r.charged_p
            + coalesce((SELECT charged_p FROM attempts WHERE id = :instead AND ended IS NULL), 0) AS left_p
        FROM runs r WHERE r.id = :run AND CAST(:budget_p AS BIGINT) IS NOT NULL
        UNION ALL SELECT greatest(0, b.limit_p - b.charged_p) + coalesce((SELECT charged_p FROM attempts
            WHERE id = :instead AND ended IS NULL AND began_at >= b.since), 0)
        FROM budgets b WHERE {DRAWS_ON}) AS limits)
    AND (SELECT count(*) FROM budgets b WHERE b.name <> '' AND {DRAWS_ON}) = :named
    ORDER BY t.place"""
# With the count of RESERVE: the numbers of what was granted. There is one writer, so they are in a row, and
# rows are inserted in the order of their places: a ticket's number is that of its own call.
LAST = "SELECT max(id) FROM attempts"
# `instead`, if anything was granted: a group without calls (no `first`), or the first call of this very reservation.
GIVE_BACK = """DELETE FROM attempts WHERE id = :instead AND ended IS NULL AND (:first = '' OR EXISTS (
    SELECT 1 FROM attempts n WHERE n.key = :first AND n.opener = :opener AND n.outcome = :call AND n.ended IS NULL))"""
BUDGETS = f"SELECT b.name, b.limit_p, b.charged_p FROM budgets b WHERE {DRAWS_ON}"
BALANCES = f"""SELECT b.name, b.limit_p, b.per, b.day_starts, greatest(b.since, {PRESENT}) AS since,
    CASE WHEN b.since >= {PRESENT} THEN b.charged_p ELSE {DRAWN.format(since=PRESENT)} END AS charged_p
    FROM budgets b WHERE {{which}} ORDER BY b.name"""
HELD = """SELECT a.run, a.charge_to, a.began_at, r.seq, CAST(sum(a.charged_p) AS BIGINT) AS held_p
    FROM attempts a JOIN runs r ON r.id = a.run WHERE a.ended IS NULL AND a.charged_p > 0
    GROUP BY a.run, a.charge_to, a.began_at, r.seq ORDER BY a.run"""

KNOWN = {
    False: "SELECT 1 FROM verdicts v WHERE v.key = :key",
    True: "SELECT 1 FROM outputs v WHERE v.key = :key AND v.created_at >= :since",
}
UNNEEDED = "DELETE FROM attempts WHERE id = :id AND ended IS NULL AND EXISTS ({known})"
SEND = """UPDATE attempts SET state = 'sent' WHERE id = :id AND ended IS NULL AND NOT EXISTS (
    SELECT 1 FROM attempts o WHERE o.key = :key AND o.state = 'sent' AND o.run <> attempts.run)"""
BUSY = """SELECT DISTINCT o.run FROM attempts o, attempts own
    WHERE own.id = :id AND own.ended IS NULL AND o.key = :key AND o.state = 'sent' AND o.run <> own.run"""
# A reply that comes after its attempt was closed is paid for, and counts. What an invoice said of its cost stays.
SETTLE = f"""UPDATE attempts SET outcome = CASE WHEN ended IS NULL THEN :outcome ELSE :outcome || :late END,
    charged_p = CASE WHEN ended = '{End.RECONCILED}' AND state = 'settled' THEN charged_p ELSE :cost_p END,
    state = 'settled', ended = :end, {", ".join(f"{name} = :{name}" for name in TOKENS)}, model = :model,
    request_id = :request_id, answered = :answered, ended_at = :now
    WHERE id = :id AND (state <> 'settled' OR ended = '{End.RECONCILED}')"""
# The first verdict stays: choosing between two samples would bias the result.
REMEMBER = f"""INSERT INTO verdicts (attempt, key, score, reason, probabilities, crc)
    SELECT id, key, :score, :reason, :probabilities, :crc FROM attempts WHERE id = :id AND ended = '{End.VERDICT}'
    ON CONFLICT (key) DO NOTHING"""
# No output is older than its run, wherever the clock was set: a run knows its own by that.
KEEP_OUTPUT = f"""INSERT INTO outputs (attempt, cost_p, key, text, failed, ended, tokens, seconds, model, created_at, crc)
    SELECT a.id, a.charged_p, a.key, :text, :failed, :ended, :tokens, :seconds, :model,
        greatest(greatest(:now, :since), r.created_at), :crc
    FROM attempts a JOIN runs r ON r.id = a.run WHERE a.id = :id AND a.ended = '{End.OUTPUT}'
    AND NOT EXISTS (SELECT 1 FROM outputs o WHERE o.key = a.key AND o.created_at >= :since)"""
CLOSE = """UPDATE attempts SET state = :state, ended = :end, charged_p = :cost_p, outcome = :outcome, ended_at = :now
    WHERE id = :id AND ended IS NULL"""
DROP = "DELETE FROM attempts WHERE id = :id AND ended IS NULL"
VERDICTS = """SELECT v.key, v.score, v.reason, v.probabilities, v.crc, a.model, a.ended_at
    FROM verdicts v LEFT JOIN attempts a ON a.id = v.attempt WHERE v.key = ANY(:keys)"""
OUTPUTS = """SELECT key, text, failed, ended, cost_p, tokens, seconds, model, created_at, crc FROM outputs
    WHERE key = ANY(:keys) AND created_at >= :since ORDER BY created_at, seq"""
SUM = "CAST(coalesce(sum({0}) FILTER (WHERE {1}), 0) AS BIGINT)"
SPENT = f"""SELECT {SUM.format("charged_p", "opener = :opener AND rehearsed = 0")} AS now_p,
    {SUM.format("charged_p", "rehearsed = 0")} AS run_p, {SUM.format("charged_p", "rehearsed = 1")} AS rehearsed_p,
    {SUM.format("charged_p", "state IN ('reserved', 'sent', 'abandoned')")} AS unconfirmed_p,
    {SUM.format("charged_p", "ended IS NULL")} AS held_p,
    {SUM.format("charged_p - reserved_p", "charged_p > reserved_p")} AS over_p,
    count(*) FILTER (WHERE charged_p > 0 AND state = 'settled') AS paid_attempts,
    count(*) FILTER (WHERE state = 'settled' AND charged_p = reserved_p AND charged_p > 0 AND rehearsed = 0
        AND ended NOT IN ('{End.RECONCILED}', '{End.PRUNED}')) AS replies_without_usage
    FROM attempts WHERE run = :run"""
RUN_P = "SELECT charged_p FROM runs WHERE id = :run"
# A person's answer counts however short a time it took; one of a model that cost nothing is none that was paid for.
ANSWERS = f"""SELECT CAST(coalesce(sum(charged_p), 0) AS BIGINT) AS answers_p, count(DISTINCT run || key) AS answers,
    {SUM.format("charged_p", "answered IS NOT NULL")} AS people_p,
    count(DISTINCT run || key) FILTER (WHERE answered IS NOT NULL) AS people
    FROM attempts WHERE key = ANY(:keys) AND state = 'settled' AND (charged_p > 0 OR answered IS NOT NULL)"""

OPEN = "SELECT id, state FROM attempts WHERE run = :run AND ended IS NULL ORDER BY id"
LEFT = "run = :run AND ended IS NULL AND opener <> :opener"
# May be billed. What a person had in hand is not: nobody pays for time that was not noted.
LOST = "state = 'sent' AND judge <> 'human'"
LEFT_P = f"""SELECT {SUM.format("charged_p", f"NOT ({LOST})")}, {SUM.format("charged_p", LOST)}
    FROM attempts WHERE {LEFT}"""
LOSE = f"""UPDATE attempts SET state = 'abandoned', ended = '{End.LOST}', outcome = :lost, ended_at = :now
    WHERE {LEFT} AND {LOST}"""
# What costs nothing is not noted when it is sent: its reply may be late.
FREE = f"""UPDATE attempts SET state = 'released', ended = '{End.UNSENT}', charged_p = 0, outcome = :unsent,
    ended_at = :now WHERE {LEFT} AND (rehearsed = 1 OR charged_p = 0)"""
FORGET = f"DELETE FROM attempts WHERE {LEFT}"
UNKNOWN = f"""SELECT * FROM attempts WHERE state = 'abandoned' AND charged_p > 0 AND rehearsed = 0
    AND strpos(run, '{ORIGIN}') = 0 ORDER BY id"""
SETTLE_UNKNOWN = f"""UPDATE attempts SET state = :state, ended = '{End.RECONCILED}', charged_p = :cost_p,
    outcome = :outcome, request_id = :request, ended_at = :now WHERE id = :id AND state = 'abandoned'"""
KEEP_TEXT = "INSERT INTO judged (digest, text) VALUES (:digest, :text) ON CONFLICT (digest) DO NOTHING"
KEEP_RESULT = """INSERT INTO results (run, created_at, headline, text, document, digests, headline_crc, crc)
    VALUES (:run, :now, :headline, :text, :document, :digests, :headline_crc, :crc) ON CONFLICT (run) DO UPDATE SET
    created_at = CASE WHEN results.headline = excluded.headline THEN results.created_at ELSE excluded.created_at END,
    headline = excluded.headline, text = excluded.text, document = excluded.document, digests = excluded.digests,
    headline_crc = excluded.headline_crc, crc = excluded.crc"""
SET_BUDGET = f"""INSERT INTO budgets (name, limit_p, per, day_starts, since)
    VALUES (:name, :limit_p, :per, :day_starts, '{ANEW}') ON CONFLICT (name) DO UPDATE SET limit_p = excluded.limit_p,
    per = excluded.per, day_starts = excluded.day_starts, since = CASE WHEN budgets.per = excluded.per
    AND budgets.day_starts = excluded.day_starts THEN budgets.since ELSE '{ANEW}' END"""


@final
class Ledger:
    """The durable record of attempts, money and verdicts, for those who book.

    Every method returns only after its writes are durable; those that are not awaited wait for it. Several
    processes may share a ledger, if its store can be shared.
    """

    def __init__(self, writer: Writer[Any], charge_to: Sequence[str] = ()) -> None:
        """Book by `writer`, which this object closes.

        What is booked is charged to the budget of every run, and to those named in `charge_to`.
        """
        self._writer, self._opener = writer, uuid.uuid4().hex
        self.opened_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._names = frozenset(charge_to)
        self._charge_to = "".join(f"\n{name}\n" for name in sorted(self._names))
        self._named = [BUDGETS] if self._names else []
        self._calls = count()
        self._begun: set[str] = set()  # runs that are known to have a row
        # Runs of others without a lock, with what is open of them, and since when that is seen.
        self._free_since: dict[str, tuple[object, float]] = {}

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """The verdicts recorded under `keys`; a key without a verdict is left out."""
        if not keys:
            return {}
        statements = [(VERDICTS, {"keys": list(keys)})]
        return await self._do(Batch(statements, lambda found: verdicts_of(found[0])))

    async def outputs(self, keys: Sequence[str], since: str = "") -> dict[str, Output]:
        """The latest output under each of `keys` that has one recorded at or after `since`."""
        statements = [(OUTPUTS, {"keys": list(keys), "since": since})]
        return await self._do(Batch(statements, lambda found: outputs_of(found[0])))

    async def reserve(
        self, run: str, groups: Groups, budget_p: int | None, *, instead: Ticket | None = None, spare_p: int = 0
    ) -> list[list[Ticket]]:
        """Reserve for `run` the longest prefix of whole `groups` that all its budgets still cover.

        They have to cover `spare_p`, too, which is not reserved.
        They are `budget_p`, its own, and those of the ledger that it is charged to. If any group is
        granted, the reservation `instead`, which was never sent, is given back at the same moment, so
        that no other run gets its money in between.
        """
        rows: list[dict[str, object]] = []
        upto_p = spare_p
        for group in groups:
            upto_p += sum(one.cost_p for one in group)
            rows += [
                {
                    "key": one.key,
                    "item_id": one.item_id,
                    "judge": one.judge,
                    "note": json.dumps(dict(one.note)),
                    "cost_p": one.cost_p,
                    "rehearsed": int(one.rehearsed),
                    "upto_p": upto_p,
                    "place": place,
                }
                for place, one in enumerate(group, len(rows))
            ]
        values = {
            "run": run,
            "opener": self._opener,
            "call": f"asked as {next(self._calls)}",
            "charge_to": self._charge_to,
            "named": len(self._names),
            "budget_p": budget_p,
            "instead": instead.attempt if instead else 0,
            "first": groups[0][0].key if groups and groups[0] else "",
        }

        def granted(found: Sequence[Found]) -> list[list[Ticket]]:
            if self._names:
                self._check_budgets(found[-1])
            reserved, last = found[begin : begin + 2]
            end = (last.rows[0][0] or 0) + 1
            numbers = iter(range(end - reserved.count, end))
            tickets = []
            for group in groups:
                own = [
                    Ticket(number, one.key, one.cost_p, one.rehearsed, one.output, one.since)
                    for one, number in zip(group, numbers, strict=False)
                ]
                if len(own) < len(group):
                    break
                tickets.append(own)
            if tickets and instead is not None and not found[begin + 2].count:
                raise not_open(instead)
            return tickets

        first = [ROLL] if run in self._begun else [BEGIN_RUN, ROLL]
        begin = len(first)
        after = [LAST, *([GIVE_BACK] if instead and groups else []), *self._named]
        statements = [(one, values) for one in first]
        statements += [(RESERVE, values | {"rows": rows}), *((one, values) for one in after)]
        tickets = await self._do(Batch(statements, granted))
        self._begun.add(run)  # only now is it on disk
        return tickets

    def _check_budgets(self, found: Found) -> None:
        if missing := self._names - {row["name"] for row in found.rows}:
            raise LedgerError(f"{self._writer.place} has no budget named {min(missing)!r} (any more)")

    async def held_back(self, run: str, cost_p: int, budget_p: int | None) -> dict[str, int] | None:
        """What processes that live hold back for other runs, by run.

        None if it is of no use to wait for it: `budget_p` does not cover `cost_p` more of `run`, or
        a budget that it is charged to does not, even once all of it is given back. A run that holds
        money itself waits only for runs that began later, so that no two wait for each other. What
        dead processes hold of money that was never sent is given back.
        """

        def look(db: Connection) -> dict[str, int] | None:
            own = run_row(db, run)
            held = {row["run"]: row["seq"] for row in db.execute(HELD).rows}
            if run in held:
                held = {other: seq for other, seq in held.items() if seq > own["seq"]}
            living = {other for other in held if other != run and not self._recovered(db, other)}
            if budget_p is not None and run_row(db, run)["charged_p"] + cost_p > budget_p:
                return None
            found: dict[str, int] = {}
            for one in self._balances(db):
                of_it = {other: held_p for other, held_p in one.held.items() if other in living}
                if one.charged_p + cost_p - one.limit_p > sum(of_it.values()):
                    return None
                found |= {other: max(held_p, found.get(other, 0)) for other, held_p in of_it.items()}
            return found

        return await self._do(look)

    async def balances(self) -> list[Balance]:
        """The budgets that runs booked through this object draw on."""
        return await self._do(self._balances)

    def _balances(self, db: Connection) -> list[Balance]:
        self._check_budgets(db.execute(BUDGETS, {"charge_to": self._charge_to}))
        return balances(db, self._charge_to)

    def _recovered(self, db: Connection, run: str, *, at_once: bool = False) -> bool:
        """Close what dead processes left open of a run; return False if a process works on it.

        A process whose connection to a server broke lives without its lock until it has connected again: it is
        waited for, unless `at_once`.
        """
        if not db.lock(run, 0):
            self._free_since.pop(run, None)
            return False
        try:
            now, open_ = time.monotonic(), db.execute(OPEN, {"run": run}).rows
            if (seen := self._free_since.get(run)) is None or seen[0] != open_:
                seen = self._free_since[run] = open_, now  # it has booked since, so it lived
            if not at_once and now - seen[1] < db.grace_s:
                return False
            recover(db, run, self._opener)
        finally:
            db.unlock(run)
        return True

    async def sending(self, ticket: Ticket) -> Clearance:
        """Record that the call is about to be sent, unless it need not or must not be sent now.

        A call that costs nothing is not recorded as sent: nobody has to know whether it was. Raises
        `LedgerError` if the reservation is no longer open, or a lock of this object was removed.
        """
        if ticket.cost_p == 0 or ticket.rehearsed:
            return Clearance()
        values = {"id": ticket.attempt, "key": ticket.key, "since": ticket.since, "keys": [ticket.key]}
        unneeded = UNNEEDED.format(known=KNOWN[ticket.output])
        known = OUTPUTS if ticket.output else VERDICTS
        answers = outputs_of if ticket.output else verdicts_of

        def cleared(found: Sequence[Found]) -> Clearance | list[str]:
            dropped, sent, busy, held = found
            if dropped.count:
                return Clearance(answers(held).get(ticket.key))
            if not sent.count and not busy.rows:
                raise not_open(ticket)
            return Clearance() if sent.count else [row[0] for row in busy.rows]

        batch = Batch([(one, values) for one in (unneeded, SEND, BUSY, known)], cleared, guarded=True)
        while isinstance(found := await self._do(batch), list):
            for other in found:
                # A process that died holds no lock; its call is not waited for.
                if not await self._do(partial(self._recovered, run=other)):
                    return Clearance(busy=other)
        return found

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
        """Book the actual cost, record the verdict or output, and return what is recorded.

        The first verdict or output under a key is never replaced. A second one is a new sample, and
        choosing between two samples would bias the result.
        """
        return (await self.settle_all([(ticket, reply)]))[0]

    async def settle_all(self, replies: Sequence[tuple[Ticket, Reply]]) -> list[Verdict | Output | None]:
        """As `settle` for each reply, in one transaction."""

        def settled(found: Sequence[Found]) -> list[Verdict | Output | None]:
            answers: list[Verdict | Output | None] = []
            left = iter(found)
            for ticket, reply in replies:
                if not next(left).count:
                    raise not_open(ticket)
                if isinstance(reply.answer, Abstention):
                    answers.append(None)
                    continue
                fresh, known = bool(next(left).count), next(left)
                if isinstance(reply.answer, Output):
                    answers.append(replace(outputs_of(known)[ticket.key], fresh=fresh))
                else:
                    answers.append(verdicts_of(known)[ticket.key])
            return answers

        statements = [statement for each in replies for statement in settling(*each)]
        return await self._do(Batch(statements, settled))

    async def finish(self, run: str) -> None:
        """Record that `run` has ended by itself."""
        finished = "UPDATE runs SET finished = 1 WHERE id = :run AND finished = 0"
        await self._do(lambda db: db.execute_all([(BEGIN_RUN, {"run": run}), (finished, {"run": run})]))

    async def release(self, ticket: Ticket, end: End, why: str) -> None:
        """Book no cost: the provider certainly charges nothing for this attempt."""
        await self._close(ticket, end, "released", 0, why)

    async def abandon(self, ticket: Ticket, end: End, why: str) -> None:
        """Leave the attempt charged at its worst case: it is unknown whether it was billed."""
        await self._close(ticket, end, "abandoned", ticket.cost_p, why)

    async def _close(self, ticket: Ticket, end: End, state: str, cost_p: int, why: str) -> None:
        values = {"id": ticket.attempt, "end": end.value, "state": state, "cost_p": cost_p, "outcome": why}
        # One that was never sent is not kept.
        closing = DROP if end in {End.UNSENT, End.UNNEEDED} else CLOSE

        def closed(found: Sequence[Found]) -> None:
            if not found[0].count:
                raise not_open(ticket)

        await self._do(Batch([(closing, values)], closed))

    async def spend(self, run: str, budget_p: int | None, answers: Collection[str] = ()) -> Spend:
        """What `run` has cost so far, how much of it through this object, and the cost of `answers`, by key.

        Raises:
            DamagedLedgerError: the run was not charged what its attempts were.
        """
        values = {"run": run, "opener": self._opener, "keys": list(answers), "charge_to": self._charge_to}

        def read(found: Sequence[Found]) -> Spend:
            _, spent, answered, drawn, own = found
            self._check_budgets(drawn)
            if own.rows and own.rows[0][0] != spent.rows[0]["run_p"] + spent.rows[0]["rehearsed_p"]:
                raise DamagedLedgerError(
                    f"{self._writer.place}: the run {run} is not charged the sum of its attempts; restore the ledger from "
                    "a copy, or name another (`ledger`): `judgeloop ledger verify` says what is wrong"
                )
            left_p = min((max(0, row["limit_p"] - row["charged_p"]) for row in drawn.rows), default=None)
            return Spend(**dict(spent.rows[0]), **dict(answered.rows[0]), budget_p=budget_p, ledger_left_p=left_p)

        return await self._do(Batch([(one, values) for one in (ROLL, SPENT, ANSWERS, BUDGETS, RUN_P)], read))

    async def recover(self, run: str) -> tuple[int, int]:
        """Close what dead processes left open of `run`, which must be locked (`only_run`).

        Returns what was freed, because it was never sent, and what stays charged, because it was
        sent. Both are in picodollars.
        """
        return await self._do(lambda db: recover(db, run, self._opener))

    @contextmanager
    def only_run(self, run: str) -> Iterator[None]:
        """Lock `run` against other processes, so that no verdict is paid for twice.

        Raises:
            LedgerError: another process holds the lock, or it cannot be made.
        """
        if not self._writer.do(lambda db: db.lock(run, PATIENCE_S)):
            # It may have no row, as a night has none; who is refused writes none.
            found = self._writer.do(lambda db: db.execute("SELECT * FROM runs WHERE id = :run", {"run": run})).rows
            note = note_of(found[0]) if found else RunNote()
            who = f": {note.process}, since {note.since[:16]} UTC" if note.process else ""
            raise LedgerError(
                f"another judgeloop process is working on this run ({run}){who}; wait "
                "until it ends, then repeat this command: it reuses the verdicts that are already paid for"
            )
        try:
            yield
        finally:
            with suppress(LedgerError):  # a connection that is closed has given its locks back
                self._writer.do(lambda db: db.unlock(run))

    def begin(self, run: str) -> str:
        """Record that `run` begins now, unless it has; return when it began (ISO 8601, UTC)."""
        return self._writer.do(lambda db: str(run_row(db, run)["created_at"]))

    async def note(self, run: str, note: RunNote) -> None:
        """Note what `run` is, in the place of an earlier note, and that this process works on it now."""
        process = f"process {os.getpid()} on {platform.node()}"

        def book(db: Connection) -> None:
            since = db.execute("SELECT :now").rows[0][0]
            write_note(db, run, replace(note, process=process, since=since))

        await self._do(book)

    def keep(self, run: str, result: KeptResult) -> None:
        """Keep the result of `run` in the place of an earlier one, each of its texts once, and note its exit code.

        One that says the same as the earlier one is no further result.
        """

        def book(db: Connection) -> None:
            db.execute_all([(KEEP_TEXT, {"digest": digest, "text": text}) for digest, text in result.texts.items()])
            old = db.execute("SELECT headline FROM results WHERE run = :run", {"run": run}).rows
            same = bool(old) and old[0][0] == result.headline
            note = replace(note_of(run_row(db, run)), exit_code=result.exit_code)
            if result.decided or result.tied:  # what was once seen was asked, also where the judge has failed since
                note = replace(note, decided=result.decided, tied=result.tied)
            write_note(db, run, note, kept=int(not same), changed=int(result.judge_changed))
            digests = json.dumps(list(result.texts))
            values = {"headline": result.headline, "text": result.text, "document": result.document}
            crcs = {"headline_crc": checksum(result.headline), "crc": checksum(result.text, result.document, digests)}
            db.execute(KEEP_RESULT, {"run": run, "digests": digests, **values, **crcs})

        self._writer.do(book)

    def set_budget(self, name: str, limit_p: int, per: str, day_starts: str) -> None:
        """Set a budget, or change one, as `Balance` describes it.

        What was spent in its present period stays counted.
        """
        values = {"name": name, "limit_p": limit_p, "per": per, "day_starts": day_starts}
        self._writer.do(lambda db: db.execute_all([(SET_BUDGET, values), (ROLL, {})]))

    def remove_budget(self, name: str) -> None:
        """Remove a budget.

        Raises:
            InputError: there is none of this name.
        """

        def book(db: Connection) -> None:
            if not db.execute("DELETE FROM budgets WHERE name = :name", {"name": name}).count:
                shown = f"named {name!r}" if name else "of every run"
                raise InputError(f"`name={name}`: {db.place} has no budget {shown}")

        self._writer.do(book)

    def unknown(self) -> list[RecordedAttempt]:
        """The attempts that may have been billed without a reply, the oldest first.

        Those of processes that ended are closed first; those of running processes are left alone.
        """
        open_ = self._writer.do(lambda db: db.execute("SELECT DISTINCT run FROM attempts WHERE ended IS NULL").rows)
        for (run,) in open_:
            self._writer.do(partial(self._recovered, run=run, at_once=True))
        return list(map(recorded, self._writer.do(lambda db: db.execute(UNKNOWN).rows)))

    def settle_unknown(self, settlements: Sequence[Settlement]) -> None:
        """Book what attempts of unknown cost did cost, all or none.

        Raises:
            LedgerError: an attempt has been settled meanwhile, or the ledger cannot be written.
        """

        def book(db: Connection) -> None:
            for one in settlements:
                state = "released" if one.request is None else "settled"
                values = {"id": one.attempt, "state": state, "cost_p": one.cost_p, "outcome": one.outcome}
                if not db.execute(SETTLE_UNKNOWN, {"request": one.request, **values}).count:
                    raise LedgerError(f"attempt {one.attempt} has been settled meanwhile")

        self._writer.do(book)

    def close(self) -> None:
        """Finish pending writes and close the store."""
        self._writer.close()

    async def aclose(self) -> None:
        """As `close`, awaited."""
        await asyncio.to_thread(self._writer.close)

    async def read(self, find: Callable[[Connection], T]) -> T:
        """What `find` reads through this ledger's own connection (`opening.look`)."""
        return await self._do(find)

    async def _do(self, action: Batch[T] | Callable[[Connection], T]) -> T:
        # Queued before the first await, so that cancelling the caller does not cancel its booking.
        future = self._writer.queued(action)
        return cast(T, await future)


def not_open(ticket: Ticket) -> LedgerError:
    """The error for an attempt that was closed before."""
    return LedgerError(f"attempt {ticket.attempt} is not open; it was closed before")


def settling(ticket: Ticket, reply: Reply) -> list[Statement]:
    """The statements that book a reply: its cost, its answer if it has one, and what is known then."""
    answer = reply.answer
    end, outcome = End.VERDICT, str(End.VERDICT)
    if isinstance(answer, Output):
        end, outcome = End.OUTPUT, f"no output: {answer.failed}" if answer.failed else str(End.OUTPUT)
    elif isinstance(answer, Abstention):
        end, outcome = End.TRUNCATED if answer.truncated else End.ABSTAINED, f"abstained: {answer.reason}"
    answered = {"person": reply.person, "seconds": reply.seconds} if reply.person or reply.seconds is not None else None
    values = {
        "id": ticket.attempt,
        "cost_p": ticket.cost_p if reply.cost_p is None else reply.cost_p,
        "end": end.value,
        "outcome": outcome,
        "late": LATE,
        "model": reply.model,
        "request_id": reply.request_id,
        "answered": None if answered is None else json.dumps(answered),
        **(asdict(reply.usage) if reply.usage else dict.fromkeys(TOKENS)),
    }
    under = {"keys": [ticket.key], "since": ticket.since}
    if isinstance(answer, Verdict):
        told = None if answer.probabilities is None else json.dumps(dict(answer.probabilities))
        score, reason = float(answer.score), answer.reason
        known = {"score": score, "reason": reason, "probabilities": told, "id": ticket.attempt}
        crc = checksum(ticket.key, score, reason, told)
        return [(SETTLE, values), (REMEMBER, known | {"crc": crc}), (VERDICTS, under)]
    if isinstance(answer, Output):
        names = ("text", "failed", "tokens", "seconds", "model")
        known = {name: getattr(answer, name) for name in names} | {"id": ticket.attempt, "ended": str(answer.ended)}
        known["crc"] = checksum(ticket.key, answer.text, answer.failed, known["ended"])
        return [(SETTLE, values), (KEEP_OUTPUT, known | under), (OUTPUTS, under)]
    return [(SETTLE, values)]


def run_row(db: Connection, run: str) -> Mapping[str, Any]:
    """The row of a run, which is made if it is missing."""
    _, found = db.execute_all([(BEGIN_RUN, {"run": run}), ("SELECT * FROM runs WHERE id = :run", {"run": run})])
    return cast(Mapping[str, Any], found.rows[0])


def note_of(row: Mapping[str, Any]) -> RunNote:
    """What is noted of a run."""
    values = json.loads(row["note"])
    lists = {name: tuple(values.get(name, ())) for name in ("systems", "judges", "asked", "outputs", "files")}
    pairs = {name: tuple(map(tuple, values.get(name, ()))) for name in ("limits", "margins")}
    return RunNote(**values | lists | pairs)


def write_note(db: Connection, run: str, note: RunNote, kept: int = 0, changed: int = 0) -> None:
    """Note what a run is, who works on it, and how many results are `kept`, and ends by another judge, with that."""
    before = note_of(run_row(db, run))
    note = replace(note, results=before.results + kept, changed=before.changed + changed)
    db.execute("UPDATE runs SET note = :note WHERE id = :run", {"run": run, "note": json.dumps(asdict(note))})


def recover(db: Connection, run: str, opener: str) -> tuple[int, int]:
    """Close what processes that ended left open; return how much was freed and how much was kept.

    Nobody else may work on `run` meanwhile. What was never sent is free, and so is what people had in hand. What else
    was sent stays charged at its worst case. Both amounts are in picodollars.
    """
    values = {"run": run, "opener": opener, "lost": MAY_BE_BILLED, "unsent": NEVER_SENT}
    sums, *_ = db.execute_all([(one, values) for one in (LEFT_P, LOSE, FREE, FORGET)])
    freed_p, kept_p = sums.rows[0]
    return int(freed_p), int(kept_p)


def balances(db: Connection, charge_to: str | None = None) -> list[Balance]:
    """Every budget, or those that a run draws on, with what its present period was charged."""
    which = "1 = 1" if charge_to is None else DRAWS_ON
    held = db.execute(HELD).rows
    found = []
    for row in db.execute(BALANCES.format(which=which), {"charge_to": charge_to or ""}).rows:
        name, since = row["name"], row["since"]
        by_run: dict[str, int] = {}
        for run, drawn_on, began_at, _, held_p in held:
            if began_at >= since and drawn_on is not None and (not name or f"\n{name}\n" in drawn_on):
                by_run[run] = by_run.get(run, 0) + held_p
        until = ends(row["per"], row["day_starts"], since)
        found.append(
            Balance(name, row["limit_p"], row["per"], row["day_starts"], since, until, row["charged_p"], by_run)
        )
    return found


def recorded(row: Mapping[str, Any]) -> RecordedAttempt:
    """The row of an attempt as others see it."""
    return RecordedAttempt(
        number=row["id"],
        run=row["run"],
        key=row["key"],
        judge=row["judge"],
        item_id=row["item_id"],
        state=row["state"],
        outcome=row["outcome"] or "",
        charged_p=row["charged_p"],
        began_at=row["began_at"],
        ended_at=row["ended_at"],
        ingredients=KeyIngredients.from_note(json.loads(row["note"]).get("ingredients", {})),
    )
