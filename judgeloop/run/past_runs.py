"""Finds the runs beside a ledger: their folders, their results and what they were charged.

Reads the ledger and the folder `runs` next to it. Changes nothing.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.ledger.connection import connect, readable
from judgeloop.ledger.rows import RunRow, read

FOLDER = "runs"  # beside the ledger
RESULT_TEXT = "result.txt"  # in the folder of a run: its result as it was printed


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run: its id, when it began (ISO 8601, UTC), its charges, and its result as text.

    `text` is None if the run has not ended, or if its files are in a folder of the caller's.
    """

    id: str
    began_at: str
    charged_p: int
    text: str | None

    @property
    def headline(self) -> str:
        """The first line of the result."""
        return "no result here" if self.text is None else self.text.partition("\n")[0]


def past_runs(ledger: Path) -> list[PastRun]:
    """Return the runs of a ledger, the latest first.

    Raises:
        InputError: there is no such file.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    if not ledger.exists():
        raise InputError(f"`ledger={ledger}`: there is no ledger there")
    with readable(ledger), closing(connect(ledger)) as connection:
        return [
            PastRun(row.id, row.created_at, row.charged_p, _text(ledger.parent / FOLDER / row.id))
            for row in read(connection, RunRow, "1 ORDER BY seq DESC")
        ]


def past_run(ledger: Path, beginning: str) -> PastRun:
    """Return the run whose id begins so.

    Raises:
        InputError: there is no such run, or there are several.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    found = [run for run in past_runs(ledger) if run.id.startswith(beginning)]
    if len(found) != 1:
        said = "there is no such run" if not found else f"{len(found)} runs begin so"
        raise InputError(f"RUN {beginning}: {said} in {ledger}; `judgeloop runs` lists all")
    return found[0]


def _text(folder: Path) -> str | None:
    try:
        return (folder / RESULT_TEXT).read_text(encoding="utf-8")
    except OSError:
        return None
