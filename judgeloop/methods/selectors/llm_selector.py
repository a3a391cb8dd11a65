"""LLM Selector: the query with the largest expected information about which system is best.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", algorithm 1, as it
is published. The weak judges' opinions stand in for outcomes that are not known yet;
`represent/weak_judges.py` forms them.

As in the paper (section 2.2), the baseline is one of the candidates. It ties with itself on every
query, so each query multiplies its belief by ε₂. If ε₂ > 1 - ε₁ - ε₂, a tie raises the belief more
than a win does, and the baseline becomes the most probable system whatever the others win. Once the
belief is all but certain, every query is expected to leave it so: the queries are level, and they
are asked in random order. The paper does not say how ties between queries are broken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.core.outcomes import Belief
from judgeloop.core.records import Choice, Label, Step, Verdict
from judgeloop.methods.stats.information import Epsilons, all_level, expected_entropies, lowest, uniform, updated


def query_step(position: int, systems: int, baseline: int) -> Step:
    """Return the step that compares every system with the baseline at `position`, ascending."""
    others = (system for system in range(systems) if system != baseline)
    return Step(tuple(Choice(position, None, (system, baseline)) for system in others))


def check_queries(opinions: NDArray[np.int8], items: int) -> None:
    """Check that the opinions, shape (weak judges, queries, systems), are about `items` queries.

    Raises:
        ValueError: they are not.
    """
    if opinions.shape[1] != items:
        raise ValueError(f"opinions on {opinions.shape[1]} queries for {items} items")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The judge's outcomes of one query, by system: 1 for a win, 0 for a tie, -1 for a loss.

    All are against the baseline, which ties with itself. `judged` is False for an abstention.
    """

    values: NDArray[np.int8]  # shape (systems,)
    judged: NDArray[np.bool_]  # shape (systems,)


@dataclass(frozen=True, slots=True)
class Asked:
    """The queries asked so far, and which answers to the last query have arrived.

    `arrived` is empty once the last query is whole. `order` is a random order of the queries, which
    says which of several level queries comes first.
    """

    queries: NDArray[np.bool_]  # shape (items,)
    order: NDArray[np.int64]  # shape (items,)
    waiting: bool = False
    arrived: tuple[Label, ...] = ()

    @classmethod
    def nothing(cls, items: int, rng: np.random.Generator) -> Asked:
        """Return the state before the first query; draws the order of level queries."""
        return cls(np.zeros(items, dtype=np.bool_), rng.permutation(items))

    def lowest(self, entropies: NDArray[np.float64]) -> int:
        """Return the query with the least entropy that is not asked; a random one of several."""
        return int(self.order[lowest(entropies[self.order], self.queries[self.order])])

    @property
    def closed(self) -> bool:
        """True when there is nothing to ask: answers are out, or all queries are asked."""
        return self.waiting or bool(self.queries.all())

    def with_query(self, position: int) -> Asked:
        """Return the state after the item at `position` is asked."""
        queries = self.queries.copy()
        queries[position] = True
        return replace(self, queries=queries, waiting=True)

    def with_labels(self, labels: Sequence[Label], systems: int, baseline: int) -> tuple[Asked, Outcomes | None]:
        """Return the state after `labels` arrived, and the query's outcomes once it is whole."""
        arrived = (*self.arrived, *labels)
        if len(arrived) < systems - 1:
            return replace(self, arrived=arrived), None
        whole = replace(self, waiting=False, arrived=())
        return whole, _outcomes(arrived, systems, baseline)


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
class InformedState:
    """What is known of the systems, and the queries asked so far.

    `level_since` is the number of queries asked when the others became level (`Belief`).
    """

    known: NDArray[Any]  # shape (..., systems)
    asked: Asked
    level_since: int | None = None


@dataclass(frozen=True, eq=False)
class Informed(ABC):
    """Picks the query after which the least entropy is expected; of several, a random one.

    `opinions` has the shape (weak judges, queries, systems).
    """

    opinions: NDArray[np.int8]
    baseline: int

    @abstractmethod
    def nothing(self, systems: int) -> NDArray[Any]:
        """Return what is known of the systems before the first query."""

    @abstractmethod
    def entropies(self, known: NDArray[Any]) -> NDArray[np.float64]:
        """Return the entropy expected after each query, shape (queries,)."""

    @abstractmethod
    def learned(self, known: NDArray[Any], outcomes: Outcomes) -> NDArray[Any]:
        """Return what is known after the outcomes of a query."""

    def init(self, items: int, rng: np.random.Generator) -> InformedState:
        """Return the state before the first query."""
        check_queries(self.opinions, items)
        return InformedState(self.nothing(self._systems), Asked.nothing(items, rng))

    def ask(self, state: InformedState, rng: np.random.Generator) -> tuple[Step | None, InformedState]:
        """Return the next query; None while answers are out, or once all queries are asked."""
        del rng
        if state.asked.closed:
            return None, state
        entropies = self.entropies(state.known)
        position = state.asked.lowest(entropies)
        asked = state.asked.with_query(position)
        step = query_step(position, self._systems, self.baseline)
        return step, replace(state, asked=asked, level_since=_level_since(state, entropies))

    def tell(self, state: InformedState, labels: Sequence[Label]) -> InformedState:
        """Learn from the outcomes of a query once it is whole."""
        asked, outcomes = state.asked.with_labels(labels, self._systems, self.baseline)
        known = state.known if outcomes is None else self.learned(state.known, outcomes)
        return replace(state, known=known, asked=asked)

    @property
    def _systems(self) -> int:
        return int(self.opinions.shape[2])


@final
@dataclass(frozen=True, eq=False)
class LLMSelector(Informed):
    """Picks the query that minimizes the expected entropy of the posterior over the best system.

    The posterior, shape (systems,), holds logarithms of probabilities. `epsilons` are the
    probabilities that the best system loses to and ties with the baseline. The prior is uniform over
    all systems, the baseline included.
    """

    epsilons: Epsilons
    name: str = "llm-selector"
    draws: Draws = Draws.PICKED

    def nothing(self, systems: int) -> NDArray[np.float64]:
        """Return the uniform prior."""
        return uniform(systems)

    def entropies(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """As `Informed.entropies`, of the posterior."""
        return expected_entropies(known, self.opinions, self.epsilons)

    def learned(self, known: NDArray[np.float64], outcomes: Outcomes) -> NDArray[np.float64]:
        """Return the posterior; an abstention counts as the mean of the judged systems' factors."""
        return updated(known, outcomes.values, self.epsilons, outcomes.judged)

    def belief(self, state: InformedState) -> Belief:
        """Return the probability that each system is the best, by the two-parameter model."""
        return Belief(tuple(np.exp(state.known).tolist()), state.level_since)


def _level_since(state: InformedState, entropies: NDArray[np.float64]) -> int | None:
    """Return the number of queries asked when the others became level; None if they are not.

    The last query of all has no other to be compared with and changes nothing.
    """
    queries = state.asked.queries
    number = int(queries.sum())
    if all_level(entropies, queries):
        return number if state.level_since is None else state.level_since
    return state.level_since if number == len(queries) - 1 else None
