"""A rule whose threshold is chosen so that past comparisons kept their error rate under the risk.

It reads a tally and bounds from past comparisons. `calibration/` replays the past comparisons;
`methods/stats/risk_control.py` says what their errors imply for a new comparison.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Tally
from judgeloop.methods.stats.predictive import chance_overtaken, chances_overtaken, further_decisive
from judgeloop.methods.stats.risk_control import Bounds
from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.rule import Rule, asked, at_most


@final
@dataclass(frozen=True)
class Calibrated(Rule):
    """Stops once the leader is unlikely to be overtaken; past comparisons set how unlikely.

    The statistic is `chance_not_to_win`, by itself a heuristic. The stated risk is an upper bound
    for how often a run that stops at this value of the statistic names the wrong system. It holds
    on average over comparisons, if the past comparisons are exchangeable with this comparison. It
    is 1 where the past comparisons give no bound. An abstention counts as a win of the other
    system. The promise holds for the selector and the minimum and maximum numbers of judgments with
    which the past was replayed. `like` describes the past comparisons, as in "9 past comparisons of
    base with others".
    """

    bounds: Bounds
    like: str
    name: str = "calibrated"
    needs_draws: bool = False

    @property
    def guarantee(self) -> str:
        """What the stated risk promises, and what it does not."""
        return (
            f"on average over comparisons like {self.like}, the chance of naming the wrong system is "
            f"{at_most(self.threshold)}, if this comparison is of the same kind (systems, items, "
            "judge, prompt); for this pair alone nothing is guaranteed"
        )

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        if tally.leader is None:
            return 1.0
        wins, others = tally.wins[tally.leader], tally.wins[1 - tally.leader]
        lost = others + tally.abstentions
        return self.bounds.at(chance_not_to_win(wins, lost, asked(tally), tally.items))


def chance_not_to_win(wins: int, losses: int, judged: int, items: int) -> float:
    """Return the chance that the leader after `judged` of `items` does not win over all items.

    It is `chance_overtaken` with the expected number of further decisive verdicts. It falls as wins
    replace ties. It is 0 once all items are judged or the lead cannot be lost.

    >>> round(chance_not_to_win(5, 0, 5, 1000), 4)
    0.0716
    """
    return chance_overtaken(wins, losses, further_decisive(wins + losses, judged, items - judged))


def chances_not_to_win(
    wins: NDArray[np.int64], losses: NDArray[np.int64], judged: NDArray[np.int64], items: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return `chance_not_to_win` of many states, shape (states,)."""
    states = zip((wins + losses).tolist(), judged.tolist(), (items - judged).tolist(), strict=True)
    further = np.array([further_decisive(*state) for state in states], dtype=np.int64)
    return chances_overtaken(wins, losses, further)


def made_of(given: Ingredients) -> Calibrated:
    """Make the rule for one run, with the threshold that past comparisons chose."""
    assert given.threshold is not None, "the catalogue says that past comparisons choose it"
    bounds, like = given.threshold
    return Calibrated(given.risk, bounds, like)
