"""Draws that prefer the items which told systems apart before; without a history, plain random draws.

What an item's weight is made of is `stats/decisiveness.py`'s business; where earlier comparisons come from, that of the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.past import Past
from judgeloop.records import Choice, Draws, Label, Step
from judgeloop.selectors.random import Random
from judgeloop.stats.decisiveness import Floats, draw_weights

MOST_WEIGHED = 300  # comparisons that weights rest on, spread over all: more take time and say little more


@dataclass(frozen=True, slots=True)
class DecisiveState:
    """The pool in the order drawn, the propensity of each draw, and how far the draws have come."""

    order: NDArray[np.int64]  # shape (items,)
    propensities: NDArray[np.float64]  # shape (items,)
    drawn: int = 0


@final
@dataclass(frozen=True)
class Decisive:
    """Each next item is drawn from those left, with a chance in proportion to its weight; all `queries` are made on it.

    `weights` are positive, shape (items,). Successive sampling (Rosén 1972): done by sorting exponential waiting times, whose
    rates are the weights (Efraimidis & Spirakis 2006).
    """

    weights: NDArray[np.float64]
    queries: tuple[tuple[int, ...], ...] = ((0, 1),)
    name: str = "decisive"
    draws: Draws = field(default=Draws.KNOWN, init=False)

    def __post_init__(self) -> None:
        """Refuse weights that leave an item out.

        Raises:
            ValueError: one is not positive and finite.
        """
        if not (np.isfinite(self.weights).all() and (self.weights > 0).all()):
            raise ValueError("expected positive weights, so that every item can be drawn")

    def init(self, items: int, rng: np.random.Generator) -> DecisiveState:
        """Draw the whole order once: draws are then independent of how many are asked for at a time."""
        if len(self.weights) != items:
            raise ValueError(f"weights of {len(self.weights)} items for {items}")
        order = np.argsort(rng.exponential(size=items) / self.weights, kind="stable")
        drawn = self.weights[order]
        left = np.cumsum(drawn[::-1])[::-1]
        return DecisiveState(order, drawn / left)

    def ask(
        self, state: DecisiveState, n: int, rng: np.random.Generator
    ) -> tuple[Sequence[Step], DecisiveState]:
        """The next `n` of the order, each with its weight's share of all that is left."""
        del rng  # all randomness is in the order
        end = min(state.drawn + n, len(state.order))
        steps = [
            Step(
                tuple(
                    Choice(int(state.order[at]), float(state.propensities[at]), one) for one in self.queries
                )
            )
            for at in range(state.drawn, end)
        ]
        return steps, DecisiveState(state.order, state.propensities, end)

    def tell(self, state: DecisiveState, labels: Sequence[Label]) -> DecisiveState:
        """Draws do not depend on answers."""
        del labels
        return state


def preferred_by(past: Past, systems: tuple[str, ...], power: float | None = None) -> Floats | None:
    """The items' weights when `systems` are compared after this past, shape (items,); None where it prefers none.

    `power` is the exponent, by default one that grows with the systems that were compared on an item.
    """
    rows = np.unique(np.linspace(0, max(0, len(past) - 1), min(len(past), MOST_WEIGHED)).astype(np.int64))
    return draw_weights(
        past.preferences[rows],
        past.known[rows],
        past.systems_an_item,
        apart=past.apart_from(*systems)[rows],
        power=power,
    )


def decisive(
    weights: NDArray[np.float64] | None, queries: tuple[tuple[int, ...], ...] = ((0, 1),)
) -> Decisive | Random:
    """Draws by `weights`; by None, and so without a history, what `random` draws with the same seed, draw for draw."""
    return Random(queries, name="decisive") if weights is None else Decisive(weights, queries)
