"""Reads the notes that the ledger keeps beside attempts: the judge, the item, what was shown.

A million notes differ in little but four digests. So the text around the digests is interpreted
once, and the digests are cut out of the other notes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

from pydantic_core import from_json

from judgeloop.core.verdict_key import (
    FIRST,
    ITEM,
    PROMPT,
    PROVIDER,
    RATED,
    REFERENCE,
    SECOND,
    KeyedJudge,
)
from judgeloop.core.verdict_key import SYSTEMS as NAMES

DIGEST = 64  # hexadecimal digits
# What stands before each digest in the note of a comparison.
_TO_PROMPT = f'"{PROMPT}": "'
_TO_REFERENCE, _TO_FIRST, _TO_SECOND = (f'", "{name}": "' for name in (REFERENCE, FIRST, SECOND))
_REFERENCE_AT = DIGEST + len(_TO_REFERENCE)
_FIRST_AT = _REFERENCE_AT + DIGEST + len(_TO_FIRST)
_SECOND_AT = _FIRST_AT + DIGEST + len(_TO_SECOND)
_END = _SECOND_AT + DIGEST
MOST_KNOWN = 10_000  # texts around digests that are kept; a judge that is not blind has many


class Noted(NamedTuple):
    """What a note says: the judge's number, digests of prompt and reference, systems and outputs.

    `shown` holds the digests of one output or two, in the order shown, as `systems` the names.
    """

    judge: int
    prompt: str
    reference: str
    systems: tuple[str, ...]
    shown: tuple[str, ...]


@final
@dataclass(slots=True)
class Notes:
    """Reads notes; `number` gives each judge its number."""

    number: Callable[[KeyedJudge], int]
    _known: dict[tuple[str, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    _judges: dict[tuple[str, ...], int] = field(default_factory=dict)

    def read(self, note: str) -> Noted | None:
        """Return what `note` says; None if it has no ingredients of a verdict's key."""
        at = note.find(_TO_PROMPT) + len(_TO_PROMPT)
        reference, first, second = at + _REFERENCE_AT, at + _FIRST_AT, at + _SECOND_AT
        if (
            note[at + DIGEST : reference] != _TO_REFERENCE
            or note[reference + DIGEST : first] != _TO_FIRST
            or note[first + DIGEST : second] != _TO_SECOND
        ):
            return self._parsed(note)
        around = note[:at], note[second + DIGEST :]
        known = self._known.get(around)
        if known is None:
            return self._parsed(note, around)
        return Noted(
            known[0],
            note[at : at + DIGEST],
            note[reference : reference + DIGEST],
            known[1],
            (note[first : first + DIGEST], note[second : second + DIGEST]),
        )

    def _parsed(self, note: str, around: tuple[str, str] | None = None) -> Noted | None:
        """Read a whole note; keep what the text `around` its digests says."""
        told = _read(note)
        ingredients, systems = told.get("ingredients", {}), tuple(told.get("systems", ()))
        shown = tuple(
            ingredients.pop(name) for name in (RATED, FIRST, SECOND) if name in ingredients
        )
        if not shown or len(shown) != len(systems) or PROVIDER not in ingredients:
            return None
        prompt, reference = ingredients.pop(PROMPT, ""), ingredients.pop(REFERENCE, "")
        judge = self._judge(ingredients)
        # In an escape a digest would be longer than its value.
        if around is not None and all(
            len(value) == DIGEST for value in (prompt, reference, *shown)
        ):
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[around] = judge, systems
        return Noted(judge, prompt, reference, systems, shown)

    def _judge(self, ingredients: dict[str, str]) -> int:
        """Return the number of the judge of ingredients without those that differ by call."""
        for name in (ITEM, NAMES):
            ingredients.pop(name, None)
        told = (*ingredients, *ingredients.values())
        number = self._judges.get(told)
        if number is None:
            number = self.number(KeyedJudge.from_note(ingredients))
            self._judges[told] = number
        return number


def _read(note: str) -> dict[str, Any]:
    """Read a note; three times as fast as `json`, which also reads halves of surrogate pairs."""
    try:
        found: dict[str, Any] = from_json(note)
    except ValueError:
        found = json.loads(note)
    return found
