"""Recorded scores of many systems as an array, for the other benchmarks. It draws nothing and compares nothing."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.formats.verdicts import read_verdicts

ADVERSARIES = ("NullModel", "gpt4_gamed")  # built to fool the judge


class ScoreTable(NamedTuple):
    """Scores of systems on items, both in the order of their names: `scores` has the shape (systems, items), NaN where there is none."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    scores: NDArray[np.float64]


def score_table(path: Path, *, but: Collection[str] = ADVERSARIES) -> ScoreTable:
    """All systems of a table of verdicts but some; its items are those of all of them."""
    table = read_verdicts(path)
    systems, items = tuple(sorted(table.systems.difference(but))), tuple(table.items)
    return ScoreTable(systems, items, table.scores(systems, items))
