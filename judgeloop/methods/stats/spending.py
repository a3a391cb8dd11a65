"""Boundaries for a balanced random walk whose crossing probability is spent draw by draw.

Takes the number of items, a limit of draws, and the probabilities to spend. Returns the boundary
after each draw, computed exactly by dynamic programming.

If a system is preferred no more often than the other among all items, its lead is at best a balanced walk without
replacement. A boundary that a balanced walk crosses to either side with a probability of at most 2 a is crossed first
to the wrong side with at most a: the walk is the same seen from both sides. Which draws are decisive is independent of
how they come out, so the boundary may follow the number of decisive draws so far.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# In units of the root of the limit: a balanced walk gets farther with a probability under 1e-13.
FARTHEST = 8


class WalkStep(NamedTuple):
    """The uncrossed walks after some draws, what is spent, and the boundary of the last draw.

    `alive` has the shape (..., levels, distances): the probability of each distance from 0 without a
    crossing so far. Distances that are left out have probability 0. The others have the shape
    (..., levels).
    """

    alive: NDArray[np.float64]
    spent: NDArray[np.float64]
    barrier: NDArray[np.int32]


@dataclass(slots=True)
class Spending:
    """Boundaries for |wins - losses| after each draw, for several crossing probabilities at once.

    The population has `items` items: as many wins as losses, and ties. At most `limit` of them are
    drawn, at random without replacement. By draw t, no more of each probability in `levels` is
    spent than levels · (t / limit)^shape: Lan & DeMets (1989), "Group sequential procedures: calendar
    versus information time".

    The distance |wins - losses| after k decisive draws moves away from 0 with probability ½ -
    distance / 2(M - k), where M is the number of decisive items in all; from 0 it always moves
    away. M is not known, but `items` less the ties seen is an upper bound. A larger M only lets the
    walk stray farther: both walks can be coupled so that the walk with the larger M is never nearer
    to 0 than the other. Which draws are decisive is independent of how they come out, so the
    boundary may depend on it.

    Of a population without end (`core.records.UNLIMITED` items) draws are independent. If the systems
    are level, a decisive draw is a win with probability ½, whatever was drawn before and whichever
    draws are decisive. So the walk is the simple random walk, to which the formula tends as M
    grows. That is the walk of items drawn from such a population, each shown in the order that a
    fair coin says.
    """

    items: int
    limit: int
    # Shape (levels,): probability that either side is ever named if the systems are tied.
    levels: NDArray[np.float64]
    shape: float  # exponent of the spending function

    def barriers(self, decisive: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The least distance that counts as crossing, shape (..., draws, levels).

        `decisive`, shape (..., draws), says which draws of each sequence were decisive. All sequences
        go on side by side.
        """
        found = np.empty((*decisive.shape, len(self.levels)), dtype=np.int32)
        step = self.start(*decisive.shape[:-1])
        for drawn in range(decisive.shape[-1]):
            step = self.after(step, drawn, decisive=decisive[..., drawn])
            found[..., drawn, :] = step.barrier
        return found

    def start(self, *sequences: int) -> WalkStep:
        """The state of so many sequences before the first draw."""
        alive = np.ones((*sequences, len(self.levels), 1))
        return WalkStep(alive, np.zeros(alive.shape[:-1]), np.zeros(alive.shape[:-1], dtype=np.int32))

    def after(self, step: WalkStep, drawn: int, *, decisive: NDArray[np.bool_] | bool) -> WalkStep:
        """The state after the draw that follows `drawn`; `decisive` says whether it is so."""
        known = step.alive.shape[-1]
        alive = np.zeros((*step.alive.shape[:-1], min(known + 1, self._distances)))
        alive[..., :known] = step.alive
        alive[decisive] = self._moved(alive[decisive], drawn)
        return self._cut(alive, step.spent, drawn)

    @property
    def _distances(self) -> int:
        return min(self.limit, FARTHEST * math.isqrt(self.limit)) + 2

    def _cut(self, alive: NDArray[np.float64], spent: NDArray[np.float64], drawn: int) -> WalkStep:
        """What stays of `alive` uncrossed, what is then spent, and the boundary."""
        allowed = self.levels * min(1.0, ((drawn + 1) / self.limit) ** self.shape) - spent
        # The probability of each distance or a larger one.
        beyond = np.cumsum(alive[..., ::-1], axis=-1)[..., ::-1]
        crossing = beyond <= allowed[..., None]
        crossing[..., 0] = False  # at distance 0 there is no leader to name
        barrier = np.where(crossing.any(axis=-1), crossing.argmax(axis=-1), self.limit + 2)
        # Summed over all distances, so that what is rounded does not depend on those left out.
        crossed = np.zeros((*alive.shape[:-1], self._distances))
        np.copyto(crossed[..., : alive.shape[-1]], alive, where=crossing)
        left = np.where(crossing, 0.0, alive)[..., : max(1, int(barrier.max()))]
        return WalkStep(left, spent + crossed.sum(axis=-1), barrier.astype(np.int32))

    def _moved(self, alive: NDArray[np.float64], drawn: int) -> NDArray[np.float64]:
        """The probabilities of all distances after a decisive draw that follows `drawn`."""
        # All items less the ties seen can be decisive; of these the decisive draws are gone.
        left = max(1, self.items - drawn)
        distance = np.arange(alive.shape[-1])
        away = np.clip(0.5 - distance / (2 * left), 0.0, 1.0)
        away[0] = 1.0
        moved = np.zeros_like(alive)
        moved[..., 1:] = alive[..., :-1] * away[:-1]
        moved[..., :-1] += alive[..., 1:] * (1 - away[1:])
        moved[..., -1] += alive[..., -1] * away[-1]
        return moved


