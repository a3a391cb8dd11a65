"""Past comparisons replayed as a new one would be run, and the rule `calibrated` that comes of their errors.

It asks nobody: verdicts of the past stand in for the judge's. Where the past comes from is the business of `jobs/` and `ledger/`; why
its errors bound the new comparison's, that of `stats/risk_control.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.protocols import Selector
from judgeloop.core.records import TIE, Verdict
from judgeloop.engine.session import Limits
from judgeloop.engine.walk import walk
from judgeloop.history.past import Pair, Past
from judgeloop.selectors.decisive import decisive, prospects_of
from judgeloop.stats.decisiveness import Prospects
from judgeloop.stats.risk_control import (
    bounds_of,
    critical_values,
    fewest_comparisons,
    new_minima,
    risk_bound,
)
from judgeloop.stopping.calibrated import Calibrated, chance_not_to_win

REPETITIONS = 10
# Of the pool's items: who won has to be known. A run that stopped when it was sure enough is left out for another reason too, it would
# seem easier to decide than those to come.
NEARLY_ALL = 0.9

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
# The statistic of a rule, an array, from the wins and losses of who leads, the judgments, and the items that there are.
Statistic = Callable[[Counts, Counts, Counts, Counts], Floats]
Foresee = Callable[
    [Past, Pair], Prospects | None
]  # what a past says of the items when a pair is compared after it


class Case(enum.StrEnum):
    """Why past comparisons are taken to be exchangeable with the new one.

    All pairs among some systems are more, but not exchangeable: of those that the new pair makes with them too many are unknown. What can
    be proved for them allows fewer errors than for half as many pairs that share no system, and needed more judgments (docs/results.md).
    """

    BASELINE = "baseline"  # one system takes part in all of them; the others are alike
    APART = "apart"  # all systems are alike, and none takes part in two of them


@dataclass(frozen=True, slots=True)
class Comparable:
    """The past comparisons that the new one is like, as rows of the past, and in what way; `sentence` is for people.

    `shared` is the system that takes part in all of them and in the new one.
    """

    case: Case
    rows: tuple[int, ...]
    sentence: str
    shared: str | None = None


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

    def at(self, risk: float, rule: Calibrated) -> Fared:
        """How the runs fared at the rule's threshold for this risk; monotone losses only bound this."""
        threshold = rule.bounds.below(risk)
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


@dataclass(frozen=True, eq=False)
class Calibration:
    """The rule that the past chose, the comparisons it rests on, and how they went."""

    rule: Calibrated
    comparable: Comparable
    walks: Walks

    @property
    def past(self) -> Fared:
        """How the past comparisons would have fared with the rule."""
        return self.walks.at(self.rule.threshold, self.rule)


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
    return Calibration(Calibrated(risk, bounds_of(critical), found.sentence), found, walks)


def comparable(past: Past, pair: Pair, rng: np.random.Generator) -> Comparable:
    """The past comparisons that a new one of `pair` is like: whichever case has most of them.

    That does not depend on what was preferred, or the choice would spoil the promise. They have to be known on nearly all items; of
    several comparisons of the same two systems the one known on most counts.
    """
    rows = usable(past, pair)
    others = [row for row in rows if not set(past.pairs[row]) & set(pair)]
    cases = (*(_with_baseline(past, rows, name) for name in pair), _apart(past, others, rng))
    return max(cases, key=lambda one: len(one.rows))


def usable(past: Past, pair: Pair | None = None) -> list[int]:
    """Rows that are known on nearly all items, one for each two systems, without those of `pair`.

    Where not a single verdict was decisive, nobody could have been wrong: such a comparison teaches nothing, and does not count.
    """
    known = np.where((past.preferences != 0).any(axis=1), past.known.sum(axis=1), -1)
    by_known = np.argsort(known, kind="stable").tolist()
    enough = NEARLY_ALL * past.known.shape[1]
    best = {frozenset(past.pairs[row]): row for row in by_known if known[row] >= enough}
    best.pop(frozenset(pair or ()), None)
    return sorted(best.values())


def _with_baseline(past: Past, rows: Sequence[int], name: str) -> Comparable:
    own = tuple(row for row in rows if name in past.pairs[row])
    return Comparable(
        Case.BASELINE, own, f"{_counted(own)} of {name} with others on nearly all items", name
    )


def _apart(past: Past, rows: Sequence[int], rng: np.random.Generator) -> Comparable:
    """Pairs in a random order, each taken if it shares no system with those before."""
    taken: list[int] = []
    used: set[str] = set()
    for row in rng.permutation(np.array(rows, dtype=np.int64)).tolist():
        if not used & set(past.pairs[row]):
            used |= set(past.pairs[row])
            taken.append(row)
    return Comparable(
        Case.APART,
        tuple(sorted(taken)),
        f"{_counted(taken)} on nearly all items that share no system",
    )


def _counted(rows: Sequence[int]) -> str:
    return f"{len(rows)} past comparison{'' if len(rows) == 1 else 's'}"


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
