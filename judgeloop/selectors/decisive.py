"""Draws that prefer the items which are likely to tell two systems apart; with nothing known of them, plain random draws.

What an item's weight is made of is the business of `stats/decisiveness.py` and `stats/decision_model.py`; where earlier comparisons come
from, that of the job.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Abstention, Choice, Draws, Label, Step
from judgeloop.selectors.ingredients import ForTwo
from judgeloop.selectors.random import Random
from judgeloop.stats.decision_model import weights_after
from judgeloop.stats.decisiveness import Floats, Prospects

FIRST_LOOK = (
    10  # draws; the weights are learned again after so many, and whenever they have doubled
)


@dataclass(frozen=True, slots=True)
class DecisiveState:
    """The pool in the order drawn, the propensity of each draw, how far the draws have come, and what they have shown.

    `order` holds up to `look` until the answers to all of these are in; `seen` are the positions judged so far, each with whether it
    decided, and `told` counts abstentions too.
    """

    order: NDArray[np.int64]  # shape (items,)
    propensities: Floats  # shape (items,)
    look: int
    drawn: int = 0
    told: int = 0
    seen: tuple[tuple[int, bool], ...] = ()


@final
@dataclass(frozen=True)
class Decisive:
    """Each next item is drawn from those left, with a chance in proportion to its weight.

    `weights` are positive, shape (items,). Successive sampling (Rosén 1972): done by sorting exponential waiting times, whose
    rates are the weights (Efraimidis & Spirakis 2006). With `known` these weights are but the first: after 10 draws, and whenever they
    have doubled, it waits for the answers and learns from them how likely each item left is to decide.
    """

    weights: Floats
    known: Prospects | None = None
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
        """Draw an order for the whole pool: draws up to the first look are independent of how many are asked for at a time."""
        if len(self.weights) != items:
            raise ValueError(f"weights of {len(self.weights)} items for {items}")
        order, propensities = _successive(np.arange(items), self.weights, rng)
        return DecisiveState(
            order, propensities, items if self.known is None else min(FIRST_LOOK, items)
        )

    def ask(
        self, state: DecisiveState, rng: np.random.Generator
    ) -> tuple[Step | None, DecisiveState]:
        """The next of the order, with its weight's share of all that is left; none while it waits for answers."""
        if state.drawn == state.told == state.look < len(state.order):
            state = self._learned(state, rng)
        at = state.drawn
        if at == state.look:
            return None, state
        choice = Choice(int(state.order[at]), float(state.propensities[at]))
        return Step((choice,)), replace(state, drawn=at + 1)

    def tell(self, state: DecisiveState, labels: Sequence[Label]) -> DecisiveState:
        """Note which items decided; an abstention says nothing of its item."""
        if self.known is None:
            return state
        seen = tuple(
            (label.choice.position, label.answer.preference != 0)
            for label in labels
            if not isinstance(label.answer, Abstention)
        )
        return replace(state, told=state.told + len(labels), seen=state.seen + seen)

    def _learned(self, state: DecisiveState, rng: np.random.Generator) -> DecisiveState:
        """What is left in a new order, by the weights that answers so far give."""
        assert self.known is not None, "without a model no look comes before the end"
        positions = np.array([position for position, _ in state.seen], dtype=np.int64)
        weights = weights_after(
            self.known, positions, np.array([decided for _, decided in state.seen], dtype=np.bool_)
        )
        left = np.sort(state.order[state.drawn :])
        order, propensities = _successive(left, weights[left], rng)
        return replace(
            state,
            order=np.concatenate([state.order[: state.drawn], order]),
            propensities=np.concatenate([state.propensities[: state.drawn], propensities]),
            look=min(2 * state.look, len(state.order)),
        )


def _successive(
    positions: NDArray[np.int64], weights: Floats, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """`positions` in the order drawn, and the propensity of each draw: its weight over those of all that were left."""
    order = np.argsort(rng.exponential(size=len(positions)) / weights, kind="stable")
    drawn = weights[order]
    left = np.cumsum(drawn[::-1])[::-1]
    return positions[order], drawn / left


def decisive(known: Prospects | None) -> Decisive | Random:
    """Draws by what is known; by None, and so without a history, what `random` draws with the same seed, draw for draw."""
    if known is None:
        return Random(name="decisive")
    nothing = np.empty(0, dtype=np.int64)
    return Decisive(weights_after(known, nothing, nothing.astype(np.bool_)), known)


def for_two(given: ForTwo) -> Decisive | Random:
    """To compare two systems."""
    return decisive(given.prospects)
