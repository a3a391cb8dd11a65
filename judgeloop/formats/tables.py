"""Rows and tables, and how they are read from a text file, plain or gzipped: JSON lines, a JSON array, or CSV.

The text is UTF-8, or UTF-16 with its byte order mark. A line of JSON may hold its object in a list, as the pipelines
of Hugging Face return it. The columns of CSV are parted by the delimiter of which the header has most, or by the one
that the first line names, as in Excel's `sep=;`; rows without any text are skipped, columns without a name left out.
A file may have at most `MOST_BYTES`, and a compressed one only `EXPANDED` times its size when decompressed. Each row
has the line on which it begins, for error messages.
"""

import codecs
import csv
import io
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from judgeloop.core.ends import OutputEnd
from judgeloop.core.errors import DataError, InputError, NoFileError, did_you_mean
from judgeloop.core.work import Work, lasting

if TYPE_CHECKING:
    from pydantic import BaseModel

DELIMITERS = ",\t;"
LONGEST_FIELD = 1 << 30  # characters
_HINT = re.compile(r'"?sep=(\t|[^\w\s"])"?\r?(\n|$)', re.IGNORECASE)
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WORKBOOK = b"PK\x03\x04"  # its first bytes, as it is a zip archive
GZIP_MAGIC = b"\x1f\x8b"
MOST_BYTES = 1 << 30  # of a file as it is read, and when decompressed
# A small file can fill the memory. Texts shrink to a tenth, and seldom to less than a fiftieth.
EXPANDED, ALWAYS_BYTES = 50, 1 << 26
DEVICES = ("/dev/", "/proc/")  # what a shell puts in the place of a pipe
LONGEST_SHOWN = 60
LONG, STEP = 10_000_000, 1_000  # characters of a text whose reading is told, after so many lines each
NOTHING = {"", "nan", "-nan", "null", "none", "na", "n/a", "<na>", "nil", "-", "#n/a", "#div/0!", "#num!", "#value!"}
UNTERMINATED = "Unterminated string"  # how Python's reader of JSON names it
CUT = "; the file seems to be cut off: write it again"
_LIST_NEXT = re.compile(r"\n\s*\[")
LINES, ARRAY = "JSON lines", "a JSON array"
TABLES = {",": "CSV", "\t": "TSV"}
M = TypeVar("M", bound="BaseModel")
Fields: TypeAlias = dict[str, Any]  # of a row, by column
ROW_IN_MEMORY = "row"  # what messages call a row that a program gives
Place: TypeAlias = Path | str  # where rows are, as messages name it: a file, or a parameter


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of a row and the line on which it begins.

    `failed` says why the system gave no output; empty if it gave one. `epoch` counts the times that
    a log repeats an item, from 1; 0 if the format has none. `scores` are recorded scores by scorer. `ended` says how
    the output ended, as far as the format says it.
    """

    line: int
    fields: dict[str, Any]
    failed: str = ""
    epoch: int = 0
    scores: Mapping[str, object] | None = None
    ended: OutputEnd = OutputEnd.WHOLE


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows and where they come from: a file, or the parameter in which a program gives them.

    `place` names it in messages, and `unit` is what a row's `line` counts there.
    """

    place: Place
    rows: Iterable[Row] = field(repr=False)
    unit: str = ROW_IN_MEMORY

    def __str__(self) -> str:
        """The place, as messages name it."""
        return str(self.place)

    def wrong(self, problem: str, line: int | None = None) -> DataError:
        """The error that names the place, and the row that begins on `line`."""
        return DataError(self.place, problem, line=line, unit=self.unit)


Source: TypeAlias = Path | Table  # a file, or rows in memory


