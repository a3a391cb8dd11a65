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
YAML_KEYS = ("\nevalId: ", "\nresults:")  # what it has below another key
ORC = b"ORC"  # the header of a table may begin so, but no text has a NUL
# Files that are often taken for data, by their first bytes.
FOREIGN = {
    b"SQLite format 3\0": "a SQLite database",
    **{bytes((0x80, protocol)): "a Python pickle" for protocol in range(2, 6)},
    b"ARROW1": "an Arrow file",
    b"\xff\xff\xff\xff": "a stream of Arrow",
    b"FEA1\0": "a Feather file",
    ORC: "an ORC file",
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
            DataError, InputError: it looks like promptfoo's YAML, and cannot be read.
        """
        if self.is_zip or self.is_parquet:
            return None
        if YAML.match(self.text) or all(key in self.text for key in YAML_KEYS):
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
    first = next((first for first in FOREIGN if data.startswith(first)), b"")
    if first and (first != ORC or b"\0" in data):
        what = FOREIGN[first]
        raise DataError(path, f"this is {what}; expected JSON lines, JSON, CSV or Parquet")
    if b"\0" in data[:2]:
        raise DataError(path, "this seems to be UTF-16 without its mark; save the file as UTF-8")
    return Source(path, data)
