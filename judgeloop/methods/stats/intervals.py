"""Intervals and tests: of the mean score of a pool, and of counts.

An interval for a mean lies within [0, 1] and is for one look. `exact_interval` is for scores of 0 and 1, drawn with
equal chances. `interval_at_once` takes the `Moments` of `methods/stats/strata.py`, and is an approximation. For any
number of looks there is `methods/stats/confidence_sequence.py`.

The exact sign test is of paired comparisons. Of n items the first system wins w and the second loses, or the reverse;
ties say nothing about which is better and are left out (Dixon and Mood 1946, "The statistical sign test", JASA 41).
With scores of 0 and 1 this is the exact form of McNemar's test (McNemar 1947, Psychometrika 12). The test is made once,
on all items: its errors hold for a fixed sample, not for one that is looked at many times. SciPy is imported on first
use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgeloop.core.records import UNLIMITED

if TYPE_CHECKING:  # pages count with these intervals, and the help of a command does not wait for NumPy
    from judgeloop.methods.stats.strata import Moments

Z_95 = 1.959964  # the normal distribution's 97.5 % quantile
Z_90 = 1.644854  # its 95 % quantile
FEWEST_CHANGES = 10  # of which a mean is given
CUT = 0.02  # the share of the risk that goes to the number of ties
SHARES_TRIED = 17  # of decided items, for the worst one
FINE = 1e-6  # how near a bound of a gap is found
Interval = tuple[float, float]
# Number of scores of 0, and of scores of 1, that an interval allows for unseen. With fewer, runs
# that end by the width missed up to six times as often as stated, on populations with rare scores.
UNSEEN = 2.0
# Lower limit for the effective number of draws: with fewer, the interval is all of [0, 1] anyway.
LEAST_DRAWS = 1e-6


def interval_at_once(moments: Moments, known: int, items: int, risk: float) -> Interval | None:
    """An interval that misses the mean of all `items` with probability about `risk`.

    It is for one look, at `known` scores. Wilson's interval (1927) for the effective number of
    draws, which is the number that would give the variance found (Korn & Graubard 1998), with
    Student's quantile. It stays within [0, 1], and it does not shrink to a point where all scores
    so far are the same, or nearly. None if the variance is unknown.
    """
    if math.isnan(moments.variance):
        return None
    from scipy.special import stdtrit

    freedom = min(moments.freedom, 1e9)
    return _wilson(moments, known, items, float(stdtrit(freedom, 1 - risk / 2)))


def exact_interval(ones: int, known: int, items: int, risk: float) -> Interval:
    """An interval for the mean of `items` scores of 0 and 1, of which `known` random ones have this number of `ones`.

    Each end is wrong with probability at most risk / 2, for a `known` that no score has influenced. For a population
    without end (`core.records.UNLIMITED`) it is Clopper and Pearson's. Else the ends are the least and the most ones in
    all that a test keeps: a number is ruled out if the hypergeometric probability of so many ones among the known, or
    more, is at most risk / 2; or of so many or fewer.
    *Proof.* The fewer ones in all, the less probable are so many or more. So the lower end is above the true number
    only if the true one is ruled out, which by construction has a probability of at most risk / 2.

    >>> [round(end, 4) for end in exact_interval(20, 20, 1000, 0.1)]
    [0.863, 1.0]
    """
    zeros = known - ones
    if items >= UNLIMITED:
        return share_interval(ones, zeros, risk)
    least, most = items - _most_in_all(zeros, ones, items, risk / 2), _most_in_all(ones, zeros, items, risk / 2)
    return least / items, most / items


def _most_in_all(found: int, others: int, items: int, risk: float) -> int:
    """The most of a kind among all `items` for which so few as `found`, beside `others`, are likelier than `risk`."""
    low, high = found, items - others + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _chance_of_so_few(found, found + others, middle, items) <= risk * (1 - 1e-9):
            high = middle
        else:
            low = middle
    return low


def _chance_of_so_few(found: int, known: int, of_kind: int, items: int) -> float:
    """The probability that of `known` random items at most `found` are among the `of_kind` items."""

    def ways(of: int, these: int) -> float:
        return math.lgamma(of + 1) - math.lgamma(these + 1) - math.lgamma(of - these + 1)

    every = ways(items, known)
    fewest = max(0, known - (items - of_kind))
    counts = range(fewest, found + 1)
    return math.fsum(math.exp(ways(of_kind, one) + ways(items - of_kind, known - one) - every) for one in counts)


def reach(mean: float, interval: Interval) -> float:
    """The distance from the mean to the farther end of the interval."""
    return max(interval[1] - mean, mean - interval[0])


def _wilson(moments: Moments, known: int, items: int, z: float) -> Interval:
    mean = min(1.0, max(0.0, moments.mean))
    as_if_drawn = _as_if_drawn(known, items)
    if math.isinf(as_if_drawn):
        return mean, mean
    variance = max(moments.variance, unseen_variance(mean, known, items))
    draws = max(LEAST_DRAWS, mean * (1 - mean) / variance) if 0 < mean < 1 else as_if_drawn
    centre = mean + z * z / (2 * draws)
    half = z * math.sqrt(mean * (1 - mean) / draws + (z / (2 * draws)) ** 2)
    scale = 1 + z * z / draws
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def unseen_variance(mean: float, known: int, items: int) -> float:
    """The lower limit for the variance of a mean of `known` scores.

    It is the variance if `UNSEEN` of the known scores were 0, `UNSEEN` were 1, and the rest equal
    to the mean. A score that few items have may be missing from a small sample, which then hardly
    varies: if 4 % of the items score 0, half of all samples of 17 contain none of them. The
    variance found in the sample cannot show this.
    """
    return UNSEEN * (mean**2 + (1 - mean) ** 2) / known**2 * (1 - known / items)


def _as_if_drawn(known: int, items: int) -> float:
    """The number of draws with replacement that tell as much as `known` draws without.

    It is infinite once all items are known.
    """
    return math.inf if known >= items else known / (1 - known / items)


def change_between(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float] | None:
    """By how much a mean changed between two samples of other items, with a 90 % interval; None for few. Approximate.

    >>> [round(one, 3) for one in change_between([1.0, 0.0] * 10, [0.0, -1.0] * 20)]
    [-1.0, -1.23, -0.77]
    """
    if min(len(before), len(after)) < FEWEST_CHANGES:
        return None
    (old, old_square), (new, new_square) = map(_mean_and_error, (before, after))
    reach = Z_90 * math.sqrt(old_square + new_square)
    return new - old, new - old - reach, new - old + reach


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the square of its standard error."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((one - mean) ** 2 for one in values) / (len(values) - 1) / len(values)


def mean_change(changes: Sequence[float]) -> tuple[float, float, float] | None:
    """The mean of changes from one judgment of an item to the next, with a 90 % interval; None for few.

    It is approximate: normal, and as if the items had been drawn without regard to their verdicts.

    >>> mean_change([0.0] * 9), [round(one, 3) for one in mean_change([-1.0, 0.0] * 10)]
    (None, [-0.5, -0.689, -0.311])
    """
    if len(changes) < FEWEST_CHANGES:
        return None
    mean, square = _mean_and_error(changes)
    reach = Z_90 * math.sqrt(square)
    return mean, mean - reach, mean + reach


def p_value(wins: int, losses: int) -> float:
    """The two-sided p-value: twice the smaller tail of Binomial(wins + losses, 1/2).

    Where neither system is better, it is at most a with probability at most a, for every a.

    >>> p_value(0, 5)
    0.0625
    >>> p_value(3, 3)
    1.0
    """
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def chance_of_so_many(successes: int, trials: int, share: float) -> float:
    """The chance of `successes` or more in so many `trials`, each with a chance of `share`.

    So it is the p-value of the null that the chance is at most `share`, for a number of trials that was
    fixed beforehand.

    >>> round(chance_of_so_many(3, 7, 0.2), 3), chance_of_so_many(0, 7, 0.2)
    (0.148, 1.0)
    """
    if not successes:
        return 1.0
    from scipy.special import bdtrc

    return float(bdtrc(successes - 1, trials, share))


def share_interval(wins: int, losses: int, risk: float) -> tuple[float, float]:
    """Bounds of the chance that the first system wins an item that is no tie.

    Each bound is wrong with probability at most risk / 2 (Clopper and Pearson 1934, Biometrika 26).
    The interval leaves out 1/2 exactly if `p_value` is below `risk`.

    >>> share_interval(0, 0, 0.1)
    (0.0, 1.0)
    """
    from scipy.special import betaincinv

    low = float(betaincinv(wins, losses + 1, risk / 2)) if wins else 0.0
    high = float(betaincinv(wins + 1, losses, 1 - risk / 2)) if losses else 1.0
    return low, high


def gap_bound(wins: int, losses: int, ties: int, risk: float) -> float:
    """The lower bound of the chance to win less the chance to lose, at one look; from -1 to 1.

    It is wrong with a chance of at most `risk`, and above 0, or at it, exactly where `p_value` is at most `risk` and
    there are more wins. Let d be the chance that an item is no tie. A gap m is ruled out if for each d that the ties
    leave (`CUT` of the risk; Berger & Boos 1994, JASA 89) so large a lead, or a larger one, has a chance of less than
    half the risk; of d some values are tried, as in SciPy's `barnard_exact`. Half the risk has the sign test, one side
    of it. *Proof.* The bound of the leads is wrong with a chance of at most risk / 2. Raised to 0, the bound is wrong
    only where the sign test is, whose chance is at most risk / 2, too. To be lowered makes no bound wrong. ∎

    >>> [round(gap_bound(*votes, 0.1), 3) for votes in ((268, 243, 139), (60, 40, 0), (0, 0, 9))]
    [-0.022, 0.025, -0.4]
    """
    import numpy as np
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy

    decided, items, lead = wins + losses, wins + losses + ties, wins - losses
    cut = CUT * risk / 2
    fewest, most = share_interval(decided, ties, 2 * cut)

    def chance(gap: float) -> float:
        """The chance of a lead of at least this one, where the gap is this one, for the worst share of ties."""
        shares = np.linspace(max(fewest, abs(gap)), max(most, abs(gap)), SHARES_TRIED)[:, None]
        reach = 12 + 6 * np.sqrt(items * shares * (1 - shares))  # beyond it lies less than 1e-8 (Bernstein 1924)
        few, many = max(0.0, (items * shares - reach).min()), min(items, (items * shares + reach).max())
        of = np.arange(int(few), int(many) + 1)  # decided items, of which so many are to be won
        ways = gammaln(items + 1) - gammaln(of + 1) - gammaln(items - of + 1)
        so_many = np.exp(ways + xlogy(of, shares) + xlog1py(items - of, -shares))
        won = np.clip((of + lead + 1) // 2, 0, of + 1)
        tail = np.where(won == 0, 1.0, bdtrc(np.maximum(won - 1.0, 0.0), of, (1 + gap / shares) / 2))
        return float((so_many * np.where(won > of, 0.0, tail)).sum(axis=1).max()) + 1e-8

    low, high = -1.0, lead / items
    while high - low > FINE:
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) <= risk / 2 - cut else (low, middle)
    named = lead > 0 and p_value(wins, losses) <= risk
    return max(0.0, low) if named else min(0.0, low)


def wilson_interval(successes: int, trials: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval (Wilson, 1927) for a proportion; 95 % by default.

    `trials` is at least 1. It is (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n), with p the
    share of `successes` among n `trials`.

    >>> [round(bound, 4) for bound in wilson_interval(5, 5)]
    [0.5655, 1.0]
    """
    share = successes / trials
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials**2))
    middle, scale = share + z * z / (2 * trials), 1 + z * z / trials
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
