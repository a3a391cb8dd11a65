"""What selectors share that pick items in an order which does not depend on the answers.

A selector says which order; here are its state and its steps. The order is worked out only as far
as it is asked for.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import ONE_SYSTEM, Choice, Label, Step

S = TypeVar("S")
Picks = Iterable[int] | NDArray[np.int64]  # positions in the order picked


class LazyOrder:
    """An order of the pool, which remembers what was worked out of it."""

    def __init__(self, positions: Picks) -> None:
        """Nothing is worked out yet."""
        self._further = iter(positions)
        self._known: list[int] = []

    def at(self, place: int) -> int | None:
        """The position at a place of the order; None after its end."""
        while len(self._known) <= place:
            position = next(self._further, None)
            if position is None:
                return None
            self._known.append(int(position))
        return self._known[place]


@dataclass(frozen=True, slots=True, eq=False)
class OrderState:
    """The order of the items, and the number picked so far."""

    order: LazyOrder
    picked: int = 0


class Unmoved:
    """A selector whose choices do not depend on the answers."""

    def tell(self, state: S, labels: Sequence[Label]) -> S:
        """The state unchanged."""
        del labels
        return state


class Ordered(Unmoved, ABC):
    """Picks the items in the order of `positions`."""

    @abstractmethod
    def positions(self, items: int, rng: np.random.Generator) -> Picks:
        """All positions in the order picked; what is random is drawn at once.

        Raises:
            ValueError: the selector was made for another number of items.
        """

    def step(self, position: int) -> Step:
        """The step that judges an item: a rating, if the selector says nothing else."""
        return Step((Choice(position, None, ONE_SYSTEM),))

    def init(self, items: int, rng: np.random.Generator) -> OrderState:
        """The state before the first step; raises ValueError as `positions` does."""
        return OrderState(LazyOrder(self.positions(items, rng)))

    def ask(self, state: OrderState, rng: np.random.Generator) -> tuple[Step | None, OrderState]:
        """The next item of the order; None once all are picked."""
        del rng  # all randomness is in the order
        position = state.order.at(state.picked)
        if position is None:
            return None, state
        return self.step(position), replace(state, picked=state.picked + 1)


def check_vectors(vectors: NDArray[np.floating], items: int) -> None:
    """Check that there is exactly one finite vector for each item.

    Raises:
        ValueError: there is not.
    """
    if len(vectors) != items:
        raise ValueError(f"{len(vectors)} vectors for {items} items")
    if not np.isfinite(vectors).all():
        raise ValueError("the vectors hold values that are not finite")
