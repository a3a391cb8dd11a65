"""The ledger in a store, a file or a server's database: attempts, money and verdicts.

Each HTTP request is an attempt:

    reserve ──▶ reserved ──sending──▶ sent ──settle──▶ settled     charged its actual cost; its
                    │                   │                          verdict is recorded
                    │                   ├───abandon──▶ abandoned   charged its worst case: billing
                    │                   │                          is unknown
                    │                   └───release──▶ released    charged nothing: it was certainly
                    │                                              not billed
                    └─release: deleted, as it was never sent

A reservation is durable before the request is sent, and so is the note that it is sent. When a
process dies, the next that works on the run releases what was never sent, and abandons what was
sent (`recover`). The ledger does not know prices and does not parse replies.
"""

import asyncio
import os
import platform
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar, final

from judgeloop.core.errors import LedgerError
from judgeloop.core.ledger import (
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
from judgeloop.core.records import Output, Reply, Verdict
from judgeloop.core.spend import Spend
from judgeloop.ledger import booking, budgets, charges, results
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.outputs import outputs_under
from judgeloop.ledger.reader import LedgerReader, recorded
from judgeloop.ledger.rows import AttemptRow, BudgetRow, DrawRow, OutputRow, RunRow, SumRow, TextRow, VerdictRow
from judgeloop.ledger.writer import Wanted, Wants, Writer

T = TypeVar("T")
# Another process that looks whether a run is worked on holds its lock for an instant.
PATIENCE_S = 0.3


@final
class Ledger:
    """The durable record of attempts, money and verdicts, for those who book.

    Every method returns only after its writes are durable; those that are not awaited wait for it.
    Several processes may share a ledger, if its store can be shared. Each job names the rows that it
    will look for: a distant store reads and writes once for all jobs of a group.
    """

    def __init__(self, writer: Writer[Any], charge_to: Sequence[str] = ()) -> None:
        """Book by `writer`, which this object closes.

        What is booked is charged to the budget of every run, and to those named in `charge_to`.
        """
        self._charge_to = tuple(charge_to)
        self._opener = uuid.uuid4().hex
        self._runs: set[str] = set()  # that this object has reserved for
        self._asked: set[tuple[str, str]] = set()  # the runs and judges that were reserved for
        self._open: dict[int, tuple[str, Reservation]] = {}  # the run and reservation of each attempt
        self._writer = writer

    async def verdicts(self, keys: Sequence[str]) -> dict[str, Verdict]:
        """Return the verdicts recorded under `keys`; a key without a verdict is left out."""
        return await self._do(
            lambda connection: booking.verdicts_under(connection, keys), lambda: [(VerdictRow, "key", keys)]
        )

    async def outputs(self, keys: Sequence[str], since: str = "") -> dict[str, Output]:
        """Return the latest output under each of `keys` that has one recorded at or after `since`."""
        return await self._do(
            lambda connection: outputs_under(connection, keys, since), lambda: [(OutputRow, "key", keys)]
        )

    async def reserve(
        self, run: str, groups: Sequence[Sequence[Reservation]], budget_p: int | None, *, instead: Ticket | None = None
    ) -> list[list[Ticket]]:
        """Reserve for `run` the longest prefix of whole `groups` that all its budgets still cover.

        They are `budget_p`, its own, and those of the ledger that it is charged to. If any group is
        granted, the reservation `instead`, which was never sent, is given back at the same moment, so
        that no other run gets its money in between.
        """
        self._runs.add(run)
        granted = await self._do(
            lambda connection: booking.reserve(
                connection, run, self._opener, groups, budget_p, charge_to=self._charge_to, instead=instead
            ),
            lambda: self._of_money(*filter(None, [instead])),
        )
        for tickets, group in zip(granted, groups, strict=False):
            for ticket, wanted in zip(tickets, group, strict=True):
                self._open[ticket.attempt] = run, wanted
                self._asked.add((run, wanted.judge))
        return granted

    def _of_money(self, *tickets: Ticket) -> list[Wanted]:
        """Return where the attempts of tickets are, and what they are charged to."""
        return [
            (AttemptRow, "id", [ticket.attempt for ticket in tickets]),
            (RunRow, "id", list(self._runs)),
            (BudgetRow, "name", ["", *self._charge_to]),
            (DrawRow, "opener", [self._opener]),
            (SumRow, "name", [name for one in list(self._asked) for name in charges.sum_names(*one)]),
        ]

    async def held_back(self, run: str, cost_p: int, budget_p: int | None) -> dict[str, int] | None:
        """Return what processes that live hold back for other runs, by run.

        None if it is of no use to wait for it: `budget_p` does not cover `cost_p` more of `run`, or
        a budget that it is charged to does not, even once all of it is given back. A run that holds
        money itself waits only for runs that began later, so that no two wait for each other. What
        dead processes hold of money that was never sent is given back.
        """
        return await self._do(lambda connection: self._held_back(connection, run, cost_p, budget_p))

    def _held_back(
        self, connection: LedgerConnection, run: str, cost_p: int, budget_p: int | None
    ) -> dict[str, int] | None:
        living = [
            other for other in charges.others_that_hold(connection, run) if not self._recovered(connection, other)
        ]
        return charges.worth_waiting_for(connection, run, cost_p, budget_p, charge_to=self._charge_to, living=living)

    async def balances(self) -> list[Balance]:
        """Return the budgets that runs booked through this object draw on."""
        return await self._do(lambda connection: budgets.balances(connection, self._charge_to))

    def _recovered(self, connection: LedgerConnection, run: str) -> bool:
        """Close what dead processes left open of a run; return False if a process works on it."""
        if not connection.lock(run, 0):
            return False
        try:
            booking.recover(connection, run, self._opener)
        finally:
            connection.unlock(run)
        return True

    async def sending(self, ticket: Ticket) -> Clearance:
        """Record that the call is about to be sent, unless it need not or must not be sent now.

        A call that costs nothing is not recorded as sent: nobody has to know whether it was. Raises
        `LedgerError` if the reservation is no longer open, or a lock of this object was removed.
        """
        if ticket.cost_p == 0 or ticket.rehearsed:
            return Clearance()
        return await self._do(
            lambda connection: self._cleared(connection, ticket),
            lambda: [(AttemptRow, "id", [ticket.attempt]), (AttemptRow, "key", [ticket.key]), _under(ticket)],
        )

    def _cleared(self, connection: LedgerConnection, ticket: Ticket) -> Clearance:
        connection.check_locks()
        held = booking.known_under(connection, ticket)
        if held is not None:
            booking.close_ticket(connection, ticket, "released", End.UNNEEDED, cost_p=0, why=booking.HAD_MEANWHILE)
            return Clearance(held)
        others = list(booking.sent_by_others(connection, ticket))
        # A process that died holds no lock; its call is not waited for.
        for other in others:
            if not self._recovered(connection, other.run):
                return Clearance(busy=other.run)
        booking.mark_sent(connection, ticket)
        return Clearance()

    async def settle(self, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
        """Book the actual cost, record the verdict or output, and return what is recorded.

        The first verdict or output under a key is never replaced. A second one is a new sample, and
        choosing between two samples would bias the result.
        """
        return (await self.settle_all([(ticket, reply)]))[0]

    async def settle_all(self, replies: Sequence[tuple[Ticket, Reply]]) -> list[Verdict | Output | None]:
        """As `settle` for each reply, in one transaction."""
        tickets = [ticket for ticket, _ in replies]
        asked = [self._open.pop(one.attempt) for one in tickets if one.attempt in self._open]
        return await self._do(
            lambda connection: [booking.settle(connection, *each) for each in replies],
            lambda: [*self._of_money(*tickets), *map(_under, tickets), _named(asked)],
        )

    async def finish(self, run: str) -> None:
        """Record that `run` has ended by itself."""
        await self._do(lambda connection: booking.finish(connection, run))

    async def release(self, ticket: Ticket, end: End, why: str) -> None:
        """Book no cost: the provider certainly charges nothing for this attempt."""
        await self._close(ticket, "released", end, cost_p=0, why=why)

    async def abandon(self, ticket: Ticket, end: End, why: str) -> None:
        """Leave the attempt charged at its worst case: it is unknown whether it was billed."""
        await self._close(ticket, "abandoned", end, cost_p=ticket.cost_p, why=why)

    async def _close(self, ticket: Ticket, state: str, end: End, *, cost_p: int, why: str) -> None:
        self._open.pop(ticket.attempt, None)
        await self._do(
            lambda connection: booking.close_ticket(connection, ticket, state, end, cost_p=cost_p, why=why),
            lambda: self._of_money(ticket),
        )

    async def spend(self, run: str, budget_p: int | None, answers: Collection[str] = ()) -> Spend:
        """Return what `run` has cost so far, how much of it through this object, and the cost of `answers`, by key."""
        return await self._do(
            lambda connection: charges.spend_of(connection, run, self._opener, budget_p, self._charge_to, answers)
        )

    async def recover(self, run: str) -> tuple[int, int]:
        """Close what dead processes left open of `run`, which must be locked (`only_run`).

        Returns what was freed, because it was never sent, and what stays charged, because it was
        sent. Both are in picodollars.
        """
        return await self._do(lambda connection: booking.recover(connection, run, self._opener))

    @contextmanager
    def only_run(self, run: str) -> Iterator[None]:
        """Lock `run` against other processes, so that no verdict is paid for twice.

        Raises:
            LedgerError: another process holds the lock, or it cannot be made.
        """
        taken = self._writer.do(lambda connection: connection.lock(run, PATIENCE_S))
        if not taken:
            raise LedgerError(
                f"another judgeloop process is working on this run ({run}){self._worker(run)}; wait "
                "until it ends, then repeat this command: it reuses the verdicts that are already paid for"
            )
        try:
            yield
        finally:
            with suppress(LedgerError):  # a connection that is closed has given its locks back
                self._writer.do(lambda connection: connection.unlock(run))

    def _worker(self, run: str) -> str:
        """Return which process worked on a run last, as the end of a sentence."""
        note = self._writer.do(lambda connection: results.noted(connection, run))
        return f": {note.process}, since {note.since[:16]} UTC" if note.process else ""

    def begin(self, run: str) -> str:
        """Record that `run` begins now, unless it has; return when it began (ISO 8601, UTC).

        Later verdicts are not its history.
        """
        made = self._writer.submit(lambda connection: charges.run_row(connection, run))
        return made.result().created_at

    async def note(self, run: str, note: RunNote) -> None:
        """Note what `run` is, in the place of an earlier note, and that this process works on it now."""
        process = f"process {os.getpid()} on {platform.node()}"
        await self._do(
            lambda connection: results.note(connection, run, replace(note, process=process, since=connection.now()))
        )

    def keep(self, run: str, result: KeptResult) -> None:
        """Keep the result of `run` in the place of an earlier one; each of its texts once."""
        self._writer.do(lambda connection: results.keep(connection, run, result))

    def set_budget(self, name: str, limit_p: int, per: str, day_starts: str) -> None:
        """Set a budget, or change one, as `Balance` describes it.

        What was spent in its present period stays counted.
        """
        self._writer.do(lambda connection: budgets.set_budget(connection, name, limit_p, per, day_starts))

    def remove_budget(self, name: str) -> None:
        """Remove a budget.

        Raises:
            InputError: there is none of this name.
        """
        self._writer.do(lambda connection: budgets.remove_budget(connection, name))

    def unknown(self) -> list[RecordedAttempt]:
        """Return the attempts that may have been billed without a reply, the oldest first.

        Those of processes that ended are closed first; those of running processes are left alone.
        """
        for run in self._writer.do(booking.open_runs):
            with suppress(LedgerError), self.only_run(run):
                self._writer.do(
                    lambda connection, run=run: booking.recover(connection, run, self._opener)  # type: ignore[misc]
                )
        return list(map(recorded, self._writer.do(booking.unknown)))

    def reconcile(self, settlements: Sequence[Settlement]) -> None:
        """Book what attempts of unknown cost did cost, all or none.

        Raises:
            LedgerError: an attempt has been settled meanwhile, or the ledger cannot be written.
        """

        def book(connection: LedgerConnection) -> None:
            for settlement in settlements:
                booking.reconcile(connection, settlement)

        self._writer.do(book)

    def close(self) -> None:
        """Finish pending writes and close the store."""
        self._writer.close()

    async def aclose(self) -> None:
        """As `close`, awaited."""
        await asyncio.to_thread(self._writer.close)

    async def look(self, find: Callable[[LedgerReader], T]) -> T:
        """What `find` reads, through this ledger's own connection: a command opens its ledger once."""
        return await self._do(lambda connection: find(LedgerReader(connection)))

    async def _do(self, action: Callable[[LedgerConnection], T], wants: Wants = tuple) -> T:
        # Queued before the first await, so that cancelling the caller does not cancel its booking.
        future = self._writer.asked(action, wants)
        return await future


def _named(asked: Iterable[tuple[str, Reservation]]) -> Wanted:
    """Return where the texts are that the verdicts on some reservations will name."""
    each = (booking.texts_of(run, wanted.item_id, booking.noted(wanted)) for run, wanted in asked)
    return TextRow, "text", sorted({text for texts in each for text in texts})


def _under(ticket: Ticket) -> Wanted:
    """Return where a verdict or an output of the key of a ticket is."""
    return (OutputRow if ticket.output else VerdictRow), "key", [ticket.key]
