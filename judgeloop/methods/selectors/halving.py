"""Successive halving: rounds of judgments; after each, the better half of the systems goes on.

The total number of judgments is fixed, and no risk is stated. Queries with the largest spread of
output lengths among the remaining systems come first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.methods.estimators.win_rates import scores_of
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.racing import Floats

KEPT = 0.5  # share of the systems that goes on to the next round
SHRINKING = 0.8  # judgments of a round, as a share of those of the round before


@dataclass(frozen=True, slots=True, eq=False)
class HalvingState:
    """The remaining systems and their scores, and what is left to ask and to hear."""

    systems: tuple[int, ...]
    order: NDArray[np.int64]  # shape (m,): breaks ties; the smaller value goes on
    left: int  # judgments not assigned to a round yet
    todo: frozenset[int]  # positions not assigned to a round yet
    queued: tuple[int, ...] = ()  # positions of this round still to ask
    out: int = 0  # queries whose answers are awaited
    number: int = 0  # rounds completed
    points: Floats | None = None  # shape (m,): sum of scores
    verdicts: Floats | None = None  # shape (m,): number of verdicts


@final
@dataclass(frozen=True, eq=False)
class Halving:
    """Karnin, Koren & Somekh (2013), algorithm 1, on queries that all remaining systems share.

    `lengths` holds the lengths of the outputs in characters, shape (m, items); at most `limit`
    judgments are made. Each round asks the queries with the largest standard deviation of the log
    lengths over the remaining systems and the baseline. There the systems differ most, which halved
    the judgments needed on recorded verdicts (docs/results). These queries no longer represent
    the others, so the choices count as picked.
    """

    lengths: NDArray[np.int64]
    baseline: int
    limit: int
    name: str = "halving"
    draws: Draws = Draws.PICKED

    def init(self, items: int, rng: np.random.Generator) -> HalvingState:
        """Return the state before the first query, with all systems remaining."""
        count = len(self.lengths)
        systems = tuple(system for system in range(count) if system != self.baseline)
        return HalvingState(
            systems,
            rng.permutation(count),
            self.limit,
            frozenset(range(items)),
            points=np.zeros(count),
            verdicts=np.zeros(count),
        )

    def ask(
        self, state: HalvingState, rng: np.random.Generator
    ) -> tuple[Step | None, HalvingState]:
        """Return the next query of this round; None while answers are out, or at the end."""
        del rng
        if not state.queued and not state.out:
            state = self._begun(state)
        if not state.queued:
            return None, state
        position, *later = state.queued
        pairs = ((system, self.baseline) for system in state.systems)
        step = Step(tuple(Choice(position, None, pair) for pair in pairs))
        return step, replace(state, queued=tuple(later), out=state.out + 1)

    def tell(self, state: HalvingState, labels: Sequence[Label]) -> HalvingState:
        """Add up the scores; at the end of a round, keep the better half of the systems."""
        assert state.points is not None
        assert state.verdicts is not None
        points, verdicts, heard = state.points.copy(), state.verdicts.copy(), 0
        for _, group in groupby(labels, key=lambda label: label.choice.position):
            scores = scores_of(list(group), len(self.lengths), self.baseline)
            points += np.nan_to_num(scores)
            verdicts += ~np.isnan(scores)
            heard += 1
        state = replace(state, points=points, verdicts=verdicts, out=state.out - heard)
        over = not state.queued and not state.out
        return (
            replace(state, systems=self._better_half(state), number=state.number + 1)
            if over
            else state
        )

    def _begun(self, state: HalvingState) -> HalvingState:
        """Return the state with the next round's queries in line, if there is another round."""
        each = len(state.systems)
        if each <= 1 and state.number:
            return state
        rounds = _rounds(len(self.lengths) - 1)
        shares = SHRINKING ** np.arange(rounds)
        last = state.number >= rounds - 1
        share = state.left if last else self.limit * shares[state.number] / shares.sum()
        queries = min(max(1, int(share / each)), state.left // each, len(state.todo))
        positions = np.array(sorted(state.todo), dtype=np.int64)
        spread = np.log1p(self.lengths[[*state.systems, self.baseline]][:, positions]).std(axis=0)
        chosen = tuple(int(at) for at in positions[np.argsort(-spread, kind="stable")][:queries])
        return replace(
            state, queued=chosen, todo=state.todo - set(chosen), left=state.left - queries * each
        )

    def _better_half(self, state: HalvingState) -> tuple[int, ...]:
        assert state.points is not None
        assert state.verdicts is not None
        rates = state.points / np.maximum(state.verdicts, 1)
        ranked = sorted(state.systems, key=lambda system: (-rates[system], state.order[system]))
        return tuple(sorted(ranked[: max(1, math.ceil(len(ranked) * KEPT))]))


def _rounds(systems: int) -> int:
    """Return how often `systems` can be halved, rounding up, until one is left; at least 1.

    >>> _rounds(1), _rounds(2), _rounds(53)
    (1, 1, 6)
    """
    count = 0
    while systems > 1:
        systems = math.ceil(systems * KEPT)
        count += 1
    return max(1, count)


def for_many(given: ForMany) -> Halving:
    """Make the selector that looks for the best of many systems."""
    assert given.lengths is not None, "the catalogue asks for lengths"
    return Halving(given.lengths, given.baseline, given.limit)
