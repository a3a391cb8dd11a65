"""Weighted random draws that prefer items likely to have a decisive verdict.

Without a history it makes plain random draws. The weights are computed in `methods/stats/decisiveness.py`
and `methods/stats/decision_model.py`; earlier comparisons are read in `history/`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.choices import Draws
from judgeloop.core.records import Abstention, Choice, Label, Step
from judgeloop.methods.selectors.random import Random
from judgeloop.methods.stats.decision_model import DecisionModel
from judgeloop.methods.stats.decisiveness import Floats, Prospects

# Number of draws before the weights are first learned from the answers, and then at each doubling.
FIRST_LOOK = 10


@dataclass(frozen=True, slots=True)
class DecisiveState:
    """The items in the order drawn, the propensity of each draw, and the answers so far.

    `order` ends at `look`: after that many draws, all answers are awaited and the next are drawn
    anew from the rest of the pool, which has `items` items. `drawn` counts the draws asked for,
    `told` the answers, abstentions included. `seen` holds each judged position with whether its
    verdict was decisive.
    """

    order: NDArray[np.int64]  # shape (look,)
    propensities: Floats  # shape (look,)
    look: int
    items: int
    drawn: int = 0
    told: int = 0
    seen: tuple[tuple[int, bool], ...] = ()


@final
@dataclass(frozen=True)
class Decisive:
    """Draws each next item from the remaining items with probability proportional to its weight.

    `weights` are positive, shape (items,). This is successive sampling (Rosén 1972), done by
    sorting exponential waiting times whose rates are the weights (Efraimidis & Spirakis 2006). With
    `known`, these are only the first weights: after 10 draws, and each time the number of draws has
    doubled, the selector waits for the answers. From them it estimates how likely each remaining
    item is to have a decisive verdict, and sets the weights anew.
    """

    weights: Floats
    known: Prospects | None = None
    name: str = "decisive"
    draws: Draws = field(default=Draws.KNOWN, init=False)

    def init(self, items: int, rng: np.random.Generator) -> DecisiveState:
        """Draw the order up to the first look.

        So it does not depend on how many items are asked for at a time.

        Raises:
            ValueError: the number of weights is not `items`.
        """
        if len(self.weights) != items:
            raise ValueError(f"expected weights for {items} items, found {len(self.weights)}")
        look = self._look_after(0, items)
        order, propensities = _successive(np.arange(items), self.weights, look, rng)
        return DecisiveState(order, propensities, look, items)

    def ask(self, state: DecisiveState, rng: np.random.Generator) -> tuple[Step | None, DecisiveState]:
        """Return the next item of the order; None while answers are awaited, or once all are drawn.

        Its propensity is its weight divided by the sum of the weights of all remaining items.
        """
        if state.drawn == state.told == state.look < state.items:
            state = self._learned(state, rng)
        at = state.drawn
        if at == state.look:
            return None, state
        choice = Choice(int(state.order[at]), float(state.propensities[at]))
        return Step((choice,)), replace(state, drawn=at + 1)

    def tell(self, state: DecisiveState, labels: Sequence[Label]) -> DecisiveState:
        """Note which verdicts were decisive; an abstention says nothing about its item."""
        if self.known is None:
            return state
        seen = tuple(
            (label.choice.position, label.answer.preference != 0)
            for label in labels
            if not isinstance(label.answer, Abstention)
        )
        return replace(state, told=state.told + len(labels), seen=state.seen + seen)

    def orders(self, decided: NDArray[np.bool_], most: int, runs: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return what so many runs draw, one after another, shape (runs, most).

        `decided`, shape (items,), says which items have a decisive verdict. The draws are those of
        `init`, `ask` and `tell` with these verdicts and the same generator.
        """
        items = len(decided)
        looks = [0]
        while looks[-1] < most:
            looks.append(self._look_after(looks[-1], items))
        waits = [rng.exponential(size=items - look) for _ in range(runs) for look in looks[:-1]]
        orders = np.empty((runs, 0), dtype=np.int64)
        weights = np.broadcast_to(self.weights, (runs, items))
        remaining = np.ones((runs, items), dtype=np.bool_)
        for stage, (look, after) in enumerate(pairwise(looks)):
            if look:
                assert self._model is not None, "without a model no look comes before the end"
                weights = self._model.weights_after_each(orders, decided[orders])
            times = np.full((runs, items), np.inf)
            times[remaining] = np.concatenate(waits[stage :: len(looks) - 1])
            further = _earliest(times / weights, min(after, most) - look)
            orders = np.concatenate([orders, further], axis=1)
            np.put_along_axis(remaining, further, False, axis=1)
        return orders

    def _look_after(self, drawn: int, items: int) -> int:
        if self.known is None:
            return items
        return min(2 * drawn if drawn else FIRST_LOOK, items)

    def _learned(self, state: DecisiveState, rng: np.random.Generator) -> DecisiveState:
        """Draw the order up to the next look, by weights from the answers so far."""
        assert self._model is not None, "without a model no look comes before the end"
        positions = np.array([position for position, _ in state.seen], dtype=np.int64)
        weights = self._model.weights_after(positions, np.array([decided for _, decided in state.seen], dtype=np.bool_))
        remaining = np.ones(state.items, dtype=np.bool_)
        remaining[state.order] = False
        left = np.flatnonzero(remaining)
        look = self._look_after(state.look, state.items)
        order, propensities = _successive(left, weights[left], look - state.look, rng)
        return replace(
            state,
            order=np.concatenate([state.order, order]),
            propensities=np.concatenate([state.propensities, propensities]),
            look=look,
        )

    @cached_property
    def _model(self) -> DecisionModel | None:
        return None if self.known is None else DecisionModel(self.known)


def _successive(
    positions: NDArray[np.int64], weights: Floats, most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Return the first `most` of `positions` in the order drawn, and the propensity of each draw.

    The propensity is the item's weight divided by the sum of the weights of all remaining items.
    Only the first items are sorted: a run mostly ends long before it has drawn a large pool.
    """
    times = rng.exponential(size=len(positions)) / weights
    first, rest = np.arange(len(times)), 0.0
    if most < len(times):
        first = np.argpartition(times, most)
        rest, first = float(weights[first[most:]].sum()), first[:most]
    order = first[np.argsort(times[first], kind="stable")]
    drawn = weights[order]
    left = rest + np.cumsum(drawn[::-1])[::-1]
    return positions[order], drawn / left


def _earliest(times: Floats, most: int) -> NDArray[np.int64]:
    """Return the `most` positions with the shortest times of each run, shape (runs, most)."""
    first = np.broadcast_to(np.arange(times.shape[1]), times.shape)
    if most < times.shape[1]:
        first = np.argpartition(times, most, axis=1)[:, :most]
    order = np.argsort(np.take_along_axis(times, first, axis=1), axis=1, kind="stable")
    return np.take_along_axis(first, order, axis=1)


def decisive(known: Prospects | None) -> Decisive | Random:
    """Make the selector from what is known about the items.

    With None, that is without a history, it draws exactly what `random` draws with the same seed.
    """
    if known is None:
        return Random(name="decisive")
    nothing = np.empty(0, dtype=np.int64)
    return Decisive(DecisionModel(known).weights_after(nothing, nothing.astype(np.bool_)), known)
