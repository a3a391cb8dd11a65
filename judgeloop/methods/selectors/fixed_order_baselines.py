"""Fixed orders of queries by the expected numbers of wins, ties and losses: rivals of LLM Selector.

Durmazkeser et al. (2025), appendix C. The outcomes are those of the ensemble of all weak judges
(appendix D, `methods/stats/weak_opinions.py`). The judge's own answers do not change the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Draws, Label, Step
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.selectors.llm_selector import check_shape, query_step
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


@dataclass(frozen=True, slots=True)
class OutcomeOrderState:
    """The order of the queries, and the number asked so far."""

    order: NDArray[np.int64]  # shape (items,)
    given: int = 0


@final
@dataclass(frozen=True, eq=False)
class OutcomeOrder:
    """A fixed order: most ties first, or lowest ("confidence") or highest ("uncertainty") entropy.

    `outcomes` has the shape (queries, systems); the baseline's are not counted. Queries of equal
    rank come in random order.
    """

    outcomes: NDArray[np.int8]
    baseline: int
    name: str
    draws: Draws = Draws.PICKED

    def __post_init__(self) -> None:
        if self.name not in RANKS:
            raise ValueError(f"expected one of {', '.join(RANKS)}, found {self.name!r}")

    def init(self, items: int, rng: np.random.Generator) -> OutcomeOrderState:
        """Sort the queries; only the order of queries with equal rank is random."""
        check_shape(self.outcomes.shape, self.baseline, items)
        others = np.delete(self.outcomes, self.baseline, axis=1)
        counts = np.stack([(others == outcome).sum(axis=1) for outcome in OUTCOMES])
        shuffled = rng.permutation(items)
        return OutcomeOrderState(
            shuffled[np.argsort(RANKS[self.name](counts)[shuffled], kind="stable")]
        )

    def ask(
        self, state: OutcomeOrderState, rng: np.random.Generator
    ) -> tuple[Step | None, OutcomeOrderState]:
        """Return the next query of the order; None once all are asked."""
        del rng
        if state.given == len(state.order):
            return None, state
        position = int(state.order[state.given])
        step = query_step(position, self.outcomes.shape[1], self.baseline)
        return step, replace(state, given=state.given + 1)

    def tell(self, state: OutcomeOrderState, labels: Sequence[Label]) -> OutcomeOrderState:
        """Return the state unchanged: the order does not depend on answers."""
        del labels
        return state


def most_draws(given: ForMany) -> OutcomeOrder:
    """Make the selector that asks the queries with the most expected ties first."""
    return _ordered("most-draws", given)


def confidence(given: ForMany) -> OutcomeOrder:
    """Make the selector that asks queries with the lowest entropy of outcomes first."""
    return _ordered("confidence", given)


def uncertainty(given: ForMany) -> OutcomeOrder:
    """Make the selector that asks queries with the highest entropy of outcomes first."""
    return _ordered("uncertainty", given)


def _ordered(name: str, given: ForMany) -> OutcomeOrder:
    assert given.opinions is not None, "the catalogue asks for opinions"
    return OutcomeOrder(ensemble(given.opinions), given.baseline, name)
