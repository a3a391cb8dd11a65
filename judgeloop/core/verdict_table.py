"""Recorded verdicts in memory: a table from items and systems to scores.

Reading one from a file is `formats/verdicts.py`'s business; answering from it the replay judge's and `replay/`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


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
