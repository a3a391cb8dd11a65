"""Finds the runs of a ledger: what they are, how they ended, and what they were charged.

Reads the ledger alone, wherever it is. Changes nothing.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from itertools import repeat
from pathlib import Path
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.ledger import RecordedRun
from judgeloop.core.money import show_usd, to_usd
from judgeloop.ledger.opening import open_reader
from judgeloop.report.escaping import visible
from judgeloop.report.words import shortened

MINUTE = 16  # characters of a time in ISO 8601 up to its minutes
LONGEST_NAMES = 48  # characters of the names of systems or judges in a list
# Days that have a name, as the number of days before today.
NAMED_DAYS = {"today": 0, "yesterday": 1}


class State(StrEnum):
    """What became of a run."""

    RUNNING = "running"  # a process of this machine works on it
    ENDED = "ended"  # its result is kept
    LOST = "lost"  # its process ended without a result
    ELSEWHERE = "elsewhere"  # it had no result yet when its ledger was merged into this one


# What is said of a run without a result.
WITHOUT = {
    State.RUNNING: "no result yet: {process} works on it",
    State.ENDED: "no result here: it was deleted from the ledger",
    State.LOST: "no result here: its process ended; rerun its command to go on",
    State.ELSEWHERE: "no result here: it had none when its ledger was merged",
}


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run: its record, its state, and its decision, None without a result."""

    recorded: RecordedRun
    state: State
    decision: str | None = None

    @property
    def id(self) -> str:
        """The run's id."""
        return self.recorded.id

    @property
    def headline(self) -> str:
        """The decision, or why there is none here."""
        return self.decision or WITHOUT[self.state].format(process=self.recorded.note.process)

    @property
    def names(self) -> tuple[str, str]:
        """The names of its systems, and of its judges."""
        return self.recorded.note.names, " + ".join(self.recorded.note.judges)

    @property
    def ending(self) -> str:
        """Its exit code, or its state without one."""
        code = self.recorded.note.exit_code
        return self.state.value if code is None else f"exit {code}"

    @property
    def started_at(self) -> str:
        """When a process last began to work on it (ISO 8601, UTC)."""
        return self.recorded.note.since or self.recorded.began_at

    def to_json(self) -> dict[str, Any]:
        """Return the run as a record of JSON values; times are in UTC."""
        note = asdict(self.recorded.note)
        since, process = note.pop("since"), note.pop("process")
        return {
            "id": self.id,
            "state": self.state.value,
            **note,
            "headline": self.headline,
            "began_at": self.recorded.began_at,
            "started_at": since or self.recorded.began_at,
            "process": process,
            "charged_usd": float(to_usd(self.recorded.charged_p)),
        }


def past_runs(ledger: Path, since: str = "") -> list[PastRun]:
    """Return the runs that were worked on at or after `since` (ISO 8601, UTC), the latest first.

    Raises:
        InputError: there is no such file.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    with open_reader(ledger) as reader:
        every, decisions = reader.runs(), reader.headlines()
        open_ = [run.id for run in every if run.note.exit_code is None and not run.origin]
        working = reader.working(open_)
    found = [PastRun(run, _state(run, working), decisions.get(run.id)) for run in reversed(every)]
    found.sort(key=lambda run: run.started_at, reverse=True)
    return [run for run in found if run.started_at >= since]


def _state(run: RecordedRun, working: set[str]) -> State:
    if run.note.exit_code is not None:
        return State.ENDED
    if run.origin:
        return State.ELSEWHERE
    return State.RUNNING if run.id in working else State.LOST


def local_day(text: str, today: date) -> str:
    """Return when a day began in local time, as ISO 8601 in UTC.

    It is `today`, `yesterday`, a number of days before today, or a date.

    Raises:
        InputError: it is none of these.
    """
    days = NAMED_DAYS.get(text, text)
    try:
        number = int(days) if str(days).isdecimal() else None
        day = date.fromisoformat(text) if number is None else today - timedelta(days=number)
        began = datetime.combine(day, time()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(
            f"`since={text}`: expected {', '.join(NAMED_DAYS)}, a number of days such as 7, or a date such "
            "as 2026-01-31"
        ) from None
    return began.isoformat(timespec="milliseconds")


def lines(runs: Sequence[PastRun]) -> list[str]:
    """Return a line for each run: id, local time, night if any has one, state, cost, names, decision."""
    rows = [
        (
            run.id,
            datetime.fromisoformat(run.started_at).astimezone().isoformat(" ")[:MINUTE],
            run.recorded.note.night,
            run.ending,
            f"{show_usd(run.recorded.charged_p):>8}",
            ", ".join(map(shortened, filter(None, run.names), repeat(LONGEST_NAMES))),
        )
        for run in runs
    ]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    cells = [
        [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width]
        for row in rows
    ]
    return ["  ".join([*row, visible(run.headline)]) for row, run in zip(cells, runs, strict=True)]


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


def with_result(ledger: Path, beginning: str | None) -> PastRun:
    """Return the run whose id begins with `beginning`, by default the latest with a result.

    Raises:
        InputError: there is no such run, or it has no result here.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    if beginning is not None:
        found = past_run(ledger, beginning)
        if found.decision is None:
            raise InputError(f"RUN {beginning}: {found.headline}")
        return found
    latest = next((run for run in past_runs(ledger) if run.decision is not None), None)
    if latest is None:
        raise InputError(f"no run in {ledger} has a result here; `judgeloop runs` lists all")
    return latest
