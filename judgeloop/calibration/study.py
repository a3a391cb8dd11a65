"""Replays the same past comparisons with every selector that draws and every stopping rule.

Each comparison is replayed as if it were new. The selectors and rules come from the catalogues, so
none is left out. Returns `Strategy` records; asks no judge. `run.py` chooses the comparisons, and
`walks.py` replays a single comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.calibration.comparable import Comparable, comparable
from judgeloop.calibration.result import Figure, Strategy
from judgeloop.calibration.walks import (
    Counts,
    Drawn,
    Flags,
    Floats,
    Foresight,
    Ruled,
    Walks,
    draw,
    given_up,
    met_along,
    walks,
)
from judgeloop.core.records import Draws
from judgeloop.engine.session import Limits
from judgeloop.history.past import Pair, Past
from judgeloop.methods.selectors.catalogue import Need, SelectorRow, selectors_of
from judgeloop.methods.stats.decisiveness import Prospects
from judgeloop.methods.stats.risk_control import bounds_of, critical_values
from judgeloop.methods.stopping.catalogue import Ingredients, RuleRow, rules_of

QUESTION = "compare"
REPETITIONS = 10
POWERS = (0.5, 1.0, 3.0)  # exponents to try in place of the selector's own

# A risk, and the probability of a decision under which a run gives up (None: it never does).
Terms = tuple[float, float | None]


@dataclass(frozen=True, eq=False)
class Ends:
    """Judgments and shares of wrong and undecided runs of each comparison: shape (comparisons,)."""

    judged: Floats
    wrong: Floats
    undecided: Floats

    def where(self, these: Flags, other: Ends) -> Ends:
        """Return these ends where `these` is True, and the ends of `other` elsewhere."""
        return Ends(
            np.where(these, self.judged, other.judged),
            np.where(these, self.wrong, other.wrong),
            np.where(these, self.undecided, other.undecided),
        )


@dataclass(frozen=True, eq=False)
class Study:
    """Every selector and rule on the same comparisons.

    `found` are the comparisons to replay, as rows of `past`. With `give_up`, each rule is also
    tried with runs that end undecided once a decision is less likely than this.
    """

    past: Past
    found: Comparable
    risks: tuple[float, ...]
    limits: Limits
    rng: np.random.Generator
    give_up: float | None = None

    @property
    def terms(self) -> list[Terms]:
        """Each risk without giving up; also with it if it is tried and the limit excludes items."""
        most = self.past.known[list(self.found.rows)].sum(axis=1).max()
        chances = (
            (None, self.give_up) if self.give_up and most > self.limits.max_judgments else (None,)
        )
        return list(product(self.risks, chances))

    @property
    def drawing(self) -> list[SelectorRow]:
        """The selectors that draw at random, the default first.

        Items picked without a random draw say nothing about how often their selector errs.
        """
        return [row for row in selectors_of(QUESTION) if row.draws is not Draws.PICKED]

    @property
    def ways(self) -> int:
        """The number of parts in which `all_tried` yields its results."""
        return len(self.drawing) + len(POWERS)

    def all_tried(self) -> Iterator[list[Strategy]]:
        """Yield the figures by way of drawing, in the order of the catalogues (defaults first)."""
        like: list[NDArray[np.int64]] = []
        today: dict[Terms, Ends] = {}
        for selector in self.drawing:
            drawn = self._draw(selector)
            suiting = [rule for rule in rules_of(QUESTION) if _suits(rule, selector)]
            plain, by_past = (
                [rule for rule in suiting if rule.by_past is kind] for kind in (False, True)
            )
            ended = {rule.name: self._ended_by(rule, drawn) for rule in plain}
            today = today or next(iter(ended.values()))
            like = like or [self._like(at) for at in range(len(self.found.rows))]
            strategies = [
                _strategy(terms, selector.name, rule, ends)
                for rule, by_terms in ended.items()
                for terms, ends in by_terms.items()
            ]
            for rule in by_past:
                strategies += self._calibrated(rule, selector.name, drawn, like, today)
            yield strategies
        yield from self._by_powers()

    def _by_powers(self) -> Iterator[list[Strategy]]:
        """Yield the figures of the other exponents (`POWERS`), with the first heuristic rule."""
        selector = next(row for row in self.drawing if Need.HISTORY in row.needs)
        rule = next(row for row in rules_of(QUESTION) if not (row.guaranteed or row.by_past))
        for power in POWERS:
            ended = self._ended_by(rule, self._draw(selector, power))
            yield [
                replace(_strategy(terms, selector.name, rule.name, ends), power=power)
                for terms, ends in ended.items()
                if terms[1] is None
            ]

    def _draw(self, selector: SelectorRow, power: float | None = None) -> Drawn:
        foresee = None
        if Need.HISTORY in selector.needs:
            foresee = partial(_foreseen, self._foresight, power)
        return draw(
            self.past,
            self.found,
            limits=self.limits,
            foresee=foresee,
            rng=self.rng,
            repetitions=REPETITIONS,
        )

    @cached_property
    def _foresight(self) -> Foresight:
        return Foresight(self.past, self.found.shared)

    def _ended_by(self, row: RuleRow, drawn: Drawn) -> dict[Terms, Ends]:
        """Return how the comparisons end with a rule, for each of the terms."""
        least = self.limits.min_judgments
        seen = walks(drawn, least, _nothing)
        met = met_along(partial(self._rule, row, 1.0), drawn, np.array(self.risks), least)
        return {
            (risk, give_up): self._ends(
                drawn, seen, met[self.risks.index(risk)], self._ruled(row, risk, drawn), give_up
            )
            for risk, give_up in self.terms
        }

    def _ruled(self, row: RuleRow, risk: float, drawn: Drawn) -> list[Ruled]:
        """Return the rule for each pool size, with the walks on pools of that size."""
        return [
            (self._rule(row, risk, items), np.flatnonzero(drawn.known == items))
            for items in np.unique(drawn.known).tolist()
        ]

    def _rule(self, row: RuleRow, risk: float, items: int) -> Any:
        limit = self.limits.max_judgments
        return row.make(Ingredients(risk=risk, items=items, limit=limit))

    def _like(self, at: int) -> NDArray[np.int64]:
        """Return which comparisons would choose the threshold of comparison `at` if it were new."""
        rows = np.array(self.found.rows)
        if self.found.shared is not None:
            return np.delete(np.arange(len(rows)), at)
        replayed = Past(
            tuple(self.past.pairs[row] for row in rows),
            self.past.preferences[rows],
            self.past.known[rows],
        )
        pair = replayed.pairs[at]
        apart = np.flatnonzero(replayed.apart_from(*pair))
        return apart[list(comparable(replayed.without(*pair), pair, self.rng).rows)]

    def _calibrated(
        self,
        row: RuleRow,
        selector: str,
        drawn: Drawn,
        like: Sequence[NDArray[np.int64]],
        today: dict[Terms, Ends],
    ) -> list[Strategy]:
        """Return the figures of a rule whose threshold past comparisons choose.

        The threshold of each comparison is chosen on the exchangeable others, `like`. With too few
        others, the comparison ends as `today`, with the default selector and rule.
        """
        seen = walks(drawn, self.limits.min_judgments)
        critical = critical_values(seen.statistics, seen.wrong).reshape(len(like), REPETITIONS)
        bounds = [bounds_of(critical[others]) for others in like]
        strategies = []
        for (risk, give_up), instead in today.items():
            found = [bound.below(risk) for bound in bounds]
            enough = np.array([value is not None for value in found])
            thresholds = np.array([-np.inf if value is None else value for value in found])
            stops = seen.statistics < np.repeat(thresholds, REPETITIONS)[:, None]
            by: list[Ruled] = [
                (
                    row.make(Ingredients(risk, items=0, limit=0, threshold=(bound, ""))),
                    np.arange(REPETITIONS) + at * REPETITIONS,
                )
                for at, bound in enumerate(bounds)
            ]
            ends = None
            if enough.any():
                ends = self._ends(drawn, seen, stops, by, give_up).where(enough, instead)
            share = float(1 - enough.mean())
            strategies.append(_strategy((risk, give_up), selector, row.name, ends, share))
        return strategies

    def _ends(
        self, drawn: Drawn, seen: Walks, stops: Flags, by: Iterable[Ruled], give_up: float | None
    ) -> Ends:
        """Return how comparisons end whose runs stop at the first of `stops`, or give up before.

        `by` are the rules that set `stops`; giving up depends on them.
        """
        over = None if give_up is None else given_up(drawn, stops, by, give_up, self.limits)
        ended = seen.ended(stops, over)
        return Ends(*(values.reshape(-1, REPETITIONS).mean(axis=1) for values in ended))


def _foreseen(foresight: Foresight, power: float | None, pair: Pair) -> Prospects | None:
    found = foresight(pair)
    return found if power is None or found is None else found.with_power(power)


def _suits(rule: RuleRow, selector: SelectorRow) -> bool:
    """Return whether the rule is valid for the selector's draws."""
    return not rule.recorded and (selector.draws is Draws.EVEN or not rule.needs_even_draws)


def _nothing(wins: Counts, losses: Counts, judged: Counts, items: Counts) -> Floats:
    """Return zeros: a statistic for walks of which only the allowed looks matter."""
    del losses, judged, items
    return np.zeros(len(wins))


def _strategy(
    terms: Terms, selector: str, rule: str, ends: Ends | None, instead: float = 0.0
) -> Strategy:
    risk, give_up = terms
    told = Strategy(
        risk, selector, rule, gives_up=give_up is not None, instead=1.0 if ends is None else instead
    )
    if ends is None:
        return told
    judgments, wrong, undecided = map(_figure, (ends.judged, ends.wrong, ends.undecided))
    return replace(told, judgments=judgments, wrong=wrong, undecided=undecided)


def _figure(values: Floats) -> Figure:
    return Figure(float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5))
