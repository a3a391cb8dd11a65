"""The items with the longest difference vectors first: a baseline of the DiffUse paper.

It takes the difference vectors; `represent/` and `methods/stats/diffuse_variants.py` compute them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.methods.selectors.ingredients import ForTwo


@dataclass(frozen=True, slots=True)
class MaxNormState:
    """All positions, longest difference first, and the number picked so far."""

    order: NDArray[np.int64]  # shape (items,)
    picked: int = 0


@final
@dataclass(frozen=True, eq=False)
class MaxNorm:
    """Picks the item with the longest difference vector (Ashury-Tahan et al. 2024, appendix A.5).

    `differences` has the shape (items, dimensions). Of equally long vectors, the first is picked.
    """

    differences: NDArray[np.floating]
    name: str = "max-norm"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> MaxNormState:
        """Sort the items; nothing is random.

        Raises:
            ValueError: there is not exactly one finite vector for each item.
        """
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
        """Return the next item of the order; None once all are picked."""
        del rng
        if state.picked == len(state.order):
            return None, state
        step = Step((Choice(int(state.order[state.picked]), None),))
        return step, MaxNormState(state.order, state.picked + 1)

    def tell(self, state: MaxNormState, labels: Sequence[Label]) -> MaxNormState:
        """Return the state unchanged: the picks do not depend on answers."""
        del labels
        return state


def for_two(given: ForTwo) -> MaxNorm:
    """Make the selector that compares two systems."""
    assert given.vectors is not None, "the catalogue asks for vectors"
    return MaxNorm(given.vectors)
