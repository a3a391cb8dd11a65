"""What is booked in an open ledger: reservations, sendings, costs, verdicts, and what died.

Every function is one job within a transaction of the caller (`writer.py`). A row is checked before
it is changed, so that a damaged row is never sealed again. What runs and budgets are charged is in
`charges.py`.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache

import numpy as np

from judgeloop.core.errors import LedgerError
from judgeloop.core.ledger import End, Reservation, Settlement, Ticket
from judgeloop.core.records import Abstention, Answer, Output, Reply, Verdict
from judgeloop.core.verdict_key import KeyIngredients, as_text
from judgeloop.ledger import budgets, charges
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.outputs import outputs_under, record_output
from judgeloop.ledger.rows import (
    NO_INGREDIENTS,
    NUMBER,
    OWN_RUN,
    AttemptRow,
    TextRow,
    VerdictRow,
    by,
    change,
    delete,
    insert,
    next_number,
    one,
    read,
)

NEVER_SENT = "its process ended before it was sent"
MAY_BE_BILLED = "sent by a process that ended before the reply; it may have been billed"
LATE = "; the reply came after another process had closed the attempt"
HAD_MEANWHILE = "another run had the verdict meanwhile"

_as_text = lru_cache(2**10)(as_text)  # many verdicts name the same run, judge and systems


def reserve(
    connection: LedgerConnection,
    run: str,
    opener: str,
    groups: Sequence[Sequence[Reservation]],
    budget_p: int | None,
    *,
    charge_to: Sequence[str] = (),
    instead: Ticket | None = None,
) -> list[list[Ticket]]:
    """Reserve for `run` the longest prefix of whole `groups` that all its budgets still cover.

    They are `budget_p`, its own, and those of the ledger that it is charged to. If any group is
    granted, the reservation `instead` is given back.
    """
    charges.run_row(connection, run)
    returned = one(connection, AttemptRow, "id", instead.attempt) if instead else None
    room_p = charges.room_p(connection, run, budget_p, charge_to, returned)
    granted: list[list[Ticket]] = []
    total_p = 0
    for group in groups:
        cost_p = sum(wanted.cost_p for wanted in group)
        # A group without calls costs nothing and is granted even if the budget is spent.
        if group and room_p is not None and total_p + cost_p > room_p:
            break
        total_p += cost_p
        granted.append([_ticket(connection, run, opener, wanted) for wanted in group])
    if granted and instead is not None:
        _forget(connection, _open_attempt(connection, instead))
    numbers = [ticket.attempt for tickets in granted for ticket in tickets]
    if numbers:
        charges.charge_run(connection, run, total_p)
        budgets.draw(connection, charge_to, opener, min(numbers), total_p)
    return granted


def _ticket(connection: LedgerConnection, run: str, opener: str, wanted: Reservation) -> Ticket:
    number = next_number(connection, AttemptRow)
    insert(
        connection,
        AttemptRow(
            id=number,
            run=run,
            opener=opener,
            key=wanted.key,
            item_id=wanted.item_id,
            judge=wanted.judge,
            note=noted(wanted),
            state="reserved",
            ended=None,
            reserved_p=wanted.cost_p,
            charged_p=wanted.cost_p,
            rehearsed=int(wanted.rehearsed),
            outcome=None,
            usage=None,
            model=None,
            request_id=None,
            began_at=connection.now(),
            ended_at=None,
        ),
    )
    return Ticket(number, wanted.key, wanted.cost_p, wanted.rehearsed, wanted.output, wanted.since)


def noted(wanted: Reservation) -> str:
    """Return the note of a reservation as it is recorded."""
    return json.dumps(dict(wanted.note))


def verdicts_under(connection: LedgerConnection, keys: Sequence[str]) -> dict[str, Verdict]:
    """Return the verdicts recorded under `keys`; a key without a verdict is left out."""
    rows = by(connection, VerdictRow, "key", *keys)
    return {row.key: Verdict(row.score, row.reason) for row in rows}


def known_under(connection: LedgerConnection, ticket: Ticket) -> Verdict | Output | None:
    """Return the verdict or the output that is recorded under the key of a ticket."""
    if ticket.output:
        return outputs_under(connection, [ticket.key], ticket.since).get(ticket.key)
    return verdicts_under(connection, [ticket.key]).get(ticket.key)


def finish(connection: LedgerConnection, run: str) -> None:
    """Record that a run has ended by itself."""
    change(connection, charges.run_row(connection, run), finished=1)


def mark_sent(connection: LedgerConnection, ticket: Ticket) -> None:
    """Record that the call is about to be sent.

    Raises:
        LedgerError: the reservation is no longer open.
    """
    row = _open_attempt(connection, ticket)
    if row.state != "sent":
        change(connection, row, state="sent")


def sent_by_others(connection: LedgerConnection, ticket: Ticket) -> list[AttemptRow]:
    """Return the attempts at the call of a ticket that other runs have sent and not closed."""
    run = _open_attempt(connection, ticket).run
    at_it = by(connection, AttemptRow, "key", ticket.key)
    return [row for row in at_it if row.state == "sent" and row.run != run]


def settle(connection: LedgerConnection, ticket: Ticket, reply: Reply) -> Verdict | Output | None:
    """Book the cost, record the verdict or output if any, and return what the key has.

    Another process may have closed the attempt meanwhile. The reply is paid for, and counts.
    """
    attempt = one(connection, AttemptRow, "id", ticket.attempt)
    invoiced = attempt is not None and attempt.ended == End.RECONCILED
    if attempt is None or (attempt.state == "settled" and not invoiced):
        raise LedgerError(f"attempt {ticket.attempt} is not open; it was settled before")
    cost_p = ticket.cost_p if reply.cost_p is None else reply.cost_p
    if attempt.state == "settled":
        cost_p = attempt.charged_p  # what the provider's invoice says
    said = "" if attempt.ended is None else LATE
    close(connection, attempt, "settled", _end_of(reply.answer), cost_p=cost_p, result=reply, said=said)
    if isinstance(reply.answer, Abstention):
        return None
    held = known_under(connection, ticket)
    if held is not None:
        return held
    if isinstance(reply.answer, Output):
        return record_output(connection, attempt, cost_p, reply.answer)
    return _record(connection, attempt, cost_p, reply.answer)


def _record(connection: LedgerConnection, attempt: AttemptRow, cost_p: int, verdict: Verdict) -> Verdict:
    row = VerdictRow(
        next_number(connection, VerdictRow),
        attempt.id,
        cost_p,
        float(verdict.score),
        attempt.key,
        verdict.reason,
        ingredients_of(connection, attempt),
    )
    insert(connection, row)
    return Verdict(row.score, row.reason)


def ingredients_of(connection: LedgerConnection, attempt: AttemptRow) -> bytes:
    """Return the numbers of a verdict's ingredients, from the note of its attempt.

    All are `NOTHING` if the note has no ingredients.
    """
    texts = texts_of(attempt.run, attempt.item_id, attempt.note)
    if not texts:
        return NO_INGREDIENTS
    return np.array(_numbers(connection, texts), NUMBER).tobytes()


@lru_cache(2**12)  # those of a group of jobs, which are looked up before they are written
def texts_of(run: str, item_id: str, noted: str) -> list[str]:
    """Return the texts that a verdict names by their numbers; none if the note has no ingredients."""
    note = json.loads(noted)
    found, systems = KeyIngredients.from_note(note.get("ingredients", {})), note.get("systems", ())
    if found is None or len(found.outputs) != len(systems):
        return []
    none = (None,) * (2 - len(systems))
    values = (run, found.judge, found.place(item_id), *systems, *none, *found.outputs, *none)
    return list(map(_as_text, values))


def _numbers(connection: LedgerConnection, texts: list[str]) -> list[int]:
    """Return the numbers of texts; those that are new are written."""
    known = {row.text: row.id for row in by(connection, TextRow, "text", *texts)}
    for text in texts:
        if text not in known:
            known[text] = next_number(connection, TextRow)
            insert(connection, TextRow(known[text], text))
    return [known[text] for text in texts]


def _end_of(answer: Answer | Output) -> End:
    if isinstance(answer, Output):
        return End.OUTPUT
    if isinstance(answer, Verdict):
        return End.VERDICT
    return End.TRUNCATED if answer.truncated else End.ABSTAINED


def close_ticket(connection: LedgerConnection, ticket: Ticket, state: str, end: End, *, cost_p: int, why: str) -> None:
    """Close a reservation without a reply; one that was never sent is not kept.

    Raises:
        LedgerError: it was closed before.
    """
    row = _open_attempt(connection, ticket)
    if end in {End.UNSENT, End.UNNEEDED}:
        _forget(connection, row)
    else:
        close(connection, row, state, end, cost_p=cost_p, result=why)


def _open_attempt(connection: LedgerConnection, ticket: Ticket) -> AttemptRow:
    row = one(connection, AttemptRow, "id", ticket.attempt)
    if row is None or row.state not in {"reserved", "sent"}:
        raise LedgerError(f"attempt {ticket.attempt} is not open; it was closed before")
    return row


def _forget(connection: LedgerConnection, row: AttemptRow) -> None:
    """Delete a reservation that was never sent, and give its money back."""
    charges.charge(connection, row, -row.charged_p)
    delete(connection, row)


def close(
    connection: LedgerConnection,
    row: AttemptRow,
    state: str,
    end: End,
    *,
    cost_p: int,
    result: Reply | str,
    said: str = "",
) -> None:
    """Close an attempt, and correct its run's charge; what is `said` follows its outcome."""
    outcome, usage, model, request_id = _particulars(result)
    _close(
        connection,
        row,
        state=state,
        ended=end.value,
        charged_p=cost_p,
        outcome=outcome + said,
        usage=usage,
        model=model,
        request_id=request_id,
    )


