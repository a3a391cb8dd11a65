"""A judge of one's own that answers as a recorded one did, by the texts: what blind judges see.

A test fills `SCORES`, by prompt and output, before it names `python:support.recorded_judge:judge`.
"""

from __future__ import annotations

SCORES: dict[tuple[str, str], float] = {}


def judge(*, prompt, first, second, reference):
    first_score, second_score = SCORES.get((prompt, first)), SCORES.get((prompt, second))
    if first_score is None or second_score is None:
        return None
    if first_score == second_score:
        return "tie"
    return "A" if first_score > second_score else "B"
