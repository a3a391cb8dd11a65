"""LLM Selector: the query with the largest expected information about which system is best.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", algorithm 1, as it
is published. The weak judges' opinions stand in for outcomes that are not known yet;
`represent/weak_judges.py` forms them.

As in the paper (section 2.2), the baseline is one of the candidates. It ties with itself on every
query, so each query multiplies its belief by ε₂. If ε₂ > 1 - ε₁ - ε₂, a tie raises the belief more
than a win does, and the baseline becomes the most probable system whatever the others win. Once the
belief is all but certain, every query is expected to leave it so: the queries are level, and they
are asked in random order. The paper does not say how ties between queries are broken. The selector
`credible` has a belief without this property.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Belief
from judgeloop.core.records import Draws, Label, Step
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.selectors.query_by_query import Asked, check_shape, query_step
from judgeloop.methods.stats.information import (
    Epsilons,
    all_level,
    expected_entropies,
    uniform,
    updated,
)


@dataclass(frozen=True, slots=True)
class LLMSelectorState:
    """The posterior probability of each system being the best, and the queries asked so far.

    `level_since` is the number of queries asked when the others became level (`Belief`).
    """

    posterior: NDArray[np.float64]  # logarithms of probabilities, shape (systems,)
    asked: Asked
    level_since: int | None = None


@final
@dataclass(frozen=True, eq=False)
class LLMSelector:
    """Picks the query that minimizes the expected entropy of the posterior over the best system.

    `opinions` has the shape (weak judges, queries, systems). `epsilons` are the probabilities that
    the best system loses to and ties with the baseline. The prior is uniform over all systems, the
    baseline included. Of queries with equal entropy, a random one is picked.
    """

    opinions: NDArray[np.int8]
    baseline: int
    epsilons: Epsilons
    name: str = "llm-selector"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> LLMSelectorState:
        """Return the state before the first query: a uniform posterior."""
        check_shape(self.opinions.shape, self.baseline, items)
        return LLMSelectorState(uniform(self.opinions.shape[2]), Asked.nothing(items, rng))

    def ask(
        self, state: LLMSelectorState, rng: np.random.Generator
    ) -> tuple[Step | None, LLMSelectorState]:
        """Return the next query; None while answers are out, or once all queries are asked."""
        del rng
        if state.asked.closed:
            return None, state
        entropies = expected_entropies(state.posterior, self.opinions, self.epsilons)
        position = state.asked.lowest(entropies)
        step = query_step(position, self.opinions.shape[2], self.baseline)
        asked = state.asked.with_query(position)
        return step, replace(state, asked=asked, level_since=_level_since(state, entropies))

    def tell(self, state: LLMSelectorState, labels: Sequence[Label]) -> LLMSelectorState:
        """Update the posterior once a query is whole.

        An abstention counts as the mean of the factors of the judged systems.
        """
        asked, outcomes = state.asked.with_labels(labels, self.opinions.shape[2], self.baseline)
        if outcomes is None:
            return replace(state, asked=asked)
        posterior = updated(state.posterior, outcomes.values, self.epsilons, outcomes.judged)
        return replace(state, posterior=posterior, asked=asked)

    def belief(self, state: LLMSelectorState) -> Belief:
        """Return the probability that each system is the best, by the two-parameter model."""
        return Belief(tuple(np.exp(state.posterior).tolist()), state.level_since)


def _level_since(state: LLMSelectorState, entropies: NDArray[np.float64]) -> int | None:
    """Return the number of queries asked when the others became level; None if they are not.

    The last query of all has no other to be compared with and changes nothing.
    """
    queries = state.asked.queries
    number = int(queries.sum())
    if all_level(entropies, queries):
        return number if state.level_since is None else state.level_since
    return state.level_since if number == len(queries) - 1 else None


def for_many(given: ForMany) -> LLMSelector:
    """Make the selector that looks for the best of many systems."""
    assert given.opinions is not None, "the catalogue asks for opinions"
    assert given.epsilons is not None, "the catalogue asks for epsilons"
    return LLMSelector(given.opinions, given.baseline, given.epsilons)