def _close(connection: LedgerConnection, row: AttemptRow, *, charged_p: int, **changes: object) -> None:
    """Change an attempt that ends, or has ended, and all that counts what it was charged."""
    charges.charge(connection, row, charged_p - row.charged_p)
    changes |= {"charged_p": charged_p, "ended_at": connection.now()}
    change(connection, row, **changes)
    charges.book(connection, row, sign=-1)
    charges.book(connection, row._replace(**changes))  # type: ignore[arg-type]


def recover(connection: LedgerConnection, run: str, opener: str) -> tuple[int, int]:
    """Close what processes that ended left open; return how much was freed and how much was kept.

    Nobody else may work on `run` meanwhile. What was never sent is free. What was sent stays
    charged at its worst case. Both amounts are in picodollars.
    """
    left = "run = ? AND state IN ('reserved', 'sent') AND opener <> ?"
    freed_p = kept_p = 0
    for row in list(read(connection, AttemptRow, left, run, opener)):
        if row.state == "sent":
            close(connection, row, "abandoned", End.LOST, cost_p=row.charged_p, result=MAY_BE_BILLED)
            kept_p += row.charged_p
        elif row.rehearsed or not row.charged_p:  # not noted when it is sent: it may be late
            close(connection, row, "released", End.UNSENT, cost_p=0, result=NEVER_SENT)
            freed_p += row.charged_p
        else:
            _forget(connection, row)
            freed_p += row.charged_p
    return freed_p, kept_p


