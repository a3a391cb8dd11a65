"""Turns rows in memory into the rows that files have: lists, columns, data frames, generators.

Reads what a program gave for a parameter, and returns a `Row` for each row, counted from 1. Data
frames of any library that narwhals knows are read through narwhals, which is imported only for
them. The fields are checked in `formats/rows.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from judgeloop.core.errors import DataError
from judgeloop.formats.tables import Row

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame, IntoLazyFrame

    # Rows as dictionaries, a dictionary of columns, or a data frame.
    Table: TypeAlias = (
        Iterable[Mapping[str, Any]] | Mapping[str, Iterable[Any]] | IntoDataFrame | IntoLazyFrame
    )

UNIT = "row"  # what the place of a row counts, for messages
EXPECTED = "expected a file, a list of dictionaries, a dictionary of columns, or a data frame"
MISSING_TYPES = {"NAType", "NaTType"}  # of pandas, which need not be installed


def named(parameter: str) -> Path:
    """Return how messages name a parameter in place of a file: between backticks."""
    return Path(f"`{parameter}`")


def rows_of(argument: Path, data: object) -> list[Row]:
    """Return the rows of a table in memory; a value that is missing becomes None.

    Raises:
        DataError: the value is no table, its columns differ in length, or it has no rows.
    """
    if isinstance(data, Mapping):
        found = _of_columns(argument, data)
    elif (frame := _frame(data)) is not None:
        found = _of_columns(argument, _columns(frame))
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        found = [_row(argument, number, fields) for number, fields in enumerate(data, start=1)]
    else:
        raise DataError(argument, f"{EXPECTED}; found {type(data).__name__}")
    if not found:
        raise DataError(argument, "there are no rows")
    return found


def _frame(data: object) -> Any:
    """Return `data` as narwhals' data frame; None if it is no data frame."""
    # Only data frames have columns, and narwhals is not loaded for anything else.
    if not (hasattr(data, "collect_schema") or hasattr(data, "columns")):
        return None
    import narwhals

    frame: Any = narwhals.from_native(data, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, narwhals.DataFrame) else None


def _columns(frame: Any) -> dict[str, list[Any]]:
    """Return a data frame's columns by name, with None for what the library counts as missing."""
    return {
        str(name): [
            None if missing else value
            for value, missing in zip(
                frame[name].to_list(), frame[name].is_null().to_list(), strict=True
            )
        ]
        for name in frame.columns
    }


def _of_columns(argument: Path, data: Mapping[Any, Any]) -> list[Row]:
    """Return the rows of columns, which must be of one length."""
    columns: dict[str, list[Any]] = {}
    for name, values in data.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DataError(
                argument,
                f"expected a column, such as a list, in {name!r}; found {type(values).__name__}",
            )
        columns[str(name)] = list(values)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{length} in {name!r}" for name, length in islice(lengths.items(), 8))
        raise DataError(argument, f"expected columns of one length; found {shown}")
    return [
        _row(argument, number, dict(zip(columns, cells, strict=True)))
        for number, cells in enumerate(zip(*columns.values(), strict=True), start=1)
    ]


def _row(argument: Path, number: int, fields: object) -> Row:
    if not isinstance(fields, Mapping):
        raise DataError(
            argument,
            f"expected a dictionary with fields, found {type(fields).__name__}",
            line=number,
            unit=UNIT,
        )
    return Row(number, {str(name): _plain(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    """Return a cell as a Python value: a number of NumPy as a number, what is missing as None."""
    if type(value) is str or value is None:
        return value
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in MISSING_TYPES else value
