"""The threshold that past comparisons set for a new one: the evidence at which their error rate kept under the risk.

It asks nobody. Why their errors bound the new comparison's is proved in `stats/risk_control.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgeloop.calibration.comparable import Comparable, comparable
from judgeloop.calibration.walks import Walks, replayed
from judgeloop.engine.session import Limits
from judgeloop.history.past import Pair, Past
from judgeloop.stats.risk_control import (
    Bounds,
    bounds_of,
    critical_values,
    fewest_comparisons,
    risk_bound,
)

REPETITIONS = 10


@dataclass(frozen=True, slots=True)
class TooLittle:
    """Too few comparisons for the risk, whatever they say: how many were found, in words `what`, and how many it takes."""

    found: int
    needed: int
    what: str
    risk: float

    @property
    def sentence(self) -> str:
        """What to tell people."""
        return f"found {self.what}, and a risk of {self.risk:g} needs at least {self.needed}"


@dataclass(frozen=True, eq=False)
class Calibration:
    """The bounds that the past comparisons set for the statistic of `calibrated`, which these were, and how they went."""

    bounds: Bounds
    comparable: Comparable
    walks: Walks

    @property
    def threshold(self) -> tuple[Bounds, str]:
        """What the rule is made of: the bounds, and which comparisons it rests on, in words."""
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
    """The rule for comparing `pair` at this risk, by replaying the past comparisons that it is like.

    With `weighted` they draw as `decisive` does, each by what the past without it would have said; else evenly, as `random` does. What is
    left out of the past for a comparison is what the new one's past lacks too: of its two systems those that are not in the new one. The
    new comparison's past is so one or two systems longer than theirs, which is taken to do no harm: with `weighted`, that alone keeps
    them from being exchangeable exactly.
    """
    found = comparable(past, pair, rng)
    if risk_bound(0, len(found.rows), repetitions) > risk:
        return TooLittle(len(found.rows), fewest_comparisons(risk), found.sentence, risk)
    walks = replayed(
        past, found, limits=limits, weighted=weighted, rng=rng, repetitions=repetitions
    )
    critical = critical_values(walks.statistics, walks.wrong).reshape(len(found.rows), repetitions)
    return Calibration(bounds_of(critical), found, walks)
