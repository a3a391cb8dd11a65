"""What changed since the last night: how pairs ended, which items turned, whose outputs are new, who is absent.

Reads a ledger, returns lines and names. `report/turned.py` compares two runs item by item.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from judgeloop.core.errors import some
from judgeloop.diagnostics.past_runs import PastRun, past_runs
from judgeloop.ledger.opening import Address, open_reader
from judgeloop.ledger.records import RunNote
from judgeloop.questions.kept import figure_kept, result_of, stored
from judgeloop.report.result import RunResult
from judgeloop.report.turned import turned_since
from judgeloop.report.words import visible
from judgeloop.suite.summary import DATE, Line, is_doubtful, models_of, state_of

NIGHTS = 6  # before this one, of which a line is drawn
OTHERS = "In this night other outputs of {} were judged before, in run {}, which may have ended otherwise."
Systems = tuple[str, ...]


class LastRun(NamedTuple):
    """The last run of some systems in a night; `result` is None if it has none."""

    run: PastRun
    result: RunResult | None


def _word(last: LastRun) -> str:
    """How a run ended; of one that did not, what became of it."""
    code, result = last.run.recorded.note.exit_code, last.result
    if code is None or result is None:
        return last.run.state.value
    return state_of(result.outcome, code, doubtful=is_doubtful(result))


def compared(
    ledger: Address, night: str, lines: Sequence[Line], unread: Sequence[str]
) -> tuple[str, tuple[Line, ...], list[str]]:
    """The night of this suite before `night`, `lines` with what was known of each, and who is absent now.

    A night's name is its date and that of the suite. Absent are systems of the last night that are in no pair now.
    Those of a pair that could not be read are not: `unread` has its name and files. None is where no pair of the
    last night has come again: names may have dates of their own.
    """
    every = [one for one in past_runs(ledger) if one.recorded.note.judges]
    with open_reader(ledger) as reader:
        asked = {run for run, spent in reader.spending()["run"].items() if spent.attempts}
    # Recorded verdicts with a price are charged to a run, and to no attempt of it.
    asked |= {one.id for one in every if one.recorded.charged_p}
    names = {one.recorded.note.night for one in every}
    name = night[DATE:]
    last = max((one for one in names if one < night[:DATE] and one[DATE:] == name), default="")
    before = {one.recorded.note.systems: one for one in reversed(every) if last and one.recorded.note.night == last}
    here = {system for line in lines for system in line.systems}
    again = any(set(systems) <= here for systems in before)
    gone = {system for systems in before for system in systems} - here
    absent = [one for one in gone if again and not any(_named(one, said) for said in unread)]
    runs = {one.id: one for one in every}
    then = ((line, _then(line, before, unread)) for line in lines)
    beside = (line if old is None else _beside(ledger, line, runs, _ended(ledger, old)) for line, old in then)
    gaps = _gaps(ledger, night, every)
    beside = (replace(line, nights=(*gaps.get(line.systems, ()), *line.nights)) for line in beside)
    found = (_warned(_unchanged(line, runs, asked), runs) for line in beside)
    return last[:DATE], tuple(found), sorted(absent)


def _gaps(ledger: Address, night: str, every: Sequence[PastRun]) -> dict[Systems, list[float]]:
    """The gaps of each pair in the last nights of this suite before `night`, the oldest first."""
    name, found = night[DATE:], dict[Systems, list[float]]()
    by_night = {
        (one.recorded.note.systems, one.recorded.note.night): one
        for one in reversed(every)
        if one.decision is not None and one.recorded.note.night[DATE:] == name and one.recorded.note.night < night
    }
    for (systems, _), one in sorted(by_night.items(), key=lambda item: item[0][1], reverse=True):
        gaps = found.setdefault(systems, [])
        if len(gaps) < NIGHTS and (gap := figure_kept(stored(ledger, one.id), "gap", "gap")):
            gaps.insert(0, float(gap) / 100)
    return found


def _named(system: str, said: str) -> bool:
    """Whether a text names a system by itself, not within another word, as "worse" is in "not_worse"."""
    return re.search(rf"(?<![\w-]){re.escape(system)}(?![\w-])", said) is not None


def _then(line: Line, before: Mapping[Systems, PastRun], unread: Sequence[str]) -> PastRun | None:
    """A pair's run of the last night; a pair that could not be read is known by its name and files."""
    if line.systems:
        return before.get(line.systems)
    said = next((one for one in unread if one.startswith(f"{line.name} ")), "")
    known = [run for systems, run in before.items() if all(_named(one, said) for one in systems)]
    return known[0] if len(known) == 1 else None


def _beside(ledger: Address, line: Line, runs: Mapping[str, PastRun], then: LastRun) -> Line:
    """A line with how its systems ended before, by what is required now, what turned, and if outputs are new."""
    answered = models_of(then.result) if then.result is not None else ()
    line = replace(line, before=_word(then), answered_before=answered)
    if line.run not in runs:
        return line
    now, old = _ended(ledger, runs[line.run]), then.run.recorded.note
    if then.result is not None and now.result is not None and then.result.job == now.result.job:
        line = replace(line, since=turned_since(then.result, now.result))
    new = now.run.recorded.note
    if not (_known(old) and _known(new)):
        return line
    return replace(line, outputs="new" if other_outputs(old, new) else "same")


def other_outputs(x: RunNote, y: RunNote) -> list[str]:
    """The systems of `y` whose outputs are not all those of `x`, as far as it is known; matched by place."""
    found = zip(y.systems, x.outputs, y.outputs, strict=False)
    return [name for name, old, new in found if old and new and old != new]


def _warned(line: Line, runs: Mapping[str, PastRun]) -> Line:
    """A line with a warning, if its pair was asked in the same night about other outputs."""
    if line.run not in runs:
        return line
    own = runs[line.run].recorded
    for one in (run.recorded for run in runs.values()):
        alike = (one.note.night, one.note.systems) == (own.note.night, own.note.systems)
        if alike and one.began_at < own.began_at and (names := other_outputs(one.note, own.note)):
            said = OTHERS.format(visible(some(names)), one.id)
            return replace(line, warnings=(*line.warnings, said))
    return line


def _unchanged(line: Line, runs: Mapping[str, PastRun], asked: Container[str]) -> Line:
    """A line with the latest night before that `asked` the same about the same outputs, if one did."""
    if line.run not in runs or not _known(runs[line.run].recorded.note):
        return line
    own = runs[line.run].recorded
    same = [
        one
        for one in runs.values()
        if one.recorded.note.question == own.note.question
        and one.recorded.note.night[:DATE] not in {"", own.note.night[:DATE]}
        and one.recorded.began_at < own.began_at
    ]
    if not same:
        return line
    latest = max(same, key=lambda one: (one.id in asked, one.recorded.began_at))
    return replace(line, same_as=latest.recorded.note.night[:DATE], further=line.run in asked)


def _known(note: RunNote) -> bool:
    """Whether all outputs are known beforehand, as those of systems that answer live are not."""
    return bool(note.outputs) and all(note.outputs)


def _ended(ledger: Address, run: PastRun) -> LastRun:
    return LastRun(run, None if run.decision is None else result_of(stored(ledger, run.id)))
