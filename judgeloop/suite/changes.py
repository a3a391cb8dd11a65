"""What changed between two nights: how pairs ended, which items turned, whose outputs differ, who is absent.

Reads a ledger, returns a page or names. `diagnostics/differences.py` compares two runs item by item.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from judgeloop.core.errors import InputError, some
from judgeloop.core.ledger import RunNote
from judgeloop.diagnostics.differences import differences, other_outputs
from judgeloop.diagnostics.past_runs import PastRun, past_runs
from judgeloop.ledger.opening import Address, open_reader
from judgeloop.questions.kept import result_of, stored
from judgeloop.report.escaping import visible
from judgeloop.report.page import Page, Table
from judgeloop.report.run_result import RunResult
from judgeloop.report.words import count
from judgeloop.suite.summary import DATE, Line, is_doubtful, state_of

COLUMNS = ("items that turned", "judged in both", "other outputs")
NEITHER = (
    "Where no item turned and no output is another one, it is another draw of the items, or a limit, that ended a "
    "pair otherwise. "
)
OTHERS = "In this night other outputs of {} were judged before, in run {}, which may have ended otherwise."
DIFF = "`judgeloop runs diff` of two runs lists their items."
Systems = tuple[str, ...]


class Ended(NamedTuple):
    """The last run of some systems in a night; `result` is None if it has none."""

    run: PastRun
    result: RunResult | None

    @property
    def words(self) -> str:
        """How it ended, and who won; of one that runs again, only that."""
        word = _word(self, required=self.result is None or self.result.answer_required)
        ended = self.run.recorded.note.exit_code is not None
        winner = self.result.named if ended and self.result else None
        return f"{word}, {visible(winner)}" if winner else word


def _word(ended: Ended, *, required: bool) -> str:
    """Return how a run ended, by what is `required`; of one that did not, what became of it."""
    code, result = ended.run.recorded.note.exit_code, ended.result
    if code is None:
        return ended.run.state.value
    return state_of(code, required=required, doubtful=result is not None and is_doubtful(result))


def changes(ledger: Address, x: str, y: str) -> Page:
    """Return what differs between the nights whose names begin with `x` and `y`, by pair.

    Raises:
        InputError: no run is of such a night.
        LedgerError: the ledger cannot be read, or a row is not as it was written.
    """
    before, after = (_of_night(ledger, night) for night in (x, y))
    rows = [_row(systems, before, after) for systems in sorted({**before, **after})]
    still = {"", "0"}  # of the items that turned
    changed = tuple(row for row in rows if row[1] != row[2] or row[-1] or row[3] not in still)
    head = f"{count(len(changed), 'pair')} of {len(rows):,} changed between {visible(x)} and {visible(y)}"
    if not changed:
        return Page(f"{head}.", ())
    note = NEITHER * any(not row[-1] and row[3] in still for row in changed) + DIFF
    return Page(f"{head}.", (), tables=(Table("", ("systems", x, y, *COLUMNS), changed, note),))


def compared(
    ledger: Address, night: str, lines: Sequence[Line], unread: Sequence[str]
) -> tuple[str, tuple[Line, ...], list[str]]:
    """Return the night of this suite before `night`, `lines` with what was known of each, and who is absent now.

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
    before = {one.recorded.note.systems: one for one in reversed(every) if one.recorded.note.night == last}
    here = {system for line in lines for system in line.systems}
    again = any(set(systems) <= here for systems in before)
    gone = {system for systems in before for system in systems} - here
    absent = [one for one in gone if again and not any(_named(one, said) for said in unread)]
    runs = {one.id: one for one in every}
    then = ((line, _then(line, before, unread)) for line in lines)
    beside = (line if old is None else _beside(line, runs, _ended(ledger, old)) for line, old in then)
    found = (_warned(_unchanged(line, runs, asked), runs) for line in beside)
    return last[:DATE], tuple(found), sorted(absent)


def _named(system: str, said: str) -> bool:
    """Return whether a text names a system by itself, not within another word, as "worse" is in "not_worse"."""
    return re.search(rf"(?<![\w-]){re.escape(system)}(?![\w-])", said) is not None


def _then(line: Line, before: Mapping[Systems, PastRun], unread: Sequence[str]) -> PastRun | None:
    """Return a pair's run of the last night; a pair that could not be read is known by its name and files."""
    if line.systems:
        return before.get(line.systems)
    said = next((one for one in unread if one.startswith(f"{line.name} ")), "")
    known = [run for systems, run in before.items() if all(_named(one, said) for one in systems)]
    return known[0] if len(known) == 1 else None


def _beside(line: Line, runs: Mapping[str, PastRun], then: Ended) -> Line:
    """Return a line with how its systems ended before, by what is required now, and whether outputs are new."""
    old, word = then.run.recorded.note, _word(then, required=bool(line.gate))
    new = runs[line.run].recorded.note if line.run in runs else None
    if new is None or not (_known(old) and _known(new)):
        return replace(line, before=word)
    return replace(line, before=word, outputs="new" if other_outputs(old, new) else "same")


def _warned(line: Line, runs: Mapping[str, PastRun]) -> Line:
    """Return a line with a warning, if its pair was asked in the same night about other outputs."""
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
    """Return a line with the latest night before that `asked` the same about the same outputs, if one did."""
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
    """Return whether all outputs are known beforehand, as those of systems that answer live are not."""
    return bool(note.outputs) and all(note.outputs)


def _of_night(ledger: Address, night: str) -> dict[Systems, Ended]:
    found = [one for one in past_runs(ledger, night=night) if one.recorded.note.judges]
    if not found:
        raise InputError(f"{night}: no run in {ledger} is of a night whose name begins so; `judgeloop runs` lists all")
    return {one.recorded.note.systems: _ended(ledger, one) for one in reversed(found)}


def _ended(ledger: Address, run: PastRun) -> Ended:
    return Ended(run, None if run.decision is None else result_of(stored(ledger, run.id)))


def _row(systems: Systems, before: Mapping[Systems, Ended], after: Mapping[Systems, Ended]) -> tuple[str, ...]:
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
    further = old.result.setup.seed == new.result.setup.seed and found.only[1] > found.only[0] == 0
    others = others or "none: it went on" * further
    return named, *words, f"{len(found.turned):,}", f"{found.both:,}", others
