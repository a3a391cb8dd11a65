"""What selectors are made of: one record per question, filled by live runs and replays alike.

A field that the selector's catalogue row does not ask for may be None. `queries` holds the systems
to judge on an item. Nothing is read here.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import ONE_SYSTEM, TWO_SYSTEMS
from judgeloop.methods.stats.strata import Floats, Strata


@dataclass(frozen=True, slots=True)
class Variant:
    """Options of a selector that clusters; the defaults are those of the DiffUse papers.

    `combine` says which vectors are clustered (`papers/diffuse/tree.py`), `clustering` which algorithm
    clusters them, and `representative` which item of a cluster is judged.
    """

    combine: str = "difference"
    clustering: str = "ward"
    representative: str = "cosine"


@dataclass(frozen=True, slots=True, eq=False)
class ForTwo:
    """What a selector that compares two systems is made of.

    `start` is the number of clusters in the first step. `vectors` has the shape (items,
    dimensions): the combined vectors of the outputs, or the vectors of the prompts.
    """

    start: int
    variant: Variant = field(default_factory=Variant)
    vectors: NDArray[np.floating] | None = None
    queries: ClassVar = (TWO_SYSTEMS,)


@dataclass(frozen=True, slots=True, eq=False)
class ForMany:
    """What a selector that looks for the best of `systems` systems is made of.

    Each system is compared with the system numbered `baseline`; with `choosing`, the selector chooses it.
    `risk` is that of the systems' bounds, None under a rule without a stated risk, and `gap` how much
    better than the named system another may be, in share won less share lost. `opinions` holds those of
    the weak judges, shape (judges, items, systems). `epsilons` are the probabilities that the best system
    loses to and ties with the baseline. With `sampled`, the items are a sample of the population that
    the result is about.
    """

    systems: int
    baseline: int
    risk: float | None
    opinions: NDArray[np.int8] | None = None
    epsilons: tuple[float, float] | None = None
    sampled: bool = False
    gap: float = 0.0
    choosing: bool = False

    @property
    def queries(self) -> tuple[tuple[int, int], ...]:
        """The systems to judge on an item: every other one with the baseline."""
        others = (system for system in range(self.systems) if system != self.baseline)
        return tuple((system, self.baseline) for system in others)


@dataclass(frozen=True, slots=True, eq=False)
class ForOne:
    """What a selector that estimates one system's mean score is made of.

    `limit` is the maximum number of items judged. `strata` are the parts of the pool that items
    are drawn from: a single part if the selector uses no strata. `start` is the number of clusters
    in the first step. `vectors`, of hidden states or outputs, has the shape (items, dimensions),
    `confidence` the shape (items,).
    `distance` names the distance between samples of confidences, "wasserstein" or "ks".
    """

    strata: Strata
    limit: int
    start: int
    vectors: NDArray[np.floating] | None = None
    confidence: Floats | None = None
    allocation: str = "mc-ucb"
    distance: str = "wasserstein"
    queries: ClassVar = (ONE_SYSTEM,)
