"""Every selector and rule on the same past comparisons, replayed as if each were new.

Nothing is read here; which comparisons these are is the business of `jobs/calibrate.py`, and how one is replayed that of
`calibrating.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from judgeloop.calibrating import (
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
from judgeloop.past import Past
from judgeloop.records import Tally
from judgeloop.report.calibration_text import CALIBRATED, Figure, Tried
from judgeloop.selectors.decisive import prospects_of
from judgeloop.session import Limits
from judgeloop.stats.risk_control import bounds_of, critical_values
from judgeloop.stats.spending import Spending
from judgeloop.stopping import make_rule
from judgeloop.stopping.sequential import SIDES

REPETITIONS = 10
HEURISTICS = ("tie-aware", "hypergeometric")
POWERS = (0.5, 1.0, 2.0)
MOST_BEFORE_LOOKING = 25  # draws of a walk for which a boundary is worked out at once


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

    @property
    def ways(self) -> int:
        """How many parts `all_tried` comes in."""
        return 2 + len(POWERS)

    def all_tried(self) -> Iterator[list[Tried]]:
        """By way of drawing, in the order of the table."""
        even = self._draw(None)
        today = dict(zip(self.risks, self._sequential(even), strict=True))
        like = [self._like(at) for at in range(len(self.found.rows))]
        first = [_tried(risk, "random", "sequential", ends) for risk, ends in today.items()]
        yield first + self._by_heuristics("random", even) + self._calibrated("random", even, like, today)
        preferring = self._draw(prospects_of)
        yield self._by_heuristics("decisive", preferring) + self._calibrated(
            "decisive", preferring, like, today
        )
        for power in POWERS:
            drawn = self._draw(partial(prospects_of, power=power))
            some = self._by_heuristics("decisive", drawn, HEURISTICS[:1])
            yield [replace(one, power=power) for one in some]

    def _draw(self, foresee: Foresee | None) -> Drawn:
        return draw(
            self.past, self.found, limits=self.limits, foresee=foresee, rng=self.rng, repetitions=REPETITIONS
        )

    def _by_heuristics(self, selector: str, drawn: Drawn, rules: Sequence[str] = HEURISTICS) -> list[Tried]:
        tried = []
        for rule in rules:
            seen = walks(drawn, self.limits.min_judgments, partial(_stated, rule))
            tried += [
                _tried(risk, selector, rule, _ends(seen, seen.statistics <= risk)) for risk in self.risks
            ]
        return tried

    def _sequential(self, drawn: Drawn) -> list[Ends]:
        """By risk."""
        levels = np.minimum(1.0, SIDES * np.array(self.risks))
        seen = walks(drawn, self.limits.min_judgments, _nothing)
        stops = np.stack(
            [
                _crossed(drawn.preferences[walk, : seen.ends[walk]], spending, drawn.preferences.shape[1])
                for walk, spending in enumerate(self._boundaries(drawn.known, levels))
            ]
        )
        return [_ends(seen, stops[:, at] & np.isfinite(seen.statistics)) for at in range(len(levels))]

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
            tuple(self.past.pairs[row] for row in rows), self.past.preferences[rows], self.past.known[rows]
        )
        pair = replayed.pairs[at]
        apart = np.flatnonzero(replayed.apart_from(*pair))
        return apart[list(comparable(replayed.without(*pair), pair, self.rng).rows)]

    def _calibrated(
        self, selector: str, drawn: Drawn, like: Sequence[NDArray[np.int64]], today: dict[float, Ends]
    ) -> list[Tried]:
        """Each comparison by the threshold that others like it choose; by today's default where these are too few."""
        seen = walks(drawn, self.limits.min_judgments)
        critical = critical_values(seen.statistics, seen.wrong).reshape(len(like), REPETITIONS)
        bounds = [bounds_of(critical[others]) for others in like]
        tried = []
        for risk, instead in today.items():
            found = [one.below(risk) for one in bounds]
            enough = np.array([one is not None for one in found])
            thresholds = np.array([-np.inf if one is None else one for one in found])
            stops = seen.statistics < np.repeat(thresholds, REPETITIONS)[:, None]
            ends = _ends(seen, stops).where(enough, instead) if enough.any() else None
            tried.append(_tried(risk, selector, CALIBRATED, ends, float(1 - enough.mean())))
        return tried


def _stated(rule: str, wins: Counts, losses: Counts, judged: Counts, items: Counts) -> Floats:
    """The risk that a heuristic rule states, worked out once for counts that are alike."""
    counts, place = np.unique(np.stack([wins, losses, judged, items]), axis=1, return_inverse=True)
    anywhere = make_rule(rule, risk=1.0, items=0, limit=0)  # a heuristic looks at the counts alone
    values = np.array(
        [
            anywhere.risk(Tally(total, wins=(won, lost), ties=at - won - lost))
            for won, lost, at, total in counts.T.tolist()
        ]
    )
    found: Floats = values[place.ravel()]
    return found


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


def _ends(seen: Walks, stops: Flags) -> Ends:
    by_comparison = [one.reshape(-1, REPETITIONS).mean(axis=1) for one in seen.ended(stops)]
    return Ends(*by_comparison)


def _tried(risk: float, selector: str, rule: str, ends: Ends | None, instead: float = 0.0) -> Tried:
    if ends is None:
        return Tried(risk, selector, rule, instead=1.0)
    judgments, wrong, undecided = map(_figure, (ends.judged, ends.wrong, ends.undecided))
    return Tried(risk, selector, rule, judgments=judgments, wrong=wrong, undecided=undecided, instead=instead)


def _figure(values: Floats) -> Figure:
    return Figure(float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5))
