"""Uniform random draws without replacement: the baseline for every other selector."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Step
from judgeloop.methods.selectors.ordered import Unmoved


@dataclass(frozen=True, slots=True)
class RandomState:
    """A shuffled pool, and the number of items drawn."""

    order: NDArray[np.int64]  # shape (items,)
    drawn: int = 0


@final
@dataclass(frozen=True)
class Random(Unmoved):
    """Draws every remaining item with equal probability.

    `queries` holds the systems to judge on the item: for each query one system to rate, or two to
    compare.
    """

    queries: tuple[tuple[int, ...], ...] = ((0, 1),)
    name: str = "random"
    draws: Draws = Draws.EVEN

    def init(self, items: int, rng: np.random.Generator) -> RandomState:
        """Shuffle the pool once: draws then do not depend on how many are asked for at a time."""
        return RandomState(rng.permutation(items))

    def ask(self, state: RandomState, rng: np.random.Generator) -> tuple[Step | None, RandomState]:
        """Return the next item, with propensity 1 / (items left); None once all are drawn."""
        del rng  # all randomness is in the shuffle
        left = len(state.order) - state.drawn
        if not left:
            return None, state
        position = int(state.order[state.drawn])
        choices = tuple(Choice(position, 1.0 / left, systems) for systems in self.queries)
        return Step(choices), RandomState(state.order, state.drawn + 1)