def _particulars(result: Reply | str) -> tuple[str, str | None, str | None, str | None]:
    if isinstance(result, str):
        return result, None, None, None
    answer = result.answer
    outcome = str(_end_of(answer))
    if isinstance(answer, Abstention):
        outcome = f"abstained: {answer.reason}"
    elif isinstance(answer, Output) and answer.failed:
        outcome = f"no output: {answer.failed}"
    usage = json.dumps(asdict(result.usage)) if result.usage else None
    return outcome, usage, result.model, result.request_id


def unknown(connection: LedgerConnection) -> list[AttemptRow]:
    """Return the attempts that may have been billed without a reply, the oldest first."""
    where = f"state = 'abandoned' AND charged_p > 0 AND rehearsed = 0 AND {OWN_RUN} ORDER BY id"
    return list(read(connection, AttemptRow, where))


def reconcile(connection: LedgerConnection, settlement: Settlement) -> None:
    """Book what an attempt of unknown cost did cost.

    Raises:
        LedgerError: it has been settled meanwhile.
    """
    row = one(connection, AttemptRow, "id", settlement.attempt)
    if row is None or row.state != "abandoned":
        raise LedgerError(f"attempt {settlement.attempt} has been settled meanwhile")
    _close(
        connection,
        row,
        state="released" if settlement.request is None else "settled",
        ended=End.RECONCILED.value,
        charged_p=settlement.cost_p,
        outcome=settlement.outcome,
        request_id=settlement.request,
    )


def open_runs(connection: LedgerConnection) -> list[str]:
    """Return the runs with attempts that are not closed."""
    found = connection.execute("SELECT DISTINCT run FROM attempts WHERE ended IS NULL")
    return [run for (run,) in found]
