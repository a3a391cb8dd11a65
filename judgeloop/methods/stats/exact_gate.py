"""An exact gate on a share with a zone: is it above p0, or below p1? Draws are 0 or 1, looked at one by one.

PASS says "above p0" and is wrong where the share is at most p0; FAIL says "below p1" and is wrong where it is at least
p1. Between the two both are true.

**Theorem.** Let a gate pass once the successes among n draws reach up[n], and fail once they are at most low[n]. Its
errors over all shares up to p0, and over all from p1 on, are largest at p0 and at p1. *Proof.* Couple two runs draw by
draw so that the better one succeeds whenever the worse one does. Its count is never smaller, passing is closed upwards
and failing downwards, and low[n] < up[n]. ∎ So two sums, at p0 and at p1, are exact for all shares.

The boundaries lie around the count at which p0 and p1 are as likely, and close on one another (Anderson 1960; Lorden
1976); one number scales them until both errors are at most the risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

KNEE, CLOSING = 0.07, 3.5  # of the boundaries: where they bend, and where they meet
ROUNDS = 24  # of the bisection of their scale
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ExactGate:
    """Boundaries by number of draws, from 0 on: pass with `up` successes or more, fail with `low` or fewer."""

    up: Counts
    low: Counts

    def answer(self, successes: int, draws: int) -> bool | None:
        """True: passes; False: fails; None: goes on. To be asked at every draw, as an earlier answer stays."""
        if draws >= len(self.up):
            return None
        return True if successes >= self.up[draws] else False if successes <= self.low[draws] else None

    def ends(self, share: float) -> tuple[float, float, float]:
        """The chances to pass and to fail where successes have this share, and the mean number of draws."""
        alive, least, passed, failed, draws = np.array([1.0]), 0, 0.0, 0.0, 0.0  # from the `least` count on
        for up, low in zip(self.up[1:].tolist(), self.low[1:].tolist(), strict=True):
            if not len(alive):
                break
            draws += float(alive.sum())
            alive = np.append(alive * (1 - share), 0.0) + np.append(0.0, alive * share)
            below, above = max(0, low + 1 - least), max(0, up - least)
            failed, passed = failed + float(alive[:below].sum()), passed + float(alive[above:].sum())
            alive, least = alive[below:above], least + below
        return passed, failed, draws


@lru_cache(maxsize=16)
def gate_of(worst: float, best: float, limit: int, risk: float) -> ExactGate:
    """The gate for the zone from `worst` to `best`, within `limit` draws.

    >>> [round(one, 2) for one in gate_of(0.8, 0.9, 200, 0.1).ends(0.8)]
    [0.1, 0.9, 42.42]
    """
    narrow, wide = 0.2, 6.0
    for _ in range(ROUNDS):
        scale = math.sqrt(narrow * wide)
        made = _scaled(worst, best, limit, risk, scale)
        if max(made.ends(worst)[0], made.ends(best)[1]) <= risk:
            wide = scale
        else:
            narrow = scale
    return _scaled(worst, best, limit, risk, wide)


def _scaled(worst: float, best: float, limit: int, risk: float, scale: float) -> ExactGate:
    success, failure = math.log(best / worst), math.log((1 - best) / (1 - worst))
    even = failure / (failure - success)  # the share at which both are as likely
    n = np.arange(limit + 1.0)
    odds = math.log(1 / risk - 1)
    information = n * ((best - worst) / 2) ** 2 / (even * (1 - even))
    form = np.sqrt(information / (information + KNEE * odds)) * np.maximum(1 - information / (CLOSING * odds), 0.0)
    width = 2 * scale * form / (success - failure)
    up = np.ceil(n * even + width - 1e-9).astype(np.int64)
    low = np.minimum(np.floor(n * even - width + 1e-9), up - 1).astype(np.int64)
    up[0], low[0] = limit + 1, -1
    return ExactGate(up, low)
