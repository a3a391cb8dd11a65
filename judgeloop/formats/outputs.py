"""Reads output files and items files; `rows.py` checks their rows, `join.py` joins the files."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from judgeloop.core.errors import DataError
from judgeloop.formats.catalogue import open_rows
from judgeloop.formats.columns import Map
from judgeloop.formats.rows import (
    NO_MAP,
    ItemRow,
    Items,
    Located,
    OutputRow,
    Outputs,
    R,
    at,
    items_of,
    outputs_of,
    parse_output,
    stem,
)

__all__ = [
    "ItemRow", "Items", "Located", "OutputRow", "Outputs", "R", "at", "name_apart", "parse_output", "read_items",
    "read_outputs",
]  # fmt: skip


def read_outputs(
    path: Path,
    mapped: Map = NO_MAP,
    *,
    allow_failed: bool = False,
    epoch: str | None = None,
    name: str | None = None,
) -> Outputs:
    """Read an output file of any format; see `rows.py` for the arguments.

    Raises:
        DataError: a row is wrong, or the rows name several systems.
    """
    with _no_collection():
        found, rows = open_rows(path)
        return outputs_of(
            rows,
            path,
            mapped=mapped,
            unit=found.unit,
            allow_failed=allow_failed,
            name=name,
            epoch=epoch,
        )


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


def read_items(path: Path, mapped: Map = NO_MAP) -> Items:
    """Read an items file.

    Raises:
        DataError: a row is wrong or has no prompt.
    """
    found, rows = open_rows(path)
    return items_of(rows, path, mapped=mapped, unit=found.unit)


def name_apart(files: Sequence[tuple[str, Path]]) -> tuple[str, ...]:
    """Return a distinct name for each file's system: its name, else the file's name, else its path.

    Raises:
        DataError: two of the paths are the same.
    """
    for names in (
        tuple(system for system, _ in files),
        tuple(stem(path) for _, path in files),
        tuple(str(path) for _, path in files),
    ):
        if len(set(names)) == len(names):
            return names
    raise DataError(
        files[0][1], "this file is given twice; a system cannot be compared with itself"
    )
