"""Which system is better in each group of items, whatever decides which group is looked at next.

Takes the groups of the items and the labels in the order asked. Returns the system named in each
group, bounds for its gap, and the choices that would soonest name one more.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist
from typing import Generic, NamedTuple, TypeVar, cast, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import Observed, Tally, WithProxy, scores_of
from judgeloop.core.records import UNLIMITED, Abstention, Choice, Label
from judgeloop.methods.stats.betting import Bettor
from judgeloop.methods.stats.corrected import Aside, Slope
from judgeloop.methods.stats.predictive import ItemsToDecide, items_to_decide
from judgeloop.methods.stats.spending import Course, Spending
from judgeloop.methods.stopping.rule import gap_bounds, with_seen

# What is spent of a level after a share of a group's items is that share to this power. A group is
# small, and most groups are named late or never: ½, as for all items, finds fewer.
SHAPE = 1.0
SLACK = 1.13
G = TypeVar("G", bound=Hashable)
Null = tuple[G, int]  # that this system is not the better one in this group


@final
class Walk:
    """The evidence about items like a group's: a boundary for each level, for the lead.

    The p-value is the smallest level at which, and at every larger level, the lead has first
    crossed the boundary on this side. A boundary of level a is crossed first on the wrong side with
    a chance of at most a (`methods/stats/spending.py`), so the p-value is at most a with no
    more; and the events are nested, as Holm's proof needs. The methods are those of `BetPair`.
    """

    def __init__(self, items: int, levels: NDArray[np.float64]) -> None:
        """`levels` are ascending, shape (levels,)."""
        both = np.minimum(1.0, 2 * levels)
        self._levels, self._course = levels, Course(Spending(UNLIMITED, items, both, SHAPE))

    def follow(self, observed: Observed) -> None:
        """Go on by one verdict: 1, 0, -1, or None for an abstention, which counts against both."""
        self._course.follow(cast("int | None", observed))  # of a single item, by the judge alone

    def risk(self, side: int) -> float:
        """The p-value of the null that `side` is not the better system."""
        return self._risk(self._course.sides[side])

    def risk_after(self, side: int, score: int, scored: int) -> float:
        """`risk` after so many further verdicts with this score of `side`."""
        winner = side if score > 0 else 1 - side
        return self._risk(self._course.sides_with(side, winner, scored))

    def _risk(self, sides: NDArray[np.int64]) -> float:
        crossed = int(np.logical_and.accumulate(sides[::-1] > 0).sum())
        return float(self._levels[-crossed]) if crossed else 1.0


@final
class BetPair:
    """The evidence about the items of a group themselves: a bettor for each system, that it is the better one.

    The p-value is 1 divided by the largest wealth so far. The time of each method does not depend on the number of
    verdicts so far.
    """

    def __init__(self, items: int) -> None:
        self._bettors = [Bettor(items) for _ in (0, 1)]
        self._slope, self._most = Slope(), 0.0  # of a proxy's verdicts, and the most that one may take off a score
        # The bettors after further verdicts, by the side of the bettor and the score of each verdict.
        self._ahead: dict[tuple[int, int], list[Bettor]] = {}

    def follow(self, observed: Observed) -> None:
        """Go on by one verdict: 1, 0, -1, or None for an abstention, which each side loses; or with its control."""
        control, most = 0.0, [0.0, 0.0]
        if isinstance(observed, WithProxy):
            aside, slope = Aside(*observed.proxy), self._slope
            control, most = float(aside.control(slope.value)), [float(one) for one in aside.most(slope.value)]
            self._slope = slope if observed.observed is None else slope.after(observed.observed, aside.cheap)
            self._most = 2 * float(self._slope.value)
        scores = scores_of(observed)
        for side, sign in enumerate((1, -1)):
            self._bettors[side] = self._bettors[side].after(scores[side], sign * control, most[side])
        self._ahead.clear()

    def risk(self, side: int) -> float:
        """The p-value of the null that `side` is not the better system."""
        return self._bettors[side].risk

    def risk_after(self, side: int, score: int, scored: int) -> float:
        """`risk` after so many further verdicts with this score of `side`, which no proxy foresees."""
        known = self._ahead.setdefault((side, score), [self._bettors[side]])
        while len(known) <= scored:
            known.append(known[-1].after(score, -self._most, self._most))
        return known[scored].risk


class GroupFinding(NamedTuple):
    """What is shown of a group: the better system, 0 or 1, or None.

    `interval` bounds its gap, first minus second. `more` is how many of its items would further be
    needed, roughly; None if a system is named, or none is ahead.
    """

    better: int | None
    interval: tuple[float, float]
    more: ItemsToDecide | None


@final
@dataclass
class ByGroup(Generic[G]):
    """Tests two nulls in each of G groups, with Holm's procedure (1979) at `risk`.

    **Theorem.** The groups are fixed before any verdict. In each, an order of the items is drawn
    beforehand: uniform, or the items are themselves independent draws. For each null h let p_h(n),
    from the first n verdicts of its group, be such that P(p_h(n) ≤ a for some n) ≤ a if h is true.
    Let n_g(t) be any numbers of known verdicts: chosen by all verdicts so far, by costs, the clock or
    another rule's end. Apply Holm to the smallest p_h so far, at every t. Then a true null is ever
    rejected with a chance of at most the risk.

    Proof. Let m true nulls be given. When the first of them is rejected, all rejected before are
    false, and it is rejected at a level of at most risk / m: p_h(n) ≤ risk / m for some n and a
    true h. By the union bound that has a chance of at most the risk. Independence, predictability
    and stopping are not used: the choice of a group only says how far one looks along a sequence
    that was there before. ∎

    So the next item *of a group* must not be chosen by texts or verdicts, orders are not drawn
    again, an item is not dropped after its verdict (an abstention counts against both systems), and
    groups are not formed from verdicts.

    Not the better one: the null of a system holds where the two are level, too. Of like items
    (`sampled`) the p-values are those of `Walk`, for a limit of all the group's items; of these
    items, 1 / the largest wealth of bets (`methods/stats/betting.py`).

    With the verdicts of a `proxy` on all these items bets take off what it foresees (theorem 1 of
    `methods/stats/corrected.py`): a group's items come in a uniform order, and the slope is that of its own labels, so
    that the p-values are again those of a sequence that was there before.

    `groups` are those of the items that may be judged, by position.
    """

    groups: Mapping[int, G]
    risk: float
    sampled: bool
    proxy: Mapping[int, float] | None = None
    _preferences: dict[G, list[Observed]] = field(init=False)
    _evidence: dict[G, Walk | BetPair] = field(init=False)
    _followed: int = 0

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, before any label."""
        self._preferences = {group: [] for group in self.sizes}
        self._evidence = {
            group: Walk(size, self.levels) if self.sampled else BetPair(size) for group, size in self.sizes.items()
        }
        self._followed = 0

    @cached_property
    def sizes(self) -> Counter[G]:
        """The number of items of each group."""
        return Counter(self.groups.values())

    @cached_property
    def levels(self) -> NDArray[np.float64]:
        """The levels of Holm's steps, ascending, shape (2 groups,)."""
        levels: NDArray[np.float64] = self.risk / np.arange(2 * len(self.sizes), 0, -1)
        return levels

    def follow(self, labels: Sequence[Label]) -> None:
        """Go on to all `labels`, in the order asked; those of before are among them."""
        for label in labels[self._followed :]:
            group, answer = self.groups[label.choice.position], label.answer
            preference = None if isinstance(answer, Abstention) else answer.preference
            observed: Observed = preference
            if self.proxy is not None:
                observed = WithProxy(preference, self._said_by_proxy(group, self.proxy[label.choice.position]))
            self._preferences[group].append(observed)
            self._evidence[group].follow(observed)
        self._followed = len(labels)

    def _said_by_proxy(self, group: G, verdict: float) -> tuple[float, float, int]:
        """What is known beside the next label of a group: the mean of the proxy's verdicts that are left, too."""
        assert self.proxy is not None, "there are some"
        before = self._preferences[group]
        if before and isinstance(last := before[-1], WithProxy):
            rest = last.proxy[1] * (self.sizes[group] - len(before) + 1) - last.proxy[0]
        else:
            rest = sum(self.proxy[place] for place, own in self.groups.items() if own == group)
        return verdict, min(1.0, max(-1.0, rest / (self.sizes[group] - len(before)))), 0

    def rejected(self) -> set[Null[G]]:
        """The nulls that Holm's procedure rejects now."""
        risks = [
            (found.risk(side), number, side) for number, found in enumerate(self._evidence.values()) for side in (0, 1)
        ]
        names, rejected = list(self._evidence), set[Null[G]]()
        for level, (risk, number, side) in zip(self.levels, sorted(risks), strict=True):
            if risk > level:
                break
            rejected.add((names[number], side))
        return rejected

    def ask(self, left: Iterable[Choice]) -> tuple[Choice, ...]:
        """The next choices of the open group that is nearest to a name; () without one.

        They are as many as could name a system. `left` are all choices not asked yet, in the order
        drawn.
        """
        needed = self._open()
        if not needed:
            return ()
        nearest = min(needed, key=lambda group: needed[group])
        own = {place for place, group in self.groups.items() if group == nearest}
        choices = (choice for choice in left if choice.position in own)
        return tuple(choice for choice, _ in zip(choices, range(needed[nearest]), strict=False))

    @property
    def left(self) -> int:
        """The number of items without a verdict in the open groups that could still get a name."""
        return sum(self.sizes[group] - len(self._preferences[group]) for group in self._open())

    def _open(self) -> dict[G, int]:
        """The fewest further verdicts that could name a system, of each open group with any."""
        rejected = self.rejected()
        level, named = float(self.levels[min(len(rejected), len(self.levels) - 1)]), dict(rejected)
        return {
            group: found
            for group in self.sizes
            if group not in named and (found := self._needed(group, level)) is not None
        }

    def _needed(self, group: G, level: float) -> int | None:
        """The fewest further verdicts that could name a system; None if none could."""
        found, left = self._evidence[group], self.sizes[group] - len(self._preferences[group])
        for wins in range(1, left + 1):
            if any(found.risk_after(side, 1, wins) <= level for side in (0, 1)):
                return wins
        return None

    def gap_found(self, items: int, decisive: float) -> float | None:
        """The smallest gap that a group of like items shows in 90 % of the runs, roughly.

        After all `items`, of which a share `decisive` are no ties, the lead is about normal with a
        variance of that number; the boundary of the first level is its quantile, and SLACK of it what
        earlier looks cost (benchmarks/by_group.py). None for these items: judged whole, they show any gap.
        """
        if not self.sampled:
            return None
        found = SLACK * NormalDist().inv_cdf(1 - float(self.levels[0])) + NormalDist().inv_cdf(0.9)
        return min(1.0, found * math.sqrt(decisive / items))

    def findings(self) -> dict[G, GroupFinding]:
        """What is shown of each group.

        All intervals hold at once with a chance of at least 1 - `risk`. A group with both systems
        rejected is open, and the interval of an open group reaches 0.
        """
        rejected = self.rejected()
        better = {group: [side for side in (0, 1) if (group, side) in rejected] for group in self.sizes}
        return {
            group: self._finding(group, sides[0] if len(sides) == 1 else None, len(rejected))
            for group, sides in better.items()
        }

    def _finding(self, group: G, better: int | None, rejected: int) -> GroupFinding:
        items, observed = self.sizes[group], self._preferences[group]
        preferences = [one.observed if isinstance(one, WithProxy) else one for one in observed]
        tally = Tally(
            items,
            wins=(preferences.count(1), preferences.count(-1)),
            ties=preferences.count(0),
            abstentions=preferences.count(None),
            preferences=tuple(observed),
        )
        population = UNLIMITED if self.sampled else items
        bounds = gap_bounds(tally, population, float(self.levels[0]))
        low, high = with_seen(bounds, tally.gap) or (-1.0, 1.0)
        if better is None:
            left = float(self.levels[min(rejected, len(self.levels) - 1)])
            return GroupFinding(None, (min(low, 0.0), max(high, 0.0)), _more(tally, left))
        cut = (max(low, 0.0), max(high, 0.0)) if better == 0 else (min(low, 0.0), min(high, 0.0))
        return GroupFinding(better, cut, None)


def _more(tally: Tally, level: float) -> ItemsToDecide | None:
    """How many further items of a group would name its leader at `level`, roughly."""
    decisive = sum(tally.wins)
    if not decisive:
        return None
    lead = abs(tally.wins[0] - tally.wins[1]) - tally.abstentions
    boundary = SLACK * NormalDist().inv_cdf(1 - level)
    return items_to_decide(tally.judged, lead / decisive**0.5, boundary)
