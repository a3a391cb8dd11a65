"""A custom judge that rates single outputs: passes a summary with enough of the reference's words.

    judgeloop estimate A --judge python:examples.judges.content:passes --allow-plugins

It compares numbers and words of at least five characters. It does not check grammar or truth.
"""

from __future__ import annotations

import re

WORDS = re.compile(r"\b(?:\w{5,}|\d[\d,.]*)\b")
ENOUGH = 1 / 5


def passes(*, prompt: str, output: str, reference: str | None) -> float | None:
    """Return 1 for a summary with at least a fifth of the reference's words, else 0.

    None if the reference has no word that counts.
    """
    del prompt
    wanted = set(WORDS.findall((reference or "").lower()))
    if not wanted:
        return None
    found = wanted & set(WORDS.findall(output.lower()))
    return float(len(found) / len(wanted) >= ENOUGH)
