"""What changed between two nights: how pairs ended, which items turned, whose outputs differ, who is absent.

Reads a ledger, returns a page or names. `diagnostics/differences.py` compares two runs item by item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from judgeloop.core.errors import InputError
from judgeloop.diagnostics.differences import differences, other_outputs
from judgeloop.diagnostics.past_runs import PastRun, past_runs
from judgeloop.ledger.opening import Address
from judgeloop.questions.stored import result_of, stored
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page, Table
from judgeloop.report.run_result import RunResult
from judgeloop.report.words import count
from judgeloop.suite.summary import DATE, Line, state

COLUMNS = ("items that turned", "judged in both", "other outputs")
Systems = tuple[str, ...]


class Ended(NamedTuple):
    """The last run of some systems in a night; `result` is None if it has none."""

    run: PastRun
    result: RunResult | None

    @property
    def words(self) -> str:
        """How it ended, and who won; of one that runs again, only that."""
        code = self.run.recorded.note.exit_code
        if code is None:
            return self.run.state.value
        word = state(code, required=self.result is None or self.result.answer_required)
        winner = self.result and self.result.named
        return f"{word}, {visible(winner)}" if winner else word


def changes(ledger: Address, x: str, y: str) -> Page:
    """Return what differs between the nights whose names begin with `x` and `y`, by pair.

    Raises:
        InputError: no run is of such a night.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    before, after = (_of_night(ledger, night) for night in (x, y))
    rows = [_row(systems, before, after) for systems in sorted({**before, **after})]
    changed = tuple(row for row in rows if row[1] != row[2] or row[-1] or row[3] not in {"", "0"})
    head = f"{count(len(changed), 'pair')} of {len(rows):,} changed between {visible(x)} and {visible(y)}"
    if not changed:
        return Page(f"{head}.", ())
    note = (
        "Where no item turned and no output is another one, it is another draw of the items, or a limit, that "
        "ended a pair otherwise. `judgeloop runs diff` of two runs lists their items."
    )
    return Page(f"{head}.", (), tables=(Table("", ("systems", x, y, *COLUMNS), changed, note),))


def compared(
    ledger: Address, night: str, lines: Sequence[Line], unread: Sequence[str]
) -> tuple[str, tuple[Line, ...], list[str]]:
    """Return the night of this suite before `night`, `lines` with how each ended in it, and who is absent now.

    A night's name is its date and that of the suite. Absent are systems of the last night that are in no pair now.
    Those of a pair that could not be read are not: `unread` has its name and files. None is where no pair of the
    last night has come again: names may have dates of their own.
    """
    date, name = night[:DATE], night[DATE:]
    nights = [one for one in past_runs(ledger) if one.recorded.note.judges]
    names = {one.recorded.note.night for one in nights}
    last = max((one for one in names if one < date and one[DATE:] == name), default="")
    before = {
        one.recorded.note.systems: one
        for one in reversed(nights)
        if one.recorded.note.night == last
    }
    here = {system for line in lines for system in line.systems}
    again = any(set(systems) <= here for systems in before)
    gone = {system for systems in before for system in systems} - here
    known = [
        replace(one, before=_then(before[one.systems], one)) if one.systems in before else one
        for one in lines
    ]
    return (
        last[:DATE],
        tuple(known),
        sorted(one for one in gone if again and not any(one in said for said in unread)),
    )


def _then(run: PastRun, line: Line) -> str:
    """Return how a run ended, by what is required of its pair now."""
    code = run.recorded.note.exit_code
    return run.state.value if code is None else state(code, required=bool(line.gate))


def _of_night(ledger: Address, night: str) -> dict[Systems, Ended]:
    found = [one for one in past_runs(ledger, night=night) if one.recorded.note.judges]
    if not found:
        raise InputError(
            f"{night}: no run in {ledger} is of a night whose name begins so; `judgeloop runs` lists all"
        )
    return {
        one.recorded.note.systems: Ended(
            one, None if one.decision is None else result_of(stored(ledger, one.id))
        )
        for one in reversed(found)
    }


def _row(
    systems: Systems, before: Mapping[Systems, Ended], after: Mapping[Systems, Ended]
) -> tuple[str, ...]:
    ends = [night.get(systems) for night in (before, after)]
    named = visible(" and ".join(systems))
    words = ["not asked" if one is None else one.words for one in ends]
    old, new = ends
    if old is None or new is None:
        return named, *words, "", "", ""
    others = ", ".join(map(visible, other_outputs(old.run.recorded.note, new.run.recorded.note)))
    if old.result is None or new.result is None or old.result.job != new.result.job:
        return named, *words, "", "", others
    found = differences(old.result, new.result)
    return named, *words, f"{len(found.turned):,}", f"{found.both:,}", others
