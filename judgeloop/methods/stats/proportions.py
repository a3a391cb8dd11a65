"""Tests and intervals for counts: the exact sign test, its interval, and Wilson's interval.

The sign test is of paired comparisons. Of n items the first system wins w and the second loses, or
the reverse; ties say nothing about which is better and are left out (Dixon and Mood 1946, "The
statistical sign test", JASA 41). With scores of 0 and 1 this is the exact form of McNemar's test
(McNemar 1947, Psychometrika 12). The test is made once, on all items: its errors hold for a fixed
sample, not for one that is looked at many times.
"""

import math

from scipy.special import bdtr, bdtrc, betaincinv

Z_95 = 1.959964  # the normal distribution's 97.5 % quantile


def p_value(wins: int, losses: int) -> float:
    """Return the two-sided p-value: twice the smaller tail of Binomial(wins + losses, 1/2).

    Where neither system is better, it is at most a with probability at most a, for every a.

    >>> p_value(0, 5)
    0.0625
    >>> p_value(3, 3)
    1.0
    """
    return min(1.0, 2.0 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def chance_of_so_many(successes: int, trials: int, share: float) -> float:
    """Return the chance of `successes` or more in so many `trials`, each with a chance of `share`.

    So it is the p-value of the null that the chance is at most `share`, for a number of trials that was
    fixed beforehand.

    >>> round(chance_of_so_many(3, 7, 0.2), 3), chance_of_so_many(0, 7, 0.2)
    (0.148, 1.0)
    """
    return float(bdtrc(successes - 1, trials, share)) if successes else 1.0


def share_interval(wins: int, losses: int, risk: float) -> tuple[float, float]:
    """Return bounds of the chance that the first system wins an item that is no tie.

    Each bound is wrong with probability at most risk / 2 (Clopper and Pearson 1934, Biometrika 26).
    The interval leaves out 1/2 exactly if `p_value` is below `risk`.

    >>> share_interval(0, 0, 0.1)
    (0.0, 1.0)
    """
    low = float(betaincinv(wins, losses + 1, risk / 2)) if wins else 0.0
    high = float(betaincinv(wins + 1, losses, 1 - risk / 2)) if losses else 1.0
    return low, high


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
