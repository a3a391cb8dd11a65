"""Reads rows from a text file, plain or gzipped: a JSON array of objects, JSON lines, or a table.

The text is UTF-8, or UTF-16 with its byte order mark. `json_rows.py` reads JSON. The columns of a
table are parted by the delimiter of which the header has most, or the one that the first line
names, as in Excel's `sep=;`; rows without any text are skipped, columns without a name left out. A
file may have at most `MOST_BYTES`, and a compressed one only `EXPANDED` times its size when
decompressed. Each row has the line on which it
begins, for error messages. Which column is what is not known here.
"""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from judgeloop.core.errors import DataError, InputError, NoFileError, did_you_mean
from judgeloop.formats.json_rows import is_lines_of_lists, json_array, json_lines, shown
from judgeloop.formats.row import Row

DELIMITERS = ",\t;"
LONGEST_FIELD = 1 << 30  # characters
_HINT = re.compile(r'"?sep=(\t|[^\w\s"])"?\r?(\n|$)', re.IGNORECASE)
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
GZIP_MAGIC = b"\x1f\x8b"
MOST_BYTES = 1 << 30  # of a file as it is read, and when decompressed
# A small file can fill the memory. Texts shrink to a tenth, and seldom to less than a fiftieth.
EXPANDED, ALWAYS_BYTES = 50, 1 << 26
DEVICES = ("/dev/", "/proc/")  # what a shell puts in the place of a pipe
LINES, ARRAY = "JSON lines", "a JSON array"
READERS = {LINES: json_lines, ARRAY: json_array}  # tables of any delimiter have one reader
TABLES = {",": "CSV", "\t": "TSV"}
M = TypeVar("M", bound=BaseModel)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if gzipped.

    It must be a regular file, or a link to one. A pipe is read only where its name says so, such
    as `/dev/stdin`.

    Raises:
        InputError: the file does not exist, cannot be read, or is too large.
    """
    try:
        # A pipe of the system, and not a link to one.
        typed_pipe = str(path).startswith(DEVICES) and path.is_fifo()
        if path.exists() and not (path.is_file() or path.is_dir() or typed_pipe):
            raise InputError(f"{path}: expected a file, found a pipe or a device; to read from a pipe, give /dev/stdin")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise DataError(path, f"this file has more than {MOST_BYTES >> 20:,} MiB; split it")
        return decompressed(path, data) if data.startswith(GZIP_MAGIC) else data
    except FileNotFoundError:
        raise no_such_file(path) from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; expected a file") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def no_such_file(path: Path) -> NoFileError:
    """Return the error for a path at which there is nothing, with the nearest name in its folder."""
    return NoFileError(path, did_you_mean(path.name, (other.name for other in path.parent.glob("*"))))


def most_unpacked(packed: int) -> int:
    """Return how many bytes may be in a compressed file of `packed` bytes."""
    return min(MOST_BYTES, max(ALWAYS_BYTES, EXPANDED * packed))


def decompressed(path: Path, data: bytes) -> bytes:
    """Return the content of gzipped data.

    Raises:
        DataError: it is longer than `most_unpacked` allows.
        OSError, EOFError, zlib.error: the data is damaged.
    """
    most = most_unpacked(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise too_large(path, most)
    return content


def too_large(path: Path, most: int) -> DataError:
    """Return the error for a file that is too large when decompressed."""
    return DataError(
        path,
        f"this compressed file has more than {most >> 20:,} MiB when decompressed; if that is "
        "what it should have, decompress it first",
    )


def read_text(path: Path) -> str:
    """Return the text of a file, without a byte order mark.

    Raises:
        DataError: the file is neither UTF-8 nor marked UTF-16; names the line.
        InputError: the file does not exist or cannot be read.
    """
    return text_of(path, read_bytes(path))


def text_of(path: Path, data: bytes) -> str:
    """Return the text of UTF-8 data, or of UTF-16 data with its byte order mark, without the mark.

    Raises:
        DataError: the data is neither; names the line.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    encoding = "UTF-16" if data.startswith(UTF16_MARKS) else "UTF-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        raise DataError(
            path,
            f"expected {encoding}, found the byte 0x{data[error.start]:02x}; save the file as UTF-8 "
            "(in Excel: CSV UTF-8)",
            line=line,
        ) from None


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file; the first character tells JSON array, JSON lines and CSV apart.

    Raises:
        DataError: the file is empty or malformed; names the line if known.
        InputError: the file does not exist or cannot be read.
    """
    return list(rows_in(path, read_text(path)))


def rows_in(path: Path, text: str) -> Iterator[Row]:
    """Yield the rows of a text, which messages name by `path`.

    Raises:
        DataError: the text is empty or malformed; names the line if known.
    """
    if not text.strip():
        raise DataError(path, "the file is empty; expected JSON lines, a JSON array or CSV")
    empty = True
    for line, fields in READERS.get(form_of(text), delimited)(path, text):
        empty = False
        yield Row(line, fields)
    if empty:
        raise DataError(path, "the file holds no rows")


def form_of(text: str) -> str:
    """Return the form of the rows of a text that is not blank, for messages.

    >>> form_of("id;output"), form_of('{"id": 1}')
    ('CSV with `;`', 'JSON lines')
    """
    first = text.lstrip()[0]
    if first in "[{":
        return LINES if first == "{" or is_lines_of_lists(text) else ARRAY
    delimiter = delimiter_of(text)
    return TABLES.get(delimiter, f"CSV with `{delimiter}`")


def parse_row(path: Path, row: Row, model: type[M]) -> M:
    """Validate the fields of `row` as a `model`.

    Raises:
        DataError: a field is missing or wrong; names the line and the field.
    """
    try:
        return model.model_validate(row.fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            names = ", ".join(map(repr, list(row.fields)[:8])) or "none"
            problem = f"the field {field!r} is missing; found {names}"
        elif field:
            problem = f"the field {field!r} is wrong: {first['msg']}, found {shown(first['input'])}"
        else:
            problem = first["msg"].removeprefix("Value error, ")
        raise DataError(path, problem, line=row.line) from None


def delimited(path: Path, text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the fields of each row of a table, which messages name by `path`.

    Raises:
        DataError: this is no table, or a row does not fit the header; names the line.
    """
    header: list[str] = []
    named: list[int] = []
    for line, cells in cells_of(path, text):
        if not header:
            header = cells
            named = _named_columns(path, header, line)
        elif len(cells) != len(header):
            raise DataError(path, f"expected {len(header)} columns as in the header, found {len(cells)}", line=line)
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


def cells_of(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, the header too, each with the line on which it begins.

    Raises:
        DataError: this is no table; names the line.
    """
    csv.field_size_limit(LONGEST_FIELD)
    hint = _HINT.match(text)
    source = io.StringIO(text[hint.end() :] if hint else text, newline="")
    reader = csv.reader(source, strict=True, delimiter=delimiter_of(text))
    before = 1 if hint else 0
    begins = before + 1
    try:
        for cells in reader:
            # A row without text is skipped; a single cell in quotes is an empty text by intent.
            if cells == [""] or any(cell.strip() for cell in cells):
                yield begins, cells
            begins = before + reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, f"this is no CSV: {error}", line=begins) from None


def _named_columns(path: Path, header: Sequence[str], line: int) -> list[int]:
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
