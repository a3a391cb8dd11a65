"""Finds the runs of a ledger: what they are, how they ended, and what they were charged.

Reads the ledger alone, wherever it is. Changes nothing.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import Any

from judgeloop.core.errors import InputError
from judgeloop.core.money import show_usd, to_usd
from judgeloop.core.work import lasting
from judgeloop.ledger.opening import Address, open_reader
from judgeloop.ledger.records import ORIGIN, RecordedRun
from judgeloop.ledger.upkeep import day_before
from judgeloop.report.words import shortened, visible
from judgeloop.runs.earlier import looked

MINUTE = 16  # characters of a time in ISO 8601 up to its minutes
LONGEST_NAMES = 48  # characters of the names of systems or judges in a list


class State(StrEnum):
    """What became of a run."""

    RUNNING = "running"  # a process of this machine works on it, or on its night
    ENDED = "ended"  # its result is kept
    LOST = "lost"  # its process ended without a result
    UNJUDGED = "unjudged"  # it has no judge, and so no result
    REFUSED = "refused"  # a pair of a night that could not be asked
    ELSEWHERE = "elsewhere"  # it was asked with another ledger, from which it was taken


# What is said of a run without a result.
WITHOUT = {
    State.RUNNING: "no result yet: {process} works on it",
    State.ENDED: "no result here: it was deleted from the ledger",
    State.LOST: "no result here: its process ended; rerun its command to go on",
    State.UNJUDGED: "nothing is judged: outputs by `generate`, or a check by `doctor`",
    State.ELSEWHERE: "no result here: it was asked with another ledger",
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
        """The decision, or why there is none: an earlier command's is none of a run that goes on, or was lost."""
        if self.recorded.note.refused:
            return self.recorded.note.refused
        ended = self.decision if self.state not in {State.RUNNING, State.LOST} else None
        return ended or WITHOUT[self.state].format(process=self.recorded.note.process)

    @property
    def started_at(self) -> str:
        """When a process last began to work on it (ISO 8601, UTC)."""
        return self.recorded.note.since or self.recorded.began_at

    def to_json(self) -> dict[str, Any]:
        """The run as a record of JSON values; times are in UTC."""
        noted = asdict(self.recorded.note)
        del noted["asked"]  # hashes say nothing to who lists runs
        return {
            "run": self.id,
            "state": self.state.value,
            **noted,
            "headline": self.headline,
            "began_at": self.recorded.began_at,
            "charged_usd": float(to_usd(self.recorded.charged_p)),
        }


def past_runs(ledger: Address, since: str = "", night: str = "") -> list[PastRun]:
    """The runs that were worked on at or after `since` (ISO 8601, UTC), the latest first.

    `night` is how the names of their nights begin; empty for all runs.

    Raises:
        InputError: there is no such file.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    with lasting("reading the list of runs"), open_reader(ledger) as reader:
        every, decisions = reader.runs(), reader.headlines()
        open_ = {run.id for run in every if run.note.exit_code is None}
        nights = {run.note.night for run in every if run.id in open_ and run.note.night}
        working = reader.working({*open_, *nights})
    found = [PastRun(run, _state(run, working), decisions.get(run.id)) for run in reversed(every)]
    found.sort(key=lambda run: run.started_at, reverse=True)
    return [run for run in found if run.started_at >= since and run.recorded.note.night.startswith(night)]


def replaced(runs: Iterable[PastRun]) -> set[str]:
    """The runs of nights that do not count any more, as their night was started again since.

    Such is one whose pair has a later run, or could not be asked then; and, once all that the last start began has
    ended, one whose pair that start did not have.
    """
    nights: dict[str, list[PastRun]] = {}
    for run in sorted(runs, key=lambda one: one.started_at, reverse=True):
        if run.recorded.note.pair:
            nights.setdefault(run.recorded.note.night, []).append(run)
    found = set[str]()
    for of_night in nights.values():
        process, pairs = of_night[0].recorded.note.process, set[str]()
        begun = [one for one in of_night if one.recorded.note.process == process]
        ended = all(one.recorded.note.exit_code is not None for one in begun)
        for one in of_night:
            note = one.recorded.note
            if note.pair in pairs or (ended and note.process != process):
                found.add(one.id)
            pairs.add(note.pair)
    return found


def _state(run: RecordedRun, working: set[str]) -> State:
    if ORIGIN in run.id:
        return State.ELSEWHERE
    if run.note.refused:
        return State.REFUSED
    if run.note.exit_code is not None:
        return State.ENDED
    if {run.id, run.note.night} & working:
        return State.RUNNING
    return State.LOST if run.note.judges else State.UNJUDGED


def local_day(text: str, today: date) -> str:
    """When a day began in local time, as ISO 8601 in UTC.

    It is `today`, `yesterday`, a number of days before today, or a date.

    Raises:
        InputError: it is none of these.
    """
    day = date.fromisoformat(day_before(text, today, "since"))
    return datetime.combine(day, time()).astimezone(UTC).isoformat(timespec="milliseconds")


def lines(runs: Sequence[PastRun], gone: Container[str] = ()) -> list[str]:
    """A line for each run: id, when it began, night if any has one, state, cost, names, decision.

    Of those that are `gone` the state says that a later start of the night replaced them.
    """
    rows = []
    for run in runs:
        note = run.recorded.note
        names = filter(None, (note.names, " + ".join(note.judges)))
        rows.append(
            (
                run.id,
                _minute(run.recorded.began_at),
                note.night,
                (run.state if note.exit_code is None else f"exit {note.exit_code}") + ", replaced" * (run.id in gone),
                f"{show_usd(run.recorded.charged_p):>8}",
                ", ".join(shortened(name, LONGEST_NAMES) for name in names),
                visible(run.headline) + _again(run),
            )
        )
    *widths, _ = [max(map(len, column), default=0) for column in zip(*rows, strict=True)] or [0]
    widths.append(1)
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True) if width) for row in rows]


def _again(run: PastRun) -> str:
    """How often a run had a result, of which the ledger has the last; empty for once."""
    number = run.recorded.note.results
    return f" (the last of {number:,} results, {_minute(run.started_at)})" if number > 1 else ""


def _minute(time: str) -> str:
    """A time in local time, up to its minute."""
    return datetime.fromisoformat(time).astimezone().isoformat(" ")[:MINUTE]


def past_run(ledger: Address, beginning: str) -> PastRun:
    """The run whose id begins with `beginning`.

    Raises:
        InputError: there is no such run, or there are several.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    found = [run for run in past_runs(ledger) if run.id.startswith(beginning)]
    if len(found) != 1:
        said = "no run has an id that begins so" if not found else f"{len(found)} runs begin with it"
        raise InputError(
            f"RUN {beginning}: {said} in {ledger}; `judgeloop runs` lists all, each line with the id first"
        )
    return found[0]


def before(ledger: Address, run: PastRun) -> PastRun | None:
    """The latest run that began before `run`, with the same systems and judges, and has a result and verdicts here."""

    def names(one: PastRun) -> tuple[tuple[str, ...], ...]:
        return one.recorded.note.systems, one.recorded.note.judges

    began = run.recorded.began_at
    earlier = [one for one in past_runs(ledger) if one.recorded.began_at < began and one.decision is not None]
    same = [one for one in earlier if names(one) == names(run) and looked(one.recorded.note)]
    return max(same, key=lambda one: one.recorded.began_at, default=None)


def with_result(ledger: Address, beginning: str | None) -> PastRun:
    """The run whose id begins with `beginning`, by default the latest with a result.

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
