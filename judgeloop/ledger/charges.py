"""What runs are charged, in an open ledger: what is left to them, taken, held back and spent.

A run takes from its own budget, which its caller names, and from the budgets of the ledger that it is
charged to (`budgets.py`). Every function is one job within a transaction of the caller (`writer.py`).
Which attempts are made and how they end is in `booking.py`.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from judgeloop.core.ledger import End
from judgeloop.core.spend import Spend
from judgeloop.core.verdict_key import as_text
from judgeloop.ledger import budgets
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.rows import (
    AttemptRow,
    RunRow,
    SumRow,
    VerdictRow,
    by,
    change,
    damaged,
    insert,
    next_number,
    now,
    one,
    replace,
)

COUNTED = ("attempts", "charged_p", "input_tokens", "output_tokens")  # of a sum
DAY = 10  # characters of a time in ISO 8601 that are its date
# Sums of what attempts were charged, of which some conditions hold, and how many were.
PAID = "charged_p > 0"
UNREPORTED = (
    f"state = 'settled' AND charged_p = reserved_p AND {PAID} AND rehearsed = 0 "
    f"AND ended NOT IN ('{End.RECONCILED}', '{End.PRUNED}')"
)
SPENT = ", ".join(
    (
        *(
            f"coalesce(sum({amount}) FILTER (WHERE {which}), 0)"
            for amount, which in (
                ("charged_p", "opener = ? AND rehearsed = 0"),
                ("charged_p", "rehearsed = 0"),
                ("charged_p", "rehearsed = 1"),
                ("charged_p", "state IN ('reserved', 'sent', 'abandoned')"),
                ("charged_p - reserved_p", "charged_p > reserved_p"),
            )
        ),
        f"count(*) FILTER (WHERE {PAID} AND state = 'settled')",
        f"count(*) FILTER (WHERE {UNREPORTED})",
    )
)


def run_row(connection: LedgerConnection, run: str) -> RunRow:
    """Return the row of a run, which is made if missing."""
    found = one(connection, RunRow, "id", run)
    if found is None:
        seen = next_number(connection, VerdictRow) - 1
        found = RunRow(next_number(connection, RunRow), run, connection.now(), seen, 0)
        insert(connection, found)
    return found


def room_p(
    connection: LedgerConnection, run: str, budget_p: int | None, charge_to: Sequence[str], instead: AttemptRow | None
) -> int | None:
    """Return how much `run` may still reserve once `instead` is given back; None without a budget."""
    left_p = budgets.room_p(connection, charge_to, instead)
    if budget_p is None:
        return left_p
    back_p = 0 if instead is None else instead.charged_p
    own_p = budget_p - run_row(connection, run).charged_p + back_p
    return own_p if left_p is None else min(own_p, left_p)


def charge(connection: LedgerConnection, attempt: AttemptRow, more_p: int) -> None:
    """Add to what an attempt is charged to its run and to budgets, in picodollars."""
    charge_run(connection, attempt.run, more_p)
    if more_p:
        budgets.correct(connection, attempt, more_p)


def charge_run(connection: LedgerConnection, run: str, more_p: int) -> None:
    """Add to what a run has been charged, in picodollars."""
    if more_p:
        row = run_row(connection, run)
        change(connection, row, charged_p=row.charged_p + more_p)


def book(connection: LedgerConnection, *attempts: AttemptRow, sign: int = 1) -> None:
    """Add attempts that have ended to the sums of their days, or with a sign of -1 take them out."""
    for more in summed(row for row in attempts if row.ended is not None).values():
        row = one(connection, SumRow, "name", more.name)
        if row is None:
            insert(connection, more._replace(seq=next_number(connection, SumRow)))
        else:
            counted = {name: getattr(row, name) + sign * getattr(more, name) for name in COUNTED}
            replace(connection, row, row._replace(**counted))


def summed(attempts: Iterable[AttemptRow]) -> dict[str, SumRow]:
    """Return the sums of attempts by name; they have no numbers yet."""
    found: dict[str, SumRow] = {}
    for attempt in attempts:
        if not attempt.rehearsed:
            name = sum_name(attempt)
            row = found.get(name) or SumRow(0, name)
            usage = {} if attempt.usage is None else json.loads(attempt.usage)
            found[name] = row._replace(
                attempts=row.attempts + 1,
                charged_p=row.charged_p + attempt.charged_p,
                input_tokens=row.input_tokens + usage.get("input_tokens", 0),
                output_tokens=row.output_tokens + usage.get("output_tokens", 0),
            )
    return found


def sum_name(attempt: AttemptRow) -> str:
    """Return the name of the sum to which an attempt belongs."""
    return _sum_name(attempt.began_at[:DAY], attempt.run, attempt.judge, attempt.state)


@lru_cache
def _sum_name(*parts: str) -> str:
    return as_text(parts)


def sum_names(run: str, judge: str) -> set[str]:
    """Return the names of the sums to which attempts that begin now may belong once they end."""
    today = now()[:DAY]
    return {_sum_name(today, run, judge, state) for state in ("settled", "released", "abandoned")}


def others_that_hold(connection: LedgerConnection, run: str) -> list[str]:
    """Return the other runs that hold money back in open attempts, and that `run` may wait for.

    If each run that holds money waits only for later ones, no circle of runs waits.
    """
    found = connection.execute("SELECT run FROM attempts WHERE ended IS NULL GROUP BY run HAVING sum(charged_p) > 0")
    held = {other for (other,) in found.fetchall()}
    if run not in held:
        return sorted(held)
    own = run_row(connection, run).seq
    return sorted(other for other in held if run_row(connection, other).seq > own)


def worth_waiting_for(
    connection: LedgerConnection,
    run: str,
    cost_p: int,
    budget_p: int | None,
    *,
    charge_to: Sequence[str],
    living: Collection[str],
) -> dict[str, int] | None:
    """Return what the `living` runs hold back of the budgets of `run`; None if that is not enough."""
    if budget_p is not None and run_row(connection, run).charged_p + cost_p > budget_p:
        return None
    held: dict[str, int] = {}
    for balance in budgets.balances(connection, charge_to):
        of_it = {other: held_p for other, held_p in balance.held.items() if other in living}
        if balance.charged_p + cost_p - balance.limit_p > sum(of_it.values()):
            return None
        held |= {other: max(held_p, held.get(other, 0)) for other, held_p in of_it.items()}
    return held


def spend_of(  # noqa: PLR0917 - of a run, through an object
    connection: LedgerConnection,
    run: str,
    opener: str,
    budget_p: int | None,
    charge_to: Sequence[str] = (),
    answers: Collection[str] = (),
) -> Spend:
    """Return what `run` has cost, what its attempts by `opener` have cost, and what `answers` have.

    `opener` identifies the ledger object that recorded an attempt. In `Spend`, `now_p` is only what
    its attempts cost. `answers` are the keys of calls, whichever run made them.

    Raises:
        DamagedLedgerError: the run was not charged what its attempts were.
    """
    statement = f"SELECT {SPENT} FROM attempts WHERE run = ?"  # noqa: S608 - our own names
    row = connection.execute(statement, (opener, run)).fetchone()
    now_p, run_p, rehearsed_p, unconfirmed_p, over_p, paid, unreported = map(int, row)
    known = one(connection, RunRow, "id", run)
    if (known.charged_p if known else 0) != run_p + rehearsed_p:
        problem = "does not hold the sum of what its attempts were charged"
        raise damaged(connection, RunRow, known.seq if known else run, problem)
    made = by(connection, AttemptRow, "key", *answers) if answers else []
    replies = [row for row in made if row.state == "settled" and row.charged_p]
    return Spend(
        now_p,
        run_p,
        rehearsed_p,
        unconfirmed_p,
        budget_p,
        paid_attempts=paid,
        over_p=over_p,
        replies_without_usage=unreported,
        ledger_left_p=budgets.room_p(connection, charge_to),
        answers_p=sum(row.charged_p for row in replies),
        answers=len({row.key for row in replies}),
    )
