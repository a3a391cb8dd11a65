"""LLM Selector: the query with the largest expected information about which system is best, and its rivals.

Durmazkeser et al. (2025), "Active Model Selection for Large Language Models", algorithm 1, as it is published; of its
appendix C, Bradley-Terry and the fixed orders of queries. The weak judges' opinions (`opinions.py`) stand in for
outcomes that are not known yet.

As in the paper (section 2.2), the baseline is one of the candidates. It ties with itself on every query, so each query
multiplies its belief by ε₂. If ε₂ > 1 - ε₁ - ε₂, a tie raises the belief more than a win does, and the baseline becomes
the most probable system whatever the others win. Once the belief is all but certain, every query is expected to leave
it so: the queries are level, and they are asked in random order. The paper does not say how ties between queries are
broken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Belief
from judgeloop.core.records import Choice, Draws, Label, Step, Verdict
from judgeloop.methods.selectors.ordered import Ordered, Picks
from judgeloop.papers.llm_selector.information import (
    OUTCOMES,
    Epsilons,
    all_level,
    ensemble,
    entropies_after,
    expected_entropies,
    log_ratios,
    lowest,
    uniform,
    updated,
)

Counts = NDArray[np.int64]  # shape (outcomes, queries), in the order of `OUTCOMES`


def query_step(position: int, systems: int, baseline: int) -> Step:
    """The step that compares every system with the baseline at `position`, ascending."""
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
class AskedQueries:
    """The queries asked so far, and which answers to the last query have arrived.

    `arrived` is empty once the last query is whole. `order` is a random order of the queries, which
    says which of several level queries comes first.
    """

    queries: NDArray[np.bool_]  # shape (items,)
    order: NDArray[np.int64]  # shape (items,)
    waiting: bool = False
    arrived: tuple[Label, ...] = ()

    @classmethod
    def nothing(cls, items: int, rng: np.random.Generator) -> AskedQueries:
        """The state before the first query; draws the order of level queries."""
        return cls(np.zeros(items, dtype=np.bool_), rng.permutation(items))

    def lowest(self, entropies: NDArray[np.float64]) -> int:
        """The query with the least entropy that is not asked; a random one of several."""
        return int(self.order[lowest(entropies[self.order], self.queries[self.order])])

    @property
    def closed(self) -> bool:
        """True when there is nothing to ask: answers are out, or all queries are asked."""
        return self.waiting or bool(self.queries.all())

    def with_query(self, position: int) -> AskedQueries:
        """The state after the item at `position` is asked."""
        queries = self.queries.copy()
        queries[position] = True
        return replace(self, queries=queries, waiting=True)

    def with_labels(self, labels: Sequence[Label], systems: int, baseline: int) -> tuple[AskedQueries, Outcomes | None]:
        """The state after `labels` arrived, and the query's outcomes once it is whole."""
        arrived = (*self.arrived, *labels)
        if len(arrived) < systems - 1:
            return replace(self, arrived=arrived), None
        values = np.zeros(systems, dtype=np.int8)
        judged = np.zeros(systems, dtype=np.bool_)
        judged[baseline] = True
        for label in arrived:
            if isinstance(label.answer, Verdict):
                values[label.choice.systems[0]] = label.answer.preference
                judged[label.choice.systems[0]] = True
        return replace(self, waiting=False, arrived=()), Outcomes(values, judged)


