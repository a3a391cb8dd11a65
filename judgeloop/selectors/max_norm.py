"""The items on which the two systems differ most, by the length of the difference vector: a baseline of the DiffUse papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.selectors.ingredients import ForTwo


@dataclass(frozen=True, slots=True)
class MaxNormState:
    """All positions, the longest difference first, and how far into them the picks have come."""

    order: NDArray[np.int64]  # shape (items,)
    picked: int = 0


@final
@dataclass(frozen=True, eq=False)
class MaxNorm:
    """The longest difference vectors first (Ashury-Tahan et al. 2024, appendix A.5); of equal ones the first.

    `differences` has the shape (items, dimensions).
    """

    differences: NDArray[np.floating]
    name: str = "max-norm"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> MaxNormState:
        """Sort; nothing is random."""
        del rng
        if len(self.differences) != items:
            raise ValueError(f"{len(self.differences)} difference vectors for {items} items")
        norms = np.linalg.norm(np.asarray(self.differences, dtype=np.float64), axis=1)
        if not np.isfinite(norms).all():
            raise ValueError("the difference vectors hold values that are not finite")
        return MaxNormState(np.argsort(-norms, kind="stable"))

    def ask(
        self, state: MaxNormState, rng: np.random.Generator
    ) -> tuple[Step | None, MaxNormState]:
        """The next."""
        del rng
        if state.picked == len(state.order):
            return None, state
        step = Step((Choice(int(state.order[state.picked]), None),))
        return step, MaxNormState(state.order, state.picked + 1)

    def tell(self, state: MaxNormState, labels: Sequence[Label]) -> MaxNormState:
        """Picks do not depend on answers."""
        del labels
        return state


def for_two(given: ForTwo) -> MaxNorm:
    """To compare two systems."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    return MaxNorm(given.vectors)
