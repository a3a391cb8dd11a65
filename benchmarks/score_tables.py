"""Reads the recorded scores of many systems into an array, for the other benchmarks."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.formats.verdicts import read_verdicts

ADVERSARIES = ("NullModel", "gpt4_gamed")  # built to fool the judge


class ScoreTable(NamedTuple):
    """Scores of systems on items: `scores` has the shape (systems, items), NaN where missing.

    Systems and items are in alphabetical order.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    scores: NDArray[np.float64]


def score_table(path: Path, *, but: Collection[str] = ADVERSARIES) -> ScoreTable:
    """Read the scores of all systems except `but`; items are those of the whole table."""
    table = read_verdicts(path)
    systems, items = tuple(sorted(table.systems.difference(but))), tuple(table.items)
    return ScoreTable(systems, items, table.scores(systems, items))
