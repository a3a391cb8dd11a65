"""Bounds for a mean that hold at every look, for every question that is asked of them at any time.

**Theorem.** For each null of a grid let bets test "the mean is at most m" at a risk r (`hedged.py`). Let low_t be the
largest null that is ruled out by draw t together with all nulls below it. Then P(low_t >= mean for some t) <= r.
*Proof.* Let m* be the least null that is at least the true mean; "the mean is at most m*" is true. If low_t reaches the
mean it reaches m*, so m* is ruled out by t, which has a probability of at most r. So each sentence that is read off the
bound is wrong with at most r, whenever and however it was chosen.

A bet on a score above m is worth more against a lower m. So a null between two of the grid needs no stakes of its own:
with those of the upper one it falls with that at the latest, and the bounds are finer than the grid.

A null that was *asked*, because a run ends when it is ruled out, has stakes of its own. The nulls below it have theirs,
held within what leaves them at least its wealth whatever the next score is. There is always room for that, as its own
bet would do. So all of them fall with the asked one at the latest, and a run needs to follow the asked nulls alone. The
bets against the grid aim at a boundary that spends much of the risk early, so that the bounds are narrow from the first
quarter of a plan on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.betting import Controls
from judgeloop.methods.stats.hedged import GONE, SURE, Floats, HedgedBets, Limits

_CLOSE = np.geomspace(0.002, 0.1, 30)
_EVEN = {*range(40, 361, 2), *range(140, 261)}  # in 400: closer where the gap of most systems is
# `np.unique` would load numpy.ma.
GRID = 2 * np.array(sorted({*_CLOSE, *(one / 400 for one in _EVEN), *(1 - _CLOSE)})) - 1
PARTS = 8  # of what is between two nulls


class ConfidenceSequence:
    """Lower bounds of means in [-1, 1], which follow the draws one by one; -1 while none is known.

    There is one bound for each side from which the same verdicts are seen. `asked` has bets before the first draw, each
    on a null for each side, in ascending order of the nulls. `items` is inf for items like these. `late`: the bounds
    are to be narrow after the last draw of the plan, and hold before it all the same. `grid`: nulls with stakes of
    their own, ascending. `then`: limits that replace the first one later.
    """

    def __init__(
        self,
        sides: int,
        risk: float,
        limit: int,
        items: float = math.inf,
        asked: Sequence[HedgedBets] = (),
        *,
        grid: Floats = GRID,
        late: bool = False,
        then: Limits = (),
    ) -> None:
        """Stand before the first draw."""
        self.risk = risk
        grid = np.unique(np.concatenate([grid, *(np.ravel(bets.null) for bets in asked)]))
        every = np.arange(len(grid))
        self._at = np.array([np.searchsorted(grid, bets.null) for bets in asked], dtype=np.int64).reshape(-1, sides)
        before = np.vstack([np.full((1, sides), -1, dtype=np.int64), self._at])
        self._below = (every > before[:-1, :, None]) & (every <= self._at[..., None])  # what falls with each asked null
        self._every = HedgedBets(risk, grid, limit, items, of_grid=True, late=late, then=then)
        between = np.diff(grid, prepend=-1.0)[:, None] * np.arange(PARTS - 1, -1, -1) / PARTS
        self._nulls = np.ravel(grid[:, None] - between)
        self._fine = HedgedBets(risk, self._nulls, limit, items, of_grid=True, late=late)
        self._asked = list(asked)
        self._out = np.zeros((sides, len(self._nulls)), dtype=np.bool_)

    @property
    def low(self) -> Floats:
        """The bounds after the draws so far, shape (sides,)."""
        standing = np.where(self._out.all(axis=1), len(self._nulls), np.argmin(self._out, axis=1))
        bounds: Floats = np.where(standing > 0, self._nulls[standing - 1], -1.0)
        return bounds

    def follow(self, scores: Floats, control: Floats | float = 0.0, most: Floats | float = 0.0) -> None:
        """Go on by one draw with these scores, shape (sides,); controls, if there are any, have this shape, too.

        A control has a mean of 0 given what was known before the draw, and is at most `most` (`hedged.py`).
        """
        each = np.ones((len(self._out), 1))
        score, less, largest = (each * np.reshape(one, (-1, 1)) for one in (scores, control, most))
        stake = each * self._every.stake(largest)
        for number, bets in enumerate(self._asked):
            own = bets.stake(largest[:, 0])
            stake = np.where(self._below[number], self._held(stake, bets, own, 1 + largest), stake)
            self._asked[number] = bets.after(score[:, 0], less[:, 0], largest[:, 0], own)
        self._every = self._every.after(score, less, largest, stake)
        self._fine = self._fine.after(score, less, largest, np.repeat(stake, PARTS, axis=1))
        self._out |= self._fine.ruled_out
        for places, below, bets in zip(self._at, self._below, self._asked, strict=True):
            self._out |= np.repeat(below & np.reshape(bets.ruled_out, (-1, 1)), PARTS, axis=1)
            self._out[np.arange(len(places)), PARTS * places + PARTS - 1] = bets.ruled_out

    def _held(self, stake: Floats, asked: HedgedBets, own: Floats, most: Floats) -> Floats:
        """The stakes within what leaves a null the wealth of the `asked` one at a score of -`most` and of `most`."""
        ahead = np.maximum(self._every.wealth, GONE)
        null, mean = np.minimum(asked.remaining, 1.0), np.minimum(self._every.remaining, 1.0)
        behind, bet, null = (np.reshape(one, (-1, 1)) for one in (asked.wealth, own * asked.wealth, null))
        up, down = (np.maximum(most + sign * mean, SURE) for sign in (-1, 1))
        least = (behind - ahead + bet * (most - null)) / up
        largest = (ahead - behind + bet * (most + null)) / down
        held: Floats = np.minimum(np.maximum(stake * ahead, least), largest) / ahead
        return held


def lower_bounds(  # noqa: PLR0917 - what the bounds depend on
    scores: NDArray[np.floating] | NDArray[np.int8],
    risk: float,
    limit: int,
    items: float = math.inf,
    asked: Sequence[HedgedBets] = (),
    controls: Controls | None = None,
    then: Limits = (),
) -> Floats:
    """The bounds of `ConfidenceSequence` after each draw, shape (sides, draws) as the `scores`.

    With `controls` there are two sides.
    """
    sequence, bounds = (
        ConfidenceSequence(len(scores), risk, limit, items, asked, then=then),
        np.full(scores.shape, -1.0),
    )
    for drawn, score in enumerate(scores.T.astype(np.float64)):
        if controls is None:
            sequence.follow(score)
        else:
            value = float(controls.values[drawn])
            sequence.follow(score, np.array([value, -value]), controls.most[:, drawn])
        bounds[:, drawn] = sequence.low
    return bounds
