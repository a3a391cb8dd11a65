"""The exact sign test of paired comparisons, and the exact interval that belongs to it.

Of n items the first system wins w and the second loses, or the reverse; ties say nothing about
which is better and are left out (Dixon and Mood 1946, "The statistical sign test", JASA 41). With
scores of 0 and 1 this is the exact form of McNemar's test (McNemar 1947, Psychometrika 12). Each
test is made once, on all items: the errors hold for a fixed sample, not for one that is looked at
many times.
"""

from __future__ import annotations

from scipy.special import bdtr, betaincinv


def p_value(wins: int, losses: int) -> float:
    """Return the two-sided p-value: twice the smaller tail of Binomial(wins + losses, 1/2).

    Where neither system is better, it is at most a with probability at most a, for every a.

    >>> p_value(0, 5)
    0.0625
    >>> p_value(3, 3)
    1.0
    """
    return min(1.0, 2.0 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


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
