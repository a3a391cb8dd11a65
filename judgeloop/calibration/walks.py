"""Replays past comparisons as arrays: draws items as a run would, and ends as a rule would.

Replayed are those that are exchangeable with a new comparison: only their errors say something
about its errors. Their selection reads which systems were compared and on how many items, and not
which was preferred: that would void the guarantee (`methods/stats/risk_control.py`).

Past preferences take the place of the judge's verdicts, so no judge is asked. The rules that end a
session also end these walks (`Rule.met_along_each`); a test checks that both agree.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.engine.session import Limits
from judgeloop.history.past import Pair, Past, prospects_of
from judgeloop.methods.selectors.decisive import decisive
from judgeloop.methods.stats.decisiveness import Prospects
from judgeloop.methods.stopping.calibrated import chances_not_to_win
from judgeloop.methods.stopping.rule import Rule

# Share of the items on which the verdicts of a comparison must be known. With fewer verdicts the
# winner over all items is not known. Besides, a run that stopped as soon as it was sure would look
# easier to decide than the comparisons to come.
NEARLY_ALL = 0.9


@dataclass(frozen=True, slots=True)
class Comparable:
    """The past comparisons that are exchangeable with the new comparison, as `rows` of the past.

    `sentence` describes them to users. `shared` is the system that takes part in all of them and in
    the new comparison: the other systems are exchangeable. It is None where no system takes part in
    two comparisons: then all systems are.

    All pairs among some systems would be more comparisons, but they are not exchangeable with the
    new pair: too many of the pairs of a new system with these systems are unknown. What can be
    proved for all pairs allows fewer errors than for half as many pairs that share no system, and
    it needed more judgments (docs/results).
    """

    rows: tuple[int, ...]
    sentence: str
    shared: str | None = None


def comparable(past: Past, pair: Pair, rng: np.random.Generator) -> Comparable:
    """Return the past comparisons for a new comparison of `pair`, from the case that has most.

    The choice of the case does not depend on which systems were preferred, which would void the
    guarantee. Only comparisons known on nearly all items count (`usable`).
    """
    rows = usable(past, pair)
    others = [row for row in rows if not set(past.pairs[row]) & set(pair)]
    cases = (*(_with_baseline(past, rows, name) for name in pair), _apart(past, others, rng))
    return max(cases, key=lambda case: len(case.rows))


def usable(past: Past, pair: Pair | None = None) -> list[int]:
    """Return the rows known on nearly all items, a single row per pair of systems, none of `pair`.

    Of several rows of the same two systems, the row known on most items is taken. Rows without a
    decisive verdict are left out: they name no winner, so that no run could have been wrong.
    """
    known = np.where((past.preferences != 0).any(axis=1), past.known.sum(axis=1), -1)
    by_known = np.argsort(known, kind="stable").tolist()
    enough = NEARLY_ALL * past.known.shape[1]
    best = {frozenset(past.pairs[row]): row for row in by_known if known[row] >= enough}
    best.pop(frozenset(pair or ()), None)
    return sorted(best.values())


def _with_baseline(past: Past, rows: Sequence[int], name: str) -> Comparable:
    own = tuple(row for row in rows if name in past.pairs[row])
    return Comparable(own, f"{_counted(own)} of {name} with others on nearly all items", name)


def _apart(past: Past, rows: Sequence[int], rng: np.random.Generator) -> Comparable:
    """Take pairs in random order, each if it shares no system with the pairs taken before."""
    taken: list[int] = []
    used: set[str] = set()
    for row in rng.permutation(np.array(rows, dtype=np.int64)).tolist():
        if not used & set(past.pairs[row]):
            used |= set(past.pairs[row])
            taken.append(row)
    return Comparable(tuple(sorted(taken)), f"{_counted(taken)} on nearly all items that share no system")


def _counted(rows: Sequence[int]) -> str:
    return f"{len(rows)} past comparison{'' if len(rows) == 1 else 's'}"


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
# The statistic of a rule, from the leader's wins and losses, the judgments, and the pool size.
Statistic = Callable[[Counts, Counts, Counts, Counts], Floats]
# Predicts how each item will be judged for a pair; None if the past prefers no item.
Foresee = Callable[[Pair], Prospects | None]


@dataclass(frozen=True, eq=False)
class Walks:
    """Repeated runs of past comparisons: what each run shows after each judgment.

    A walk is a single run; there are comparisons · repetitions walks.

    - `statistics`, shape (walks, looks): the statistic of the rule; infinite where no system leads
      or the rule does not look.
    - `wrong`, shape (walks, looks): whether the leader is not the winner over all known items.
      Equal systems have no winner.
    - `ends`, shape (walks,): the highest number of judgments.
    - `complete`, shape (walks,): whether the winner is then known with certainty.
    """

    statistics: Floats
    wrong: Flags
    ends: NDArray[np.int64]
    complete: Flags

    def ended(self, stops: Flags) -> tuple[Counts, Flags, Flags]:
        """Return judgments, wrong and undecided of each run, each of shape (walks,).

        A run names a system at its first look in `stops`, shape (walks, looks). Wrong means that a
        wrong system is named, and undecided that none is.
        """
        named, look = stops.any(axis=1), stops.argmax(axis=1)
        wrong = named & self.wrong[np.arange(len(look)), look]
        return np.where(named, look + 1, self.ends), wrong, ~named & ~self.complete


def replayed(
    past: Past, found: Comparable, *, limits: Limits, weighted: bool, rng: np.random.Generator, repetitions: int
) -> Walks:
    """Return runs of the comparisons on their known items, `repetitions` of each in sequence."""
    foresee = Foresight(past, found.shared) if weighted else None
    drawn = draw(past, found, limits=limits, foresee=foresee, rng=rng, repetitions=repetitions)
    return walks(drawn, limits.min_judgments)


@final
@dataclass(frozen=True, eq=False)
class Foresight:
    """What `past` says of the items for each of its pairs, as if that pair were new.

    The past is taken without the new systems of the pair: all but `shared`. The new systems of the
    pairs `together` with a pair are left out, too, so that one past serves all of them. Each past is
    computed once.
    """

    past: Past
    shared: str | None
    together: Mapping[Pair, Sequence[Pair]] = field(default_factory=dict)
    _found: dict[frozenset[str], Prospects | None] = field(default_factory=dict)

    def __call__(self, pair: Pair) -> Prospects | None:
        """Return the prospects for `pair`; None if the past prefers no item."""
        new = frozenset(chain(*self.together.get(pair, [pair]))) - {self.shared}
        if new not in self._found:
            self._found[new] = prospects_of(self._implied.without(*new), pair)
        return self._found[new]

    @cached_property
    def _implied(self) -> Past:
        return self.past.with_implied()


@dataclass(frozen=True, eq=False)
class Drawn:
    """Past comparisons with their items in the order drawn.

    `preferences` has the shape (walks, looks), with comparisons · repetitions walks; it is 0 after
    the last known item. `known`, shape (walks,), is the number of known items. `winners`, shape
    (walks,), is the winner over these: 1 for the first system, -1 for the second, 0 for none.
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
    """Draw the items of the comparisons, `repetitions` of each comparison in sequence.

    Draws are even if `foresee` is None, or if it prefers no item.
    """
    rows = list(found.rows)
    drawn = np.zeros((len(rows), repetitions, min(limits.max_judgments, past.known.shape[1])), dtype=np.int8)
    for at, row in enumerate(rows):
        positions = np.flatnonzero(past.known[row])
        foreseen = foresee and foresee(past.pairs[row])
        selector = decisive(foreseen and foreseen.at(positions))
        looks = min(drawn.shape[2], len(positions))
        preferences = past.preferences[row, positions]
        orders = selector.orders(preferences != 0, looks, repetitions, rng)
        drawn[at, :, :looks] = preferences[orders]
    known = past.known[rows]
    winners = np.sign(np.where(known, past.preferences[rows], 0).sum(axis=1, dtype=np.int64))
    return Drawn(
        drawn.reshape(-1, drawn.shape[2]), np.repeat(known.sum(axis=1), repetitions), np.repeat(winners, repetitions)
    )


