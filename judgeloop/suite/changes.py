"""What changed since the last night: how pairs ended, which items turned, whose outputs are new, who is absent.

Reads a ledger, returns lines and names. `report/turned.py` compares two runs item by item.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, repeat
from pathlib import Path
from typing import NamedTuple

from judgeloop.core.errors import some
from judgeloop.core.outcomes import AnsweredBy
from judgeloop.core.records import PAIR
from judgeloop.diagnostics.past_runs import PastRun, past_runs, replaced
from judgeloop.engine.controls import NAME as CONTROL
from judgeloop.judges.catalogue import is_recorded, is_table
from judgeloop.ledger.opening import Address, open_reader
from judgeloop.ledger.reader import LedgerReader
from judgeloop.ledger.records import AskedAgain, RunNote
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.questions.kept import result_of, stored
from judgeloop.report.result import RunResult
from judgeloop.report.turned import turned_since
from judgeloop.report.words import visible
from judgeloop.runs.earlier import judged_alike
from judgeloop.settings.setting import declared, key
from judgeloop.suite.line import DATE, Line, one_output_of, state_of
from judgeloop.suite.other_judge import Models, OtherModels, present

# Options that make another question.
ASKED = ("not_worse", "min_gap", "near_tie", "half_width", "max_flips", "required_score")
LIMIT = "max_judgments"
NIGHTS = 6  # before this one, of which a line is drawn
OTHERS = "In this night other outputs of {} were judged before, in run {}, which may have ended otherwise."


class Compared(NamedTuple):
    """A night beside the last one of its suite: the date of that; the pairs' lines with what was known of each.

    `absent` are pairs of the last night that this one has not, each with a file of it that is not there, or "".
    `other_models` are those that answer for a judge in the place of others. `again` is what all runs of this night had
    asked again.
    """

    last_night: str
    lines: tuple[Line, ...]
    absent: dict[str, str]
    other_models: tuple[OtherModels, ...]
    again: AskedAgain


class LastRun(NamedTuple):
    """The last run of a pair in a night; `result` is None if it has none."""

    run: PastRun
    result: RunResult | None


def _word(last: LastRun) -> str:
    """How a run ended; of one that did not, what became of it."""
    code, result = last.run.recorded.note.exit_code, last.result
    if last.run.recorded.note.refused:
        return last.run.recorded.note.how
    if code is None or result is None:
        return last.run.state.value
    return state_of(result.outcome, code, doubtful=result.doubtful or bool(one_output_of(result.data)))


def compared(ledger: Address, night: str, lines: Sequence[Line]) -> Compared:
    """What the night of this suite before `night` says of these `lines`.

    A night's name is its date and that of the suite. Absent are pairs of the last night that are not in this one, but
    for those of a table that could not be read. None is where no pair of the last night has come again: names may
    have dates of their own.
    """
    noted = past_runs(ledger)
    every = [one for one in noted if one.recorded.note.judges]
    with open_reader(ledger) as reader:
        asked = {run for run, spent in reader.spending()["run"].items() if spent.attempts}
        here = [one.id for one in noted if one.recorded.note.night == night]
        again_of = reader.asked_again(here, CONTROL)
        replied = _replies(reader, here)
    # Recorded verdicts with a price are charged to a run, and to no attempt of it.
    asked |= {one.id for one in every if one.recorded.charged_p}
    name = night[DATE:]
    ours = [one for one in every if one.recorded.note.night[DATE:] == name and one.recorded.note.night < night]
    latest = sorted(ours, key=lambda one: (one.recorded.note.night, one.started_at), reverse=True)
    dates = [*dict.fromkeys(one.recorded.note.night for one in latest)][:NIGHTS][::-1]
    last = dates[-1] if dates else ""
    obsolete = replaced(noted)
    of_pairs = [one for one in noted if one.recorded.note.judges or one.recorded.note.refused]
    before = [one for one in of_pairs if one.recorded.note.night == last and one.id not in obsolete]
    runs, names, found = {one.id: one for one in every}, {line.name for line in lines}, []
    again = set[str]()  # pairs of the last night
    for line in lines:
        then = _then(line, runs, before, names)
        again |= {then.recorded.note.pair} if then else set()
        one = line
        if line.run in again_of:
            one = replace(one, again=again_of[line.run], warnings=(*one.warnings, *one.replaced))
        one = one if then is None else _beside(ledger, one, runs, _ended(ledger, then))
        pair = {line.name} if then is None else {line.name, then.recorded.note.pair}
        earlier = [one for one in latest if one.recorded.note.pair in pair and one.decision is not None]
        one = _by_judge(ledger, one, runs, earlier)
        kept = [run for run in earlier if run.id not in obsolete]
        one = replace(one, nights=_gaps(ledger, one, runs, kept, dates))
        found.append(_warned(_unchanged(one, runs, asked), runs))
    tables = tuple(f"{line.name} " for line in lines if not line.run)  # of pairs of a pattern that could not be read
    gone = {one.recorded.note.pair: one.recorded.note for one in before}
    absent = {
        pair: next((one for one in note.files if not Path(one).exists()), "")
        for pair, note in sorted(gone.items())
        if again and pair not in again | names and not pair.startswith(tables)
    }
    every_again = AskedAgain(*map(sum, zip(*again_of.values(), strict=True)))
    return Compared(last[:DATE], tuple(found), absent, _other_models(ledger, replied, found, latest), every_again)


def _then(line: Line, runs: Mapping[str, PastRun], before: Sequence[PastRun], names: Container[str]) -> PastRun | None:
    """A pair's run of the last night: that of its name, else of one that has gone, with its systems and judges."""
    for one in before:
        if one.recorded.note.pair == line.name:
            return one
    if line.run in runs:
        own = runs[line.run].recorded.note
        for one in before:
            note = one.recorded.note
            if note.pair not in names and (note.systems, note.judges) == (own.systems, own.judges):
                return one
    return None


