"""Reads the recorded scores of many systems into an array, for the other benchmarks."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.formats.verdicts import read_verdicts

ADVERSARIES = ("NullModel", "gpt4_gamed")  # built to fool the judge
# By name: the file, the margin within which two scores tie, and the numbers of judgments.
TABLES = {
    "AlpacaEval GPT-4": ("alpacaeval/verdicts-gpt4.csv.gz", 0.0, (20, 50, 100, 200)),
    "AlpacaEval GPT-4-turbo": ("alpacaeval/verdicts-gpt4turbo.csv.gz", 0.05, (20, 50, 100, 200)),
    "REALSumm ROUGE-2": ("realsumm/verdicts-rouge2.csv.gz", 0.0, (20, 50)),
    "REALSumm pyramid": ("realsumm/verdicts-human-pyramid.csv.gz", 0.0, (20, 50)),
}


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
