"""Finds the runs of a ledger: their results and what they were charged.

Reads the ledger alone, wherever it is. Changes nothing.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from judgeloop.core.errors import InputError
from judgeloop.core.ledger import KeptResult, RecordedRun
from judgeloop.ledger.opening import open_reader
from judgeloop.report.escaping import visible_lines


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run: its id, when it began (ISO 8601, UTC), its charges, and its result as text.

    `text` has no unseen characters. `text` and `decision`, its headline, are None if the run has
    not ended.
    """

    id: str
    began_at: str
    charged_p: int
    text: str | None = None
    decision: str | None = None

    @property
    def headline(self) -> str:
        """The decision, or that there is none here."""
        return self.decision or "no result here"


def past_runs(ledger: Path) -> list[PastRun]:
    """Return the runs of a ledger, the latest first.

    Raises:
        InputError: there is no such file.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    with open_reader(ledger) as reader:
        kept = reader.results()
        return [_past_run(run, kept.get(run.id)) for run in reversed(reader.runs())]


def latest_run(ledger: Path) -> PastRun:
    """Return the run that began last of those that have a result here.

    Raises:
        InputError: none has.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    found = next((run for run in past_runs(ledger) if run.text is not None), None)
    if found is None:
        raise InputError(f"no run in {ledger} has a result here; `judgeloop runs` lists all")
    return found


def past_run(ledger: Path, beginning: str) -> PastRun:
    """Return the run whose id begins with `beginning`.

    Raises:
        InputError: there is no such run, or there are several.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    found = [run for run in past_runs(ledger) if run.id.startswith(beginning)]
    if len(found) != 1:
        said = "there is no such run" if not found else f"{len(found)} runs begin with it"
        raise InputError(f"RUN {beginning}: {said} in {ledger}; `judgeloop runs` lists all")
    return found[0]


def _past_run(run: RecordedRun, kept: KeptResult | None) -> PastRun:
    found = PastRun(run.id, run.began_at, run.charged_p)
    if kept is None:
        return found
    return replace(found, text=visible_lines(kept.text), decision=kept.headline)
