"""An interval for a proportion, from a count of successes."""

from __future__ import annotations

import math

Z_95 = 1.959964  # the normal distribution's 97.5 % quantile


def wilson_interval(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Return Wilson's score interval (Wilson, 1927) for a proportion; 95 % by default.

    `trials` is at least 1. It is (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n), with p the
    share of `successes` among n `trials`.

    >>> [round(bound, 4) for bound in wilson_interval(5, 5)]
    [0.5655, 1.0]
    """
    share = successes / trials
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    middle, scale = share + z * z / (2 * trials), 1 + z * z / trials
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
