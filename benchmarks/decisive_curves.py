"""What the runs of `decisive_variants.py` come to: judgments, errors and undecided at every threshold, and evidence by the judgment.

How the runs are drawn is its business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from decisive_weights import Floats
from numpy.typing import NDArray

from judgeloop.core.records import Tally
from judgeloop.stopping.calibrated import chance_not_to_win
from judgeloop.stopping.giving_up import LOOK_EVERY, GivingUp
from judgeloop.stopping.rule import Rule
from judgeloop.stopping.tie_aware import TieAware

LEAST = 5  # judgments
THRESHOLDS = np.geomspace(0.005, 0.6, 60)
EQUAL_ERRORS = (0.04, 0.05, 0.06, 0.07)  # the mean over these is steadier than at one
RESAMPLES = 200
LOOKED_AT = 50  # judgments, for evidence
DISTANCES = (0.03, 0.1, 0.2, 1.0)  # evidence is compared among pairs that are about as far apart

Statistic = Callable[[int, int, int, int], float]


@dataclass(frozen=True)
class Runs:
    """All runs of one kind of draws, each walked to the limit: who they are, and the verdicts in the order drawn, shape (runs, limit)."""

    heads: list[dict[str, Any]]
    verdicts: NDArray[np.int8]

    @property
    def resampled(self) -> Floats:
        """How often each run counts, shape (1 + resamples, runs): once, and then as pairs are drawn anew."""
        pairs = [(head["first"], head["second"]) for head in self.heads]
        _, pair = np.unique(pairs, axis=0, return_inverse=True)
        count = int(pair.max()) + 1
        rng = np.random.default_rng(0)
        draws = (rng.multinomial(count, np.full(count, 1 / count)) for _ in range(RESAMPLES))
        return np.array([np.ones(count), *draws])[:, pair.ravel()]

    def paths(self, statistic: Statistic, every: int = 1) -> tuple[Floats, NDArray[np.int64]]:
        """The statistic and the lead after each `every`th verdict, both of the shape (runs, looks)."""
        wins, losses = (
            (self.verdicts == sign).cumsum(axis=1)[:, every - 1 :: every] for sign in (1, -1)
        )
        judged = np.broadcast_to(every * np.arange(1, wins.shape[1] + 1), wins.shape)
        items = np.broadcast_to(
            np.array([head["items"] for head in self.heads])[:, None], wins.shape
        )
        states, place = np.unique(np.stack([items, wins, losses, judged]).reshape(4, -1), axis=1, return_inverse=True)  # fmt: skip
        values = np.array([statistic(*map(int, state)) for state in states.T])
        return values[place.ravel()].reshape(wins.shape), wins - losses

    def stopped(
        self, risks: Floats, leads: NDArray[np.int64], threshold: float, given_up: Any = None
    ) -> tuple[Any, Any]:
        """Judgments until the statistic is at or under the threshold, and who is named: 1 the right one, -1, or 0.

        Nobody is where the run is `given_up` before, of the verdicts' shape.
        """
        met = risks <= threshold
        met[:, : LEAST - 1] = False
        ends = met if given_up is None else met | given_up
        ended, first = ends.any(axis=1), ends.argmax(axis=1)
        runs = np.arange(len(leads))
        named = np.where(met[runs, first], np.sign(leads[runs, first]), 0)
        return np.where(ended, first + 1, risks.shape[1]), np.where(ended, named, 0)

    def chances(self, decider: Rule) -> Floats:
        """The chance that the rule decides within the limit, where one looks at that, else 1; of the verdicts' shape."""
        limit = self.verdicts.shape[1]
        rule = GivingUp(decider, 1.0, limit)

        def chance(items: int, wins: int, losses: int, judged: int) -> float:
            if judged == limit:
                return 1.0
            return rule.chance_to_decide(Tally(items, (wins, losses), judged - wins - losses))

        chances = np.ones(self.verdicts.shape)
        chances[:, LOOK_EVERY - 1 :: LOOK_EVERY] = self.paths(chance, LOOK_EVERY)[0]
        return chances


@cache
def tie_aware(items: int, wins: int, losses: int, judged: int) -> float:
    """What the rule `tie-aware` states."""
    return TieAware(1.0).risk(Tally(items, (wins, losses), judged - wins - losses))


@cache
def predictive(items: int, wins: int, losses: int, judged: int) -> float:
    """What the rule `calibrated` looks at."""
    most, least = max(wins, losses), min(wins, losses)
    return chance_not_to_win(most, least, judged, items) if wins != losses else 1.0


@dataclass(frozen=True)
class Predictive(Rule):
    """The statistic of `calibrated` with a threshold that is simply given."""

    name: str = "predictive"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally: Tally) -> float:
        """The statistic."""
        return predictive(tally.items, *tally.wins, tally.judged)


@dataclass(frozen=True)
class Curve:
    """Judgments, errors and undecided by threshold, each resampled over pairs: shape (1 + resamples, thresholds); the first is what was found."""

    judgments: Floats
    errors: Floats
    undecided: Floats

    def at(self, error: float, values: Floats) -> Floats:
        """`values` where so many are wrong, shape (1 + resamples,)."""
        errors = np.maximum.accumulate(self.errors, axis=1)
        return np.array(
            [np.interp(error, row, value) for row, value in zip(errors, values, strict=True)]
        )

    @property
    def needed(self) -> Floats:
        """Judgments at an equal error, the mean over several."""
        found: Floats = np.mean([self.at(error, self.judgments) for error in EQUAL_ERRORS], axis=0)
        return found


def curve(
    runs: Runs,
    statistic: Statistic,
    thresholds: Floats = THRESHOLDS,
    given_up: Sequence[Any] | None = None,
) -> Curve:
    """One kind of draws at every threshold, `given_up` where it says so for each of them."""
    risks, leads = runs.paths(statistic)
    never = [None] * len(thresholds)
    ends = [
        runs.stopped(risks, leads, threshold, given)
        for threshold, given in zip(thresholds, given_up or never, strict=True)
    ]
    values = np.array([[asked, named == -1, named == 0] for asked, named in ends], dtype=np.float64)
    weights = runs.resampled
    means = np.einsum("br,tvr->vbt", weights, values) / weights.sum(axis=1)[None, :, None]
    return Curve(*means)


def worth(runs: Runs) -> Floats:
    """How many judgments the same evidence takes, but for a factor, by how far apart the systems are: shape (1 + resamples, bands).

    d / m², with d the share of decisive verdicts among the first 50 and m their mean from the view of the winner: a lead of z standard
    errors takes z² d / m² of them. It is known far better than judgments at an equal error; but it is blind to draws that
    favour one system of a pair.
    """
    first = runs.verdicts[:, :LOOKED_AT]
    decisive, lead = (first != 0).mean(axis=1), first.mean(axis=1)
    distance = np.array([head["distance"] for head in runs.heads])
    weights, found = runs.resampled, []
    for least, most in pairwise(DISTANCES):
        counts = weights * ((distance >= least) & (distance < most))
        found.append((counts @ decisive) * counts.sum(axis=1) / (counts @ lead) ** 2)
    return np.array(found).T


def beside(runs: Runs, base: Runs) -> Floats:
    """The ratio of `worth` to another's, the geometric mean over the bands: shape (1 + resamples,)."""
    ratio: Floats = np.exp(np.log(worth(runs) / worth(base)).mean(axis=1))
    return ratio
