"""Sizes of tests about a gap: how many judgments give level systems an answer in 80 % of the runs.

Takes gaps, risks and shares of decisive items; returns limits and margins. What governs a test is
x = gap² · limit / share. The figures are approximate; `methods/stopping/bets.py` simulates
one limit. Imports no arrays, as settings are completed with these figures.
"""

import math
from statistics import NormalDist

PASSING = 0.8  # the share of runs in which an equal system is to pass
USUAL_DECISIVE = 0.7
LEAST_USUAL, MOST_USUAL = 200, 805  # judgments of a default limit; who wants more asks for it
# x at which an equal system passes in 80 % of the runs: 6.6 at a risk of 0.1 and above, 8.2 at 0.05. There the bets
# take 1.33 times the judgments of one look at a number that is fixed beforehand.
LEAST_SIZE, OVER_ONE_LOOK = 6.6, 1.327
# Naming a system within the gap: one look always names one of two level systems from the square of the quantile on,
# and the bets do in 80 % of the runs from this much more.
OVER_ONE_NAME = 1.1


def size(risk: float) -> float:
    """The x from which on an equal system passes in 80 % of the runs.

    >>> size(0.1), round(size(0.05), 1)
    (6.6, 8.2)
    """
    quantile = NormalDist().inv_cdf
    return max(LEAST_SIZE, OVER_ONE_LOOK * (quantile(1 - risk) + quantile(PASSING)) ** 2)


def limit_to_pass(margin: float, risk: float, decisive: float = USUAL_DECISIVE, items: float = math.inf) -> int:
    """The limit of judgments from which on an equal system passes in 80 % of the runs.

    n judgments without replacement from `items` count as n / (1 - n / items) independent ones.

    >>> limit_to_pass(0.1, 0.1), limit_to_pass(0.15, 0.1), limit_to_pass(0.05, 0.1)
    (462, 206, 1848)
    >>> limit_to_pass(0.1, 0.1, items=805)
    294
    """
    independent = size(risk) * decisive / margin**2
    return math.ceil(independent / (1 + independent / items) - 1e-9)


def limit_to_name(gap: float, risk: float, decisive: float = USUAL_DECISIVE, items: float = math.inf) -> int:
    """The limit of judgments from which on one of two level systems is named in 80 % of the runs.

    It is named as one that is at worst less than the gap behind.

    >>> limit_to_name(0.1, 0.1), limit_to_name(0.05, 0.1), limit_to_name(0.1, 0.05)
    (127, 506, 209)
    """
    independent = OVER_ONE_NAME * NormalDist().inv_cdf(1 - risk) ** 2 * decisive / gap**2
    return math.ceil(independent / (1 + independent / items) - 1e-9)


def margin_passed(limit: int, risk: float, decisive: float = USUAL_DECISIVE, items: float = math.inf) -> float:
    """The margin that an equal system passes in 80 % of the runs with this limit.

    It is 0 where all items are judged.

    >>> round(margin_passed(200, 0.1), 2), margin_passed(200, 0.1, items=200)
    (0.15, 0.0)
    """
    return math.sqrt(size(risk) * decisive / limit * (1 - limit / items))


def usual_limit(margin: float, risk: float) -> int:
    """The default limit of judgments, for a usual share of ties.

    >>> usual_limit(0.1, 0.1), usual_limit(0.05, 0.1), usual_limit(0.3, 0.1)
    (462, 805, 200)
    """
    return max(LEAST_USUAL, min(MOST_USUAL, limit_to_pass(margin, risk)))
