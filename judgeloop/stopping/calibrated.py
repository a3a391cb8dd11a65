"""A rule whose threshold past comparisons chose: it stops where they, run in the same way, were wrong seldom enough.

How the past is replayed is the business of `calibrating.py`; what its errors imply for a new comparison, that of
`stats/risk_control.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import final

from judgeloop.records import Tally
from judgeloop.stats.risk_control import Bounds
from judgeloop.stopping.rule import Rule

PRIOR_WINS = 4  # of each side: at equal error no other boundary needed clearly fewer recorded verdicts
NEGLIGIBLE = 1e-18  # of the sum so far, where the terms only get smaller


@final
@dataclass(frozen=True)
class Calibrated(Rule):
    """The chance that the leader is not ahead, where past comparisons say how low it has to be; a promise on average only.

    The statistic is `chance_behind`, a heuristic by itself. The stated risk is the bound for how often the wrong system is named by
    whoever stops at such a value, from past comparisons that are taken to be exchangeable with this one; 1 where they say nothing. An
    abstention counts as a win of the other side. The promise is for the selector, the least and the most judgments that the past was
    replayed with. `like` says which comparisons those were: "9 past comparisons of base with others".
    """

    bounds: Bounds
    like: str
    name: str = "calibrated"
    needs_draws: bool = False

    @property
    def guarantee(self) -> str:
        """What is promised, and what is not."""
        return (
            f"on average over comparisons like {self.like}, provided that this is one of their kind, the wrong system is named with at most this "
            "chance; nothing is promised for this pair alone, nor if systems, items, judge or prompt are of another kind than in the past"
        )

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        if tally.leader is None:
            return 1.0
        wins, others = tally.wins[tally.leader], tally.wins[1 - tally.leader]
        return self.bounds.at(chance_behind(wins, others + tally.abstentions))


@lru_cache(maxsize=1 << 18)
def chance_behind(wins: int, losses: int) -> float:
    """The chance, after so many wins and losses, that a system wins no more than half of all decisive items.

    With a prior of Beta(4, 4) it is the regularised incomplete beta function I(½; wins + 4, losses + 4): with whole numbers, the
    chance of at least wins + 4 heads in wins + losses + 7 tosses of a coin (Abramowitz & Stegun 1964, equation 26.5.24). It falls as
    wins rise and rises with losses. Written out as in `stats/hypergeometric.py`, for the same reason.

    >>> round(chance_behind(5, 0), 4)
    0.073
    """
    heads, tosses = wins + PRIOR_WINS, wins + losses + 2 * PRIOR_WINS - 1
    # The first term from exact integers, the others from the ratio of neighbours.
    term = total = comb(tosses, heads) / (1 << tosses)
    for more in range(heads, tosses):
        term *= (tosses - more) / (more + 1)
        total += term
        if more > tosses / 2 and term < NEGLIGIBLE * total:
            break
    return total
