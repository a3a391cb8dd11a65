"""A rule whose threshold past comparisons chose: it stops where they, run in the same way, were wrong seldom enough.

How the past is replayed is the business of `calibrating.py`; what its errors imply for a new comparison, that of
`stats/risk_control.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from judgeloop.core.records import Tally
from judgeloop.stats.predictive import chance_overtaken, further_decisive
from judgeloop.stats.risk_control import Bounds
from judgeloop.stopping.catalogue import Ingredients
from judgeloop.stopping.rule import Rule


@final
@dataclass(frozen=True)
class Calibrated(Rule):
    """The chance that the leader is overtaken, where past comparisons say how low it has to be; a promise on average only.

    The statistic is `chance_not_to_win`, a heuristic by itself. The stated risk is the bound for how often the wrong system is named by
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
        drawn = tally.judged + tally.abstentions
        return self.bounds.at(
            chance_not_to_win(wins, others + tally.abstentions, drawn, tally.items)
        )


def chance_not_to_win(wins: int, losses: int, judged: int, items: int) -> float:
    """The chance that who leads after `judged` of all `items` is not the winner of all of them: `chance_overtaken` by what is expected to come.

    It falls as wins take the place of ties, and is 0 once all are judged, or the lead cannot be made up for any more.

    >>> round(chance_not_to_win(5, 0, 5, 1000), 4)
    0.0716
    """
    return chance_overtaken(wins, losses, further_decisive(wins + losses, judged, items - judged))


def made_of(given: Ingredients) -> Calibrated:
    """The rule for one run, with the threshold that past comparisons chose."""
    assert given.threshold is not None, "the catalogue says that past comparisons choose it"
    bounds, like = given.threshold
    return Calibrated(given.risk, bounds, like)
