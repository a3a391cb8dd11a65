"""Reads the fields of one row as texts, and says in errors which row and which column is wrong.

The columns are found as `columns.py` says. `rows.py` makes records of the texts.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

from judgeloop.core.errors import DataError
from judgeloop.formats.columns import (
    FIELDS,
    GROUP,
    ID,
    JOINER,
    OUTPUT,
    PROMPT,
    REFERENCE,
    Plan,
    found_text,
)
from judgeloop.formats.conversation import conversation, is_messages, split_answer
from judgeloop.formats.json_rows import LONGEST_SHOWN
from judgeloop.formats.tables import Row

_SURROGATES = re.compile("[\ud800-\udfff]")
CHOICES = "choices"  # of a reply of OpenAI's API
BARE_REPLY = (
    "this is a reply of a model as its API sent it, which does not say which item it answers; write "
    "rows with the item's 'id' or 'prompt', and the text of the reply as 'output'"
)
Messages = Sequence[Mapping[str, Any]]
T = TypeVar("T")


@dataclass(slots=True)
class RowReader:
    """Reads the fields of one row, and names the row and the column in errors."""

    path: Path
    row: Row
    plan: Plan
    unit: str
    answered: Messages | None = None

    def item(self) -> tuple[str | None, str | None, str | None, str | None]:
        """Return id, prompt, reference and group; None where the row has none."""
        return (
            self.text(ID),
            self._prompt(),
            self.text(REFERENCE),
            once(self.text(GROUP)),
        )

    def output(self) -> str:
        """Return the output: the column, else the answer at the end of the messages."""
        fields, columns = self.row.fields, self.plan.columns(OUTPUT)
        held = [name for name in columns if fields[name] is not None] or list(columns)
        if not held:
            return self._last_answer()
        name = self._only(OUTPUT, held)
        value = fields[name]
        if type(value) is str and value.isascii() and OUTPUT not in self.plan.joined:
            return value
        found = self._value(OUTPUT, name)
        if found is None:
            raise self._wrong(name, value)
        return found

    def text(self, field_: str) -> str | None:
        """Return the text of a field; None if it is absent or empty."""
        name = self._column(field_)
        if name is None:
            return None
        value = self.row.fields[name]
        if type(value) is str and value.isascii() and field_ not in self.plan.joined:
            return value or None
        return self._value(field_, name) or None

    def _prompt(self) -> str | None:
        name = self._column(PROMPT)
        beside = self.plan.beside
        if name is not None and beside is not None and self.row.fields[beside]:
            raise self._ambiguous(PROMPT, [name, beside], f"{name}{JOINER}{beside}")
        if self.answered is not None and (name is None or is_messages(self.row.fields[name])):
            return self._said(conversation, self.answered) if self.answered else None
        return self.text(PROMPT)

    def _last_answer(self) -> str:
        """Return the answer at the end of a `messages` list, and keep what stands before it."""
        for name in self.plan.columns(PROMPT):
            messages = self.row.fields[name]
            if is_messages(messages):
                before, answer = self._said(split_answer, messages)
                if answer is not None:
                    self.answered = before
                    return mended(str(answer))
        raise self.missing(OUTPUT)

    def missing(self, field_: str) -> DataError:
        """Return the error for a field that no column holds."""
        if field_ == OUTPUT and isinstance(self.row.fields.get(CHOICES), list):
            return self._error(BARE_REPLY)
        names = remedy(field_, self.row.fields, self.plan)
        return self._error(f"the field {field_!r} is missing; {names}")

    def _error(self, problem: str) -> DataError:
        return DataError(self.path, problem, line=self.row.line, unit=self.unit)

    def _column(self, field_: str) -> str | None:
        """Return the column that holds a field: the first that is not empty."""
        fields = self.row.fields
        for name in self.plan.sure.get(field_, ()):
            if fields[name] is not None and not is_empty(fields[name]):
                return name
        held = [name for name in self.plan.guessed.get(field_, ()) if not is_empty(fields[name])]
        return self._only(field_, held) if held else None

    def _only(self, field_: str, names: Sequence[str]) -> str:
        """Return the first of the columns; refuse a second that is a guess and says otherwise."""
        first, fields = names[0], self.row.fields
        if first not in self.plan.sure.get(field_, ()):
            other = next((name for name in names[1:] if fields[name] != fields[first]), None)
            if other is not None:
                raise self._ambiguous(field_, [first, other], first)
        return first

    def _value(self, field_: str, name: str) -> str | None:
        """Return the text of a column, or of all columns that `map` joins."""
        columns = self.plan.joined.get(field_, (name,))
        texts = [self._text(column, self.row.fields[column]) for column in columns]
        present = [text for text in texts if text is not None]
        if len(columns) == 1:
            return present[0] if present else None
        return "\n\n".join(text for text in present if text)

    def _text(self, name: str, value: object) -> str | None:
        """Return a value as text that can be stored; numbers are written out."""
        if value is None:
            return None
        if isinstance(value, str):
            return mended(value)
        if is_messages(value):
            return mended(str(self._said(conversation, value)))
        number = isinstance(value, Real | Decimal) and not isinstance(value, bool)
        if not number or not math.isfinite(value):  # type: ignore[arg-type]  # checked before
            raise self._wrong(name, value)
        return str(value)

    def _said(self, function: Callable[[Messages], T], messages: Messages) -> T:
        try:
            return function(messages)
        except ValueError as error:
            raise self._error(f"the messages cannot be shown to a judge: {error}") from None

    def _wrong(self, name: str, value: object) -> DataError:
        text = repr(value)
        shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        return self._error(f"the field {name!r} is wrong: expected text, found {shown}")

    def _ambiguous(self, field_: str, names: Sequence[str], mending: str) -> DataError:
        return self._error(
            f"both {' and '.join(map(repr, names))} may be the {field_}; say which, as in "
            f"`map={field_}={mending}`"
        )


def remedy(field_: str, names: Iterable[str], plan: Plan | None = None) -> str:
    """Return which columns were found, and the map that would make one of them `field_`."""
    listed = list(names)
    taken = {name for field in FIELDS for name in (plan.columns(field) if plan else ())}
    free = next((name for name in listed if name not in taken), None)
    text = f"found {found_text(listed)}"
    column = "COLUMN" if free is None else free
    return f"{text}; say which column it is, as in `map={field_}={column}`"


def mended(text: str) -> str:
    """Decode surrogate pairs, which JSON allows and UTF-8 does not; a lone half becomes U+FFFD."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_empty(value: object) -> bool:
    """Return whether a value says nothing, as an empty cell of a CSV file."""
    return value is None or (isinstance(value, str) and not value)


def once(text: str | None) -> str | None:
    """Return a text that many rows share, kept once; None for an empty text."""
    return sys.intern(text) if text else None
