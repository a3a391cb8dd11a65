"""Why a run asked a judge anew about outputs that it had judged before: what differs in the keys of its verdicts.

Reads the attempts of a run that has ended, and those of earlier runs on the same outputs. Asks no judge.
"""

from typing import Any

from judgeloop.core.verdict_key import PARAMETER
from judgeloop.ledger.opening import open_reader
from judgeloop.run.prepared import Prepared

LATEST = 3  # earlier runs on the same outputs that are looked at
LONGEST_VALUE = 16  # characters shown of a digest or another ingredient
ORDER = "order of presentation"  # differs with the seed, and says nothing


def said_anew(prepared: Prepared[Any]) -> str:
    """Return in words what differs from the nearest earlier key; empty if nothing was asked anew."""
    if not prepared.command.spend.attempts:
        return ""
    with open_reader(prepared.config.ledger) as reader:
        runs = {run.id: run for run in reader.runs()}
        own = runs.pop(prepared.run_id, None)
        if own is None or not all(own.note.outputs):
            return ""  # what a live system answers is not the same
        same = [
            run for run in runs.values() if (run.note.systems, run.note.outputs) == (own.note.systems, own.note.outputs)
        ]
        asked = reader.asked(own.id)
        found = [
            (differences, judge, run.id)
            for run in same[-LATEST:]
            for (item, judge), earlier in reader.asked(run.id).items()
            if (now := asked.get((item, judge))) is not None
            and (differences := min((then.differences(one) for then in earlier for one in now), key=len))
        ]
    differences, judge, run = min(found, key=lambda one: len(one[0]), default=({}, "", ""))
    if not differences.keys() - {ORDER}:
        return ""
    told = ", ".join(
        f"{name.removeprefix(PARAMETER)} {_short(then)} then, {_short(now)} now"
        for name, (then, now) in differences.items()
        if name != ORDER
    )
    return f"{judge} was asked anew what the run {run} had asked: {told}"


def _short(value: str) -> str:
    return value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}…"
