"""Stratified sampling, with strata in the order of their need; AcTracer is a variant of it.

Within a stratum, the next item is drawn at random, or picked so that the sample's confidences
resemble the stratum's. The second is AcTracer: Huang et al. (2024), "Active Testing of Large
Language Model via Multi-Stage Sampling", algorithm 1. The strata are made in
`papers/actracer/clusters.py` and `methods/stats/strata.py`; the mean is estimated in
`methods/estimators/mean_score.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.core.records import ONE_SYSTEM, Choice, Draws, Label, Step, Verdict
from judgeloop.methods.stats.strata import (
    FIRST_DRAWS,
    Counts,
    Floats,
    Strata,
    behind_their_share,
    exploration,
    upper_bounds,
)

DECIMALS = 12  # so that distances that differ by rounding only count as equal
Distances = Callable[[Floats, NDArray[np.bool_]], Floats]
# Length of a round, as a share of the items asked so far: calls of a round can run in parallel.
ROUND = 0.1


def wasserstein_with_each(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The Wasserstein distance of sample and all values, after adding each value in turn.

    `values`, shape (n,), are sorted; `chosen`, shape (n,), says which are in the sample. The result
    has shape (n,): one distance for each candidate. It is the integral of the difference of both
    distribution functions (Ramdas, García Trillos & Cuturi 2017, section 2.3), computed for all
    candidates at once.
    """
    below, above = _apart(chosen)
    gaps = np.diff(values)
    before = np.concatenate([[0.0], np.cumsum(below * gaps)])
    behind = np.concatenate([np.cumsum((above * gaps)[::-1])[::-1], [0.0]])
    together: Floats = before + behind
    return together


def kolmogorov_smirnov_with_each(values: Floats, chosen: NDArray[np.bool_]) -> Floats:
    """The two-sample Kolmogorov-Smirnov statistic after adding each value in turn.

    The two samples are the chosen values and all values. Arguments and shapes are those of
    `wasserstein_with_each`.
    """
    below, above = _apart(chosen)
    between = np.diff(values) > 0  # equal values are one step of a distribution function
    before = np.concatenate([[0.0], np.maximum.accumulate(np.where(between, below, 0.0))])
    behind = np.concatenate([np.maximum.accumulate(np.where(between, above, 0.0)[::-1])[::-1], [0.0]])
    farthest: Floats = np.maximum(before, behind)
    return farthest


DISTANCES: dict[str, Distances] = {"wasserstein": wasserstein_with_each, "ks": kolmogorov_smirnov_with_each}


def next_to_resemble(values: Floats, chosen: NDArray[np.bool_], distances: Distances) -> int:
    """The place, in the sorted `values`, of the value to add to the sample.

    Of several equally good values the first is taken. Huang et al. (2024), algorithm 1, line 20.
    """
    found = np.round(distances(values, chosen), DECIMALS)
    return int(np.argmin(np.where(chosen, np.inf, found)))


