"""Whether the verdicts of a run changed on the way: the first half of its draws against the second.

Takes preferences in the order drawn, returns the look at which they differ. Draws are in random order, so that
under the null, one judge all along, each order of the verdicts is equally likely. The test is the exact permutation
test of the difference of the two halves, given how many verdicts were won, lost and tied.

It looks at 32, 64, 128, ... draws and at the limit. These numbers are fixed before the run, so that no stopping rule
chose them, and the levels of all looks sum to `LEVEL`. It is an alarm for a swapped judge, no guarantee: what it sees
is on the page of controls.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.01  # of a false alarm, of all looks together
LAST = 0.6  # the share of it that the look at the limit has, which sees most
FIRST = 32  # draws
EXACT = 512  # draws in a half up to which the test is exact


class Halves(NamedTuple):
    """The halves of the first `draws`, and the share won less the share lost in each; `chance` is the p-value."""

    draws: int
    first: float
    second: float
    chance: float


def looks(limit: int) -> list[int]:
    """The numbers of draws at which halves are compared: even ones, the last at the limit.

    >>> looks(200), looks(32), looks(31)
    ([32, 64, 128, 200], [32], [])
    """
    doubled = [FIRST << n for n in range(max(0, limit).bit_length()) if FIRST << n < limit - limit % 2]
    return [*doubled, limit - limit % 2] if limit >= FIRST else []


def drift(preferences: Sequence[int | None], limit: int) -> Halves | None:
    """The first look at which the halves differ, of a run of at most `limit` draws; None if they do at none.

    What has no verdict prefers neither system.

    >>> drift([1] * 16 + [-1] * 16, 200)[:3]
    (32, 1.0, -1.0)
    """
    at = looks(limit)
    for draws in at:
        if draws > len(preferences):
            return None
        level = LEVEL if len(at) == 1 else LEVEL * (LAST if draws == at[-1] else (1 - LAST) / (len(at) - 1))
        scores = np.array([one or 0 for one in preferences[:draws]])
        half = draws // 2
        chance = chance_of_halves(scores)
        if chance <= level:
            return Halves(draws, float(scores[:half].mean()), float(scores[half:].mean()), chance)
    return None


def chance_of_halves(scores: NDArray[np.int64]) -> float:
    """How probable it is that halves of these scores in random order differ as much as they do, or more.

    >>> round(chance_of_halves(np.array([1, 0, -1, 1, 0, -1])), 3), round(chance_of_halves(np.array([1, 1, -1, -1])), 3)
    (1.0, 0.333)
    """
    from scipy.special import ndtr  # a forecast does not wait for SciPy

    half, whole = len(scores) // 2, int(scores.sum())
    apart = abs(2 * int(scores[:half].sum()) - whole)
    won, lost = int((scores > 0).sum()), int((scores < 0).sum())
    tied = len(scores) - won - lost
    if half > EXACT:
        spread = np.sqrt((won + lost - whole**2 / len(scores)) * len(scores) / (len(scores) - 1))
        return float(2 * ndtr(-(apart - 1) / spread)) if spread else 1.0
    wins, losses = np.arange(min(won, half) + 1)[:, None], np.arange(min(lost, half) + 1)[None, :]
    ties = half - wins - losses
    possible = (ties >= 0) & (ties <= tied)
    logs = _choose(won, wins) + _choose(lost, losses) + _choose(tied, np.where(possible, ties, 0))
    chances = np.where(possible, np.exp(logs - _choose(len(scores), np.array(half))), 0.0)
    return float(min(1.0, chances[np.abs(2 * (wins - losses) - whole) >= apart].sum()))


def _choose(of: int, some: NDArray[np.int64]) -> NDArray[np.float64]:
    from scipy.special import gammaln

    found: NDArray[np.float64] = gammaln(of + 1) - gammaln(some + 1) - gammaln(of - some + 1)
    return found
