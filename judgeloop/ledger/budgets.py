"""Budgets that the runs of a ledger draw on: set, removed, drawn on, and what is left of them.

The budget without a name is that of every run. A run is charged to others by their names. A row of `draws`
holds what the attempts of one opener (one ledger object) took from one budget in one period: those from its
number `first` on, up to the opener's next row. So an attempt that is settled later corrects the period in
which it was reserved, and no attempt has to name its budgets. All of it is in the transaction that reserves
or settles. The row of a budget holds the sum of its present period, which is never one before the latest that
was drawn on: a clock that jumps back opens no second one. What is left of a period is not carried over.
"""

from collections.abc import Collection, Sequence

from judgeloop.core.errors import InputError, LedgerError
from judgeloop.core.ledger import Balance
from judgeloop.ledger import rows
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.periods import began, ends

# The attempts that count for a budget that is counted anew: those of every run, or of the openers that
# were charged to it, from the number on at which they began.
DRAWN = "id >= (SELECT min(first) FROM draws WHERE budget = ? AND draws.opener = attempts.opener)"
COUNTED = """SELECT opener, min(id) AS number, CAST(sum(charged_p) AS BIGINT) FROM attempts JOIN (
    SELECT opener AS who, min(id) AS since FROM attempts WHERE began_at >= ? GROUP BY opener) AS begun
    ON opener = who AND id >= since WHERE {0} GROUP BY opener ORDER BY number"""
HELD = """SELECT run, CAST(sum(charged_p) AS BIGINT) FROM attempts WHERE ended IS NULL AND EXISTS (
    SELECT 1 FROM draws WHERE budget = ? AND since = ? AND draws.opener = attempts.opener
    AND first <= attempts.id) GROUP BY run HAVING sum(charged_p) > 0 ORDER BY run"""


def set_budget(connection: LedgerConnection, name: str, limit_p: int, per: str, day_starts: str) -> None:
    """Set a budget, or change one; what was spent in its present period stays counted.

    A new budget of every run counts what they were charged in the period before it was set.
    """
    found = rows.one(connection, rows.BudgetRow, "name", name)
    if found is not None and (found.per, found.day_starts) == (per, day_starts):
        rows.change(connection, found, limit_p=limit_p)
        return
    period = {"per": per, "day_starts": day_starts, "since": began(per, day_starts, connection.now())}
    if found is None:
        number = rows.next_number(connection, rows.BudgetRow)
        rows.insert(connection, rows.BudgetRow(number, name, limit_p, charged_p=0, **period))
    else:
        rows.change(connection, found, limit_p=limit_p, **period)
    count_anew(connection, name)


def count_anew(connection: LedgerConnection, name: str) -> None:
    """Draw on a budget, if there is one, what the ledger's attempts were charged in its present period."""
    row = rows.one(connection, rows.BudgetRow, "name", name)
    if row is None:
        return
    row = _at_present(connection, row)
    which, values = (DRAWN, (row.seq,)) if row.name else (rows.OWN_RUN, ())
    counted = connection.execute(COUNTED.format(which), (row.since, *values)).fetchall()
    for draw in rows.by(connection, rows.DrawRow, "budget", row.seq):
        rows.delete(connection, draw)
    for opener, first, charged_p in counted:
        number = rows.next_number(connection, rows.DrawRow)
        rows.insert(connection, rows.DrawRow(number, row.seq, row.since, opener, first, charged_p))
    rows.change(connection, row, charged_p=sum(charged_p for _, _, charged_p in counted))


def remove_budget(connection: LedgerConnection, name: str) -> None:
    """Remove a budget: nothing limits the runs that were charged to it.

    Raises:
        InputError: there is none of this name.
    """
    found = rows.one(connection, rows.BudgetRow, "name", name)
    if found is None:
        shown = f"named {name!r}" if name else "of every run"
        raise InputError(f"`name={name}`: {connection.place} has no budget {shown}")
    for draw in rows.by(connection, rows.DrawRow, "budget", found.seq):
        rows.delete(connection, draw)
    rows.delete(connection, found)


