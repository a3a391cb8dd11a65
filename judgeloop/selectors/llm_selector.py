"""LLM Selector: the query with the largest expected information about which system is best.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", algorithm 1. The weak
judges' opinions stand in for outcomes that are not known yet; `represent/weak_judges.py` forms
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Draws, Label, Step
from judgeloop.selectors.ingredients import ForMany
from judgeloop.selectors.query_by_query import Asked, check_shape, query_step
from judgeloop.stats.information import Epsilons, expected_entropies, lowest, uniform, updated


@dataclass(frozen=True, slots=True)
class LLMSelectorState:
    """The posterior probability of each system being the best, and the queries asked so far."""

    posterior: NDArray[np.float64]  # logarithms of probabilities, shape (systems,)
    asked: Asked


@final
@dataclass(frozen=True, eq=False)
class LLMSelector:
    """Picks the query that minimizes the expected entropy of the posterior over the best system.

    `opinions` has the shape (weak judges, queries, systems). `epsilons` are the probabilities that
    the best system loses to and ties with the baseline. The prior is uniform over all systems, the
    baseline included. Of queries with equal entropy, the first is picked.
    """

    opinions: NDArray[np.int8]
    baseline: int
    epsilons: Epsilons
    name: str = "llm-selector"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> LLMSelectorState:
        """Return the state before the first query: a uniform posterior."""
        del rng
        check_shape(self.opinions.shape, self.baseline, items)
        return LLMSelectorState(
            uniform(self.opinions.shape[2]), Asked(np.zeros(items, dtype=np.bool_))
        )

    def ask(
        self, state: LLMSelectorState, rng: np.random.Generator
    ) -> tuple[Step | None, LLMSelectorState]:
        """Return the next query; None while answers are out, or once all queries are asked."""
        del rng
        if state.asked.closed:
            return None, state
        entropies = expected_entropies(state.posterior, self.opinions, self.epsilons)
        position = int(lowest(entropies, state.asked.queries))
        step = query_step(position, self.opinions.shape[2], self.baseline)
        return step, replace(state, asked=state.asked.with_query(position))

    def tell(self, state: LLMSelectorState, labels: Sequence[Label]) -> LLMSelectorState:
        """Update the posterior once a query is whole.

        An abstention counts as the mean of the factors of the judged systems.
        """
        asked, outcomes = state.asked.with_labels(labels, self.opinions.shape[2], self.baseline)
        if outcomes is None:
            return replace(state, asked=asked)
        posterior = updated(state.posterior, outcomes.values, self.epsilons, outcomes.judged)
        return LLMSelectorState(posterior, asked)


def for_many(given: ForMany) -> LLMSelector:
    """Make the selector that looks for the best of many systems."""
    assert given.opinions is not None, "the catalogue asks for opinions"
    assert given.epsilons is not None, "the catalogue asks for epsilons"
    return LLMSelector(given.opinions, given.baseline, given.epsilons)
