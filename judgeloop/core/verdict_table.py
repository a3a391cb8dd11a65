"""Recorded verdicts in memory: a table from items and systems to scores.

Files are read in `formats/verdicts.py`; the replay judge and replays answer from the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded score, None where the oracle gave none, and what it cost in picodollars."""

    score: float | None
    cost_p: int = 0


@dataclass(frozen=True, slots=True)
class VerdictTable:
    """Scores by (item, system); when `paired`, preferences in [0, 1] for the first by (item, first, second)."""

    name: str
    digest: str
    paired: bool
    rows: Mapping[tuple[str, ...], Recorded]

    @property
    def systems(self) -> frozenset[str]:
        """Every system that the table knows."""
        return frozenset(system for row in self.rows for system in row[1:])

    @property
    def items(self) -> list[str]:
        """Every item that the table knows, in alphabetical order."""
        return sorted({row[0] for row in self.rows})

    def scores(self, systems: Sequence[str], items: Sequence[str]) -> NDArray[np.float64]:
        """The scores of `systems` on `items`, shape (systems, items); NaN where there is none.

        Raises:
            ValueError: the table holds pairs, which give no system a score.
        """
        if self.paired:
            raise ValueError("a table of pairs has no scores of single systems")
        rows, columns = (
            {name: place for place, name in enumerate(names)} for names in (systems, items)
        )
        found = np.full((len(systems), len(items)), np.nan)
        for (item, system), recorded in self.rows.items():
            if system in rows and item in columns and recorded.score is not None:
                found[rows[system], columns[item]] = recorded.score
        return found
