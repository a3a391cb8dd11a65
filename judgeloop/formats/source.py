"""A file that was opened once, so that its format can be recognised by its content.

It is a text (rows, or one JSON document) or a binary container. `catalogue.py` finds the format, whose functions
(`harnesses.py`, `inspect_log.py`, `parquet.py`) take the file's rows or document.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from judgeloop.core.errors import DataError, InputError, install
from judgeloop.formats.tables import Fields, Row, read_bytes, rows_in, text_of

ZIP_MAGIC = b"PK\x03\x04"
PARQUET_MAGIC = b"PAR1"
YAML = re.compile(r"evalId: \S+\n|results:\n")  # how promptfoo's begins
YAML_KEYS = ("\nevalId: ", "\nresults:")  # what it has below another key
EXPANDED = 20  # times the length of a YAML text, with every alias written out
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
class OpenedFile:
    """A file's path and bytes, and on demand its JSON document or its first row."""

    path: Path
    data: bytes = field(repr=False)
    unit: str = "line"

    @property
    def is_zip(self) -> bool:
        """Whether this is a zip archive."""
        return self.data.startswith(ZIP_MAGIC)

    @property
    def is_parquet(self) -> bool:
        """Whether this is a Parquet file."""
        return self.data.startswith(PARQUET_MAGIC)

    @property
    def is_text(self) -> bool:
        """Whether this is neither."""
        return not self.is_zip and not self.is_parquet

    @cached_property
    def text(self) -> str:
        """The text of the file."""
        return text_of(self.path, self.data)

    @cached_property
    def document(self) -> Fields | None:
        """The object that is the whole text, JSON or promptfoo's YAML; None if the text is something else.

        Raises:
            DataError, InputError: it looks like promptfoo's YAML, and cannot be read.
        """
        if not self.is_text:
            return None
        if YAML.match(self.text) or all(key in self.text for key in YAML_KEYS):
            return _yaml_object(self.path, self.text)
        if not self.text.lstrip().startswith("{"):
            return None
        begin = len(self.text) - len(self.text.lstrip())
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, begin)
        except (ValueError, RecursionError):
            return None  # reading it line by line says where it is wrong
        return value if isinstance(value, dict) and not self.text[end:].strip() else None

    @cached_property
    def first(self) -> Fields:
        """The fields of the first row; empty for a binary container, and for what are no rows.

        Reading the rows then says what is wrong.
        """
        if not self.is_text:
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

    def wrong(self, problem: str, line: int | None = None) -> DataError:
        """The error that names this file, and what its `unit` counts there."""
        return DataError(self.path, problem, line=line, unit=self.unit)

    def only(self, values: Any, what: str, line: int) -> Any:
        """The single value of a list, or None of an empty one.

        Raises:
            DataError: this is no list, or it has several values.
        """
        if not isinstance(values, list):
            raise self.wrong(f"expected a list of {what}, found {values!r:.60}", line)
        if len(values) > 1:
            raise self.wrong(f"expected one of {what}, found {len(values)}; keep one of them in the file", line)
        return values[0] if values else None


def open_file(path: Path) -> OpenedFile:
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
    return OpenedFile(path, data)


def within(value: Any, *names: str) -> Any:
    """A value inside nested objects; None where a part is missing or no object.

    >>> within({"error": {"message": "no"}}, "error", "message")
    'no'
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _yaml_object(path: Path, text: str) -> Fields | None:
    """The object of a YAML text, by the extra `yaml`; None if it holds something else."""
    try:
        import yaml
    except ImportError:
        raise InputError(f"{path}: a YAML file needs {install('yaml')}") from None
    try:
        value = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - safe
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(path, f"this is no YAML: {str(error).splitlines()[0]}") from None
    # An alias may repeat what it names, or the object that it stands in: a small file may so stand for a huge one.
    left, most = [value], EXPANDED * len(text)
    while left:
        one = left.pop()
        most -= 1 + (len(one) if isinstance(one, str) else 0)
        if most < 0:
            raise DataError(path, "the aliases of this YAML stand for far more than its text")
        left += [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list) else []
    return value if isinstance(value, dict) else None
