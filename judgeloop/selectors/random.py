"""Uniform draws without replacement: the baseline that every other selector has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import ONE_SYSTEM, Choice, Draws, Label, Step
from judgeloop.selectors.ingredients import ForMany, ForOne, ForTwo


@dataclass(frozen=True, slots=True)
class RandomState:
    """A shuffled pool and how far into it the draws have come."""

    order: NDArray[np.int64]  # shape (items,)
    drawn: int = 0


@final
@dataclass(frozen=True)
class Random:
    """Every item not yet drawn is equally likely to be next; all `queries` are made on it, of one system or of two."""

    queries: tuple[tuple[int, ...], ...] = ((0, 1),)
    name: str = "random"
    draws: Draws = Draws.EVEN

    def init(self, items: int, rng: np.random.Generator) -> RandomState:
        """Shuffle the pool once: draws are then independent of how many are asked for at a time."""
        return RandomState(rng.permutation(items))

    def ask(self, state: RandomState, rng: np.random.Generator) -> tuple[Step | None, RandomState]:
        """The next of the shuffled pool, with propensity 1 / (items not drawn before it)."""
        del rng  # all randomness is in the shuffle
        left = len(state.order) - state.drawn
        if not left:
            return None, state
        position = int(state.order[state.drawn])
        choices = tuple(Choice(position, 1.0 / left, systems) for systems in self.queries)
        return Step(choices), RandomState(state.order, state.drawn + 1)

    def tell(self, state: RandomState, labels: Sequence[Label]) -> RandomState:
        """Draws do not depend on answers."""
        del labels
        return state


def for_two(given: ForTwo) -> Random:
    """To compare two systems."""
    del given
    return Random()


def for_many(given: ForMany) -> Random:
    """To compare every system with the baseline, on the same items."""
    others = (system for system in range(given.systems) if system != given.baseline)
    return Random(tuple((system, given.baseline) for system in others))


def for_one(given: ForOne) -> Random:
    """To rate one system."""
    del given
    return Random((ONE_SYSTEM,))
