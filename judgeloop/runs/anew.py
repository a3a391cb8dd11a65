"""Why a run asked a judge anew about outputs that it had judged before: what differs in the keys of its verdicts.

Reads the attempts of a run that has ended, and those of earlier runs on the same outputs.
"""

import json
from typing import Any

from judgeloop.core.keys import ABSENT, AGAIN_OF, FIRST, PARAMETER, RATED, SECOND, SOURCE
from judgeloop.ledger.reader import LedgerReader
from judgeloop.report.records import HUMAN
from judgeloop.report.result import ID
from judgeloop.runs.prepared import Prepared

LATEST = 3  # earlier runs on the same outputs that are looked at
LONGEST_VALUE = 16  # characters shown of a digest or another ingredient; addresses, which have no password, are whole
# What says nothing: the order differs with the seed, and the result says what was asked again of another model.
IDLE = {"order of presentation", AGAIN_OF}
PROMPT = f"{PARAMETER}prompt"
FORM = f"{PARAMETER}form"  # of the page, which a verdict of the terminal has not
CHANGED = {f"{PARAMETER}{SOURCE}": "its code has changed", f"{PARAMETER}rubric": "the rubric has changed"}  # digests
OTHERS = {FIRST, SECOND, RATED}  # where these differ between runs on the same outputs, a call was a control


async def said_anew(run: Prepared[Any]) -> str:
    """What differs from the nearest earlier key of a run that has ended, in words; empty if nothing was asked anew."""
    if not run.command.spend.attempts:
        return ""
    return await run.look(lambda reader: _said(reader, run.run_id, run.inputs.rubric))


async def said_elsewhere(run: Prepared[Any]) -> str:
    """That what people said of these outputs on the page does not count at the terminal, or the other way round.

    It is for a run that has not begun; empty if they said nothing, or the run has begun before.
    """
    return await run.look(lambda reader: _elsewhere(reader, run)) if run.by_hand else ""


def _elsewhere(reader: LedgerReader, run: Prepared[Any]) -> str:
    runs = reader.runs()
    if any(one.id == run.run_id for one in runs) or not all(run.digests):
        return ""
    same = [one.id for one in runs if (one.note.systems, one.note.outputs) == (run.pool.systems, run.digests)]
    for one in reversed(same[-LATEST:]):
        by_people = [
            FORM in key.to_note()
            for (_, judge), keys in reader.calls_of(one).items()
            if judge.partition(":")[0] == HUMAN
            for key in keys
        ]
        if not by_people:
            continue
        if run.config.page in by_people:
            return ""
        there, here, way = "on the page", "at the terminal", "`--page`"
        if run.config.page:
            there, here, way = here, there, "the command without `--page`"
        return (
            f"verdicts given {there}, as in the run {one[:ID]}, do not count {here}; {way} uses them again, if the "
            "rubric is the same"
        )
    return ""


def _said(reader: LedgerReader, run: str, rubric: str) -> str:
    runs = {one.id: one for one in reader.runs()}
    own = runs.pop(run, None)
    if own is None or not all(own.note.outputs):
        return ""  # what a live system answers is not the same
    same = [
        one for one in runs.values() if (one.note.systems, one.note.outputs) == (own.note.systems, own.note.outputs)
    ]
    calls = reader.calls_of(run)
    found = [
        (differences, judge, one.id)
        for one in same[-LATEST:]
        for (item, judge), earlier in reader.calls_of(one.id).items()
        if (now := calls.get((item, judge))) is not None
        and (differences := min((then.differences(key) for then in earlier for key in now), key=len))
        and not differences.keys() & OTHERS
    ]
    differences, judge, other = min(found, key=lambda one: len(one[0]), default=({}, "", ""))
    if ABSENT in differences.get(FORM, ()):
        differences.pop(FORM)  # `said_elsewhere`
    if not differences.keys() - IDLE:
        return ""
    if PROMPT in differences and (kept := reader.result(other)) is not None:
        before = json.loads(kept.document)["result"]["setup"].get("rubric", rubric)
        if before != rubric:  # which the digest of a prompt is made of, too
            differences = {f"{PARAMETER}rubric" if name == PROMPT else name: one for name, one in differences.items()}
    told = ", ".join(
        CHANGED[name] if name in CHANGED else f"{name.removeprefix(PARAMETER)} {_short(then)} then, {_short(now)} now"
        for name, (then, now) in differences.items()
        if name not in IDLE
    )
    return f"{judge} was asked anew, as its verdicts in the run {other[:ID]} do not count here: {told}"


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE or "://" in value else f"{value[:LONGEST_VALUE]}…"
