"""The predictive probability of a lead after further verdicts.

Takes counts of wins, losses and further verdicts, and returns probabilities.
`methods/stopping/giving_up.py` decides whether a run is worth continuing. The beta-binomial distribution is
written out here because SciPy takes longer to import than a comparison takes to decide. The tests hold the
results to SciPy's and to exact fractions.
"""

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
LIKELY = 0.8  # "four in five"
FEWEST_KNOWN = 20  # verdicts that say shares; of fewer, the others are taken as assumed
DIGITS = 2  # of a number of items that is shown
PRIOR, PRIOR_DECISIVE = 10, 7  # verdicts that `chance_to_reach` adds to those seen
NORMAL_IN_THREE = ((1 / 6, -math.sqrt(3)), (2 / 3, 0.0), (1 / 6, math.sqrt(3)))  # weights and places (Gauss, Hermite)


class ItemsToDecide(NamedTuple):
    """Numbers of further items after which a new run decides with an even chance, or four in five.

    `likely` is None where no number of items promises that.
    """

    even: int
    likely: int | None


def items_to_decide(items: int, lead: float, boundary: float) -> ItemsToDecide | None:
    """How many further items would bring a decision about items like these.

    `lead` z and `boundary` c are in standard deviations: divided by the root of the number of decisive
    verdicts. With a flat prior for the gap, the lead after r times as many items is normal with mean
    z √r and variance r - 1. It is beyond c with an even chance from r = (c/z)² on, and with a chance
    of 4/5 where (z √r - c) / √(r - 1) is the 4/5 quantile q, if z is above q. Both are rounded up to
    two digits, at least 1, and rough: the new verdicts are assumed to have the tie rate of these. A lead
    that is beyond the boundary and was not named is taken to be at it. None without a lead.

    >>> items_to_decide(120, 1.2, 2.0)
    ItemsToDecide(even=220, likely=3400)
    >>> items_to_decide(120, 0.5, 2.0)
    ItemsToDecide(even=1800, likely=None)
    >>> items_to_decide(8, 2.2, 2.0)
    ItemsToDecide(even=1, likely=7)
    """
    if lead <= 0:
        return None
    q, boundary = NormalDist().inv_cdf(LIKELY), max(lead, boundary)
    even = _rounded_up(items * ((boundary / lead) ** 2 - 1))
    if lead <= q:
        return ItemsToDecide(even, None)
    # (z² - q²) r - 2 z c √r + c² + q² = 0, the larger root
    square = lead**2 - q**2
    root = (lead * boundary + q * math.sqrt(boundary**2 - square)) / square
    return ItemsToDecide(even, _rounded_up(items * (root**2 - 1)))


def _rounded_up(number: float) -> int:
    number = max(1.0, number)
    unit = int(10 ** max(0, math.ceil(math.log10(number)) - DIGITS))
    return math.ceil(number / unit) * unit


def chance_to_reach(  # noqa: PLR0917 - the figures of a walk
    wins: int, losses: int, judged: int, further: int, more: float, each: float = 0.0
) -> float:
    """The probability that the lead, wins - losses, grows by so much `more` at some of `further` verdicts, roughly.

    The lead also grows by `each` at every verdict. It is taken for a Brownian motion, whose first passage is inverse
    Gaussian (Schrödinger 1915). Its variance is the share of decisive verdicts, as if `PRIOR` more verdicts had been
    seen, level, of which `PRIOR_DECISIVE` decisive. Its drift is the gap of all these, give or take what so many
    verdicts leave open.

    >>> [round(chance_to_reach(6, 3, 10, n, 6), 3) for n in (5, 10, 50)]
    [0.015, 0.138, 0.674]
    """
    seen, found = judged + PRIOR, 0.0
    variance = (wins + losses + PRIOR_DECISIVE) / seen
    spread, open_ = math.sqrt(variance * further), math.sqrt(variance / seen)
    for weight, away in NORMAL_IN_THREE:
        drift = each + (wins - losses) / seen + away * open_
        past, mirrored = _normal((drift * further - more) / spread), _normal(-(drift * further + more) / spread)
        if mirrored > 0:
            past += math.exp(2 * drift * more / variance + math.log(mirrored))
        found += weight * min(1.0, past)
    return found


def _normal(score: float) -> float:
    return math.erfc(-score / math.sqrt(2)) / 2


def further_decisive(decisive: int, judged: int, unknown: int) -> int:
    """How many of `unknown` further verdicts are expected to be decisive.

    After d `decisive` of n `judged` verdicts the expected share is (d + 1) / (n + 2) (Laplace
    1774).
    """
    return round(unknown * (decisive + 1) / (judged + 2))


def _chances_of(won: Counts, ours: Counts, theirs: Counts, further: Counts) -> NDArray[np.float64]:
    """The beta-binomial probabilities of `won` wins among `further` verdicts, shape (states,)."""
    table = _log_gammas(1 << int((ours + theirs + further).max(initial=1)).bit_length())

    def log_ways(among: Counts, chosen: Counts) -> NDArray[np.float64]:
        ways: NDArray[np.float64] = table[among] - table[chosen] - table[among - chosen]
        return ways

    logs = (
        log_ways(ours + won - 1, won)
        + log_ways(theirs + further - won - 1, further - won)
        - log_ways(ours + theirs + further - 1, further)
    )
    # numpy's exponential may differ from this one in the last bit, from one machine to another.
    return np.array([math.exp(log) for log in logs.tolist()], dtype=np.float64)


@lru_cache(maxsize=8)
def _log_gammas(below: int) -> NDArray[np.float64]:
    """The logarithms of 0!, 1!, … (`below` - 1)!"""
    return np.array([math.lgamma(number + 1) for number in range(below)])


@lru_cache(maxsize=1 << 16)
def chance_of_lead(wins: int, losses: int, further: int, least_lead: int) -> float:
    """The probability that |wins - losses| is at least `least_lead` in the end.

    The end comes after `further` more verdicts, each a win or a loss. The predictive power of
    Spiegelhalter, Freedman & Blackburn (1986), "Monitoring clinical trials: conditional or
    predictive power?", in the form for counts of Lee & Liu (2008), "A predictive probability design
    for phase II cancer clinical trials": with a uniform prior on the share of wins, the wins among
    the further verdicts are beta-binomial(`further`, wins + 1, losses + 1).

    After one win, the next verdict is a win with probability two thirds (Laplace's rule of
    succession):

    >>> round(chance_of_lead(1, 0, 1, 2), 4)
    0.6667
    """
    if least_lead <= 0:
        return 1.0
    sides = (_led_by(wins, losses, further, least_lead), _led_by(losses, wins, further, least_lead))
    return min(1.0, sum(sides))


def _led_by(wins: int, losses: int, further: int, least_lead: int) -> float:
    """The probability that wins exceed losses by at least `least_lead` in the end."""
    fewest = math.ceil((least_lead - wins + losses + further) / 2)  # further wins
    won = np.arange(max(0, fewest), further + 1)
    ours, theirs, all_ = (np.full_like(won, count) for count in (wins + 1, losses + 1, further))
    return math.fsum(_chances_of(won, ours, theirs, all_).tolist())