def _gaps(
    ledger: Address, line: Line, runs: Mapping[str, PastRun], earlier: Sequence[PastRun], dates: Sequence[str]
) -> tuple[float | None, ...]:
    """The gaps of a pair in the nights of these `dates` and in this one: None where it has none by its judges now.

    Where none answers now, they are as they were the last time.
    """
    judges = runs[line.run].recorded.note.judges if line.run in runs else None
    now, gaps = present(line.answered_before) | present(line.answered_by), dict[str, float]()
    for one in earlier:
        night = one.recorded.note.night
        if one.recorded.note.judges != judges or night in gaps or night not in dates:
            continue
        result = result_of(stored(ledger, one.id), texts=False)
        by = present(models_of(result))
        gap = result.page.value("gap", "gap")
        if gap and not any(by.get(judge, model) != model for judge, model in now.items()):
            gaps[night] = float(gap) / 100
    return (*(gaps.get(date) for date in dates), *(line.nights or (None,)))


def _by_judge(ledger: Address, line: Line, runs: Mapping[str, PastRun], earlier: Sequence[PastRun]) -> Line:
    """A line with the judges and the models of its pair's last verdicts, and whether others judge now.

    Of recorded verdicts and scores it is no news that they are others.
    """
    if line.run not in runs:
        return line
    own = runs[line.run].recorded.note.judges
    results = ((one, result_of(stored(ledger, one.id), texts=False)) for one in earlier)
    before = next((one.recorded.note.judges for one, result in results if result.judged), own)
    line = replace(line, judges=own, judges_before=before, other_judge=line.other_judge or before != own)
    if not any("/" in one for one in own) or any(is_table(one) or is_recorded(one) for one in own):
        return line
    for one in earlier:
        same = one.recorded.note.judges == own
        if same and (models := models_of(result_of(stored(ledger, one.id), texts=False))):
            line = replace(line, answered_before=models)
            return replace(line, other_judge=line.other_judge or line.other_model)
    return line