def read_bytes(path: Path) -> bytes:
    """The bytes of a file, decompressed if gzipped.

    It must be a regular file, or a link to one. A pipe is read only where its name says so, such as `/dev/stdin`.

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
        if not data.startswith(GZIP_MAGIC):
            return data
        import gzip

        most = most_unpacked(len(data))
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            content = packed.read(most + 1)
        if len(content) > most:
            raise too_large(path, most)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; expected a file") from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    return content


def check_exists(paths: Iterable[Path]) -> None:
    """Refuse the first path at which there is nothing."""
    for path in paths:
        if not path.exists():
            raise no_such_file(path)


def no_such_file(path: Path) -> NoFileError:
    """The error for a path at which there is nothing, with the nearest name in its folder."""
    return NoFileError(path, did_you_mean(path.name, (other.name for other in path.parent.glob("*"))))


def most_unpacked(packed: int) -> int:
    """How many bytes may be in a compressed file of `packed` bytes."""
    return min(MOST_BYTES, max(ALWAYS_BYTES, EXPANDED * packed))


def too_large(path: Path, most: int) -> DataError:
    """The error for a file that is too large when decompressed."""
    return DataError(
        path,
        f"this compressed file has more than {most >> 20:,} MiB when decompressed; if that is "
        "what it should have, decompress it first",
    )


def read_text(path: Path) -> str:
    """The text of a file, without a byte order mark.

    Raises:
        DataError: the file is neither UTF-8 nor marked UTF-16; names the line.
        InputError: the file does not exist or cannot be read.
    """
    return text_of(path, read_bytes(path))


def text_of(path: Path, data: bytes) -> str:
    """The text of UTF-8 data, or of UTF-16 data with its byte order mark, without the mark.

    Raises:
        DataError: the data is neither; names the line.
    """
    if data.startswith(WORKBOOK):
        raise DataError(path, "expected text, found a zip archive; save an Excel workbook as CSV UTF-8")
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
    """The rows of a file; the first character tells JSON array, JSON lines and CSV apart.

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
    form, empty = form_of(text), True
    rows: Iterator[tuple[int, Fields]]
    if form == LINES:
        rows = _json_lines(path, text)
    elif form == ARRAY:
        rows = _json_array(path, text)
    else:
        rows = _delimited(path, text)
    lines, told, what = text.count("\n"), 0, f"lines of {path.name} read"
    # A log is told of long texts alone.
    with lasting(what, lines) if len(text) < LONG else nullcontext(Work(what, lines)) as reading:
        for line, fields in rows:
            empty = False
            yield Row(line, fields)
            if line - told >= STEP:
                reading.done(line - told)
                told = line
        if told:
            reading.done(lines - told)
    if empty:
        raise DataError(path, "the file holds no rows")


def form_of(text: str) -> str:
    r"""The form of the rows of a text that is not blank, for messages.

    >>> form_of("id;output"), form_of('{"id": 1}'), form_of('[{"id": 1}]\n[{"id": 2}]')
    ('CSV with `;`', 'JSON lines', 'JSON lines')
    """
    first = text.lstrip()[0]
    if first == "{":
        return LINES
    if first == "[":
        # Lines of lists: an array has no list after a closed list without a comma. The lines below are not copied.
        begin = text.index("[")
        end = text.find("\n", begin)
        listed = end >= 0 and _LIST_NEXT.match(text, end) and text[begin:end].rstrip().endswith("]")
        return LINES if listed else ARRAY
    delimiter = _delimiter_of(text)
    return TABLES.get(delimiter, f"CSV with `{delimiter}`")


def says_nothing(value: object) -> bool:
    """Whether a value stands for none in a column of numbers: null, NaN, or how programs write these as text."""
    if isinstance(value, str):
        return value.strip().casefold() in NOTHING
    return value is None or value != value  # noqa: PLR0124 - NaN


def parse_row(path: Path, row: Row, model: type[M]) -> M:
    """Validate the fields of `row` as a `model`.

    Raises:
        DataError: a field is missing or wrong; names the line and the field.
    """
    from pydantic import ValidationError

    try:
        return model.model_validate(row.fields)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field, said = ".".join(str(part) for part in first["loc"]), first["msg"].removeprefix("Value error, ")
        if first["type"] == "missing":
            names = ", ".join(map(repr, list(row.fields)[:8])) or "none"
            problem = f"the field {field!r} is missing; found {names}"
        elif field:
            problem = f"the field {field!r} is wrong: {said}, found {shown(first['input'])}"
        else:
            problem = said
        raise DataError(path, problem, line=row.line) from None


