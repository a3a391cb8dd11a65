"""Past comparisons replayed over arrays: drawn as a run would draw them, and ended as a rule would end them.

It asks nobody: preferences of the past stand in for the judge's. The same rules end these walks as
end a session (`StoppingRule.met_along`); a test holds both to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.calibration.comparable import Comparable
from judgeloop.core.protocols import Selector, StoppingRule
from judgeloop.core.records import TIE, Tally, Verdict
from judgeloop.engine.session import Limits
from judgeloop.engine.walk import walk
from judgeloop.history.past import Pair, Past
from judgeloop.history.prospects import prospects_of
from judgeloop.selectors.decisive import decisive
from judgeloop.stats.decisiveness import Prospects
from judgeloop.stats.risk_control import Bounds, new_minima
from judgeloop.stopping.calibrated import chance_not_to_win
from judgeloop.stopping.giving_up import LOOK_EVERY, GivingUp
from judgeloop.stopping.rule import Rule

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
# The statistic of a rule, an array, from the wins and losses of the leader, the judgments, and the number of items.
Statistic = Callable[[Counts, Counts, Counts, Counts], Floats]
Foresee = Callable[[Past, Pair], Prospects | None]  # what a past says of the items for a pair
Ruled = tuple[StoppingRule[Tally], Counts]  # a rule, and the walks that it ends


@dataclass(frozen=True, eq=False)
class Walks:
    """Repeated runs of past comparisons, shape (comparisons · repetitions, looks): what is seen after so many judgments.

    `statistics` are those of the rule, infinite where nobody leads or one does not look; `wrong` says that the leader is not the winner
    of all known items, which between level systems nobody is. `ends` and `complete`, shape (walks,): how many judgments there are at
    most, and whether a winner is then known for certain.
    """

    statistics: Floats
    wrong: Flags
    ends: NDArray[np.int64]
    complete: Flags

    def at(self, risk: float, bounds: Bounds) -> Fared:
        """How the runs fared at the threshold that `bounds` set for this risk; monotone losses only bound this."""
        threshold = bounds.below(risk)
        judged, wrong, undecided = self.ended(
            self.statistics < (-np.inf if threshold is None else threshold)
        )
        return Fared(float(judged.mean()), float(wrong.mean()), float(undecided.mean()))

    def ended(self, stops: Flags, given_up: Flags | None = None) -> tuple[Counts, Flags, Flags]:
        """How each run ends that names a system at the first of its looks in `stops`, shape (walks, looks), unless it is `given_up` before.

        Its judgments, whether a wrong system was named, and whether none was; each shape (walks,).
        """
        ends = stops if given_up is None else stops | given_up
        ended, look = ends.any(axis=1), ends.argmax(axis=1)
        at = np.arange(len(look)), look
        named = stops[at]
        undecided = np.where(ended, ~named, ~self.complete)
        return np.where(ended, look + 1, self.ends), named & self.wrong[at], undecided

    def steps(self, walk: int) -> list[tuple[float, int, bool]]:
        """The path of a walk as a step function of the threshold: for every new minimum the statistic, judgments, and wrong or not."""
        found = np.flatnonzero(new_minima(self.statistics[walk : walk + 1])[0])
        return [
            (float(self.statistics[walk, at]), int(at) + 1, bool(self.wrong[walk, at]))
            for at in found
        ]


@dataclass(frozen=True, slots=True)
class Fared:
    """Means over runs: judgments, and the shares that named a wrong system or were out of judgments before any was named."""

    judgments: float
    wrong: float
    undecided: float


def replayed(
    past: Past,
    found: Comparable,
    *,
    limits: Limits,
    weighted: bool,
    rng: np.random.Generator,
    repetitions: int,
) -> Walks:
    """Runs of the comparisons, `repetitions` of each one after the other, on the items on which they are known."""
    foresee = prospects_of if weighted else None
    drawn = draw(past, found, limits=limits, foresee=foresee, rng=rng, repetitions=repetitions)
    return walks(drawn, limits.min_judgments)


@dataclass(frozen=True, eq=False)
class Drawn:
    """What past comparisons preferred in the order drawn, shape (comparisons · repetitions, looks), 0 after the last that is known.

    `known` says on how many items each is known at all, `winners` who wins on these: 1, -1, or 0 for nobody; shape (walks,).
    """

    preferences: NDArray[np.int8]
    known: Counts
    winners: Counts


def draw(
    past: Past,
    found: Comparable,
    *,
    limits: Limits,
    foresee: Foresee | None,
    rng: np.random.Generator,
    repetitions: int,
) -> Drawn:
    """Draws for the comparisons, `repetitions` of each one after the other; even ones where nothing says what to prefer."""
    rows = list(found.rows)
    more = past.with_implied() if foresee else past
    drawn = np.zeros(
        (len(rows), repetitions, min(limits.max_judgments, past.known.shape[1])), dtype=np.int8
    )
    for at, row in enumerate(rows):
        pair, positions = past.pairs[row], np.flatnonzero(past.known[row])
        foreseen = foresee(_without_new(more, pair, found.shared), pair) if foresee else None
        selector = decisive(foreseen and foreseen.at(positions))
        looks = min(drawn.shape[2], len(positions))
        for repetition in range(repetitions):
            drawn[at, repetition, :looks] = _walked(
                selector, past.preferences[row, positions], looks, rng
            )
    known = past.known[rows]
    winners = np.sign(np.where(known, past.preferences[rows], 0).sum(axis=1, dtype=np.int64))
    return Drawn(
        drawn.reshape(-1, drawn.shape[2]),
        np.repeat(known.sum(axis=1), repetitions),
        np.repeat(winners, repetitions),
    )


def _without_new(more: Past, pair: Pair, shared: str | None) -> Past:
    """What a selector would know that compares `pair`: the past without the systems that are new to it."""
    return more.without(*(name for name in pair if name != shared))


def _walked(
    selector: Selector[Any], preferences: NDArray[np.int8], looks: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """What the selector comes upon in its first `looks` draws, shape (looks,)."""
    labels = walk(
        selector,
        len(preferences),
        looks,
        lambda choice: _verdict(preferences[choice.position]),
        rng,
    )
    return preferences[[label.choice.position for label in labels]]


def _verdict(preference: np.int8) -> Verdict:
    return Verdict(TIE + float(preference) / 2)


def walks(drawn: Drawn, least: int, statistic: Statistic | None = None) -> Walks:
    """What is seen at every look from the one after `least` judgments on; by default with the statistic of `calibrated`."""
    wins = np.cumsum(drawn.preferences == 1, axis=1)
    losses = np.cumsum(drawn.preferences == -1, axis=1)
    looks = drawn.preferences.shape[1]
    judged, known = np.arange(1, looks + 1), drawn.known[:, None]
    looked = (wins != losses) & (judged >= least) & (judged <= known)
    leading, behind = np.maximum(wins, losses)[looked], np.minimum(wins, losses)[looked]
    at, items = (np.broadcast_to(one, looked.shape)[looked] for one in (judged, known))
    statistics = np.full(looked.shape, np.inf)
    statistics[looked] = (statistic or _chances)(leading, behind, at, items)
    ends = np.minimum(drawn.known, looks)
    return Walks(
        statistics,
        looked & (np.sign(wins - losses) != drawn.winners[:, None]),
        ends,
        (drawn.known == ends) & (drawn.winners != 0),
    )


def _chances(wins: Counts, losses: Counts, judged: Counts, items: Counts) -> Floats:
    """`chance_not_to_win` of every entry, worked out once for all that are alike: the very numbers that the rule meets."""
    states, place = np.unique(np.stack([wins, losses, judged, items]), axis=1, return_inverse=True)
    values = np.array([chance_not_to_win(*state) for state in states.T.tolist()])
    found: Floats = values[place.ravel()] if len(values) else np.zeros(0)
    return found


def met_along(
    rule_for: Callable[[int], Rule], drawn: Drawn, thresholds: Floats, least: int
) -> Flags:
    """Where a rule names a leader, shape (thresholds, walks, looks); `rule_for` makes it for a number of items.

    Nobody is named before `least` judgments.
    """
    walks_, looks = drawn.preferences.shape
    met = np.zeros((len(thresholds), walks_, looks), dtype=np.bool_)
    rule_of = cache(rule_for)
    for number, items in enumerate(drawn.known.tolist()):
        ends = min(looks, items)
        preferences = drawn.preferences[number, :ends]
        met[:, number, :ends] = rule_of(items).met_along(preferences, items, thresholds)
    met[:, :, : max(0, least - 1)] = False
    return met


def given_up(
    drawn: Drawn, stops: Flags, rules: Iterable[Ruled], chance: float, limits: Limits
) -> Flags:
    """Where runs that have not stopped are given up, by the rules that end them: shape (walks, looks)."""
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