@dataclass(slots=True)
class Course:
    """A walk that is followed draw by draw: each draw is looked at once.

    `sums` are the two leads, each from one system's side, and `sides`, shape (2, levels), say on
    which side each crossed first: 1 its own, -1 the other's, 0 none. They are not opposites, as an
    abstention counts against either system.
    """

    spending: Spending
    drawn: int = 0
    sums: list[int] = field(default_factory=lambda: [0, 0])
    sides: NDArray[np.int64] = field(init=False)
    _step: WalkStep = field(init=False, repr=False)
    _further: WalkStep = field(init=False, repr=False)  # after decisive draws only
    _barriers: list[NDArray[np.int32]] = field(default_factory=list, repr=False)  # of these draws

    def __post_init__(self) -> None:
        self.sides = np.zeros((2, len(self.spending.levels)), dtype=np.int64)
        self._step = self._further = self.spending.start()

    def follow(self, preference: int | None) -> None:
        """Go on by one draw: 1, 0, -1, or None for an abstention."""
        self._step = self.spending.after(self._step, self.drawn, decisive=preference != 0)
        self._further, self._barriers = self._step, []
        self.drawn += 1
        for side, sign in enumerate((1, -1)):
            self.sums[side] += -1 if preference is None else sign * preference
            lead = self.sums[side]
            crosses = (self.sides[side] == 0) & (abs(lead) >= self._step.barrier)
            self.sides[side, crosses] = 1 if lead > 0 else -1

    def sides_with(self, side: int, winner: int, wins: int) -> NDArray[np.int64]:
        """`sides[side]` as it would be after `wins` more verdicts for `winner`."""
        so_far: NDArray[np.int64] = self.sides[side]
        if not wins:
            return so_far
        while len(self._barriers) < wins:
            drawn = self.drawn + len(self._barriers)
            self._further = self.spending.after(self._further, drawn, decisive=True)
            self._barriers.append(self._further.barrier)
        steps = np.arange(1, wins + 1)
        sums = self.sums[side] + (steps if side == winner else -steps)
        crossed = np.abs(sums)[:, None] >= np.array(self._barriers[:wins])
        further = np.where(crossed.any(axis=0), np.sign(sums)[crossed.argmax(axis=0)], 0)
        return np.where(so_far != 0, so_far, further)