def _delimited(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    """Yield the line and the fields of each row of a table; refuse one that does not fit the header."""
    header: list[str] = []
    named: list[int] = []
    for line, cells in cells_of(path, text):
        if not header:
            header = cells
            named = [index for index, name in enumerate(header) if name.strip()]
            names = [header[index] for index in named]
            if twice := [name for name in names if names.count(name) > 1]:
                raise DataError(path, f"the column {twice[0]!r} appears twice", line=line)
        elif len(cells) != len(header):
            raise DataError(path, f"expected {len(header)} columns as in the header, found {len(cells)}", line=line)
        elif len(named) == len(header):
            yield line, dict(zip(header, cells, strict=True))
        else:
            _check_unnamed(path, header, cells, line)
            yield line, {header[index]: cells[index] for index in named}


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


def _delimiter_of(text: str) -> str:
    """What parts the columns: the delimiter of which the header has most, else a comma."""
    if hint := _HINT.match(text):
        return hint[1]
    header = text.lstrip("\r\n").partition("\n")[0]
    plain = "".join(header.split('"')[::2])  # what stands between quotes parts nothing
    return max(DELIMITERS, key=plain.count)


def cells_of(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table that are not blank, the header too, each with the line on which it begins.

    Raises:
        DataError: this is no table; names the line.
    """
    csv.field_size_limit(LONGEST_FIELD)
    hint = _HINT.match(text)
    source = io.StringIO(text[hint.end() :] if hint else text, newline="")
    reader = csv.reader(source, strict=True, delimiter=_delimiter_of(text))
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


def _json_array(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    """Yield the line and the fields of each object of an array."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates)
    position = _after_space(text, text.index("[") + 1)
    line, counted = 1, 0
    while True:
        line, counted = line + text.count("\n", counted, position), position
        if text.startswith("]", position) and text[:position].rstrip().endswith("["):
            end = position
            break
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            column = isinstance(error, json.JSONDecodeError) and error.lineno == line
            raise DataError(path, _no_json(error, text, column=column), line=line) from None
        yield line, _object(path, value, line)
        end = _after_space(text, position)
        if not text.startswith(",", end):
            break
        position = _after_space(text, end + 1)
    line += text.count("\n", counted, end)
    if not text.startswith("]", end):
        cut = CUT if end >= len(text) else ""
        raise DataError(path, f"this is no JSON: expected ',' or ']' after an entry{cut}", line=line)
    if text[end + 1 :].strip():
        raise DataError(path, "this is no JSON: there is more text after the array", line=line)


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    """Yield the line and the fields of the object on each line that is not blank."""
    decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates)
    line, begin = 0, 0
    while begin <= len(text):
        # Not splitlines, which also splits at characters that JSON allows inside strings; one line at a time, as the
        # text may be large.
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        source, line, begin = text[begin:end], line + 1, end + 1
        if not source.strip():
            continue
        try:
            value = decoder.decode(source)
        except (ValueError, RecursionError) as error:
            is_last = line > text.rstrip().count("\n")
            raise DataError(path, _no_json(error, source, column=True, is_last=is_last), line=line) from None
        alone = isinstance(value, list) and len(value) == 1
        yield line, _object(path, value[0] if alone else value, line)


def _object(path: Path, value: object, line: int) -> Fields:
    if not isinstance(value, dict):
        raise DataError(path, f"expected an object with fields, found {shown(value)}", line=line)
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> Fields:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the field {next(n for n in names if names.count(n) > 1)!r} appears twice")
    return fields


def _no_json(error: Exception, text: str, *, column: bool, is_last: bool = True) -> str:
    """What is wrong with `text`, and whether it ends too early: with it ends the file if `is_last`."""
    if not isinstance(error, json.JSONDecodeError):
        return f"this is no JSON: {error or type(error).__name__}"
    problem = error.msg.removesuffix(" at").removesuffix(" starting")
    place = f" at column {error.colno}" if column else ""
    early = problem == UNTERMINATED or error.pos >= len(text.rstrip())
    return f"this is no JSON: {problem}{place}{CUT if early and is_last else ''}"


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def shown(value: object) -> str:
    """A value for a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write a number of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
