"""Every selector and rule on the same past comparisons, replayed as if each were new.

Nothing is read here; which comparisons these are is the business of `jobs/calibrate.py`, and how one is replayed that of
`calibrating.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from judgeloop.calibration.result import CALIBRATED, Figure, Tried
from judgeloop.calibration.threshold import (
    Comparable,
    Counts,
    Drawn,
    Flags,
    Floats,
    Foresee,
    Walks,
    comparable,
    draw,
    walks,
)
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Tally
from judgeloop.engine.session import Limits
from judgeloop.history.past import Past
from judgeloop.selectors.decisive import prospects_of
from judgeloop.stats.risk_control import bounds_of, critical_values
from judgeloop.stats.spending import Spending
from judgeloop.stopping import Calibrated, GivingUp, make_rule
from judgeloop.stopping.giving_up import LOOK_EVERY
from judgeloop.stopping.sequential import SIDES

REPETITIONS = 10
HEURISTICS = ("tie-aware", "hypergeometric")
POWERS = (0.5, 1.0, 3.0)
MOST_BEFORE_LOOKING = 25  # draws of a walk for which a boundary is worked out at once

Ruled = tuple[StoppingRule[Tally], Counts]  # a rule, and the walks that it ends
Terms = tuple[
    float, float | None
]  # a risk, and the chance of a decision under which a run is given up


@dataclass(frozen=True, eq=False)
class Ends:
    """How each comparison ended, as means over its runs: shape (comparisons,)."""

    judged: Floats
    wrong: Floats
    undecided: Floats

    def where(self, these: Flags, other: Ends) -> Ends:
        """These where `these` says so, elsewhere those of `other`."""
        return Ends(
            np.where(these, self.judged, other.judged),
            np.where(these, self.wrong, other.wrong),
            np.where(these, self.undecided, other.undecided),
        )


@dataclass(frozen=True, eq=False)
class Study:
    """Every selector and rule on the same comparisons."""

    past: Past
    found: Comparable
    risks: tuple[float, ...]
    limits: Limits
    rng: np.random.Generator
    give_up: float | None = (
        None  # also tried: runs that end undecided where a decision is less likely
    )

    @property
    def terms(self) -> list[Terms]:
        """Each risk without giving up, and, if that is tried and the limit leaves items out, with it."""
        most = self.past.known[list(self.found.rows)].sum(axis=1).max()
        chances = (
            (None, self.give_up) if self.give_up and most > self.limits.max_judgments else (None,)
        )
        return list(product(self.risks, chances))

    @property
    def ways(self) -> int:
        """How many parts `all_tried` comes in."""
        return 2 + len(POWERS)

    def all_tried(self) -> Iterator[list[Tried]]:
        """By way of drawing, in the order of the table."""
        even = self._draw(None)
        today = dict(zip(self.terms, self._sequential(even), strict=True))
        like = [self._like(at) for at in range(len(self.found.rows))]
        first = [_tried(terms, "random", "sequential", ends) for terms, ends in today.items()]
        yield (
            first
            + self._by_heuristics("random", even)
            + self._calibrated("random", even, like, today)
        )
        preferring = self._draw(prospects_of)
        yield self._by_heuristics("decisive", preferring) + self._calibrated(
            "decisive", preferring, like, today
        )
        for power in POWERS:
            drawn = self._draw(partial(prospects_of, power=power))
            some = self._by_heuristics("decisive", drawn, HEURISTICS[:1])
            yield [replace(one, power=power) for one in some if not one.gives_up]

    def _draw(self, foresee: Foresee | None) -> Drawn:
        return draw(
            self.past,
            self.found,
            limits=self.limits,
            foresee=foresee,
            rng=self.rng,
            repetitions=REPETITIONS,
        )

    def _by_heuristics(
        self, selector: str, drawn: Drawn, rules: Sequence[str] = HEURISTICS
    ) -> list[Tried]:
        tried = []
        for rule in rules:
            seen = walks(drawn, self.limits.min_judgments, partial(_stated, rule))
            for risk, give_up in self.terms:
                by = [(_anywhere(rule, risk), np.arange(len(drawn.known)))]
                ends = self._ends(drawn, seen, seen.statistics <= risk, by, give_up)
                tried.append(_tried((risk, give_up), selector, rule, ends))
        return tried

    def _sequential(self, drawn: Drawn) -> list[Ends]:
        """By terms."""
        levels = np.minimum(1.0, SIDES * np.array(self.risks))
        seen = walks(drawn, self.limits.min_judgments, _nothing)
        stops = np.stack(
            [
                _crossed(
                    drawn.preferences[walk, : seen.ends[walk]], spending, drawn.preferences.shape[1]
                )
                for walk, spending in enumerate(self._boundaries(drawn.known, levels))
            ]
        )
        stops &= np.isfinite(seen.statistics)[:, None]
        return [
            self._ends(
                drawn,
                seen,
                stops[:, self.risks.index(risk)],
                self._guaranteed(drawn, risk),
                give_up,
            )
            for risk, give_up in self.terms
        ]

    def _guaranteed(self, drawn: Drawn, risk: float) -> list[Ruled]:
        """The rule for each size of a pool."""
        return [
            (make_rule("sequential", risk=risk, items=items, limit=self.limits.max_judgments), np.flatnonzero(drawn.known == items))
            for items in np.unique(drawn.known).tolist()
        ]  # fmt: skip

    def _boundaries(self, known: Counts, levels: Floats) -> list[Spending]:
        """By walk; walks on as many items share one."""
        limit = self.limits.max_judgments
        made = {items: Spending(items, min(limit, items), levels) for items in set(known.tolist())}
        return [made[items] for items in known.tolist()]

    def _like(self, at: int) -> NDArray[np.int64]:
        """Which of the comparisons would have chosen the threshold of this one, were it new."""
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
        selector: str,
        drawn: Drawn,
        like: Sequence[NDArray[np.int64]],
        today: dict[Terms, Ends],
    ) -> list[Tried]:
        """Each comparison by the threshold that others like it choose; by today's default where these are too few."""
        seen = walks(drawn, self.limits.min_judgments)
        critical = critical_values(seen.statistics, seen.wrong).reshape(len(like), REPETITIONS)
        bounds = [bounds_of(critical[others]) for others in like]
        tried = []
        for (risk, give_up), instead in today.items():
            found = [one.below(risk) for one in bounds]
            enough = np.array([one is not None for one in found])
            thresholds = np.array([-np.inf if one is None else one for one in found])
            stops = seen.statistics < np.repeat(thresholds, REPETITIONS)[:, None]
            by = [
                (Calibrated(risk, one, ""), np.arange(REPETITIONS) + at * REPETITIONS)
                for at, one in enumerate(bounds)
            ]
            ends = None
            if enough.any():
                ends = self._ends(drawn, seen, stops, by, give_up).where(enough, instead)
            tried.append(
                _tried((risk, give_up), selector, CALIBRATED, ends, float(1 - enough.mean()))
            )
        return tried

    def _ends(
        self, drawn: Drawn, seen: Walks, stops: Flags, by: Iterable[Ruled], give_up: float | None
    ) -> Ends:
        """How comparisons end that stop at the first of `stops`, by the rules that say so, or that are given up before."""
        given_up = None if give_up is None else self._given_up(drawn, stops, by, give_up)
        return Ends(
            *(one.reshape(-1, REPETITIONS).mean(axis=1) for one in seen.ended(stops, given_up))
        )

    def _given_up(self, drawn: Drawn, stops: Flags, by: Iterable[Ruled], chance: float) -> Flags:
        """Where runs that have not stopped are given up: shape (walks, looks)."""
        found, least, limit = (
            np.zeros_like(stops),
            self.limits.min_judgments,
            self.limits.max_judgments,
        )
        looks = [look for look in range(LOOK_EVERY, stops.shape[1], LOOK_EVERY) if look >= least]
        for rule, those in by:
            giving_up = cache(partial(_unlikely, GivingUp(rule, chance, limit)))
            for look in looks:
                over = (stops | found)[those, :look].any(axis=1)
                for walk in those[~over & (drawn.known[those] > limit)]:
                    first = drawn.preferences[walk, :look]
                    wins, losses = int((first == 1).sum()), int((first == -1).sum())
                    found[walk, look - 1] = giving_up(wins, losses, look, int(drawn.known[walk]))
        return found


