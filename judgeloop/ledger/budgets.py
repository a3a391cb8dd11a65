"""Budgets that the runs of a ledger draw on: set, removed, drawn on, and what is left of them.

The budget without a name is that of every run. A run is charged to others by their names. A row of `draws`
holds what the attempts of one opener (one ledger object) took from one budget in one period: those from its
number `first` on, up to the opener's next row. So an attempt that is settled later corrects the period in
which it was reserved, and no attempt has to name its budgets. All of it is in the transaction that reserves
or settles. The present period is never one before the latest that was drawn on: a clock that jumps back
opens no second one. What is left of a period is not carried over.
"""

from collections.abc import Iterator, Sequence

from judgeloop.core.errors import InputError, LedgerError
from judgeloop.core.ledger import Balance
from judgeloop.ledger.periods import began, ends
from judgeloop.ledger.rows import (
    OWN_RUN,
    AttemptRow,
    BudgetRow,
    DrawRow,
    LedgerConnection,
    change,
    insert,
    next_number,
    now,
    one,
    read,
)

# The attempts that count for a budget that is counted anew: those of every run, or of the openers that
# were charged to it, from the number on at which they began.
EVERY_OWN = f"{OWN_RUN.format('run')} AND :budget = :budget"
DRAWN = "id >= (SELECT min(first) FROM draws WHERE budget = :budget AND opener = attempts.opener)"
COUNTED = """SELECT opener, since, sum(charged_p) FROM attempts JOIN (
    SELECT opener AS who, min(id) AS since FROM attempts WHERE {0} AND began_at >= :began GROUP BY opener
    ) ON opener = who AND id >= since WHERE {0} GROUP BY opener ORDER BY since"""
HELD = """SELECT run, sum(charged_p) FROM attempts WHERE ended IS NULL AND EXISTS (
    SELECT 1 FROM draws WHERE budget = ? AND since = ? AND draws.opener = attempts.opener
    AND first <= attempts.id) GROUP BY run HAVING sum(charged_p) > 0 ORDER BY run"""


def set_budget(
    connection: LedgerConnection, name: str, limit_p: int, per: str, day_starts: str
) -> None:
    """Set a budget, or change one; what was spent in its present period stays counted.

    A new budget of every run counts what they were charged in the period before it was set.
    """
    found = one(connection, BudgetRow, "name = ?", name)
    if found is not None and (found.per, found.day_starts) == (per, day_starts):
        change(connection, found, limit_p=limit_p)
        return
    since = began(per, day_starts, now())
    if found is None:
        row = BudgetRow(next_number(connection, BudgetRow), name, limit_p, per, day_starts, since)
        insert(connection, row)
    else:
        row = found._replace(limit_p=limit_p, per=per, day_starts=day_starts, since=since)
        change(connection, found, limit_p=limit_p, per=per, day_starts=day_starts, since=since)
    count_anew(connection, row)


def count_anew(connection: LedgerConnection, row: BudgetRow) -> None:
    """Draw on a budget what the ledger's attempts were charged in its present period."""
    since = _open_present(connection, row)
    counted = connection.execute(
        COUNTED.format(DRAWN if row.name else EVERY_OWN), {"budget": row.seq, "began": since}
    ).fetchall()
    connection.execute("DELETE FROM draws WHERE budget = ?", (row.seq,))
    for opener, first, charged_p in counted:
        number = next_number(connection, DrawRow)
        insert(connection, DrawRow(number, row.seq, since, opener, first, charged_p))


def count_every_run_anew(connection: LedgerConnection) -> None:
    """Count the budget of every run anew, if there is one: attempts came from elsewhere."""
    row = one(connection, BudgetRow, "name = ''")
    if row is not None:
        count_anew(connection, row)


def remove_budget(connection: LedgerConnection, name: str) -> None:
    """Remove a budget: nothing limits the runs that were charged to it.

    Raises:
        InputError: there is none of this name.
    """
    found = one(connection, BudgetRow, "name = ?", name)
    if found is None:
        shown = f"named {name!r}" if name else "of every run"
        raise InputError(f"`name={name}`: {connection.path} has no budget {shown}")
    connection.execute("DELETE FROM draws WHERE budget = ?", (found.seq,))
    connection.execute("DELETE FROM budgets WHERE seq = ?", (found.seq,))


