"""A judge of one's own: prefers the summary that names more of what the reference names.

    judgeloop compare A B --judge python:examples.judges.keywords:judge --allow-plugins

It reads capitalised words and numbers only, and knows nothing of grammar or truth.
"""

from __future__ import annotations

import re

NAMES = re.compile(r"\b(?:[A-Z][a-z]+|\d[\d,.]*)\b")


def judge(*, prompt: str, first: str, second: str, reference: str | None) -> str | None:
    """Return "A", "B", "tie", or None where there is nothing to go by; `prompt` is not looked at."""
    del prompt
    if reference is None:
        return None
    wanted = set(NAMES.findall(reference))
    found = [len(wanted & set(NAMES.findall(summary))) for summary in (first, second)]
    if found[0] == found[1]:
        return "tie"
    return "A" if found[0] > found[1] else "B"
