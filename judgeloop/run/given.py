"""What a program gives in memory, in place of the files and judges that settings name.

The settings of a run name files and judges by text. A program may pass rows and functions instead.
Then the setting holds a stand-in, and `Given` holds what it stands for. Reads the tables and files;
nothing is joined and no judge is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Judge
from judgeloop.core.records import Item
from judgeloop.formats.columns import Map
from judgeloop.formats.confidence import confidence_of, read_confidence
from judgeloop.formats.memory import UNIT
from judgeloop.formats.rows import (
    NO_MAP,
    Items,
    Outputs,
    items_of,
    outputs_of,
    read_items,
    read_outputs,
)
from judgeloop.formats.tables import Row


@dataclass(frozen=True, slots=True)
class GivenTable:
    """Rows in memory, and their system's name if given."""

    rows: Sequence[Row]
    system: str | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """Tables by the path that stands for them, judges by the name that stands for them.

    `names` holds the names of systems whose files the program names.
    `asked_anew` says which judges have no identity, so that their verdicts are not found again;
    empty if all have one.
    """

    tables: Mapping[Path, GivenTable] = field(default_factory=dict)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    names: Mapping[Path, str] = field(default_factory=dict)
    asked_anew: str = ""

    def outputs(
        self,
        path: Path,
        mapped: Map = NO_MAP,
        *,
        allow_failed: bool = False,
        epoch: str | None = None,
        name: str | None = None,
    ) -> Outputs:
        """Return the outputs that `path` names; see `formats/rows.py` for the other arguments.

        Raises:
            DataError: a row is wrong, or the rows name several systems.
        """
        table = self.tables.get(path)
        if table is None:
            name = name or self.names.get(path)
            return read_outputs(path, mapped, allow_failed=allow_failed, epoch=epoch, name=name)
        name = name or table.system
        return outputs_of(table.rows, path, mapped=mapped, unit=UNIT, name=name)

    def items(self, path: Path, mapped: Map = NO_MAP) -> Items:
        """Return the items that `path` names.

        Raises:
            DataError: a row is wrong or has no prompt.
        """
        table = self.tables.get(path)
        if table is None:
            return read_items(path, mapped)
        return items_of(table.rows, path, mapped=mapped, unit=UNIT)

    def confidence(
        self, path: Path, items: Sequence[Item], name: str, rule: str
    ) -> NDArray[np.float64]:
        """Return the confidences in the field `name` of the rows that `path` names.

        Raises:
            InputError: a row lacks the field, or an item has no row.
        """
        table = self.tables.get(path)
        if table is None:
            return read_confidence(path, items, name, rule)
        return confidence_of(path, table.rows, items, name, rule)


NOTHING_GIVEN = Given()
