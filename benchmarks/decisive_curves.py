"""Judgments, errors and undecided by threshold, and evidence per judgment, of recorded runs.

`decisive_variants.py` and `decisive_held_out.py` import this module. It takes the runs that
`decisive_variants.py` draws by the selectors of `decisive_weights.py`, and ends them by a rule as
`judgeloop/calibration/walks.py` does. Standard errors come from resampling pairs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from decisive_weights import Floats
from numpy.typing import NDArray

from judgeloop.calibration.walks import Counts, Drawn, Flags, Walks, met_along, walks
from judgeloop.core.outcomes import Tally
from judgeloop.engine.session import Limits
from judgeloop.methods.stopping.calibrated import chance_not_to_win
from judgeloop.methods.stopping.giving_up import LOOK_EVERY, GivingUp
from judgeloop.methods.stopping.rule import Rule
from judgeloop.papers.diffuse.rules import TieAware

LEAST = 5  # minimum number of judgments
THRESHOLDS = np.geomspace(0.005, 0.6, 60)
# Shares of wrong runs. A mean over several has a smaller standard error than the value at one.
EQUAL_ERRORS = (0.04, 0.05, 0.06, 0.07)
RESAMPLES = 200
LOOKED_AT = 50  # number of judgments that `worth` uses
# Bounds of the bands of gaps: `worth` compares pairs of similar gap.
DISTANCES = (0.03, 0.1, 0.2, 1.0)


@dataclass(frozen=True)
class Predictive(Rule):
    """A rule with the statistic of `calibrated` and a given threshold."""

    name: str = "predictive"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally: Tally) -> float:
        """Return the statistic of `calibrated`; 1 without a leader."""
        if tally.leader is None:
            return 1.0
        return _chance(max(tally.wins), min(tally.wins), tally.judged, tally.items)

    def met_along_each(self, preferences: NDArray[np.int8], items: int, thresholds: Floats) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`; the statistic is computed once for all thresholds."""
        wins, losses = (np.cumsum(preferences == side, axis=-1) for side in (1, -1))
        looks = np.broadcast_to(np.arange(1, preferences.shape[-1] + 1), preferences.shape)
        most, least = np.maximum(wins, losses), np.minimum(wins, losses)
        risks = np.vectorize(_chance)(most, least, looks, items)
        met: NDArray[np.bool_] = (risks <= thresholds[:, None, None]) & (wins != losses)
        return met


_chance = cache(chance_not_to_win)

# `Runs.ended` sets the thresholds.
TIE_AWARE, PREDICTIVE = TieAware(1.0), Predictive(1.0)


@dataclass(frozen=True)
class Runs:
    """All runs of one kind of draws, each up to the limit of judgments.

    `heads` says for each run which pair and repetition it is. `verdicts`, shape (runs, limit), are
    in the order drawn: 1 for the system that wins on all items, -1 for the other system, 0 for a
    tie.
    """

    heads: list[dict[str, Any]]
    verdicts: NDArray[np.int8]

    @cached_property
    def drawn(self) -> Drawn:
        """The runs in the form that `judgeloop/calibration/walks.py` takes."""
        items = np.array([head["items"] for head in self.heads])
        return Drawn(self.verdicts, items, np.ones_like(items))

    @property
    def resampled(self) -> Floats:
        """How often each run counts, shape (1 + resamples, runs).

        In the first row each run counts once. The other rows resample the pairs (a bootstrap with
        pairs as clusters).
        """
        pairs = [(head["first"], head["second"]) for head in self.heads]
        _, pair = np.unique(pairs, axis=0, return_inverse=True)
        count = int(pair.max()) + 1
        rng = np.random.default_rng(0)
        draws = (rng.multinomial(count, np.full(count, 1 / count)) for _ in range(RESAMPLES))
        return np.array([np.ones(count), *draws])[:, pair.ravel()]

    def ended(self, rule: Rule, thresholds: Floats, give_up: float = 0.0) -> Floats:
        """Return judgments, wrong and undecided of each run, shape (thresholds, 3, runs).

        `thresholds` are those of the rule. Wrong means that the wrong system is named, undecided
        that none is. A run ends undecided once a decision is less likely than `give_up`.
        """
        limits = Limits(LEAST, self.verdicts.shape[1])
        seen = walks(self.drawn, LEAST, lambda wins, *_: np.zeros(len(wins)))
        found = []
        met = met_along(lambda _: rule, self.drawn, thresholds, LEAST)
        for threshold, stops in zip(thresholds.tolist(), met, strict=True):
            ends = [(replace(rule, threshold=threshold), np.arange(len(stops)))]
            over = given_up(self.drawn, stops, ends, give_up, limits) if give_up else None
            found.append(_ended(seen, stops, over))
        return np.array(found, dtype=np.float64)


