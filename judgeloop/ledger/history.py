"""What the ledger remembers of other runs, as it stood when a run began.

A run that is repeated has to see what it saw the first time, or it would draw other items: so verdicts count that were
there before the run's name was, and none of its own. What they say is the business of `jobs/remembering.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from judgeloop.ledger.sqlite import connect


@dataclass(frozen=True, slots=True)
class RememberedVerdict:
    """A verdict of another run: `systems` as shown to the judge, and what its key was made of."""

    run: str
    item_id: str
    systems: tuple[str, ...]
    score: float
    charged_p: int
    ingredients: dict[str, str]


def remembered_verdicts(
    path: Path | str, run: str | None, *, begin: bool, of_runs: Collection[str] = ()
) -> list[RememberedVerdict]:
    """The verdicts of all runs but `run` that were held before it began, the oldest first.

    With `begin` the run is noted to begin now, if it has not; without, and for None, all that is held counts. `of_runs` narrows it to
    these. A ledger that does not exist remembers nothing, and is created only by `begin`.

    Raises:
        LedgerError: the file cannot be opened, or is something else.
    """
    if not begin and not Path(path).exists():
        return []
    with closing(connect(path)) as connection:
        before = _began_at(connection, run, begin=begin)
        rows = connection.execute(
            "SELECT attempts.run, attempts.item_id, attempts.note, attempts.charged_p, verdicts.score "
            "FROM verdicts JOIN attempts ON attempts.id = verdicts.attempt "
            "WHERE verdicts.created_at < ? AND attempts.run IS NOT ? ORDER BY attempts.id",
            (before, run),
        ).fetchall()
    return [_remembered(*row) for row in rows if not of_runs or row[0] in of_runs]


def known_runs(path: Path | str) -> dict[str, str]:
    """Every run that the ledger has, with when it began."""
    if not Path(path).exists():
        return {}
    with closing(connect(path)) as connection:
        return dict(
            connection.execute("SELECT id, created_at FROM runs ORDER BY created_at").fetchall()
        )


def _began_at(connection: sqlite3.Connection, run: str | None, *, begin: bool) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    if begin:
        connection.execute(
            "INSERT INTO runs (id, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", (run, now)
        )
    found = connection.execute("SELECT created_at FROM runs WHERE id IS ?", (run,)).fetchone()
    return str(found[0]) if found else now + "~"  # after all that is held


def _remembered(
    run: str, item_id: str, note: str, charged_p: int, score: float
) -> RememberedVerdict:
    noted = json.loads(note)
    return RememberedVerdict(
        run=run,
        item_id=item_id,
        systems=tuple(noted.get("systems", ())),
        score=score,
        charged_p=charged_p,
        ingredients=noted.get("ingredients", {}),
    )
