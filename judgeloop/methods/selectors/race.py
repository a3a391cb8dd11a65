"""A race by levels: random draws, of which those systems get the next that may still be the best.

The bounds, and whom they leave in question, are computed in `methods/stats/levels.py`; when a winner
may be named is decided in `stopping/`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import TIE, UNLIMITED, Choice, Draws, Label, Step
from judgeloop.methods.estimators.win_rates import SCOUTED, ProxyByPair, rows_of, scouted_items
from judgeloop.methods.stats.levels import Floats, Levels, start


@dataclass(frozen=True, slots=True)
class RaceState:
    """A shuffled pool, the levels after the answers so far, and whether answers are awaited.

    `levels` is None until the baseline is chosen, and `scouted` holds the items that chose it until
    the next round.
    """

    order: NDArray[np.int64]  # shape (items,)
    levels: Levels | None
    waiting: bool = False
    scouted: tuple[int, ...] = ()


@final
@dataclass(frozen=True)
class Racing:
    """Asks in rounds about the systems that may be more than `gap` better than the leader.

    All systems are asked along one random order of the items, each as far as it is needed. Among many, a
    system that is not asked about in one round may be asked about again later, if the leader sinks.
    A round does not depend on how many calls are made at a time. With `sampled`, the items are a sample
    of the population that the result is about.

    Without a `baseline`, all systems are first compared with one of them, on the first `SCOUTED` items.
    The baseline is then the system with the most wins less losses on these items. The items
    leave the decision, and the race is about the others, in whose order the choice has no part: their
    scores against any given baseline are in random order whatever was found before, so that the proof
    of `Levels` holds for the baseline that was chosen.

    With the verdicts of a `proxy`, on all items, a baseline is given.
    """

    systems: int
    baseline: int | None
    risk: float
    gap: float = 0.0
    sampled: bool = False
    proxy: ProxyByPair | None = None
    name: str = "race"
    draws: Draws = Draws.EVEN

    def init(self, items: int, rng: np.random.Generator) -> RaceState:
        """Shuffle the pool once: the draws are then independent of the answers."""
        order = rng.permutation(items)
        if scouted_items(self.systems, self.baseline, items):
            return RaceState(order, None)
        return RaceState(order, self._levels(self.baseline or 0, items))

    def ask(self, state: RaceState, rng: np.random.Generator) -> tuple[Step | None, RaceState]:
        """The next round; None while answers are awaited, or if nobody needs to be asked."""
        del rng  # all randomness is in the shuffle
        if state.levels is None:
            return self._scout(state)
        wanted = {} if state.waiting else state.levels.wanted(self.gap)
        if not wanted:
            return None, state
        first, items = state.levels.places.tolist(), len(state.order)
        against = state.levels.baseline
        places = sorted(
            (at, system) for system, count in wanted.items() for at in range(first[system], first[system] + count)
        )
        choices = (Choice(int(state.order[at]), 1.0 / (items - at), (system, against)) for at, system in places)
        step = Step(tuple(choices), leave=state.scouted)
        return step, replace(state, waiting=True, scouted=())

    def tell(self, state: RaceState, labels: Sequence[Label]) -> RaceState:
        """Move the bounds of the systems that were asked about, or choose the baseline."""
        if state.levels is not None:
            return RaceState(state.order, state.levels.after(rows_of(labels, self.proxy)), scouted=state.scouted)
        scores = np.full((self.systems, SCOUTED), TIE)
        for number, row in enumerate(rows_of(labels)):
            scores[list(row), number] = np.nan_to_num([seen.score for seen in row.values()], nan=TIE)
        rest, left = state.order[SCOUTED:], state.order[:SCOUTED]
        levels = self._levels(likely_best(scores), len(rest))
        return RaceState(rest, levels, scouted=tuple(left.tolist()))

    def _levels(self, baseline: int, items: int) -> Levels:
        population = UNLIMITED if self.sampled else items
        beside = self.proxy is not None
        return start(self.systems, baseline, self.risk, population, items, gap=self.gap, beside=beside)

    def _scout(self, state: RaceState) -> tuple[Step | None, RaceState]:
        """The comparisons of all systems with one of them; None while they are awaited.

        They count as picked: no rule concludes from them.
        """
        if state.waiting:
            return None, state
        first = int(state.order[0]) % self.systems  # any system
        choices = (
            Choice(int(position), None, (system, first))
            for position in state.order[:SCOUTED]
            for system in range(self.systems)
            if system != first
        )
        return Step(tuple(choices)), replace(state, waiting=True)


def likely_best(scores: Floats) -> int:
    """The system with the most wins less losses against all others.

    `scores`, shape (systems, items), are against any one of them. On an item, a system is taken to win
    against all with lower scores. A good baseline saves most calls (docs/results): its own level is
    known without any, and few systems may be above it.
    """
    leads = np.sign(scores[:, None] - scores[None, :]).sum(axis=(1, 2))
    return int(leads.argmax())