def _ended(seen: Walks, stops: Flags, over: Flags | None) -> tuple[Counts, Flags, Flags]:
    """Return `Walks.ended`, where a run also ends, undecided, at a look in `over`."""
    if over is None:
        return seen.ended(stops)
    ends = stops | over
    ended, look = ends.any(axis=1), ends.argmax(axis=1)
    at = np.arange(len(look)), look
    undecided = np.where(ended, ~stops[at], ~seen.complete)
    return np.where(ended, look + 1, seen.ends), stops[at] & seen.wrong[at], undecided


def given_up(drawn: Drawn, stops: Flags, rules: Iterable[tuple[Rule, Counts]], chance: float, limits: Limits) -> Flags:
    """Return where runs that have not stopped give up, shape (walks, looks).

    `rules` are the rules that end the runs. A run gives up where its rule decides within the limit
    with a probability under `chance`.
    """
    found, least, limit = np.zeros_like(stops), limits.min_judgments, limits.max_judgments
    looks = [look for look in range(LOOK_EVERY, stops.shape[1], LOOK_EVERY) if look >= least]
    for rule, those in rules:
        unlikely = cache(partial(_unlikely, GivingUp(rule, chance, limit)))
        for look in looks:
            over = (stops | found)[those, :look].any(axis=1)
            for number in those[~over & (drawn.known[those] > limit)]:
                first = drawn.preferences[number, :look]
                wins, losses = int((first == 1).sum()), int((first == -1).sum())
                found[number, look - 1] = unlikely(wins, losses, look, int(drawn.known[number]))
    return found


def _unlikely(rule: GivingUp, wins: int, losses: int, judged: int, items: int) -> bool:
    tally = Tally(items, wins=(wins, losses), ties=judged - wins - losses)
    return rule.chance_to_decide(tally) < rule.chance


@dataclass(frozen=True)
class Curve:
    """Mean judgments, and the shares of wrong and of undecided runs, by threshold.

    Each array has the shape (1 + resamples, thresholds): the first row is the result, and the other
    rows are resampled over pairs.
    """

    judgments: Floats
    errors: Floats
    undecided: Floats

    def at(self, error: float, values: Floats) -> Floats:
        """Interpolate `values` at a share `error` of wrong runs, shape (1 + resamples,)."""
        errors = np.maximum.accumulate(self.errors, axis=1)
        return np.array([np.interp(error, row, value) for row, value in zip(errors, values, strict=True)])

    @property
    def needed(self) -> Floats:
        """Judgments at an equal error: the mean over `EQUAL_ERRORS`, shape (1 + resamples,)."""
        found: Floats = np.mean([self.at(error, self.judgments) for error in EQUAL_ERRORS], axis=0)
        return found


def curve(runs: Runs, rule: Rule, thresholds: Floats = THRESHOLDS, give_up: float = 0.0) -> Curve:
    """Return judgments, errors and undecided of one kind of draws at every threshold of a rule.

    A run ends undecided once a decision is less likely than `give_up`.
    """
    weights = runs.resampled
    means = np.einsum("br,tvr->vbt", weights, runs.ended(rule, thresholds, give_up))
    return Curve(*(means / weights.sum(axis=1)[None, :, None]))


def worth(runs: Runs) -> Floats:
    """Return the judgments that equal evidence takes, by band of gaps, up to a factor.

    The result has the shape (1 + resamples, bands). It is d / m²: d is the share of decisive
    verdicts among the first 50 judgments, and m the mean preference for the winner in all 50. A
    lead of z standard errors takes z² d / m² judgments. The standard error of this measure is far
    smaller than that of judgments at an equal error. But it does not show whether draws favour one
    system of a pair.
    """
    first = runs.verdicts[:, :LOOKED_AT]
    decisive, lead = (first != 0).mean(axis=1), first.mean(axis=1)
    gap = np.array([head["gap"] for head in runs.heads])
    weights, found = runs.resampled, []
    for least, most in pairwise(DISTANCES):
        counts = weights * ((gap >= least) & (gap < most))
        found.append((counts @ decisive) * counts.sum(axis=1) / (counts @ lead) ** 2)
    return np.array(found).T


def beside(runs: Runs, base: Runs) -> Floats:
    """Return the ratio of `worth` to that of `base`, shape (1 + resamples,).

    It is the geometric mean over the bands.
    """
    ratio: Floats = np.exp(np.log(worth(runs) / worth(base)).mean(axis=1))
    return ratio
