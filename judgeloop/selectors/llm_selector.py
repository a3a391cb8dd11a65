"""LLM Selector: the query whose outcomes are expected to say most about which of many systems is best.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", algorithm 1. The weak judges' opinions that stand in
for outcomes not known yet are not formed here (`represent/`). What every selector against one baseline has in common stands here
too: the step for a query, and which queries have been asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.records import Choice, Label, Step, Verdict
from judgeloop.stats.information import Epsilons, expected_entropies, lowest, uniform, updated


def query_step(position: int, systems: int, baseline: int) -> Step:
    """Judge every system but the baseline against it on the item at `position`, in ascending order."""
    others = (system for system in range(systems) if system != baseline)
    return Step(tuple(Choice(position, None, (system, baseline)) for system in others))


def check_shape(shape: tuple[int, ...], baseline: int, items: int) -> None:
    """Refuse what is not about `items` queries and at least two systems with a baseline among them.

    Raises:
        ValueError: as said; `shape` ends with (queries, systems).
    """
    queries, systems = shape[-2:]
    if queries != items:
        raise ValueError(f"opinions on {queries} queries for {items} items")
    if systems < len(("a system", "the baseline")):
        raise ValueError(f"expected at least two systems to compare, found {systems}")
    if not 0 <= baseline < systems:
        raise ValueError(f"the baseline is system {baseline} of {systems}")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What the judge said about one query: by system, 1 for a win over the baseline, 0 for a tie, -1 for a loss.

    `judged` is False where it abstained. The baseline ties with itself.
    """

    values: NDArray[np.int8]  # shape (systems,)
    judged: NDArray[np.bool_]  # shape (systems,)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which queries have been asked, and what has arrived of the answers to the last while some are out."""

    queries: NDArray[np.bool_]  # shape (items,)
    waiting: bool = False
    arrived: tuple[Label, ...] = ()

    @property
    def closed(self) -> bool:
        """True when there is nothing to ask now: answers are out, or all has been asked."""
        return self.waiting or bool(self.queries.all())

    def with_query(self, position: int) -> Asked:
        """After asking the item at `position`."""
        queries = self.queries.copy()
        queries[position] = True
        return Asked(queries, waiting=True)

    def with_labels(
        self, labels: Sequence[Label], systems: int, baseline: int
    ) -> tuple[Asked, Outcomes | None]:
        """After `labels` arrived, and the outcomes of the query once it is whole."""
        arrived = (*self.arrived, *labels)
        if len(arrived) < systems - 1:
            return replace(self, arrived=arrived), None
        return Asked(self.queries), _outcomes(arrived, systems, baseline)


def _outcomes(labels: Sequence[Label], systems: int, baseline: int) -> Outcomes:
    values = np.zeros(systems, dtype=np.int8)
    judged = np.zeros(systems, dtype=np.bool_)
    judged[baseline] = True
    for label in labels:
        system = label.choice.systems[0]
        if isinstance(label.answer, Verdict):
            values[system] = label.answer.preference
            judged[system] = True
    return Outcomes(values, judged)


@dataclass(frozen=True, slots=True)
class LLMSelectorState:
    """The belief in each system being the best, and what has been asked."""

    posterior: NDArray[np.float64]  # logarithms of probabilities, shape (systems,)
    asked: Asked


@final
@dataclass(frozen=True, eq=False)
class LLMSelector:
    """The next query is the one after which the belief in the best system is expected to have the least entropy.

    `opinions` has the shape (weak judges, queries, systems); `epsilons` are the probabilities that the best system loses to and ties
    with the baseline. At first every system, the baseline too, is as likely to be the best. Of queries that are level the first is taken.
    """

    opinions: NDArray[np.int8]
    baseline: int
    epsilons: Epsilons
    name: str = "llm-selector"
    draws: bool = False

    def init(self, items: int, rng: np.random.Generator) -> LLMSelectorState:
        """Nothing asked and nothing believed."""
        del rng
        check_shape(self.opinions.shape, self.baseline, items)
        return LLMSelectorState(uniform(self.opinions.shape[2]), Asked(np.zeros(items, dtype=np.bool_)))

    def ask(
        self, state: LLMSelectorState, n: int, rng: np.random.Generator
    ) -> tuple[Sequence[Step], LLMSelectorState]:
        """One query; none while answers to the last are out."""
        del rng
        if n < 1 or state.asked.closed:
            return [], state
        entropies = expected_entropies(state.posterior, self.opinions, self.epsilons)
        position = int(lowest(entropies, state.asked.queries))
        step = query_step(position, self.opinions.shape[2], self.baseline)
        return [step], replace(state, asked=state.asked.with_query(position))

    def tell(self, state: LLMSelectorState, labels: Sequence[Label]) -> LLMSelectorState:
        """The belief changes by whole queries; an abstention counts as the mean of what the others got."""
        asked, outcomes = state.asked.with_labels(labels, self.opinions.shape[2], self.baseline)
        if outcomes is None:
            return replace(state, asked=asked)
        posterior = updated(state.posterior, outcomes.values, self.epsilons, outcomes.judged)
        return LLMSelectorState(posterior, asked)
