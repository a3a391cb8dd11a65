"""Says how rows that should be about one item differ: the text of errors of `join.py`.

Takes rows and texts, returns parts of sentences. Nothing is joined here.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judgeloop.formats.rows import ItemRow

AROUND = 20  # characters shown on each side of the place where two texts begin to differ
UNICODE = "differ only in Unicode normalization (NFC, NFD)"


def twice(first: ItemRow, second: ItemRow) -> str:
    """Return whether two rows about one item are the same, and what mends it."""
    names = [
        field.name
        for field in fields(first)
        if getattr(first, field.name) != getattr(second, field.name)
    ]
    if not names:
        return "both rows are the same: take one of them out"
    differ = f"the rows differ in {', '.join(map(repr, names))}"
    if first.id is not None and second.id is not None:
        return f"{differ}: take one of them out, or give them different ids"
    return (
        f"{differ}: take one of them out, or give every row of all files an 'id' that tells them "
        "apart"
    )


def differing(name: str, here: str, there: str, count: int) -> str:
    """Return two texts of a field around their first difference, and what mends it."""
    start = max(0, _first_difference(here, there) - AROUND)
    form = unicodedata.normalize("NFC", here) == unicodedata.normalize("NFC", there)
    notes = [f"{_part(here, start)} here, {_part(there, start)} there"]
    notes += [f"they {UNICODE}"] if form else []
    notes += [f"{count} items differ so"] if count > 1 else []
    return (
        f"{'; '.join(notes)}. Correct one of the files, take the field out of one of them, or name "
        f"another column with `map={name}=COLUMN`"
    )


def same_but_for_form(names: Iterable[str]) -> str:
    """Return a sentence on the names that only their Unicode normalization tells apart, or ""."""
    forms = Counter(unicodedata.normalize("NFC", name) for name in set(names))
    apart = sum(count for count in forms.values() if count > 1)
    if not apart:
        return ""
    return f" {apart} of these ids and prompts {UNICODE}: write all files in one form."


def _first_difference(here: str, there: str) -> int:
    """Return the first position at which two texts differ, or at which one of them ends."""
    pairs = enumerate(zip(here, there, strict=False))
    differences = (index for index, (mine, theirs) in pairs if mine != theirs)
    return next(differences, min(len(here), len(there)))


def _part(text: str, start: int) -> str:
    """Return a text from `start` on, in quotes, with marks where more of it was left out."""
    end = start + 2 * AROUND
    before, behind = "…" if start else "", "…" if end < len(text) else ""
    return f"{before}{text[start:end]!r}{behind}"
