"""Reads the rows of a text table: columns parted by commas, semicolons or tabs.

The delimiter is the one of which the header has most, or the one that the first line names, as in
Excel's `sep=;`. Rows without any text are skipped. Columns without a name are left out. Returns the
fields of each row and the line on which it begins; which column is what is not known here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from judgeloop.core.errors import DataError

DELIMITERS = ",\t;"
LONGEST_FIELD = 1 << 30  # characters
_HINT = re.compile(r'"?sep=(\t|[^\w\s"])"?\r?(\n|$)', re.IGNORECASE)


def delimited(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the fields of each row of a table, which messages name by `path`.

    Raises:
        DataError: this is no table, or a row does not fit the header; names the line.
    """
    csv.field_size_limit(LONGEST_FIELD)
    header: list[str] = []
    named: list[int] = []
    for line, cells in _rows(path, text):
        if not header:
            header = cells
            named = _named(path, header, line)
        elif len(cells) != len(header):
            raise DataError(
                path,
                f"expected {len(header)} columns as in the header, found {len(cells)}",
                line=line,
            )
        elif len(named) == len(header):
            yield line, dict(zip(header, cells, strict=True))
        else:
            _check_unnamed(path, header, cells, line)
            yield line, {header[index]: cells[index] for index in named}


def delimiter_of(text: str) -> str:
    """Return what parts the columns: the delimiter of which the header has most, else a comma."""
    if hint := _HINT.match(text):
        return hint[1]
    header = text.lstrip("\r\n").partition("\n")[0]
    plain = "".join(header.split('"')[::2])  # what stands between quotes parts nothing
    return max(DELIMITERS, key=plain.count)


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the line on which it begins."""
    hint = _HINT.match(text)
    source = io.StringIO(text[hint.end() :] if hint else text, newline="")
    reader = csv.reader(source, strict=True, delimiter=delimiter_of(text))
    before = 1 if hint else 0
    begins = before + 1
    try:
        for cells in reader:
            if not _is_blank(cells):
                yield begins, cells
            begins = before + reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, f"this is no CSV: {error}", line=begins) from None


def _is_blank(cells: Sequence[str]) -> bool:
    """Return whether a row has no text; a single cell in quotes is an empty text by intent."""
    return cells != [""] and not any(cell.strip() for cell in cells)


def _named(path: Path, header: Sequence[str], line: int) -> list[int]:
    """Return the columns that have a name; refuse a name that stands twice."""
    named = [index for index, name in enumerate(header) if name.strip()]
    names = [header[index] for index in named]
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(path, f"the column {twice[0]!r} appears twice", line=line)
    return named


def _check_unnamed(path: Path, header: Sequence[str], cells: Sequence[str], line: int) -> None:
    """Refuse text in one of several columns without a name; a single one numbers the rows."""
    unnamed = [index for index, name in enumerate(header) if not name.strip()]
    held = next((index for index in unnamed if cells[index].strip()), None)
    if held is not None and len(unnamed) > 1:
        raise DataError(
            path,
            f"column {held + 1} has no name in the header, and holds {cells[held]!r:.60} here; name "
            "the column, or delete it",
            line=line,
        )