def balances(connection: LedgerConnection, names: Sequence[str] | None = None) -> list[Balance]:
    """Return the budgets that a run charged to `names` draws on; every budget for None."""
    every = rows.read(connection, rows.BudgetRow, "true ORDER BY name")
    return [_balance(connection, row) for row in (list(every) if names is None else _charged(connection, names))]


def _balance(connection: LedgerConnection, row: rows.BudgetRow) -> Balance:
    since = _present(connection, row)
    held = connection.execute(HELD, (row.seq, since)).fetchall()
    return Balance(
        name=row.name,
        limit_p=row.limit_p,
        per=row.per,
        day_starts=row.day_starts,
        since=since,
        until=ends(row.per, row.day_starts, since),
        charged_p=_drawn_p(connection, row),
        held=dict(held),
    )


def room_p(connection: LedgerConnection, names: Sequence[str], instead: rows.AttemptRow | None = None) -> int | None:
    """Return the least that is left of the budgets of a run; None if it draws on none.

    What the attempt `instead` takes of the same period is added: it is given back.
    """
    own = [] if instead is None else list(_draws_of(connection, instead))
    left = []
    for row in _charged(connection, names):
        back = any((draw.budget, draw.since) == (row.seq, _present(connection, row)) for draw in own)
        left_p = max(0, row.limit_p - _drawn_p(connection, row))
        left.append(left_p + (instead.charged_p if instead and back else 0))
    return min(left, default=None)


def draw(connection: LedgerConnection, names: Sequence[str], opener: str, first: int, cost_p: int) -> None:
    """Take `cost_p` for attempts of `opener`, numbered from `first` on, from each budget of its run."""
    drawn = {(draw.budget, draw.since): draw for draw in rows.by(connection, rows.DrawRow, "opener", opener)}
    for each in _charged(connection, names):
        row = _at_present(connection, each)
        rows.change(connection, row, charged_p=row.charged_p + cost_p)
        found = drawn.get((row.seq, row.since))
        if found is not None:
            rows.change(connection, found, charged_p=found.charged_p + cost_p)
        else:
            number = rows.next_number(connection, rows.DrawRow)
            rows.insert(connection, rows.DrawRow(number, row.seq, row.since, opener, first, cost_p))


def correct(connection: LedgerConnection, attempt: rows.AttemptRow, more_p: int) -> None:
    """Add to what an attempt has taken from budgets, each in the period of its reservation."""
    for draw in _draws_of(connection, attempt):
        rows.change(connection, draw, charged_p=draw.charged_p + more_p)
        row = rows.one(connection, rows.BudgetRow, "seq", draw.budget)
        if row is not None and row.since == draw.since:
            rows.change(connection, row, charged_p=row.charged_p + more_p)


def _charged(connection: LedgerConnection, names: Sequence[str]) -> list[rows.BudgetRow]:
    """Return the budgets that a run charged to `names` draws on.

    Raises:
        LedgerError: there is no budget of a name; it may have been removed.
    """
    found = rows.by(connection, rows.BudgetRow, "name", "", *names)
    if missing := set(names) - {row.name for row in found}:
        raise LedgerError(f"{connection.place} has no budget named {min(missing)!r} (any more)")
    return found


def _present(connection: LedgerConnection, row: rows.BudgetRow) -> str:
    """Return when the present period of a budget began: it is never before the latest one."""
    return max(row.since, began(row.per, row.day_starts, connection.now()))


def _at_present(connection: LedgerConnection, row: rows.BudgetRow) -> rows.BudgetRow:
    """Return the row of a budget in its present period, which is begun if it has not been."""
    since = _present(connection, row)
    if since == row.since:
        return row
    rows.change(connection, row, since=since, charged_p=0)
    return row._replace(since=since, charged_p=0)


def _drawn_p(connection: LedgerConnection, row: rows.BudgetRow) -> int:
    """Return what was drawn on a budget in its present period."""
    return row.charged_p if _present(connection, row) == row.since else 0


def _draws_of(connection: LedgerConnection, attempt: rows.AttemptRow) -> Collection[rows.DrawRow]:
    """Return what holds an attempt's charge: of each budget, the opener's last row up to its number."""
    drawn = sorted(rows.by(connection, rows.DrawRow, "opener", attempt.opener), key=lambda draw: draw.first)
    return {draw.budget: draw for draw in drawn if draw.first <= attempt.id}.values()
