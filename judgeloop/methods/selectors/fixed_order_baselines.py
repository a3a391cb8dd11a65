"""Fixed orders of queries by the expected numbers of wins, ties and losses: rivals of LLM Selector.

Durmazkeser et al. (2025), appendix C. The outcomes are those of the ensemble of all weak judges
(appendix D, `methods/stats/weak_opinions.py`). The judge's own answers do not change the order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.core.records import Step
from judgeloop.methods.selectors.llm_selector import check_queries, query_step
from judgeloop.methods.selectors.ordered import Ordered, Picks
from judgeloop.methods.stats.information import OUTCOMES
from judgeloop.methods.stats.weak_opinions import ensemble

Counts = NDArray[np.int64]  # shape (outcomes, queries), in the order of `OUTCOMES`
DRAW = OUTCOMES.index(0)


def frequency_entropies(counts: Counts) -> NDArray[np.float64]:
    """Return the entropy of each query's outcome frequencies, in nats, shape (queries,).

    The counts are sorted first. So the same counts for other outcomes have exactly the same
    entropy, without rounding differences.
    """
    shares = np.sort(counts, axis=0) / counts.sum(axis=0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=0))


# The query with the lowest rank comes first.
RANKS: Final[dict[str, Callable[[Counts], NDArray[np.float64]]]] = {
    "most-draws": lambda counts: -counts[DRAW].astype(np.float64),
    "confidence": frequency_entropies,
    "uncertainty": lambda counts: -frequency_entropies(counts),
}


@final
@dataclass(frozen=True, eq=False)
class OutcomeOrder(Ordered):
    """A fixed order: most ties first, or lowest ("confidence") or highest ("uncertainty") entropy.

    `opinions` has the shape (weak judges, queries, systems); those of the baseline are not counted.
    Queries of equal rank come in random order. The `name` says which order it is.
    """

    opinions: NDArray[np.int8]
    baseline: int
    name: str = "most-draws"
    draws: Draws = Draws.PICKED

    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """Sort the queries; only the order of queries with equal rank is random."""
        check_queries(self.opinions, items)
        others = np.delete(ensemble(self.opinions), self.baseline, axis=1)
        counts = np.stack([(others == outcome).sum(axis=1) for outcome in OUTCOMES])
        shuffled = rng.permutation(items)
        ranks = RANKS[self.name](counts)[shuffled]
        return shuffled[np.argsort(ranks, kind="stable")]

    def step(self, position: int) -> Step:
        """Return the step that compares every system with the baseline on a query."""
        return query_step(position, self.opinions.shape[2], self.baseline)
