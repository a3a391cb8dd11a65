"""What a selector is made of: one record a question, filled by a live run and by a replay alike.

A field that the selector's catalogue row does not ask for is None. Nothing is read or computed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from judgeloop.stats.decisiveness import Prospects
from judgeloop.stats.information import Epsilons
from judgeloop.stats.strata import Floats, Strata


@dataclass(frozen=True, slots=True)
class Variant:
    """How a selector that clusters does it; the defaults are the DiffUse papers' own choices.

    `combine` says which vectors are clustered (`stats/combining.py`), `clustering` how, and
    `representative` which item of a cluster is judged.
    """

    combine: str = "difference"
    clustering: str = "ward"
    representative: str = "cosine"


@dataclass(frozen=True, slots=True, eq=False)
class ForTwo:
    """To compare two systems.

    `start` is the number of clusters in the first step. `vectors` has the shape (items,
    dimensions): the outputs' combined vectors, or those of the prompts. `prospects` says how
    likely each item is to tell the systems apart.
    """

    start: int
    variant: Variant = field(default_factory=Variant)
    vectors: NDArray[np.floating] | None = None
    prospects: Prospects | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ForMany:
    """To find the best of `systems` systems, each compared with number `baseline`.

    `level` is the risk at which a race drops a system, None under a rule that states no risk.
    `limit` is the number of judgments at most. `lengths` are those of the outputs in characters,
    shape (systems, items). `opinions` are the weak judges', shape (judges, items, systems), and
    `epsilons` how often the best system loses to and ties with the baseline.
    """

    systems: int
    baseline: int
    level: float | None
    limit: int
    lengths: NDArray[np.int64] | None = None
    opinions: NDArray[np.int8] | None = None
    epsilons: Epsilons | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ForOne:
    """To estimate one system's mean score from `budget` of its items.

    `strata` are the parts that the items are drawn from, one part where the selector has none.
    `start` is the number of clusters in a first step. `vectors` has the shape (items, dimensions),
    `confidence` the shape (items,). `distance` is the one between samples of confidences.
    """

    strata: Strata
    budget: int
    start: int
    vectors: Floats | None = None
    confidence: Floats | None = None
    allocation: str = "mc-ucb"
    distance: str = "wasserstein"
