"""Sums what the attempts in a ledger were charged, by day, judge, run and state.

Reads the file and checks every row's seal. Changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.core.records import NO_TOKENS, Usage
from judgeloop.ledger.connection import connect, readable
from judgeloop.ledger.rows import AttemptRow, read

DAY = 10  # characters of a time in ISO 8601 that are its date
# By what the charges are summed: the part of an attempt that names its group.
GROUPS: dict[str, Callable[[AttemptRow], str]] = {
    "day": lambda row: row.began_at[:DAY],
    "judge": lambda row: row.judge,
    "run": lambda row: row.run,
    "state": lambda row: row.state,
}


@dataclass(frozen=True, slots=True)
class Charged:
    """The attempts of a group: how many, what they were charged in picodollars, and their tokens.

    The tokens are those that replies reported.
    An attempt that is in flight, or whose outcome is unknown, is charged at its worst case.
    """

    attempts: int = 0
    charged_p: int = 0
    tokens: Usage = NO_TOKENS

    def __add__(self, other: Charged) -> Charged:
        """Return both groups together."""
        return Charged(
            self.attempts + other.attempts,
            self.charged_p + other.charged_p,
            self.tokens + other.tokens,
        )


def spending(path: Path) -> dict[str, dict[str, Charged]]:
    """Return the charges by group, the names of each kind of group in order.

    Attempts that were only rehearsed cost nothing and are left out.

    Raises:
        InputError: there is no such file.
        LedgerError: the file cannot be read, or a row is not as it was written.
    """
    if not path.exists():
        raise InputError(f"`ledger={path}`: there is no ledger there")
    found: dict[str, dict[str, Charged]] = {kind: {} for kind in GROUPS}
    with readable(path), closing(connect(path)) as connection:
        for row in read(connection, AttemptRow, "NOT rehearsed"):
            charged = Charged(1, row.charged_p, _tokens(row))
            for kind, name_of in GROUPS.items():
                name = name_of(row)
                found[kind][name] = found[kind].get(name, Charged()) + charged
    return {kind: dict(sorted(groups.items())) for kind, groups in found.items()}


def _tokens(row: AttemptRow) -> Usage:
    return NO_TOKENS if row.usage is None else Usage(**json.loads(row.usage))