def _replies(reader: LedgerReader, runs: Iterable[str]) -> dict[str, list[str]]:
    """The models that replied in some runs, by judge."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for judge, models in reader.models(run).items():
            found[judge] = [*dict.fromkeys([*found.get(judge, ()), *models])]
    return found


def _other_models(
    ledger: Address, replied: Mapping[str, list[str]], lines: Sequence[Line], latest: Sequence[PastRun]
) -> tuple[OtherModels, ...]:
    """The models that `replied` in this night, and not in the last one in which their judge did.

    `latest` are the runs of earlier nights, the latest first. Where none has a reply, it is who gave the verdicts that
    were there.
    """
    then = {judge: set[str]() for judge in replied}
    with open_reader(ledger) as reader:
        for _, runs in groupby(latest, key=lambda one: one.recorded.note.night):
            lacking = [judge for judge, models in then.items() if not models]
            if not lacking:
                break
            before = _replies(reader, [one.id for one in runs])
            then |= {judge: set(before.get(judge, ())) for judge in lacking}
    for judge in replied:
        known = (models for line in lines for of, models in (*line.answered_before, *line.answered_by) if of == judge)
        then[judge] = then[judge] or {one.model for models in known for one in models} - {*replied[judge]}
    return tuple(
        OtherModels(judge, tuple(sorted(then[judge])), tuple(new), tuple(models))
        for judge, models in replied.items()
        if then[judge] and (new := [one for one in models if one not in then[judge]])
    )


def _beside(ledger: Address, line: Line, runs: Mapping[str, PastRun], then: LastRun) -> Line:
    """A line with how its systems ended before, by what is required now, what turned, and what is new about it."""
    line = replace(line, before=_word(then))
    if then.result is not None:
        line = replace(line, answered_before=models_of(then.result), gap_before=then.result.page.value("gap", "gap"))
    if line.run not in runs:
        return line
    now, old = _ended(ledger, runs[line.run]), then.run.recorded.note
    new = now.run.recorded.note
    if then.result is not None:
        line = replace(line, winner_before=_other_winner(then.result, line, old.outputs, new.outputs))
    if (
        then.result is not None
        and now.result is not None
        and then.result.job == now.result.job
        and not now.result.answer.broke_off
    ):
        otherwise, limit = _asked_otherwise(then.result, now.result)
        line = replace(line, asked_otherwise=otherwise, limit_otherwise=limit)
        if old.judges == new.judges:
            since = turned_since(then.result, now.result)
            line = replace(line, since=since._replace(moved=None) if otherwise else since)
    # Of recorded verdicts and scores it is no news that they are others.
    recorded = any(is_table(one) or is_recorded(one) for one in new.judges)
    edited = line.since.both > 0 and not recorded and not judged_alike(old.asked, new.asked)
    line = replace(line, other_judge=edited)
    if not (_known(old) and _known(new)):
        return line
    return replace(line, outputs="new" if other_outputs(old, new) else "same")


def _other_winner(then: RunResult, line: Line, outputs: Sequence[str], outputs_now: Sequence[str]) -> str:
    """The system that was named in the last night, if it is not the one that is now; empty if it is, or none is.

    Of two whose names are others, as a candidate's may have a date, the place counts. The same outputs under another
    name are no other system.
    """
    before, now = then.setup.systems, line.systems
    if not (then.named and line.winner):
        return ""
    had, has = dict(zip(before, outputs, strict=False)), dict(zip(now, outputs_now, strict=False))
    if had.get(then.named) and had[then.named] == has.get(line.winner):
        return ""
    if len(before) == len(now) == PAIR and {*before} != {*now}:
        return then.named if before.index(then.named) != now.index(line.winner) else ""
    return then.named if then.named != line.winner else ""


def _asked_otherwise(then: RunResult, now: RunResult) -> tuple[str, str]:
    """Which settings of two results of one question differ, in words, and whether the limit of judgments does."""
    asked = (
        {LIMIT: one.setup.max_judgments, "risk": one.setup.risk_threshold}
        | {name: getattr(one.options, name, None) for name in ASKED}
        for one in (then, now)
    )
    old, new = ({name: "none" if value is None else value for name, value in one.items()} for one in asked)
    said = {name: f"{key(name)} {old[name]}, now {new[name]}" for name in old if old[name] != new[name]}
    limit = said.pop(LIMIT, "")
    by_default = all(one.setup.max_judgments == _usual_limit(one) for one in (then, now))
    return "; ".join(said.values()), "" if by_default else limit


def _usual_limit(result: RunResult) -> object:
    """The limit of judgments that a result's other settings have by default."""
    settings = next(one for one in QUESTIONS if one.name == result.job).settings()
    asked = {name: getattr(result.options, name, None) for name in ASKED}
    given = {name: value for name, value in asked.items() if value is not None}
    setup = result.setup
    given |= {"outputs": setup.systems, "selector": setup.selector, "rule": setup.rule, "risk": setup.risk_threshold}
    return settings.completed(given).get(LIMIT, declared(settings)[LIMIT].default)


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
        alike = (one.note.night, one.note.pair) == (own.note.night, own.note.pair)
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
        and one.recorded.note.night not in {"", own.note.night}
        and one.recorded.began_at < own.began_at
    ]
    if not same:
        return line
    latest = max(same, key=lambda one: (one.id in asked, one.recorded.began_at))
    night = latest.recorded.note.night
    own_suite = night[DATE:] == own.note.night[DATE:]
    return replace(line, same_as=night[:DATE] if own_suite else night, further=line.run in asked)


def _known(note: RunNote) -> bool:
    """Whether all outputs are known beforehand, as those of systems that answer live are not."""
    return bool(note.outputs) and all(note.outputs)


def _ended(ledger: Address, run: PastRun) -> LastRun:
    return LastRun(run, None if run.decision is None else result_of(stored(ledger, run.id)))


def models_of(result: RunResult) -> Models:
    """The models that answered for each judge of a result; where no reply names another, the one that was asked for.

    Nobody answered about identical outputs.
    """
    asked = result.judged_items - result.identical
    found = zip(result.setup.judges, result.counts.answered_by or repeat(()), strict=False)
    return tuple(
        (judge, models or (AnsweredBy(judge.partition("/")[2], asked, "", ""),))
        for judge, models in found
        if models or (asked > 0 and "/" in judge and not (is_table(judge) or is_recorded(judge)))
    )
