"""Rows out of a file: a JSON array of objects, JSON lines, or CSV; plain or gzipped; UTF-8.

Each row comes with the line it begins on, so that whoever finds fault with it can say where. Which fields a row needs
is not known here.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from judgeloop.errors import DataError, InputError

LONGEST_SHOWN = 60
GZIP_MAGIC = b"\x1f\x8b"

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of one row and the line it begins on."""

    line: int
    fields: dict[str, Any]


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, unpacked if gzipped.

    Raises:
        InputError: there is no such file, or it cannot be read.
    """
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        DataError: it is not UTF-8; says the line.
    """
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            path, f"expected UTF-8, found the byte 0x{data[error.start]:02x}", line=line
        ) from None


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, whichever of the three forms it has.

    Raises:
        DataError: it is empty or has none of the forms; says the line.
    """
    text = read_text(path)
    if not text.strip():
        raise DataError(path, "the file is empty; expected JSON lines, a JSON array or CSV")
    first = text.lstrip()[0]
    if first == "[":
        rows = list(_array(path, text))
    elif first == "{":
        rows = list(_lines(path, text))
    else:
        rows = list(_csv(path, text))
    if not rows:
        raise DataError(path, "the file holds no rows")
    return rows


def parse_row(path: Path, row: Row, model: type[M]) -> M:
    """`row` as a `model`.

    Raises:
        DataError: a field is missing or wrong; says the line and the field.
    """
    try:
        return model.model_validate(row.fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            problem = f"the field {field!r} is missing; found {_names(row.fields)}"
        elif field:
            problem = f"the field {field!r} is wrong: {first['msg']}, found {_shown(first['input'])}"
        else:
            problem = first["msg"].removeprefix("Value error, ")
        raise DataError(path, problem, line=row.line) from None


def _array(path: Path, text: str) -> Iterator[Row]:
    decoder = json.JSONDecoder()
    position = text.index("[") + 1
    line, counted = 1, 0
    while True:
        position = _skip(text, position, " \t\r\n,")
        line, counted = line + text.count("\n", counted, position), position
        if text[position : position + 1] == "]":
            return
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise DataError(path, f"this is no JSON: {error}", line=line) from None
        yield _object(path, value, line)


def _lines(path: Path, text: str) -> Iterator[Row]:
    # Not splitlines: it also breaks at characters that are legal inside JSON strings.
    for line, source in enumerate(text.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            value = json.loads(source)
        except (ValueError, RecursionError) as error:
            raise DataError(path, f"this is no JSON: {error}", line=line) from None
        yield _object(path, value, line)


def _csv(path: Path, text: str) -> Iterator[Row]:
    csv.field_size_limit(1 << 30)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    begins = 2
    try:
        for fields in reader:
            if None in fields or None in fields.values():
                raise DataError(
                    path, f"expected {len(reader.fieldnames or [])} columns as in the header", line=begins
                )
            yield Row(begins, dict(fields))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, f"this is no CSV: {error}", line=begins) from None


def _object(path: Path, value: object, line: int) -> Row:
    if not isinstance(value, dict):
        raise DataError(path, f"expected an object with fields, found {_shown(value)}", line=line)
    return Row(line, value)


def _skip(text: str, position: int, letters: str) -> int:
    while position < len(text) and text[position] in letters:
        position += 1
    return position


def _names(fields: dict[str, Any]) -> str:
    return ", ".join(repr(name) for name in list(fields)[:8]) or "none"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
