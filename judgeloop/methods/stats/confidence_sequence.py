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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.betting import BETS, STAKES
from judgeloop.methods.stats.hedged import SLACK, Floats, HedgedBets

GONE = 1e-250  # a wealth that is given up: numbers that small are a hundred times slower to reckon with
RESERVE = 0.2  # of the wealth against a null that was not asked
_CLOSE = np.geomspace(0.002, 0.1, 30)
GRID = 2 * np.unique(np.concatenate([_CLOSE, np.linspace(0.1, 0.9, 321), 1 - _CLOSE])) - 1


class Controls(NamedTuple):
    """What is known to be 0 on average and is taken off each score: of the first side, and with the other sign.

    `values`, shape (draws,). `most`, shape (sides, draws), is the largest that each could have been before the draw.
    """

    values: Floats
    most: Floats


def lower_bounds(  # noqa: PLR0917 - what the bounds depend on
    scores: NDArray[np.floating] | NDArray[np.int8],
    risk: float,
    limit: int,
    items: float = math.inf,
    asked: Sequence[Sequence[HedgedBets]] = (),
    controls: Controls | None = None,
) -> Floats:
    """Lower bounds of means after each draw, in [-1, 1]; -1 while none is known.

    `scores`, shape (sides, draws), are the same verdicts seen from each side, and so is the result. `asked` has for
    each side the bets before the first draw, on one null each, in ascending order of the nulls. `items` is inf for
    items like these. With `controls` there are two sides.
    """
    sides, draws = scores.shape
    controlled, mosts = np.zeros((draws, sides)), np.zeros((draws, sides))
    if controls is not None:
        controlled, mosts = np.stack([controls.values, -controls.values], axis=1), controls.most.T
    asked = asked or [()] * sides
    grid = np.unique([*GRID, *(float(np.asarray(bets.null)) for own in asked for bets in own)])
    at = [[int(np.searchsorted(grid, float(np.asarray(bets.null)))) for bets in own] for own in asked]
    reserve = np.array([np.where(np.arange(len(grid)) <= (own[-1] if own else -1), 0.0, RESERVE) for own in at])
    every = HedgedBets(risk * (1 - RESERVE) * 0.999, grid, limit, items, of_grid=True)
    following = [list(own) for own in asked]
    mixed, out = np.ones((sides, len(grid), len(BETS))), np.zeros((sides, len(grid)), dtype=np.bool_)
    bounds = np.full((draws, sides), -1.0)
    for drawn, score in enumerate(scores.T.astype(np.float64)[:, :, None]):
        control, most = controlled[drawn, :, None], mosts[drawn, :, None]
        stake, mean = np.broadcast_to(every.stake(most), out.shape).copy(), np.minimum(every.remaining, 1.0)
        for side, own in enumerate(following):
            staked = [bets.stake(most[side, 0]) for bets in own]
            for (before, last), bets, their in zip(pairwise([-1, *at[side]]), own, staked, strict=True):
                if not bets.ruled_out and not bets.hopeless:
                    stake[side, before + 1 : last + 1] = their
            following[side] = [
                bets.after(score[side, 0], control[side, 0], stake=their)
                for bets, their in zip(own, staked, strict=True)
            ]
        every = every.after(score, control, stake=stake)
        gain = np.divide(score - control - mean, 1 + mean + most, out=np.zeros(out.shape), where=mean > -1)
        mixed *= 1 + gain[..., None] * BETS
        mixed[mixed < GONE] = 0.0
        wealth = (1 - reserve) * every.wealth + reserve * (mixed @ STAKES)
        out |= every.ruled_out | (wealth >= (1 - SLACK) / risk)
        mixed[out] = 1.0
        for side, own in enumerate(following):
            out[side, at[side]] = [bool(bets.ruled_out) for bets in own]
        standing = np.where(out.all(axis=1), len(grid), np.argmin(out, axis=1))
        bounds[drawn] = np.where(standing > 0, grid[standing - 1], -1.0)
    return bounds.T
