"""What to do after an end that cut a run short."""

import math

from judgeloop.core.money import to_usd
from judgeloop.core.outcomes import StopKind
from judgeloop.core.spend import Spend
from judgeloop.methods.stats.intervals import wilson_interval
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.records import Counts, Setup

CUT_SHORT = {
    StopKind.INTERRUPTED: NoteCode.RESUME,
    StopKind.DEADLINE: NoteCode.RESUME,
    StopKind.JUDGE_FAILED: NoteCode.FIX,
    StopKind.SYSTEM_FAILED: NoteCode.FIX,
    StopKind.ABSTENTIONS: NoteCode.SILENT,
    StopKind.CONTROLS: NoteCode.OTHER_JUDGE,
    StopKind.JUDGE_CHANGED: NoteCode.OTHER_MODEL,
    StopKind.OTHER_MODEL: NoteCode.NOT_AS_ASKED,
}
BY_HAND = CUT_SHORT | {
    StopKind.INTERRUPTED: NoteCode.GO_ON,
    StopKind.DEADLINE: NoteCode.GO_ON,
    StopKind.ABSTENTIONS: NoteCode.JUDGE_SKIPPED,
}


def to_go_on(stop: StopKind, setup: Setup, counts: Counts, spend: Spend, *, judged: int, by_hand: bool) -> Note:
    """How to go on; `judged` queries have a verdict. `by_hand`: people are asked, perhaps beside a judge."""
    if stop is StopKind.JUDGE_CHANGED:
        verdicts = sum(one.verdicts for models in counts.answered_by for one in models)
        calls, controls = verdicts + spend.controls, " must first pass the controls. It then" if spend.controls else ""
        usd = float(to_usd(calls * spend.answers_p // spend.answers)) if spend.answers and spend.known else None
        return note(NoteCode.OTHER_MODEL, verdicts=verdicts, controls=controls, usd=usd)
    if setup.asked_anew and stop is not StopKind.CONTROLS:
        return note(NoteCode.BEGIN_ANEW)
    if stop is StopKind.JUDGE_FAILED and setup.by_source and judged:
        return note(NoteCode.FIX_IS_ANOTHER, judge=" + ".join(setup.by_source), judged=judged)
    if stop is StopKind.ABSTENTIONS and not by_hand:
        if not judged:  # or only controls were asked: no share of items helps
            return note(NoteCode.NO_VERDICTS)
        silent = counts.abstentions + counts.abstentions_beside
        most = wilson_interval(silent, judged + silent)[1]  # in the long run
        allowed = note(NoteCode.SILENT, share=math.ceil(10 * most) / 10)
        return allowed if silent <= judged else note(NoteCode.MOST_SILENT)  # the judge is to be mended, not the limit
    return note((BY_HAND if by_hand else CUT_SHORT)[stop])
