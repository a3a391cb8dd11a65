"""How verdicts that are still out may come to fall, after those that are known: the predictive chance of a lead.

Written out, because the library that has it takes longer to import than a comparison takes to decide; the tests hold it to
SciPy's and to exact fractions. Whether the chance is worth going on for is the business of `stopping/giving_up.py`.
"""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=1 << 16)
def chance_of_lead(wins: int, losses: int, further: int, least_lead: int) -> float:
    """The chance that |wins - losses| is at least `least_lead` after `further` more verdicts, each a win or a loss.

    The predictive power of Spiegelhalter, Freedman & Blackburn (1986), "Monitoring clinical trials: conditional or predictive
    power?", in the form for counts of Lee & Liu (2008), "A predictive probability design for phase II cancer clinical trials": with
    a uniform prior for the share of wins, those among the further verdicts are beta-binomial(`further`, wins + 1, losses + 1).

    After one win, the next verdict is a win with a chance of two thirds (Laplace's rule of succession):

    >>> round(chance_of_lead(1, 0, 1, 2), 4)
    0.6667
    """
    if least_lead <= 0:
        return 1.0
    sides = (_led_by(wins, losses, further, least_lead), _led_by(losses, wins, further, least_lead))
    return min(1.0, sum(sides))


def _led_by(wins: int, losses: int, further: int, least_lead: int) -> float:
    """The chance that wins exceed losses by so many in the end."""
    fewest = math.ceil((least_lead - wins + losses + further) / 2)  # further wins
    return math.fsum(
        math.exp(
            _log_ways(wins + won, won)
            + _log_ways(losses + further - won, further - won)
            - _log_ways(wins + losses + further + 1, further)
        )
        for won in range(max(0, fewest), further + 1)
    )


def _log_ways(among: int, chosen: int) -> float:
    """The logarithm of the binomial coefficient."""
    return math.lgamma(among + 1) - math.lgamma(chosen + 1) - math.lgamma(among - chosen + 1)