def _stated(rule: str, wins: Counts, losses: Counts, judged: Counts, items: Counts) -> Floats:
    """The risk that a heuristic rule states, worked out once for counts that are alike."""
    counts, place = np.unique(np.stack([wins, losses, judged, items]), axis=1, return_inverse=True)
    anywhere = _anywhere(rule, 1.0)
    values = np.array(
        [
            anywhere.risk(Tally(total, wins=(won, lost), ties=at - won - lost))
            for won, lost, at, total in counts.T.tolist()
        ]
    )
    found: Floats = values[place.ravel()]
    return found


def _anywhere(rule: str, risk: float) -> StoppingRule[Tally]:
    """A heuristic rule, which looks at the counts alone."""
    return make_rule(rule, risk=risk, items=0, limit=0)


def _unlikely(rule: GivingUp, wins: int, losses: int, judged: int, items: int) -> bool:
    tally = Tally(items, wins=(wins, losses), ties=judged - wins - losses)
    return rule.chance_to_decide(tally) < rule.chance


def _nothing(wins: Counts, losses: Counts, judged: Counts, items: Counts) -> Floats:
    """No statistic but where one may look."""
    del losses, judged, items
    return np.zeros(len(wins))


def _crossed(scores: NDArray[np.int8], spending: Spending, looks: int) -> Flags:
    """Where the rule `sequential` is met, for each of the levels: shape (levels, looks).

    That is where the sum of `scores` is on the side on which it first crossed the boundary.
    """
    met = np.zeros((len(spending.levels), looks), dtype=np.bool_)
    sums = np.cumsum(scores, dtype=np.int64)
    seen = min(MOST_BEFORE_LOOKING, len(scores))
    while True:
        crossed = np.abs(sums[:seen, None]) >= spending.barriers(scores[:seen] != 0)
        if seen == len(scores) or crossed.any(axis=0).all():
            break
        seen = min(2 * seen, len(scores))
    for level in np.flatnonzero(crossed.any(axis=0)):
        first = crossed[:, level].argmax()
        met[level, first : len(sums)] = np.sign(sums[first:]) == np.sign(sums[first])
    return met


def _tried(
    terms: Terms, selector: str, rule: str, ends: Ends | None, instead: float = 0.0
) -> Tried:
    risk, give_up = terms
    told = Tried(
        risk, selector, rule, gives_up=give_up is not None, instead=1.0 if ends is None else instead
    )
    if ends is None:
        return told
    judgments, wrong, undecided = map(_figure, (ends.judged, ends.wrong, ends.undecided))
    return replace(told, judgments=judgments, wrong=wrong, undecided=undecided)


def _figure(values: Floats) -> Figure:
    return Figure(float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5))
