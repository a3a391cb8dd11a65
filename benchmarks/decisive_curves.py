"""What the runs of `decisive_variants.py` come to: judgments, errors and undecided at every threshold, and evidence by the judgment.

How the runs are drawn stands there and in `decisive_weights.py`; how a rule ends them, in `judgeloop/calibration/walks.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from decisive_weights import Floats
from numpy.typing import NDArray

from judgeloop.calibration.walks import Drawn, given_up, met_along, walks
from judgeloop.core.records import Tally
from judgeloop.engine.session import Limits
from judgeloop.stopping.calibrated import chance_not_to_win
from judgeloop.stopping.rule import CountingRule
from judgeloop.stopping.tie_aware import TieAware

LEAST = 5  # judgments
THRESHOLDS = np.geomspace(0.005, 0.6, 60)
EQUAL_ERRORS = (0.04, 0.05, 0.06, 0.07)  # the mean over these is steadier than at one
RESAMPLES = 200
LOOKED_AT = 50  # judgments, for evidence
DISTANCES = (0.03, 0.1, 0.2, 1.0)  # evidence is compared among pairs that are about as far apart


@dataclass(frozen=True)
class Predictive(CountingRule):
    """The statistic of `calibrated` with a threshold that is simply given."""

    name: str = "predictive"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally: Tally) -> float:
        """The statistic."""
        if tally.leader is None:
            return 1.0
        return chance_not_to_win(max(tally.wins), min(tally.wins), tally.judged, tally.items)


TIE_AWARE, PREDICTIVE = TieAware(1.0), Predictive(1.0)  # at any threshold


@dataclass(frozen=True)
class Runs:
    """All runs of one kind of draws, each walked to the limit: who they are, and the verdicts in the order drawn, shape (runs, limit).

    Verdicts are those from the view of the system that wins on all items.
    """

    heads: list[dict[str, Any]]
    verdicts: NDArray[np.int8]

    @cached_property
    def drawn(self) -> Drawn:
        """The same for the walks of a calibration."""
        items = np.array([head["items"] for head in self.heads])
        return Drawn(self.verdicts, items, np.ones_like(items))

    @property
    def resampled(self) -> Floats:
        """How often each run counts, shape (1 + resamples, runs): once, and then as pairs are drawn anew."""
        pairs = [(head["first"], head["second"]) for head in self.heads]
        _, pair = np.unique(pairs, axis=0, return_inverse=True)
        count = int(pair.max()) + 1
        rng = np.random.default_rng(0)
        draws = (rng.multinomial(count, np.full(count, 1 / count)) for _ in range(RESAMPLES))
        return np.array([np.ones(count), *draws])[:, pair.ravel()]

    def ended(self, rule: CountingRule, thresholds: Floats, give_up: float = 0.0) -> Floats:
        """Judgments, whether the wrong system was named, and whether none was, by threshold of the rule: shape (thresholds, 3, runs).

        A run ends undecided where a decision is less likely than `give_up`.
        """
        limits = Limits(LEAST, self.verdicts.shape[1])
        seen = walks(self.drawn, LEAST, lambda wins, *_: np.zeros(len(wins)))
        found = []
        met = met_along(lambda _: rule, self.drawn, thresholds, LEAST)
        for threshold, stops in zip(thresholds.tolist(), met, strict=True):
            ends = [(replace(rule, threshold=threshold), np.arange(len(stops)))]
            over = given_up(self.drawn, stops, ends, give_up, limits) if give_up else None
            found.append(seen.ended(stops, over))
        return np.array(found, dtype=np.float64)


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
    runs: Runs, rule: CountingRule, thresholds: Floats = THRESHOLDS, give_up: float = 0.0
) -> Curve:
    """One kind of draws at every threshold of a rule; runs end undecided where a decision is less likely than `give_up`."""
    weights = runs.resampled
    means = np.einsum("br,tvr->vbt", weights, runs.ended(rule, thresholds, give_up))
    return Curve(*(means / weights.sum(axis=1)[None, :, None]))


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
