"""A custom judge: prefers the summary that has more of the names and numbers in the reference.

    judgeloop compare A B --judge python:examples.judges.keywords:judge --allow-plugins

It compares capitalised words and numbers only. It does not check grammar or truth.
"""

from __future__ import annotations

import re

NAMES = re.compile(r"\b(?:[A-Z][a-z]+|\d[\d,.]*)\b")


def judge(*, prompt: str, first: str, second: str, reference: str | None) -> str | None:
    """Return "A" (the first), "B" (the second) or "tie"; None without a reference."""
    del prompt
    if reference is None:
        return None
    wanted = set(NAMES.findall(reference))
    found = [len(wanted & set(NAMES.findall(summary))) for summary in (first, second)]
    if found[0] == found[1]:
        return "tie"
    return "A" if found[0] > found[1] else "B"
