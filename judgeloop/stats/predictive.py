"""How verdicts that are still out may come to fall, after those that are known: the predictive chance of a lead.

Written out, because the library that has it takes longer to import than a comparison takes to decide; the tests hold it to
SciPy's and to exact fractions. Whether the chance is worth going on for is the business of `stopping/giving_up.py`.
"""

from __future__ import annotations

import math
from functools import lru_cache

PRIOR_WINS = 4  # of each side, for who would win in the end: at equal error no other prior needed clearly fewer recorded verdicts
NEGLIGIBLE = 1e-12  # of the sum so far


def further_decisive(decisive: int, judged: int, unknown: int) -> int:
    """How many of `unknown` further verdicts are expected to be decisive after `decisive` of `judged`: (d + 1) / (n + 2) (Laplace 1774)."""
    return round(unknown * (decisive + 1) / (judged + 2))


@lru_cache(maxsize=1 << 18)
def chance_overtaken(wins: int, losses: int, further: int) -> float:
    """The chance that who has `wins` to `losses` does not lead after `further` more verdicts, each a win or a loss; level counts half.

    As in `chance_of_lead`, but that each side begins with 4 wins, as if Beta(4, 4) were known of the share of wins: systems that are
    compared are seldom worlds apart. Where very many verdicts are to come, it is the chance that the share is no more than a half.

    Nothing to come changes nothing; after four wins, the next two are both losses with a chance of 4/12 · 5/13, which leaves a lead:

    >>> chance_overtaken(4, 0, 2)
    0.0
    >>> round(chance_overtaken(2, 0, 2), 4)  # half of 4/10 · 5/11
    0.0909
    """
    won, level = divmod(further - wins + losses, 2)  # as many further wins, or fewer, make no lead
    if won < 0:
        return 0.0
    if won > further:
        return 1.0
    ours, theirs = wins + PRIOR_WINS, losses + PRIOR_WINS
    term = math.exp(
        _log_ways(ours + won - 1, won)
        + _log_ways(theirs + further - won - 1, further - won)
        - _log_ways(ours + theirs + further - 1, further)
    )
    total = term if level else term / 2
    # Where there is a lead, each further term is smaller, as more wins than losses are expected; else they are so from the middle on.
    for fewer in range(won, 0, -1):
        term *= fewer / (further - fewer + 1) * (theirs + further - fewer) / (ours + fewer - 1)
        total += term
        if term < NEGLIGIBLE * total:
            break
    return min(1.0, total)


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
