"""A row with its fields, and rows with their place: read from a file, or given by a program.

It imports nothing heavy, because settings hold tables. Nothing is read or checked here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from judgeloop.core.errors import DataError

ROW_IN_MEMORY = "row"  # what messages call a row that a program gives
Place: TypeAlias = Path | str  # where rows are, as messages name it: a file, or a parameter


@dataclass(frozen=True, slots=True)
class Row:
    """The fields of a row and the line on which it begins.

    `failed` says why the system gave no output; empty if it gave one. `epoch` counts the times that
    a log repeats an item, from 1; 0 if the format has none. `scores` are recorded scores by scorer.
    """

    line: int
    fields: dict[str, Any]
    failed: str = ""
    epoch: int = 0
    scores: Mapping[str, object] | None = None


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
        """Return an error that names the place, and the row that begins on `line`."""
        return DataError(self.place, problem, line=line, unit=self.unit)


Source: TypeAlias = Path | Table  # a file, or rows in memory
