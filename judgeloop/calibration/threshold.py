"""Chooses the threshold that kept the error rate of past comparisons under the risk.

Reads past comparisons, replays the comparable ones, and returns bounds for the rule `calibrated`.
Asks no judge. `methods/stats/risk_control.py` proves that past errors bound the errors of a new comparison.
"""

from dataclasses import dataclass

import numpy as np

from judgeloop.calibration.walks import Comparable, Walks, comparable, replayed
from judgeloop.engine.session import Limits
from judgeloop.history.past import Pair, Past
from judgeloop.methods.stats.risk_control import Bounds, bounds_of, critical_values, fewest_comparisons, risk_bound

REPETITIONS = 10


@dataclass(frozen=True, slots=True)
class TooLittle:
    """Too few past comparisons for the risk, even if none of their runs erred.

    `found` is their number and `what` describes them in words; `needed` is the number required.
    """

    found: int
    needed: int
    what: str
    risk: float

    @property
    def sentence(self) -> str:
        """The message to the user."""
        return f"found {self.what}, and a risk of {self.risk:g} needs at least {self.needed}"


@dataclass(frozen=True, eq=False)
class Calibration:
    """The bounds for the rule `calibrated`, the past comparisons behind them, and their runs."""

    bounds: Bounds
    comparable: Comparable
    walks: Walks

    @property
    def threshold(self) -> tuple[Bounds, str]:
        """What the rule is made of: the bounds, and the past comparisons in words."""
        return self.bounds, self.comparable.sentence


def calibrate(
    past: Past,
    pair: Pair,
    *,
    risk: float,
    limits: Limits,
    weighted: bool,
    rng: np.random.Generator,
    repetitions: int = REPETITIONS,
) -> Calibration | TooLittle:
    """Return the threshold for comparing `pair` at `risk`, from replays of comparable comparisons.

    With `weighted`, a replay draws as the selector `decisive` does, with weights from the past
    without the replayed comparison. Otherwise it draws evenly, as `random` does. The past of a
    replayed comparison leaves out its systems that do not take part in the new comparison, because
    the past of the new comparison has no verdicts on its own new systems either. So the past of the
    new comparison has one or two systems more than the past of a replayed comparison. This is
    assumed to do no harm. With `weighted`, it is the only reason why the comparisons are not
    exactly exchangeable.
    """
    found = comparable(past, pair, rng)
    if risk_bound(0, len(found.rows), repetitions) > risk:
        return TooLittle(len(found.rows), fewest_comparisons(risk), found.sentence, risk)
    walks = replayed(past, found, limits=limits, weighted=weighted, rng=rng, repetitions=repetitions)
    critical = critical_values(walks.statistics, walks.wrong).reshape(len(found.rows), repetitions)
    return Calibration(bounds_of(critical), found, walks)
