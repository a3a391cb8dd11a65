"""Reads rows from JSON: an array of objects, or a line for each object.

A line may hold its object in a list, as the pipelines of Hugging Face return it. Returns the fields
of each row and the line on which it begins. Which field is what is not known here.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgeloop.core.errors import DataError

LONGEST_SHOWN = 60
UNTERMINATED = "Unterminated string"  # how Python's reader of JSON names it
CUT = "; the file seems to be cut off: write it again, or delete what is incomplete at its end"
_LIST_NEXT = re.compile(r"\n\s*\[")
Fields = dict[str, Any]


def json_array(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    """Yield the line and the fields of each object of an array, which messages name by `path`.

    Raises:
        DataError: this is no array of objects; names the line.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates)
    position = _after_space(text, text.index("[") + 1)
    line, counted = 1, 0
    while True:
        line, counted = line + text.count("\n", counted, position), position
        if text.startswith("]", position) and text[:position].rstrip().endswith("["):
            end = position
            break
        value, position = _decoded(path, decoder, text, position, line)
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


def _decoded(path: Path, decoder: json.JSONDecoder, text: str, position: int, line: int) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, position)
    except (ValueError, RecursionError) as error:
        column = isinstance(error, json.JSONDecodeError) and error.lineno == line
        raise DataError(path, _no_json(error, text, column=column), line=line) from None


def json_lines(path: Path, text: str) -> Iterator[tuple[int, Fields]]:
    """Yield the line and the fields of the object on each line, which messages name by `path`.

    Raises:
        DataError: a line holds no object; names the line.
    """
    # Not splitlines, which also splits at characters that JSON allows inside strings.
    decoder = json.JSONDecoder(object_pairs_hook=_no_duplicates)
    for line, source in enumerate(_split(text), start=1):
        if not source.strip():
            continue
        try:
            value = decoder.decode(source)
        except (ValueError, RecursionError) as error:
            is_last = line > text.rstrip().count("\n")
            problem = _no_json(error, source, column=True, is_last=is_last)
            raise DataError(path, problem, line=line) from None
        alone = isinstance(value, list) and len(value) == 1
        yield line, _object(path, value[0] if alone else value, line)


def is_lines_of_lists(text: str) -> bool:
    """Return whether a text that begins with a list has another one on the next line."""
    begin = text.index("[")
    end = text.find("\n", begin)
    # An array has no list after a closed list without a comma. The lines below are not copied.
    if end < 0 or not _LIST_NEXT.match(text, end):
        return False
    return text[begin:end].rstrip().endswith("]")


def _split(text: str) -> Iterator[str]:
    """Yield the lines of `text` one by one."""
    begin = 0
    while (end := text.find("\n", begin)) >= 0:
        yield text[begin:end]
        begin = end + 1
    yield text[begin:]


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
    """Return what is wrong with `text`, and whether it ends too early.

    The file ends with `text` if `is_last`.
    """
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
    """Return a value for a message, shortened."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write a number of thousands of digits
        text = "a number of thousands of digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
