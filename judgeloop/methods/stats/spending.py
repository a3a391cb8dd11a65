"""Boundaries for a balanced random walk whose crossing probability is spent draw by draw.

Takes the number of items, a limit of draws, and the probabilities to spend. Returns the boundary
after each draw, computed exactly by dynamic programming. `methods/stopping/sequential.py` says what a
crossing means.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

MOST_REMEMBERED = 64 * 2**20  # bytes of steps, kept by pattern of decisive draws
SHAPE = 0.5  # exponent of the spending function, if no other is given
# In units of the root of the limit: a balanced walk gets farther with a probability under 1e-13.
FARTHEST = 8


@dataclass(slots=True)
class _Step:
    """The uncrossed walk after some draws, what is spent, and the boundary so far."""

    # Shape (levels, distances): probability of each distance from 0 without a crossing so far. The
    # distances that are left out have probability 0.
    alive: NDArray[np.float64]
    spent: NDArray[np.float64]  # shape (levels,)
    barriers: NDArray[np.int32]  # shape (draws, levels)

    def chances_beyond(self, distance: int) -> NDArray[np.float64]:
        """Return what is spent, and what is left at `distance` or farther; shape (levels,)."""
        beyond: NDArray[np.float64] = self.spent + self.alive[:, distance:].sum(axis=1)
        return beyond

    @property
    def nbytes(self) -> int:
        """Memory that the step takes, in bytes."""
        return self.alive.nbytes + self.barriers.nbytes


@dataclass(slots=True)
class Spending:
    """Boundaries for |wins - losses| after each draw, for several crossing probabilities at once.

    The population has `items` items: as many wins as losses, and ties. At most `limit` of them are
    drawn, at random without replacement. By draw t, no more of each probability in `levels` is
    spent than levels · (t / limit)^shape: Lan & DeMets (1989), "Group sequential procedures: calendar
    versus information time". A `shape` of ½ was the best of several on recorded verdicts
    (docs/results).

    The distance |wins - losses| after k decisive draws moves away from 0 with probability ½ -
    distance / 2(M - k), where M is the number of decisive items in all; from 0 it always moves
    away. M is not known, but `items` less the ties seen is an upper bound. A larger M only lets the
    walk stray farther: both walks can be coupled so that the walk with the larger M is never nearer
    to 0 than the other. Which draws are decisive is independent of how they come out, so the
    boundary may depend on it.

    Of a population without end (`core.pool.UNLIMITED` items) draws are independent. If the systems
    are level, a decisive draw is a win with probability ½, whatever was drawn before and whichever
    draws are decisive. So the walk is the simple random walk, to which the formula tends as M
    grows. That is the walk of items drawn from such a population, each shown in the order that a
    fair coin says.

    The boundary of that walk holds for the items of the pool, too, if these are the population and
    the pool has at least `limit` of them. Let W wins be no more than M - W losses. After k decisive
    draws with a lead of s, the next one is a win with probability (W - (k + s)/2) / (M - k), at most
    ½ - s / 2(M - k). The lead can be coupled to stay at or below the walk with just that probability,
    clipped to [0, 1], which is symmetric, for an odd M as well. So the lead crosses first to the
    wrong side with at most half of the probability that the distance of that walk crosses. And this
    distance moves away with probability ½ - distance / 2(M - k), at most ½: it can be coupled never to be
    farther than that of the simple walk, as two distances of the same parity differ by 2 or not at all.
    """

    items: int
    limit: int
    # Shape (levels,): probability that either side is ever named if the systems are tied.
    levels: NDArray[np.float64]
    shape: float = SHAPE
    _steps: dict[bytes, _Step] = field(default_factory=dict, repr=False)
    _remembered: int = 0  # bytes

    def barriers(self, decisive: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return the least distance that counts as crossing after each draw, shape (draws, levels).

        `decisive`, shape (draws,), says which draws were decisive.
        """
        return self._after(decisive.tobytes()).barriers

    def chances_beyond(self, decisive: NDArray[np.bool_], distance: int) -> NDArray[np.float64]:
        """Return the chance of a level walk to cross, or to end at `distance` or farther.

        `decisive` are all draws up to the limit, none of which crossed. Shape (levels,).
        """
        return self._after(decisive.tobytes()).chances_beyond(distance)

    def _after(self, pattern: bytes) -> _Step:
        known = len(pattern)
        while known and pattern[:known] not in self._steps:
            known -= 1
        step = self._steps[pattern[:known]] if known else self._start()
        for drawn in range(known, len(pattern)):
            step = self._next(step, drawn, is_decisive=bool(pattern[drawn]))
            self._remember(pattern[: drawn + 1], step)
        return step

    def _remember(self, pattern: bytes, step: _Step) -> None:
        """Keep the step for the patterns that begin with `pattern`.

        The next pattern asked about mostly extends one of the last.
        """
        if self._remembered > MOST_REMEMBERED:
            self._steps.clear()
            self._remembered = 0
        self._steps[pattern] = step
        self._remembered += step.nbytes + len(pattern)

    @property
    def _distances(self) -> int:
        return min(self.limit, FARTHEST * math.isqrt(self.limit)) + 2

    def _start(self) -> _Step:
        nothing = np.zeros(len(self.levels))
        return _Step(_sure(len(self.levels)), nothing, np.empty((0, len(nothing)), dtype=np.int32))

    def barriers_of_each(self, decisive: NDArray[np.bool_]) -> NDArray[np.int32]:
        """Return `barriers` of many sequences of draws, shape (sequences, draws, levels).

        `decisive` has the shape (sequences, draws). All sequences go on side by side.
        """
        found = np.empty((*decisive.shape, len(self.levels)), dtype=np.int32)
        alive = np.ones((len(decisive), len(self.levels), 1))
        spent = np.zeros(alive.shape[:2])
        for drawn, now in enumerate(decisive.T):
            alive = self._with_a_place_more(alive)
            alive[now] = self._moved(alive[now], drawn)
            alive, spent, found[:, drawn] = self._cut(alive, spent, drawn)
        return found

    def _next(self, step: _Step, drawn: int, *, is_decisive: bool) -> _Step:
        alive = self._with_a_place_more(step.alive)
        moved = self._moved(alive, drawn) if is_decisive else alive
        alive, spent, barrier = self._cut(moved, step.spent, drawn)
        return _Step(alive, spent, np.vstack([step.barriers, barrier]))

    def _cut(
        self, alive: NDArray[np.float64], spent: NDArray[np.float64], drawn: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
        """Return what stays of `alive` uncrossed, what is then spent, and the boundary.

        `alive` has the shape (..., levels, distances), the others (..., levels).
        """
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
        return left, spent + crossed.sum(axis=-1), barrier.astype(np.int32)

    def _with_a_place_more(self, alive: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `alive` with the nearest distance of those left out, if there is one."""
        if alive.shape[-1] >= self._distances:
            return alive
        return np.concatenate([alive, np.zeros((*alive.shape[:-1], 1))], axis=-1)

    def _moved(self, alive: NDArray[np.float64], drawn: int) -> NDArray[np.float64]:
        """Return the probabilities of all distances after a decisive draw that follows `drawn`."""
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


def _sure(levels: int) -> NDArray[np.float64]:
    """Return probability 1 of distance 0, shape (levels, 1)."""
    return np.ones((levels, 1))


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
    _step: _Step = field(init=False, repr=False)
    _further: _Step = field(init=False, repr=False)  # after decisive draws only
    _barriers: list[NDArray[np.int32]] = field(default_factory=list, repr=False)  # of these draws

    def __post_init__(self) -> None:
        self.sides = np.zeros((2, len(self.spending.levels)), dtype=np.int64)
        self._step = self._further = self.spending._start()  # noqa: SLF001 - of this module

    def follow(self, preference: int | None) -> None:
        """Go on by one draw: 1, 0, -1, or None for an abstention."""
        self._step, barrier = self._after(self._step, self.drawn, is_decisive=preference != 0)
        self._further, self._barriers = self._step, []
        self.drawn += 1
        for side, sign in enumerate((1, -1)):
            self.sums[side] += -1 if preference is None else sign * preference
            lead = self.sums[side]
            crosses = (self.sides[side] == 0) & (abs(lead) >= barrier)
            self.sides[side, crosses] = 1 if lead > 0 else -1

    def sides_with(self, side: int, winner: int, wins: int) -> NDArray[np.int64]:
        """Return `sides[side]` as it would be after `wins` more verdicts for `winner`."""
        so_far: NDArray[np.int64] = self.sides[side]
        if not wins:
            return so_far
        while len(self._barriers) < wins:
            drawn = self.drawn + len(self._barriers)
            self._further, barrier = self._after(self._further, drawn, is_decisive=True)
            self._barriers.append(barrier)
        steps = np.arange(1, wins + 1)
        sums = self.sums[side] + (steps if side == winner else -steps)
        crossed = np.abs(sums)[:, None] >= np.array(self._barriers[:wins])
        further = np.where(crossed.any(axis=0), np.sign(sums)[crossed.argmax(axis=0)], 0)
        return np.where(so_far != 0, so_far, further)

    def chances_beyond(self, side: int) -> NDArray[np.float64]:
        """Return `Spending.chances_beyond` for the lead of `side`."""
        return self._step.chances_beyond(max(0, self.sums[side]))

    def _after(
        self, step: _Step, drawn: int, *, is_decisive: bool
    ) -> tuple[_Step, NDArray[np.int32]]:
        """Return the step after another draw without the earlier boundary, and its boundary."""
        found = self.spending._next(step, drawn, is_decisive=is_decisive)  # noqa: SLF001
        return _Step(found.alive, found.spent, step.barriers), found.barriers[-1]


def first_crossing(scores: NDArray[np.int8], spending: Spending) -> NDArray[np.int64]:
    """Return for each level the side of the first crossing, 1 or -1; 0 if there is none.

    `scores`, shape (draws,), are the preferences 1, 0 or -1 in the order drawn. The walk is their
    sum. The result has shape (levels,).
    """
    if not len(scores):
        return np.zeros(len(spending.levels), dtype=np.int64)
    sums = np.cumsum(scores, dtype=np.int64)
    crossed = np.abs(sums)[:, None] >= spending.barriers(scores != 0)
    sides = np.sign(sums)[crossed.argmax(axis=0)]
    return np.where(crossed.any(axis=0), sides, 0)