def balances(connection: LedgerConnection, names: Sequence[str] | None = None) -> list[Balance]:
    """Return the budgets that a run charged to `names` draws on; every budget for None."""
    every = read(connection, BudgetRow, "true ORDER BY name")
    return [
        _balance(connection, row)
        for row in (list(every) if names is None else _charged(connection, names))
    ]


def _balance(connection: LedgerConnection, row: BudgetRow) -> Balance:
    since = _present(row)
    return Balance(
        name=row.name,
        limit_p=row.limit_p,
        per=row.per,
        day_starts=row.day_starts,
        since=since,
        until=ends(row.per, row.day_starts, since),
        charged_p=_drawn_p(connection, row, since),
        held=dict(connection.execute(HELD, (row.seq, since)).fetchall()),
    )


def room_p(
    connection: LedgerConnection, names: Sequence[str], instead: AttemptRow | None = None
) -> int | None:
    """Return the least that is left of the budgets of a run; None if it draws on none.

    What the attempt `instead` takes of the same period is added: it is given back.
    """
    own = [] if instead is None else list(_draws_of(connection, instead))
    left = []
    for row in _charged(connection, names):
        since = _present(row)
        back = any((draw.budget, draw.since) == (row.seq, since) for draw in own)
        left_p = max(0, row.limit_p - _drawn_p(connection, row, since))
        left.append(left_p + (instead.charged_p if instead and back else 0))
    return min(left, default=None)


def draw(
    connection: LedgerConnection, names: Sequence[str], opener: str, first: int, cost_p: int
) -> None:
    """Take `cost_p` for attempts of `opener`, numbered from `first` on, from each budget of its run."""
    for row in _charged(connection, names):
        since = _open_present(connection, row)
        same = "budget = ? AND since = ? AND opener = ?"
        found = one(connection, DrawRow, same, row.seq, since, opener)
        if found is not None:
            change(connection, found, charged_p=found.charged_p + cost_p)
        else:
            number = next_number(connection, DrawRow)
            insert(connection, DrawRow(number, row.seq, since, opener, first, cost_p))


def correct(connection: LedgerConnection, attempt: AttemptRow, more_p: int) -> None:
    """Add to what an attempt has taken from budgets, each in the period of its reservation."""
    for row in list(_draws_of(connection, attempt)):
        change(connection, row, charged_p=row.charged_p + more_p)


def _charged(connection: LedgerConnection, names: Sequence[str]) -> list[BudgetRow]:
    """Return the budgets that a run charged to `names` draws on.

    Raises:
        LedgerError: there is no budget of a name; it may have been removed.
    """
    marks = ", ".join("?" * len(names))
    found = list(read(connection, BudgetRow, f"name IN ('', {marks or 'NULL'})", *names))
    if missing := set(names) - {row.name for row in found}:
        raise LedgerError(f"{connection.path} has no budget named {min(missing)!r} (any more)")
    return found


def _present(row: BudgetRow) -> str:
    """Return when the present period of a budget began: it is never before the latest one."""
    return max(row.since, began(row.per, row.day_starts, now()))


def _open_present(connection: LedgerConnection, row: BudgetRow) -> str:
    since = _present(row)
    if since != row.since:
        change(connection, row, since=since)
    return since


def _drawn_p(connection: LedgerConnection, row: BudgetRow, since: str) -> int:
    total = "SELECT coalesce(sum(charged_p), 0) FROM draws WHERE budget = ? AND since = ?"
    return int(connection.execute(total, (row.seq, since)).fetchone()[0])


def _draws_of(connection: LedgerConnection, attempt: AttemptRow) -> Iterator[DrawRow]:
    """Yield what holds an attempt's charge: of each budget, the opener's last row up to its number."""
    last = (
        "opener = ? AND first = (SELECT max(first) FROM draws AS other WHERE other.opener = draws.opener "
        "AND other.budget = draws.budget AND other.first <= ?)"
    )
    return read(connection, DrawRow, last, attempt.opener, attempt.id)
