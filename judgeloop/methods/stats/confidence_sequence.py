"""Bounds for a mean that hold at every look, for every question that is asked of them at any time.

**Theorem.** For each null of a grid let bets test "the mean is at most m" at a risk r (`hedged.py`). Let low_t be the
largest null that is ruled out by draw t together with all nulls below it. Then P(low_t >= mean for some t) <= r.
*Proof.* Let m* be the least null that is at least the true mean; "the mean is at most m*" is true. If low_t reaches the
mean it reaches m*, so m* is ruled out by t, which has a probability of at most r. So each sentence that is read off the
bound is wrong with at most r, whenever and however it was chosen.

A null that was *asked*, because a run ends when it is ruled out, has stakes of its own. Until it is ruled out or
hopeless, the nulls below it are bet against with the same stakes: a bet on a score above m is worth more against a
lower m, so all of them fall with the asked one at the latest, and a run needs to follow the asked nulls alone. The
bets against all others aim at a boundary that spends much of the risk early, so that the bounds are narrow from the
first quarter of a plan on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.betting import Controls
from judgeloop.methods.stats.hedged import Floats, HedgedBets

_CLOSE = np.geomspace(0.002, 0.1, 30)
# `np.unique` would load numpy.ma.
GRID = 2 * np.array(sorted({*_CLOSE, *np.linspace(0.1, 0.9, 321), *(1 - _CLOSE)})) - 1


class ConfidenceSequence:
    """Lower bounds of means in [-1, 1], which follow the draws one by one; -1 while none is known.

    There is one bound for each side from which the same verdicts are seen. `asked` has bets before the first draw, each
    on a null for each side, in ascending order of the nulls. `items` is inf for items like these. `late`: the bounds
    are to be narrow after the last draw of the plan, and hold before it all the same.
    """

    def __init__(
        self,
        sides: int,
        risk: float,
        limit: int,
        items: float = math.inf,
        asked: Sequence[HedgedBets] = (),
        *,
        late: bool = False,
    ) -> None:
        """Stand before the first draw."""
        self.risk = risk
        self.grid = np.unique(np.concatenate([GRID, *(np.ravel(bets.null) for bets in asked)]))
        every = np.arange(len(self.grid))
        self._at = np.array([np.searchsorted(self.grid, bets.null) for bets in asked], dtype=np.int64).reshape(
            -1, sides
        )
        before = np.vstack([np.full((1, sides), -1, dtype=np.int64), self._at])
        self._below = (every > before[:-1, :, None]) & (every <= self._at[..., None])  # what falls with each asked null
        self._every = HedgedBets(risk, self.grid, limit, items, of_grid=True, late=late)
        self._asked = list(asked)
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
        each = np.ones((len(self._out), 1))
        score, less, largest = (each * np.reshape(one, (-1, 1)) for one in (scores, control, most))
        stake = each * self._every.stake(largest)
        for number, bets in enumerate(self._asked):
            own = bets.stake(largest[:, 0])
            stake = np.where(self._below[number] & ~(bets.ruled_out | bets.hopeless)[..., None], own[:, None], stake)
            self._asked[number] = bets.after(score[:, 0], less[:, 0], largest[:, 0], own)
        self._every = self._every.after(score, less, largest, stake)
        self._out |= self._every.ruled_out
        for places, bets in zip(self._at, self._asked, strict=True):
            self._out[np.arange(len(places)), places] = bets.ruled_out


def lower_bounds(  # noqa: PLR0917 - what the bounds depend on
    scores: NDArray[np.floating] | NDArray[np.int8],
    risk: float,
    limit: int,
    items: float = math.inf,
    asked: Sequence[HedgedBets] = (),
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
