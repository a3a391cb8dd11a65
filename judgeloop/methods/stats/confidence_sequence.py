"""Bounds for a mean that hold at every look, for every question that is asked of them at any time.

**Theorem.** For each null of a grid let bets test "the mean is at most m" at a risk r (`hedged.py`). Let low_t be the
largest null that is ruled out by draw t together with all nulls below it. Then P(low_t >= mean for some t) <= r.
*Proof.* Let m* be the least null that is at least the true mean; "the mean is at most m*" is true. If low_t reaches the
mean it reaches m*, so m* is ruled out by t, which has a probability of at most r. So each sentence that is read off the
bound is wrong with at most r, whenever and however it was chosen.

A null that was *asked*, because a run ends when it is ruled out, has stakes of its own. Until it is ruled out or
hopeless, the nulls below it are bet against with the same stakes: a bet on a score above m is worth more against a
lower m, so all of them fall with the asked one at the latest, and a run needs to follow the asked nulls alone. Against
all others most of the wealth is in bets that aim at the end of the plan, which make the bounds narrow there; a
`RESERVE` is in a mixture of constant bets (`betting.py`), which makes them narrow early, and no plan ends it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.betting import BETS, STAKES, Controls
from judgeloop.methods.stats.hedged import SLACK, Floats, HedgedBets

GONE = 1e-250  # a wealth that is given up: numbers that small are a hundred times slower to reckon with
RESERVE = 0.2  # of the wealth against a null that was not asked
_CLOSE = np.geomspace(0.002, 0.1, 30)
GRID = 2 * np.unique(np.concatenate([_CLOSE, np.linspace(0.1, 0.9, 321), 1 - _CLOSE])) - 1


class ConfidenceSequence:
    """Lower bounds of means in [-1, 1], which follow the draws one by one; -1 while none is known.

    There is one bound for each side from which the same verdicts are seen. `asked` has for each side the bets before
    the first draw, on one null each, in ascending order of the nulls. `items` is inf for items like these. `late`: the
    bounds are to be narrow after the last draw of the plan, and hold before it all the same.
    """

    def __init__(
        self,
        sides: int,
        risk: float,
        limit: int,
        items: float = math.inf,
        asked: Sequence[Sequence[HedgedBets]] = (),
        *,
        late: bool = False,
    ) -> None:
        """Stand before the first draw."""
        self.risk, asked = risk, asked or [()] * sides
        self.grid = np.unique([*GRID, *(float(np.asarray(bets.null)) for own in asked for bets in own)])
        self._at = [[int(np.searchsorted(self.grid, float(np.asarray(bets.null)))) for bets in own] for own in asked]
        aimed = [own[-1] if own else -1 for own in self._at]
        self._reserve = np.array([np.where(np.arange(len(self.grid)) <= last, 0.0, RESERVE) for last in aimed])
        self._every = HedgedBets(risk * (1 - RESERVE) * 0.999, self.grid, limit, items, of_grid=True, late=late)
        self._asked = [list(own) for own in asked]
        self._mixed = np.ones((sides, len(self.grid), len(BETS)))
        self._out = np.zeros((sides, len(self.grid)), dtype=np.bool_)

    @property
    def low(self) -> Floats:
        """The bounds after the draws so far, shape (sides,)."""
        standing = np.where(self._out.all(axis=1), len(self.grid), np.argmin(self._out, axis=1))
        bounds: Floats = np.where(standing > 0, self.grid[standing - 1], -1.0)
        return bounds

    def follow(self, scores: Floats, control: Floats | float = 0.0, most: Floats | float = 0.0) -> None:
        """Go on by one draw with these scores, shape (sides,); controls, if there are any, have this shape, too.

        A control has a mean of 0 given what was known before the draw, and is at most `most` (`hedged.py`).
        """
        shape = len(self._asked), 1
        score, less, largest = (np.broadcast_to(np.reshape(one, (-1, 1)), shape) for one in (scores, control, most))
        stake, mean = (
            np.broadcast_to(self._every.stake(largest), self._out.shape).copy(),
            np.minimum(self._every.remaining, 1.0),
        )
        for side, own in enumerate(self._asked):
            staked = [bets.stake(largest[side, 0]) for bets in own]
            for (before, last), bets, their in zip(pairwise([-1, *self._at[side]]), own, staked, strict=True):
                if not bets.ruled_out and not bets.hopeless:
                    stake[side, before + 1 : last + 1] = their
            self._asked[side] = [
                bets.after(score[side, 0], less[side, 0], largest[side, 0], their)
                for bets, their in zip(own, staked, strict=True)
            ]
        self._every = self._every.after(score, less, largest, stake)
        most_lost = 1 + mean + largest
        gain = np.divide(score - less - mean, most_lost, out=np.zeros(self._out.shape), where=mean > -1)
        self._mixed *= 1 + gain[..., None] * BETS
        self._mixed[self._mixed < GONE] = 0.0
        wealth = (1 - self._reserve) * self._every.wealth + self._reserve * (self._mixed @ STAKES)
        self._out |= self._every.ruled_out | (wealth >= (1 - SLACK) / self.risk)
        self._mixed[self._out] = 1.0
        for side, own in enumerate(self._asked):
            self._out[side, self._at[side]] = [bool(bets.ruled_out) for bets in own]


def lower_bounds(  # noqa: PLR0917 - what the bounds depend on
    scores: NDArray[np.floating] | NDArray[np.int8],
    risk: float,
    limit: int,
    items: float = math.inf,
    asked: Sequence[Sequence[HedgedBets]] = (),
    controls: Controls | None = None,
) -> Floats:
    """The bounds of `ConfidenceSequence` after each draw, shape (sides, draws) as the `scores`.

    With `controls` there are two sides.
    """
    sequence, bounds = ConfidenceSequence(len(scores), risk, limit, items, asked), np.full(scores.shape, -1.0)
    for drawn, score in enumerate(scores.T.astype(np.float64)):
        if controls is None:
            sequence.follow(score)
        else:
            value = float(controls.values[drawn])
            sequence.follow(score, np.array([value, -value]), controls.most[:, drawn])
        bounds[:, drawn] = sequence.low
    return bounds
