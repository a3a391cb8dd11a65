"""Bradley-Terry: as LLM Selector, with a belief made of Bradley-Terry coefficients.

A rival in Durmazkeser et al. (2025), appendix C, which leaves open how the coefficients are estimated; it is said in
`information.log_ratios`. No ratings are reported from here: the coefficients serve to choose queries only.
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
from judgeloop.stats.information import OUTCOMES, entropies_after, log_ratios, lowest


@dataclass(frozen=True, slots=True)
class BradleyTerryState:
    """How often each system lost, tied and won, and what has been asked."""

    counts: NDArray[np.int64]  # shape (outcomes, systems), in the order of `OUTCOMES`
    asked: Asked


@final
@dataclass(frozen=True, eq=False)
class BradleyTerry:
    """The next query is the one after which the softmax of the coefficients is expected to have the least entropy.

    `opinions` has the shape (weak judges, queries, systems): each judge's opinions are added to the counts as if they were outcomes. Of
    queries that are level the first is taken.
    """

    opinions: NDArray[np.int8]
    baseline: int
    name: str = "bradley-terry"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> BradleyTerryState:
        """Nothing asked and nothing counted."""
        del rng
        check_shape(self.opinions.shape, self.baseline, items)
        counts = np.zeros((len(OUTCOMES), self.opinions.shape[2]), dtype=np.int64)
        return BradleyTerryState(counts, Asked(np.zeros(items, dtype=np.bool_)))

    def ask(
        self, state: BradleyTerryState, rng: np.random.Generator
    ) -> tuple[Step | None, BradleyTerryState]:
        """The next query; none while answers to the last are out."""
        del rng
        if state.asked.closed:
            return None, state
        entropies = entropies_after(self.opinions, coefficients_after(state.counts))
        position = int(lowest(entropies, state.asked.queries))
        step = query_step(position, self.opinions.shape[2], self.baseline)
        return step, replace(state, asked=state.asked.with_query(position))

    def tell(self, state: BradleyTerryState, labels: Sequence[Label]) -> BradleyTerryState:
        """The counts change by whole queries; an abstention is not counted."""
        asked, outcomes = state.asked.with_labels(labels, self.opinions.shape[2], self.baseline)
        if outcomes is None:
            return replace(state, asked=asked)
        new = np.stack([(outcomes.values == outcome) & outcomes.judged for outcome in OUTCOMES])
        return BradleyTerryState(state.counts + new, asked)


def coefficients_after(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The coefficient of each system after one more outcome, shape (outcomes, systems)."""
    more = np.eye(len(OUTCOMES), dtype=np.int64)
    losses, ties, wins = (counts[of] + more[:, [of]] for of in range(len(OUTCOMES)))
    return log_ratios(wins, ties, losses)


def for_many(given: ForMany) -> BradleyTerry:
    """To find the best of many systems."""
    assert given.opinions is not None, "the catalogue asks for opinions"
    return BradleyTerry(given.opinions, given.baseline)