def walks(drawn: Drawn, least: int, statistic: Statistic | None = None) -> Walks:
    """Return what the runs show at every look from `least` judgments on.

    The default `statistic` is the statistic of the rule `calibrated`.
    """
    wins = np.cumsum(drawn.preferences == 1, axis=1)
    losses = np.cumsum(drawn.preferences == -1, axis=1)
    looks = drawn.preferences.shape[1]
    judged, known = np.arange(1, looks + 1), drawn.known[:, None]
    looked = (wins != losses) & (judged >= least) & (judged <= known)
    leading, behind = np.maximum(wins, losses)[looked], np.minimum(wins, losses)[looked]
    at, items = (np.broadcast_to(counts, looked.shape)[looked] for counts in (judged, known))
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
    """Return `chance_not_to_win` of every entry, computed once for equal entries.

    The values are exactly those of the rule `calibrated`: both meet the same thresholds.
    """
    pools, pool = np.unique(items, return_inverse=True)
    base = int(judged.max(initial=0)) + 1  # above every count, so that a state is one number
    state = ((wins * base + losses) * base + judged) * len(pools) + pool.ravel()
    _, first, place = np.unique(state, return_index=True, return_inverse=True)
    states = (counts[first] for counts in (wins, losses, judged, items))
    found: Floats = chances_not_to_win(*states)[place.ravel()]
    return found


def met_along(rule_for: Callable[[int], Rule], drawn: Drawn, thresholds: Floats, least: int) -> Flags:
    """Return where a rule names a leader, shape (thresholds, walks, looks).

    `rule_for` makes the rule for a number of items. No system is named before `least` judgments.
    """
    met = np.zeros((len(thresholds), *drawn.preferences.shape), dtype=np.bool_)
    for items in np.unique(drawn.known).tolist():
        those, ends = drawn.known == items, min(drawn.preferences.shape[1], items)
        preferences = drawn.preferences[those, :ends]
        met[:, those, :ends] = rule_for(items).met_along_each(preferences, items, thresholds)
    met[:, :, : max(0, least - 1)] = False
    return met
