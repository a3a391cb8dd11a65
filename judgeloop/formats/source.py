"""Opens a file once, so that formats can be recognised by its content.

A source is a text (rows, or one JSON document) or a binary container. It is not interpreted here:
`catalogue.py` finds its format, and the format's own module reads it.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from judgeloop.core.errors import DataError
from judgeloop.formats.row import Row
from judgeloop.formats.tables import read_bytes, rows_in, text_of
from judgeloop.formats.yaml_text import yaml_object

ZIP_MAGIC = b"PK\x03\x04"
PARQUET_MAGIC = b"PAR1"
YAML = re.compile(r"evalId: \S+\n|results:\n")  # how promptfoo's begins
# Files that are often taken for data, by their first bytes.
FOREIGN = {
    b"SQLite format 3\0": "a SQLite database",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"ARROW1": "an Arrow file",
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"%PDF": "a PDF",
    b"\xd0\xcf\x11\xe0": "a workbook of old Excel",
}


@dataclass
class Source:
    """A file's path and bytes, and on demand its JSON document or its first row."""

    path: Path
    data: bytes = field(repr=False)

    @property
    def is_zip(self) -> bool:
        """Whether this is a zip archive."""
        return self.data.startswith(ZIP_MAGIC)

    @property
    def is_parquet(self) -> bool:
        """Whether this is a Parquet file."""
        return self.data.startswith(PARQUET_MAGIC)

    @cached_property
    def text(self) -> str:
        """The text of the file."""
        return text_of(self.path, self.data)

    @cached_property
    def document(self) -> dict[str, Any] | None:
        """The object that is the whole text, JSON or promptfoo's YAML; None if the text is something else.

        Raises:
            DataError, InputError: it begins as promptfoo's YAML does, and cannot be read.
        """
        if self.is_zip or self.is_parquet:
            return None
        if YAML.match(self.text):
            return yaml_object(self.path, self.text)
        if not self.text.lstrip().startswith("{"):
            return None
        begin = len(self.text) - len(self.text.lstrip())
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, begin)
        except (ValueError, RecursionError):
            return None  # reading it line by line says where it is wrong
        return value if isinstance(value, dict) and not self.text[end:].strip() else None

    @cached_property
    def first(self) -> dict[str, Any]:
        """The fields of the first row; empty for a binary container, and for what are no rows.

        Reading the rows then says what is wrong.
        """
        if self.is_zip or self.is_parquet:
            return {}
        if self.document is not None:
            return self.document
        rest = rows_in(self.path, self.text)
        try:
            self._head, self._rest = next(rest), rest
        except DataError:
            return {}
        return self._head.fields

    _rest: Iterable[Row] = ()
    _head: Row | None = None

    def rows(self) -> Iterator[Row]:
        """Yield the rows of the text; they can be read once.

        Raises:
            DataError: a row is malformed.
        """
        head, self._head = self._head, None
        if head is None:
            yield from rows_in(self.path, self.text)
        else:
            yield from chain([head], self._rest)

    def wrong(self, problem: str, line: int | None = None, unit: str = "line") -> DataError:
        """Return an error that names this file."""
        return DataError(self.path, problem, line=line, unit=unit)


def open_source(path: Path) -> Source:
    """Read a file.

    Raises:
        InputError: the file does not exist or cannot be read.
        DataError: it is compressed and too large, or no text and of no known format.
    """
    data = read_bytes(path)
    if what := next((name for first, name in FOREIGN.items() if data.startswith(first)), None):
        raise DataError(path, f"this is {what}; expected JSON lines, JSON, CSV or Parquet")
    if b"\0" in data[:2]:
        raise DataError(path, "this seems to be UTF-16 without its mark; save the file as UTF-8")
    return Source(path, data)
