"""Why a run asked a judge anew about outputs that it had judged before: what differs in the keys of its verdicts.

Reads the attempts of a run that has ended, and those of earlier runs on the same outputs.
"""

from typing import Any

from judgeloop.core.keys import AGAIN_OF, FIRST, PARAMETER, RATED, SECOND, SOURCE
from judgeloop.ledger.reader import LedgerReader
from judgeloop.report.facts import ID
from judgeloop.runs.prepared import Prepared

LATEST = 3  # earlier runs on the same outputs that are looked at
LONGEST_VALUE = 16  # characters shown of a digest or another ingredient; addresses, which have no password, are whole
# What says nothing: the order differs with the seed, and the result says what was asked again of another model.
IDLE = {"order of presentation", AGAIN_OF}
OTHERS = {FIRST, SECOND, RATED}  # where these differ between runs on the same outputs, a call was a control


async def said_anew(run: Prepared[Any]) -> str:
    """What differs from the nearest earlier key of a run that has ended, in words; empty if nothing was asked anew."""
    if not run.command.spend.attempts:
        return ""
    return await run.look(lambda reader: _said(reader, run.run_id))


def _said(reader: LedgerReader, run: str) -> str:
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
    if not differences.keys() - IDLE:
        return ""
    told = ", ".join(
        "its code has changed"
        if name == f"{PARAMETER}{SOURCE}"
        else f"{name.removeprefix(PARAMETER)} {_short(then)} then, {_short(now)} now"
        for name, (then, now) in differences.items()
        if name not in IDLE
    )
    return f"{judge} was asked anew, as its verdicts in the run {other[:ID]} do not count here: {told}"


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE or "://" in value else f"{value[:LONGEST_VALUE]}…"
