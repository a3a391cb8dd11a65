"""What selectors have in common that pick one query at a time for all systems and wait for its answers.

Which query comes next is each one's own business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Label, Step, Verdict


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
