"""Bradley-Terry: LLM Selector with Bradley-Terry coefficients in place of the posterior.

Durmazkeser et al. (2025), appendix C, compare LLM Selector with this method. They do not say how
they estimate the coefficients; `log_ratios` in `methods/stats/information.py` says how it is done here. The
coefficients only serve to choose queries: no result reports them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.core.records import Label, Step
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.selectors.llm_selector import Asked, check_shape, query_step
from judgeloop.methods.stats.information import OUTCOMES, entropies_after, log_ratios


@dataclass(frozen=True, slots=True)
class BradleyTerryState:
    """The number of losses, ties and wins of each system, and the queries asked so far."""

    counts: NDArray[np.int64]  # shape (outcomes, systems), in the order of `OUTCOMES`
    asked: Asked


@final
@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """Picks the query that minimizes the expected entropy of the softmax of the coefficients.

    `opinions` has the shape (weak judges, queries, systems). For the expected entropy, each weak
    judge's opinions are added to the counts as if they were outcomes. Of queries with equal
    entropy, a random one is picked.
    """

    opinions: NDArray[np.int8]
    baseline: int
    name: str = "bradley-terry"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> BradleyTerryState:
        """Return the state before the first query: all counts are 0."""
        check_shape(self.opinions.shape, self.baseline, items)
        counts = np.zeros((len(OUTCOMES), self.opinions.shape[2]), dtype=np.int64)
        return BradleyTerryState(counts, Asked.nothing(items, rng))

    def ask(
        self, state: BradleyTerryState, rng: np.random.Generator
    ) -> tuple[Step | None, BradleyTerryState]:
        """Return the next query; None while answers are out, or once all queries are asked."""
        del rng
        if state.asked.closed:
            return None, state
        entropies = entropies_after(self.opinions, coefficients_after(state.counts))
        position = state.asked.lowest(entropies)
        step = query_step(position, self.opinions.shape[2], self.baseline)
        return step, replace(state, asked=state.asked.with_query(position))

    def tell(self, state: BradleyTerryState, labels: Sequence[Label]) -> BradleyTerryState:
        """Add the outcomes of a query once it is whole; abstentions are not counted."""
        asked, outcomes = state.asked.with_labels(labels, self.opinions.shape[2], self.baseline)
        if outcomes is None:
            return replace(state, asked=asked)
        new = np.stack([(outcomes.values == outcome) & outcomes.judged for outcome in OUTCOMES])
        return BradleyTerryState(state.counts + new, asked)


def coefficients_after(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each system's coefficient after one more outcome, shape (outcomes, systems).

    Row i holds the coefficients after one more outcome `OUTCOMES[i]`.
    """
    more = np.eye(len(OUTCOMES), dtype=np.int64)
    losses, ties, wins = (counts[of] + more[:, [of]] for of in range(len(OUTCOMES)))
    return log_ratios(wins, ties, losses)


def for_many(given: ForMany) -> BradleyTerry:
    """Make the selector that looks for the best of many systems."""
    assert given.opinions is not None, "the catalogue asks for opinions"
    return BradleyTerry(given.opinions, given.baseline)
