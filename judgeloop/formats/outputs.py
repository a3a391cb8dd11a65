"""Reads output files and items files: judgeloop's own rows and AlpacaEval's `model_outputs.json`.

AlpacaEval calls the prompt `instruction`, the system `generator` and the group `dataset`; both sets
of names are accepted. Other fields are ignored. `formats/join.py` joins the files.
"""

from __future__ import annotations

import gc
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from judgeloop.core.errors import DataError
from judgeloop.formats.tables import Row, each_row, parse_row

_SURROGATES = re.compile("[\ud800-\udfff]")


def _storable(value: object) -> object:
    """Decode surrogate pairs, which JSON allows and UTF-8 does not; a lone half becomes U+FFFD."""
    if isinstance(value, str) and _SURROGATES.search(value):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("expected text")
    return value


def _empty_is_absent(value: object) -> object:
    return None if value == "" else value


Text = Annotated[str, BeforeValidator(_storable)]
OptionalText = Annotated[str | None, BeforeValidator(_empty_is_absent), BeforeValidator(_storable)]

ALPACAEVAL_NAMES = {"prompt": "instruction", "group": "dataset", "model": "generator"}
ALPACAEVAL_ONLY = frozenset(ALPACAEVAL_NAMES.values())
OWN_NAMES = ("id", "prompt", "reference", "group", "model", "output")


def _named(own: str) -> Any:
    """Return a field that is also read under AlpacaEval's name."""
    return Field(None, validation_alias=AliasChoices(own, ALPACAEVAL_NAMES[own]))


@dataclass(frozen=True, slots=True)
class ItemRow:
    """A row of an items file."""

    id: str | None = None
    prompt: str | None = None
    reference: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class OutputRow(ItemRow):
    """A row of an output file: a system's output on an item."""

    model: str | None = None
    output: str = ""


class _ItemFields(BaseModel):
    """The fields of an item's row as they come."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    id: OptionalText = None
    prompt: OptionalText = _named("prompt")
    reference: OptionalText = None
    group: OptionalText = _named("group")

    @model_validator(mode="before")
    @classmethod
    def _own_names(cls, fields: dict[str, object]) -> dict[str, object]:
        """Drop an empty field under judgeloop's name if AlpacaEval's name is given too."""
        for own, theirs in ALPACAEVAL_NAMES.items():
            if theirs in fields and (own not in fields or fields[own] is None or fields[own] == ""):
                fields = {name: value for name, value in fields.items() if name != own}
        return fields


class _OutputFields(_ItemFields):
    """The fields of an output's row as they come."""

    output: Text
    model: OptionalText = _named("model")


R = TypeVar("R", bound=ItemRow)


@dataclass(frozen=True, slots=True)
class Located(Generic[R]):
    """A row and the line on which it begins."""

    line: int
    row: R


@dataclass(frozen=True, slots=True)
class Outputs:
    """The rows of an output file and the name of their system."""

    path: Path
    system: str
    rows: tuple[Located[OutputRow], ...]


def read_outputs(path: Path) -> Outputs:
    """Read an output file; the system's name comes from the rows, else from the file name.

    Raises:
        DataError: a row is wrong, or the rows name several systems.
    """
    with _no_collection():
        rows = tuple(Located(row.line, parse_output(path, row)) for row in each_row(path))
    names = {located.row.model: located.line for located in reversed(rows) if located.row.model}
    if len(names) > 1:
        first, other = sorted(names, key=lambda name: names[name])[:2]
        raise DataError(
            path,
            f"expected the outputs of one system, found {other!r} after {first!r}",
            line=names[other],
        )
    return Outputs(path, next(iter(names), None) or _stem(path), rows)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Make a million objects without the garbage collector looking through all of them again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_output(path: Path, row: Row) -> OutputRow:
    """Check the fields of a row of an output file.

    Raises:
        DataError: a field is missing or wrong; names the line and the field.
    """
    fields = row.fields
    if not _is_plain(fields) or not isinstance(fields.get("output"), str):
        fields = parse_row(path, row, _OutputFields).model_dump()
    item = _item(fields)
    return OutputRow(*item, model=_once(fields.get("model")), output=fields["output"])


def _parse_item(path: Path, row: Row) -> ItemRow:
    plain = _is_plain(row.fields)
    return ItemRow(*_item(row.fields if plain else parse_row(path, row, _ItemFields).model_dump()))


def _item(fields: dict[str, Any]) -> tuple[str | None, str | None, str | None, str | None]:
    item, prompt, reference = fields.get("id"), fields.get("prompt"), fields.get("reference")
    return item or None, prompt or None, reference or None, _once(fields.get("group"))


def _once(text: str | None) -> str | None:
    """Return a text that many rows share, kept once; None for an empty text."""
    return sys.intern(text) if text else None


def _is_plain(fields: dict[str, Any]) -> bool:
    """Return whether a row has judgeloop's own names and texts that need no correction.

    Such a row is as valid as pydantic would find it, which takes ten times as long.
    """
    if not ALPACAEVAL_ONLY.isdisjoint(fields):
        return False
    for name in OWN_NAMES:
        value = fields.get(name)
        if value is None:
            continue
        if type(value) is not str or (not value.isascii() and _SURROGATES.search(value)):
            return False
    return True


def read_items(path: Path) -> tuple[Located[ItemRow], ...]:
    """Read an items file.

    Raises:
        DataError: a row is wrong or has no prompt.
    """
    rows = tuple(Located(row.line, _parse_item(path, row)) for row in each_row(path))
    for located in rows:
        if located.row.prompt is None:
            raise DataError(path, "the field 'prompt' is missing", line=located.line)
    return rows


def name_apart(outputs: tuple[Outputs, ...]) -> tuple[str, ...]:
    """Return a distinct name for each system: its own name, else its file name, else its path.

    Raises:
        DataError: two of the paths are the same.
    """
    for names in (
        tuple(file.system for file in outputs),
        tuple(_stem(file.path) for file in outputs),
        tuple(str(file.path) for file in outputs),
    ):
        if len(set(names)) == len(names):
            return names
    raise DataError(
        outputs[0].path, "this file is given twice; a system cannot be compared with itself"
    )


def _stem(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[0] or path.name