def _apart(chosen: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The distances of both distribution functions between neighbouring values.

    Both results have shape (n - 1,). The first is for gaps below the added value, the second for
    gaps above it.
    """
    items = len(chosen)
    so_far = np.cumsum(chosen)[:-1]
    size = int(chosen.sum()) + 1
    share = np.arange(1, items) / items
    return np.abs(so_far / size - share), np.abs((so_far + 1) / size - share)


@dataclass(frozen=True, slots=True)
class StratifiedState:
    """What was asked and answered in each stratum, and the spread of its scores in this round.

    Counts, sums and deviations are by stratum. `drawn` counts the items asked, `heard` those with a
    verdict. `sums` and `squares` are of the scores of the latter. `waiting` is the number of
    answers still out.
    """

    priority: Counts  # shape (items,): a random order
    # By stratum: a random order of the first draws, so that those made represent the other strata.
    turns: Counts
    is_asked: NDArray[np.bool_]  # shape (items,)
    drawn: Counts
    heard: Counts
    sums: Floats
    squares: Floats
    deviations: Floats
    waiting: int = 0
    left_in_round: int = 0


@final
@dataclass(frozen=True, eq=False)
class Stratified:
    """Asks two items of every stratum, then more where the allocation says.

    The allocation "mc-ucb" takes the stratum with the highest upper bound; "proportional" keeps the
    draws in proportion to the strata's sizes. `limit` is the number of items to be judged, for β
    of mc-ucb. With `confidence`, shape (items,), the next item is the item that brings the sample's
    confidences nearest to the stratum's by `distance` ("wasserstein" or "ks"). Without it, the item
    is drawn at random. The spread of the scores is updated in rounds of `rounds` times the items
    asked so far. With 0, it is updated after every answer, as in the paper. `layer` is that of the hidden states of
    which the strata are, if it was searched for.
    """

    strata: Strata
    limit: int
    allocation: str = "mc-ucb"
    confidence: Floats | None = None
    distance: str = "wasserstein"
    rounds: float = ROUND
    name: str = "stratified"
    layer: int | None = None

    @property
    def draws(self) -> Draws:
        """How items are chosen within a stratum.

        The stratum itself depends on nothing but earlier answers.
        """
        return Draws.KNOWN if self.confidence is None else Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> StratifiedState:
        """Shuffle the pool once: draws then do not depend on how many are asked for at a time.

        Raises:
            ValueError: the strata are not of `items` items.
        """
        if len(self.strata.labels) != items:
            raise ValueError(f"expected strata of {items} items, found {len(self.strata.labels)}")
        none = np.zeros(len(self.strata.sizes))
        counts = none.astype(np.int64)
        return StratifiedState(
            priority=rng.permutation(items),
            turns=rng.permutation(len(counts)),
            is_asked=np.zeros(items, dtype=bool),
            drawn=counts,
            heard=counts,
            sums=none,
            squares=none,
            deviations=none,
        )

    def ask(self, state: StratifiedState, rng: np.random.Generator) -> tuple[Step | None, StratifiedState]:
        """The next item; None while the next stratum depends on answers that are out.

        It is also None once every item is asked.
        """
        del rng  # all randomness is in the shuffle
        state = self._begin_round(state)
        stratum = self._next_stratum(state)
        if stratum is None:
            return None, state
        asked, drawn = state.is_asked.copy(), state.drawn.copy()
        position, propensity = self._pick(self._members[stratum], state)
        asked[position] = True
        drawn[stratum] += 1
        step = Step((Choice(position, propensity, ONE_SYSTEM),))
        left = max(0, state.left_in_round - 1)
        return step, replace(state, is_asked=asked, drawn=drawn, waiting=state.waiting + 1, left_in_round=left)

    def tell(self, state: StratifiedState, labels: Sequence[Label]) -> StratifiedState:
        """Add the scores to the sums and squares of their strata."""
        heard, sums, squares = state.heard.copy(), state.sums.copy(), state.squares.copy()
        for label in labels:
            if isinstance(label.answer, Verdict):
                stratum = self.strata.labels[label.choice.position]
                heard[stratum] += 1
                sums[stratum] += label.answer.score
                squares[stratum] += label.answer.score**2
        waiting = state.waiting - len(labels)
        return replace(state, heard=heard, sums=sums, squares=squares, waiting=waiting)

    def _begin_round(self, state: StratifiedState) -> StratifiedState:
        """Update the deviations once all answers of the last round have arrived."""
        begun = state.left_in_round > 0 or self._to_begin_with(state).any()
        if begun or state.waiting or self.allocation == "proportional":
            return state
        counts = np.maximum(state.heard, 1)
        variances = (state.squares - state.sums**2 / counts) / np.maximum(state.heard - 1, 1)
        size = max(1, round(self.rounds * int(state.drawn.sum())))
        return replace(state, deviations=np.sqrt(np.maximum(variances, 0.0)), left_in_round=size)

    def _to_begin_with(self, state: StratifiedState) -> NDArray[np.bool_]:
        """Which strata have not had their first draws."""
        few: NDArray[np.bool_] = state.drawn < np.minimum(FIRST_DRAWS, self.strata.sizes)
        return few

    def _next_stratum(self, state: StratifiedState) -> int | None:
        beginning = self._to_begin_with(state)
        if beginning.any():
            turn = state.drawn * len(state.turns) + state.turns
            return int(np.argmin(np.where(beginning, turn, turn.max() + 1)))
        open_ = state.drawn < self.strata.sizes
        if not open_.any():
            return None
        if self.allocation == "proportional":
            urgency = behind_their_share(self.strata.shares, state.drawn)
        elif state.left_in_round:
            urgency = upper_bounds(self.strata.shares, state.drawn, state.deviations, self._beta)
        else:
            return None
        return int(np.argmax(np.where(open_, urgency, -np.inf)))

    def _pick(self, members: Counts, state: StratifiedState) -> tuple[int, float | None]:
        """An item of the stratum not asked yet, and its propensity if it was drawn."""
        if self.confidence is None:
            left = members[~state.is_asked[members]]
            return int(left[np.argmin(state.priority[left])]), 1 / len(left)
        place = next_to_resemble(self.confidence[members], state.is_asked[members], DISTANCES[self.distance])
        return int(members[place]), None

    @cached_property
    def _beta(self) -> float:
        return exploration(self.limit)

    @cached_property
    def _members(self) -> list[Counts]:
        """The items of each stratum, sorted by confidence if it is known."""
        key = np.arange(len(self.strata.labels)) if self.confidence is None else self.confidence
        order = np.lexsort((key, self.strata.labels))
        return np.split(order, np.cumsum(self.strata.sizes)[:-1])


def strata_of(selector: Selector[Any], items: int) -> Strata:
    """The strata that a selector draws from; a single stratum if it does not use strata."""
    return selector.strata if isinstance(selector, Stratified) else Strata.single(items)
