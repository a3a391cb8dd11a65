"""What a format is: how a file of it is recognised by content, and how its rows are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from judgeloop.formats.source import Source
from judgeloop.formats.tables import Row

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the catalogue.

    - `name`, `title`: its short name, and its name in the documentation.
    - `files`: the names that its files usually have.
    - `scores`: the recorded scores that its rows may carry; empty if none.
    - `unit`: what a row's `line` counts in messages.
    - `recognises`: whether a source has this format.
    - `read`: yields the rows, with judgeloop's own names of fields where the format is foreign.
    """

    name: str
    title: str
    files: str
    scores: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source], Iterator[Row]]
    unit: str = "line"


def by_row(convert: Callable[[Source, Row], Row]) -> Callable[[Source], Iterator[Row]]:
    """Return a reader that converts each row of a text alone."""

    def read(source: Source) -> Iterator[Row]:
        return (convert(source, row) for row in source.rows())

    return read


def only(source: Source, values: Any, what: str, line: int, unit: str = "line") -> Any:
    """Return the single value of a list, or None of an empty one.

    Raises:
        DataError: this is no list, or it has several values.
    """
    if not isinstance(values, list):
        raise source.wrong(f"expected a list of {what}, found {values!r:.60}", line, unit)
    if len(values) > 1:
        raise source.wrong(
            f"expected one of {what}, found {len(values)}; keep one of them in the file", line, unit
        )
    return values[0] if values else None


def within(value: Any, *names: str) -> Any:
    """Return a value inside nested objects; None where a part is missing or no object.

    >>> within({"error": {"message": "no"}}, "error", "message")
    'no'
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