@dataclass(frozen=True, slots=True)
class InformedState:
    """What is known of the systems, and the queries asked so far.

    `level_since` is the number of queries asked when the others became level (`Belief`).
    """

    known: NDArray[Any]  # shape (..., systems)
    asked: AskedQueries
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
        """What is known of the systems before the first query."""

    @abstractmethod
    def entropies(self, known: NDArray[Any]) -> NDArray[np.float64]:
        """The entropy expected after each query, shape (queries,)."""

    @abstractmethod
    def learned(self, known: NDArray[Any], outcomes: Outcomes) -> NDArray[Any]:
        """What is known after the outcomes of a query."""

    def init(self, items: int, rng: np.random.Generator) -> InformedState:
        """The state before the first query."""
        check_queries(self.opinions, items)
        return InformedState(self.nothing(self._systems), AskedQueries.nothing(items, rng))

    def ask(self, state: InformedState, rng: np.random.Generator) -> tuple[Step | None, InformedState]:
        """The next query; None while answers are out, or once all queries are asked."""
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
        """The uniform prior."""
        return uniform(systems)

    def entropies(self, known: NDArray[np.float64]) -> NDArray[np.float64]:
        """As `Informed.entropies`, of the posterior."""
        return expected_entropies(known, self.opinions, self.epsilons)

    def learned(self, known: NDArray[np.float64], outcomes: Outcomes) -> NDArray[np.float64]:
        """The posterior; an abstention counts as the mean of the judged systems' factors."""
        return updated(known, outcomes.values, self.epsilons, outcomes.judged)

    def belief(self, state: InformedState) -> Belief:
        """The probability that each system is the best, by the two-parameter model."""
        return Belief(tuple(np.exp(state.known).tolist()), state.level_since)


def _level_since(state: InformedState, entropies: NDArray[np.float64]) -> int | None:
    """The number of queries asked when the others became level; None if they are not.

    The last query of all has no other to be compared with and changes nothing.
    """
    queries = state.asked.queries
    number = int(queries.sum())
    if all_level(entropies, queries):
        return number if state.level_since is None else state.level_since
    return state.level_since if number == len(queries) - 1 else None


@final
@dataclass(frozen=True, eq=False)
class BradleyTerry(Informed):
    """LLM Selector with Bradley-Terry coefficients in place of the posterior (appendix C).

    It picks the query that minimizes the expected entropy of the softmax of the coefficients. The paper does not say
    how it estimates them; `log_ratios` says how it is done here. They only serve to choose queries: no result reports
    them.

    Known are the losses, ties and wins of each system, shape (outcomes, systems). For the expected
    entropy, each weak judge's opinions are added to the counts as if they were outcomes.
    """

    name: str = "bradley-terry"
    draws: Draws = Draws.PICKED

    def nothing(self, systems: int) -> NDArray[np.int64]:
        """Counts of 0, in the order of `OUTCOMES`."""
        return np.zeros((len(OUTCOMES), systems), dtype=np.int64)

    def entropies(self, known: NDArray[np.int64]) -> NDArray[np.float64]:
        """As `Informed.entropies`, of the softmax of the coefficients."""
        more = np.eye(len(OUTCOMES), dtype=np.int64)  # row i: one more outcome `OUTCOMES[i]`
        losses, ties, wins = (known[of] + more[:, [of]] for of in range(len(OUTCOMES)))
        return entropies_after(self.opinions, log_ratios(wins, ties, losses))

    def learned(self, known: NDArray[np.int64], outcomes: Outcomes) -> NDArray[np.int64]:
        """Add the outcomes of a query; abstentions are not counted."""
        new = [(outcomes.values == outcome) & outcomes.judged for outcome in OUTCOMES]
        counts: NDArray[np.int64] = known + np.stack(new)
        return counts


def frequency_entropies(counts: Counts) -> NDArray[np.float64]:
    """The entropy of each query's outcome frequencies, in nats, shape (queries,).

    The counts are sorted first. So the same counts for other outcomes have exactly the same
    entropy, without rounding differences.
    """
    shares = np.sort(counts, axis=0) / counts.sum(axis=0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=0))


# The query with the lowest rank comes first.
RANKS: Final[dict[str, Callable[[Counts], NDArray[np.float64]]]] = {
    "most-draws": lambda counts: -counts[OUTCOMES.index(0)].astype(np.float64),
    "confidence": frequency_entropies,
    "uncertainty": lambda counts: -frequency_entropies(counts),
}


@final
@dataclass(frozen=True, eq=False)
class OutcomeOrder(Ordered):
    """A fixed order: most ties first, or lowest ("confidence") or highest ("uncertainty") entropy (appendix C).

    The outcomes are those of the ensemble of all weak judges (appendix D). The judge's answers do not change the order.
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
        """The step that compares every system with the baseline on a query."""
        return query_step(position, self.opinions.shape[2], self.baseline)
