"""A race: all remaining systems share random queries; a system shown not to be the best drops out.

When a winner may be named is decided in `stopping/`; the bets are computed in `methods/stats/racing.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.pool import UNLIMITED
from judgeloop.core.records import Choice, Draws, Label, Step
from judgeloop.methods.estimators.win_rates import scores_of
from judgeloop.methods.selectors.ingredients import ForMany
from judgeloop.methods.stats.racing import Flags, Race, after, could_be_out, start


@dataclass(frozen=True, slots=True)
class RaceState:
    """A shuffled pool, the number of items drawn, and the race after the answers so far."""

    order: NDArray[np.int64]  # shape (items,)
    race: Race
    drawn: int = 0


@final
@dataclass(frozen=True)
class Racing:
    """Draws every remaining item with equal probability, for all systems still in the race.

    A system leaves the race once the evidence that it is not the best reaches `risk`. Further
    queries are asked in parallel as long as no answers still out could make a system leave. So no
    call is made that would not be made with one query at a time. With `sampled`, the items are a
    sample of the population that the result is about.
    """

    systems: int
    baseline: int
    risk: float
    sampled: bool = False
    name: str = "race"
    draws: Draws = Draws.EVEN

    def __post_init__(self) -> None:
        """Refuse a risk at which no system would have to be judged.

        Raises:
            ValueError: the risk is not between 0 and 1.
        """
        if not 0 < self.risk < 1:
            raise ValueError(f"expected a risk between 0 and 1, found {self.risk}")

    def init(self, items: int, rng: np.random.Generator) -> RaceState:
        """Shuffle the pool once: the draws are then independent of the answers."""
        race = start(UNLIMITED if self.sampled else items, self.systems)
        return RaceState(rng.permutation(items), race)

    def ask(self, state: RaceState, rng: np.random.Generator) -> tuple[Step | None, RaceState]:
        """Return the next query, for every system in the race.

        It is None while answers could make a system leave, or once the pool is empty or at most one
        system is left.
        """
        del rng  # all randomness is in the shuffle
        if not self._may_ask(state):
            return None, state
        propensity = 1.0 / (len(state.order) - state.drawn)
        position = int(state.order[state.drawn])
        choices = tuple(
            Choice(position, propensity, (int(system), self.baseline))
            for system in np.flatnonzero(self._in(state.race))
            if system != self.baseline
        )
        return Step(choices), replace(state, drawn=state.drawn + 1)

    def tell(self, state: RaceState, labels: Sequence[Label]) -> RaceState:
        """Bet on whole queries, in the order drawn."""
        race = state.race
        for _, group in groupby(labels, key=lambda label: label.choice.position):
            race = after(race, *scores_of(list(group), self.systems, self.baseline))
        return replace(state, race=race)

    def _in(self, race: Race) -> Flags:
        running: Flags = race.running & ~race.out(self.risk)
        return running

    def _may_ask(self, state: RaceState) -> bool:
        running = self._in(state.race)
        if state.drawn == len(state.order) or running.sum() <= 1:
            return False
        heard_of = state.drawn - state.race.drawn
        return not (could_be_out(state.race, heard_of, self.risk) & running).any()


def for_many(given: ForMany) -> Racing:
    """Make the selector that looks for the best of many systems."""
    assert given.level is not None, "a race goes with a rule that states a risk"
    return Racing(given.systems, given.baseline, given.level, given.sampled)
