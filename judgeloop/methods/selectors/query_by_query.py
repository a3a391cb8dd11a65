"""Shared parts of the selectors that pick one query at a time and wait for its answers.

A query is one item judged for all systems. Each selector's own file decides which query comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Label, Step, Verdict
from judgeloop.methods.stats.information import lowest


def query_step(position: int, systems: int, baseline: int) -> Step:
    """Return the step that compares every system with the baseline at `position`, ascending."""
    others = (system for system in range(systems) if system != baseline)
    return Step(tuple(Choice(position, None, (system, baseline)) for system in others))


def check_shape(shape: tuple[int, ...], baseline: int, items: int) -> None:
    """Check that the opinions are about `items` queries and at least two systems.

    `shape` ends with (queries, systems).

    Raises:
        ValueError: the number of queries is not `items`, there are fewer than two systems, or
            `baseline` is not the number of a system.
    """
    queries, systems = shape[-2:]
    if queries != items:
        raise ValueError(f"opinions on {queries} queries for {items} items")
    if systems <= 1:
        raise ValueError(f"expected at least two systems to compare, found {systems}")
    if not 0 <= baseline < systems:
        raise ValueError(f"the baseline is system {baseline} of {systems}")


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

    def with_labels(
        self, labels: Sequence[Label], systems: int, baseline: int
    ) -> tuple[Asked, Outcomes | None]:
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
