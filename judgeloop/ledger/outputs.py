"""The outputs of systems in an open ledger: read by their keys, and recorded.

Every function is one job within a transaction of the caller, as in `booking.py`. No output is replaced.
There are several under a key only where the earlier ones were too old for a run; the latest counts.
"""

from collections.abc import Sequence
from dataclasses import replace

from judgeloop.core.records import Output
from judgeloop.ledger.connection import LedgerConnection
from judgeloop.ledger.rows import AttemptRow, OutputRow, RunRow, by, insert, next_number, one


def outputs_under(connection: LedgerConnection, keys: Sequence[str], since: str = "") -> dict[str, Output]:
    """Return the latest output under each of `keys` that has one, unless it was recorded before `since`."""
    rows = sorted(by(connection, OutputRow, "key", *keys), key=lambda row: (row.created_at, row.seq))
    return {row.key: output_of(row) for row in rows if row.created_at >= since}


def output_of(row: OutputRow) -> Output:
    """Return the output in a row."""
    return Output(row.text, row.failed, bool(row.cut), row.cost_p, row.tokens, row.seconds, row.model, row.created_at)


def record_output(connection: LedgerConnection, attempt: AttemptRow, cost_p: int, output: Output) -> Output:
    """Record what a system gave; return it as recorded.

    No output is older than its run, also where the clock was set back: a run knows its own by that.
    """
    run = one(connection, RunRow, "id", attempt.run)
    row = OutputRow(
        next_number(connection, OutputRow),
        attempt.id,
        cost_p,
        attempt.key,
        output.text,
        output.failed,
        int(output.cut),
        output.tokens,
        output.seconds,
        output.model,
        max(connection.now(), run.created_at if run else ""),
    )
    insert(connection, row)
    return replace(output_of(row), fresh=True)
