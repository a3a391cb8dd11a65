"""What a format is: how a file of it is recognised by content, and how its rows are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from judgeloop.formats.source import Source
from judgeloop.formats.tables import Row

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the catalogue.

    - `name`, `title`: its short name, and its name in the documentation.
    - `module`: the module of this folder that reads it, imported when a file is read. It has
      `recognises`, which says whether a source has this format, and `read`, which yields the rows,
      with judgeloop's own names of fields where the format is foreign. A format of several forms
      has `title_of`, which names the form of a source.
    - `files`: the names that its files usually have.
    - `scores`: the recorded scores that its rows may carry; empty if none.
    - `unit`: what a row's `line` counts in messages.
    """

    name: str
    title: str
    module: str
    files: str
    scores: str = ""
    unit: str = "line"

    def recognises(self, source: Source) -> bool:
        """Return whether a source has this format."""
        return bool(self._module.recognises(source))

    def read(self, source: Source) -> Iterator[Row]:
        """Yield the rows of a source of this format; raises DataError where they are wrong."""
        rows: Iterator[Row] = self._module.read(source)
        return rows

    def title_of(self, source: Source) -> str:
        """Return the title of the form that a source has, of a format with several."""
        named = getattr(self._module, "title_of", None)
        return str(named(source)) if named else self.title

    @property
    def _module(self) -> Any:
        return import_module(f"judgeloop.formats.{self.module}")


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
