"""Recorded verdicts in memory: a table from items and systems to scores.

`formats/verdicts.py` reads the table from a file. The replay judge (`judges/replay.py`) and the
replays (`replay/`) take their verdicts from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded score, None for an abstention, and its cost in picodollars."""

    score: float | None
    cost_p: int = 0


@dataclass(frozen=True, slots=True)
class VerdictTable:
    """Scores by (item, system), or by (item, first, second) if `paired`.

    A score of a pair is in [0, 1]: 1 means that the first system is better.
    """

    name: str
    digest: str
    paired: bool
    rows: Mapping[tuple[str, ...], Recorded]

    @property
    def systems(self) -> frozenset[str]:
        """The names of all systems in the table."""
        return frozenset(system for row in self.rows for system in row[1:])

    @property
    def items(self) -> list[str]:
        """The ids of all items in the table, in alphabetical order."""
        return sorted({row[0] for row in self.rows})

    def scores(self, systems: Sequence[str], items: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores of `systems` on `items`, shape (systems, items); NaN where missing.

        Raises:
            ValueError: the table holds scores of pairs, not of single systems.
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
