"""Attempts of which nobody knows whether they were billed: finds them, and settles them.

They are charged at their worst case until a person settles them (`ledger reconcile`). What the
provider billed is told by the caller (`diagnostics/reconcile.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from judgeloop.core.errors import LedgerError
from judgeloop.core.protocols import End
from judgeloop.ledger.booking import charge, recover
from judgeloop.ledger.connection import connect, readable
from judgeloop.ledger.locks import lock_if_free
from judgeloop.ledger.rows import AttemptRow, LedgerConnection, change, now, one, read

NOBODY = ""  # the opener of what a reconciliation writes


@dataclass(frozen=True, slots=True)
class Settlement:
    """What an unknown attempt cost after all; `request` is the provider's id of its request.

    Without a request the attempt was never billed.
    """

    attempt: int
    cost_p: int
    request: str | None
    outcome: str


def unknown_attempts(path: Path) -> list[AttemptRow]:
    """Return the attempts that may have been billed, the oldest first.

    Attempts of processes that ended are closed first: what was never sent is free. Those of runs
    that a process works on are left alone.

    Raises:
        LedgerError: the ledger cannot be read or written.
    """
    with readable(path), closing(connect(path)) as connection:
        _recover_dead(connection, path)
        where = "state = 'abandoned' AND charged_p > 0 AND NOT rehearsed ORDER BY id"
        return list(read(connection, AttemptRow, where))


def known_requests(path: Path) -> set[str]:
    """Return the provider's ids of all requests that the ledger has settled."""
    with readable(path), closing(connect(path)) as connection:
        settled = read(connection, AttemptRow, "request_id IS NOT NULL")
        return {str(row.request_id) for row in settled}


def settle_unknown(path: Path, settlements: Sequence[Settlement]) -> None:
    """Book what unknown attempts cost, all or none.

    Raises:
        LedgerError: an attempt has been settled meanwhile, or the ledger cannot be written.
    """
    with readable(path), closing(connect(path)) as connection, _transaction(connection):
        for settlement in settlements:
            _settle(connection, settlement)


def _settle(connection: LedgerConnection, settlement: Settlement) -> None:
    row = one(connection, AttemptRow, "id = ?", settlement.attempt)
    if row is None or row.state != "abandoned":
        raise LedgerError(f"attempt {settlement.attempt} has been settled meanwhile")
    charge(connection, row.run, settlement.cost_p - row.charged_p)
    change(
        connection,
        row,
        state="released" if settlement.request is None else "settled",
        ended=End.RECONCILED.value,
        charged_p=settlement.cost_p,
        outcome=settlement.outcome,
        request_id=settlement.request,
        ended_at=now(),
    )


def _recover_dead(connection: LedgerConnection, path: Path) -> None:
    """Close the open attempts of every run that no process works on."""
    runs = connection.execute(
        "SELECT DISTINCT run FROM attempts WHERE state IN ('reserved', 'sent')"
    ).fetchall()
    for (run,) in runs:
        with lock_if_free(path, run) as alone, _transaction(connection):
            if alone:
                recover(connection, run, NOBODY)


@contextmanager
def _transaction(connection: LedgerConnection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
