"""Replays the same past comparisons with every selector that draws and every stopping rule.

Each comparison is replayed as if it were new. The selectors and rules come from the catalogues, so
none is left out. Returns `Strategy` records; asks no judge. `run.py` chooses the comparisons, and
`walks.py` replays a single comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.calibration.result import QUESTION, Figure, Strategy
from judgeloop.calibration.walks import (
    Comparable,
    Counts,
    Drawn,
    Flags,
    Floats,
    Foresight,
    Walks,
    comparable,
    draw,
    met_along,
    walks,
)
from judgeloop.core.choices import Draws
from judgeloop.engine.session import Limits
from judgeloop.history.past import Past
from judgeloop.methods.selectors.catalogue import Need, SelectorRow, selectors_of
from judgeloop.methods.stats.risk_control import Bounds, bounds_of, critical_values
from judgeloop.methods.stopping.catalogue import Ingredients, RuleRow, rules_of

REPETITIONS = 10
# Judgments, and shares of wrong and undecided runs, of each comparison: shape (3, comparisons).
Ends = Floats
# Number of pasts from which `decisive` learns in the replays; each takes as long as ten replays. The
# past of a replay leaves out the replayed comparison, and of more comparisons a few others with it.
MOST_PASTS = 30


@dataclass(frozen=True, eq=False)
class Study:
    """Every selector and rule on the same comparisons.

    `found` are the comparisons to replay, as rows of `past`.
    """

    past: Past
    found: Comparable
    risks: tuple[float, ...]
    limits: Limits
    rng: np.random.Generator

    @property
    def drawing(self) -> list[SelectorRow]:
        """The selectors that draw at random, the default first.

        Items picked without a random draw say nothing about how often their selector errs.
        """
        return [row for row in selectors_of(QUESTION) if row.draws is not Draws.PICKED]

    def all_tried(self) -> Iterator[list[Strategy]]:
        """Yield each selector's figures, by rule and risk, in the order of the catalogues."""
        like: list[NDArray[np.int64]] = []
        today: list[Ends] = []
        for selector in self.drawing:
            drawn, strategies = self._draw(selector), []
            suiting = [rule for rule in rules_of(QUESTION) if _suits(rule, selector)]
            for rule in sorted(suiting, key=lambda rule: rule.by_past):
                if rule.by_past:
                    like = like or [self._like(at) for at in range(len(self.found.rows))]
                    strategies += self._calibrated(rule, selector.name, drawn, like, today)
                    continue
                ended = self._ended_by(rule, drawn)
                today = today or ended
                for risk, ends in zip(self.risks, ended, strict=True):
                    strategies.append(_strategy(risk, selector.name, rule.name, ends))
            yield strategies

    def _draw(self, selector: SelectorRow) -> Drawn:
        return draw(
            self.past,
            self.found,
            limits=self.limits,
            foresee=self._foresight if Need.HISTORY in selector.needs else None,
            rng=self.rng,
            repetitions=REPETITIONS,
        )

    @cached_property
    def _foresight(self) -> Foresight:
        pairs = [self.past.pairs[row] for row in self.found.rows]
        # Without a shared system, pairs left out together would take most systems out of the past.
        size = 1 if self.found.shared is None else math.ceil(len(pairs) / MOST_PASTS)
        groups = [pairs[begin : begin + size] for begin in range(0, len(pairs), size)]
        together = {pair: group for group in groups for pair in group}
        return Foresight(self.past, self.found.shared, together)

    def _ended_by(self, row: RuleRow, drawn: Drawn) -> list[Ends]:
        """Return how the comparisons end with a rule, at each risk."""
        least, limit = self.limits.min_judgments, self.limits.max_judgments
        seen = walks(drawn, least, _nothing)

        def rule(items: int) -> Any:
            return row.make(Ingredients(risk=1.0, items=items, limit=limit))

        met = met_along(rule, drawn, np.array(self.risks), least)
        return [_ends(seen, stops) for stops in met]

    def _like(self, at: int) -> NDArray[np.int64]:
        """Return which comparisons would choose the threshold of comparison `at` if it were new."""
        rows = np.array(self.found.rows)
        if self.found.shared is not None:
            return np.delete(np.arange(len(rows)), at)
        replayed = Past(tuple(self.past.pairs[row] for row in rows), self.past.preferences[rows], self.past.known[rows])
        pair = replayed.pairs[at]
        apart = np.flatnonzero(replayed.apart_from(*pair))
        return apart[list(comparable(replayed.without(*pair), pair, self.rng).rows)]

    def _calibrated(
        self, row: RuleRow, selector: str, drawn: Drawn, like: Sequence[NDArray[np.int64]], today: Sequence[Ends]
    ) -> list[Strategy]:
        """Return the figures of a rule whose threshold past comparisons choose.

        The threshold of each comparison is chosen on the exchangeable others, `like`. With too few
        others, the comparison ends as `today`, with the default selector and rule.
        """
        seen = walks(drawn, self.limits.min_judgments)
        bounds = bounds_each(seen, like)
        strategies = []
        for risk, instead in zip(self.risks, today, strict=True):
            found = [bound.below(risk) for bound in bounds]
            enough = np.array([value is not None for value in found])
            thresholds = np.array([-np.inf if value is None else value for value in found])
            stops = seen.statistics < np.repeat(thresholds, REPETITIONS)[:, None]
            ends = np.where(enough, _ends(seen, stops), instead) if enough.any() else None
            share = float(1 - enough.mean())
            strategies.append(_strategy(risk, selector, row.name, ends, share))
        return strategies


def bounds_each(seen: Walks, like: Sequence[NDArray[np.int64]]) -> list[Bounds]:
    """Return the bounds for each comparison, from the runs of the comparisons like it."""
    critical = critical_values(seen.statistics, seen.wrong).reshape(len(like), REPETITIONS)
    return [bounds_of(critical[others]) for others in like]


def _ends(seen: Walks, stops: Flags) -> Ends:
    """Return how comparisons end whose runs stop at the first of `stops`."""
    ends = [values.reshape(-1, REPETITIONS).mean(axis=1) for values in seen.ended(stops)]
    return np.stack(ends)


def _suits(rule: RuleRow, selector: SelectorRow) -> bool:
    """Return whether the rule is valid for the selector's draws."""
    return not rule.recorded and (selector.draws is Draws.EVEN or not rule.guaranteed)


def _nothing(wins: Counts, losses: Counts, judged: Counts, items: Counts) -> Floats:
    """Return zeros: a statistic for walks of which only the allowed looks matter."""
    del losses, judged, items
    return np.zeros(len(wins))


def _strategy(risk: float, selector: str, rule: str, ends: Ends | None, instead: float = 0.0) -> Strategy:
    if ends is None:
        return Strategy(risk, selector, rule, instead=1.0)
    judgments, wrong, undecided = map(_figure, ends)
    return Strategy(risk, selector, rule, judgments, wrong, undecided, instead)


def _figure(values: Floats) -> Figure:
    return Figure(float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5))
