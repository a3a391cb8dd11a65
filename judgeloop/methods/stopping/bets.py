"""The guaranteed rule for two systems: bets that narrow an interval of the gap, off which every answer is read.

It reads a tally of verdicts. `methods/stats/hedged.py` has the bets and their theorem; that all answers read off one
interval hold at its risk is the theorem of `methods/stats/confidence_sequence.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.memory import Growing, IncrementalState
from judgeloop.core.outcomes import Observed, StopKind, StopReason, Tally, WithProxy, scores_of
from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.corrected import Aside, Slope
from judgeloop.methods.stats.hedged import HedgedBets, Limits, Numbers, boundary_at_the_end
from judgeloop.methods.stats.predictive import ItemsToDecide, chance_to_reach, items_to_decide
from judgeloop.methods.stopping.rule import (
    Rule,
    asked,
    at_most,
    controls_of,
    far_behind,
    in_order,
    points,
    scores_for,
    share_skipped,
    verdicts_of,
)

NEAR = 2  # in the place of a system: both are nearly equal
GROWS = 0.3  # by so much the slope of a proxy may grow in the labels that are asked at once
REPLAYS, ALIKE = 1500, 100  # of a forecast: 19 in 20 of its shares are right within 3 points
REPLAYS_OF_A_LOOK, ALIKE_THERE = 400, 50  # of the many looks at one run whether it is worth going on: within 5 points
SEED = 1
LOOKED_AT = 64  # draws that are imagined at once: as many as are usually asked ahead
OBSERVED = (1, 0, -1, None)  # what may come of an item
LONGER = 8  # a plan for more judgments is tried with this part more of them
SINGLY = 200  # the draws of runs that are followed one by one; of longer ones one more at once after each `ALIKE`


class Outlook(NamedTuple):
    """What a run is likely to do: the mean number of judgments, and the shares that end with each answer."""

    judgments: float
    first: float
    second: float
    near: float = 0.0

    @property
    def none(self) -> float:
        """The share without an answer."""
        return max(0.0, 1 - self.first - self.second - self.near)


@final
@dataclass(frozen=True)
class Bets(Rule):
    """Names a system, or another answer, once bets have ruled out what speaks against it; guaranteed for random draws.

    The gap is the mean score of a system: 1 for an item that it wins, -1 for one that it loses. Bets against "the gap
    of this system is at most m" reach 1/`threshold` with a chance of at most the threshold if that is true. What is
    asked says which m, the *nulls*, end the run:

    - a winner: 0, for both systems.
    - `min_gap` g: -g, for both. A system that is named is better, or less than g behind the other.
    - `not_worse` M: -M for the second system, which then passes; 0 for the first, and the second fails. If the second
      is worse by less than M both answers are true, and either may be given.
    - `near_tie` m, beside a winner: -m, for both. If both fall, the gap is within m of zero.

    With `read_once` the bounds are read at the end alone: then the bets for one system go on where those for the other
    have shown what they were for. An abstention scores -1 for both systems. `items` is the number of items of the
    population, `core.records.UNLIMITED` for items like these. The stakes aim at an end after `limit` judgments. They
    are fixed before each draw, and the risk does not depend on them, so it holds at every look.

    So the limit of a run that has not ended may be another one from its next draw on. `limits` are then all that held,
    and `limit` is the last of them.
    """

    items: int
    limit: int
    min_gap: float | None = None
    not_worse: float | None = None
    near_tie: float | None = None
    read_once: bool = False
    limits: Limits = ()
    name: str = "bets"
    needs_draws: bool = True

    @property
    def gap_asked(self) -> float | None:
        """The gap that the question is about; None for a winner."""
        return self.min_gap if self.not_worse is None else self.not_worse

    @property
    def goes_on(self) -> bool:
        """Whether more judgments than the limit can decide, by another test."""
        return self.gap_asked is None

    @property
    def expects_lead(self) -> bool:
        """Whether who asks expects a system to be ahead."""
        return self.not_worse is None

    @property
    def guarantee(self) -> str:
        """What the risk asked for promises."""
        chance, most = at_most(self.threshold), f"with random draws and at most {self.most} judgments"
        if self.not_worse is not None:
            return (
                f"{most}, the chance of ever passing a second system that is worse by {points(self.not_worse)} or more "
                f"is {chance}, and so is that of ever failing one that is not worse, however often results are checked"
            )
        worse = "the worse system"
        if self.min_gap is not None:
            worse = f"a system {far_behind(self.min_gap)}"
        return f"{most}, the chance of ever naming {worse} is {chance}, however often results are checked"

    @property
    def most(self) -> int:
        """The most judgments: the limit, or all items."""
        return min(self.limit, self.items)

    @cached_property
    def begin(self) -> tuple[HedgedBets, ...]:
        """The bets before the first draw, in ascending order of the nulls; in each both systems, in their order."""
        asked_for: list[tuple[Sequence[float], float]]
        if self.not_worse is not None:
            asked_for = [((0.0, -self.not_worse), self.not_worse / 2)]
        elif self.min_gap is not None:
            asked_for = [((-self.min_gap, -self.min_gap), self.min_gap)]
        else:
            near = [((-self.near_tie, -self.near_tie), self.near_tie / 2)] if self.near_tie else []
            asked_for = [*near, ((0.0, 0.0), 0.0)]
        first, then = self._plan
        return tuple(
            HedgedBets(
                self.threshold,
                np.array(nulls),
                first,
                self._items,
                zone=0.0 if self.read_once else zone,
                of_grid=self.read_once and any(nulls),
                then=then,
            )
            for nulls, zone in asked_for
        )

    @property
    def _plan(self) -> tuple[int, Limits]:
        """The first limit, and those that replaced it."""
        (_, first), *then = self.limits or ((0, self.limit),)
        return min(first, self.items), tuple((drawn, min(limit, self.items)) for drawn, limit in then)

    @property
    def since(self) -> int:
        """The draws that were asked before its last limit held: the run had not ended when it asked them."""
        return self.limits[-1][0] if self.limits else 0

    @property
    def _items(self) -> float:
        return math.inf if self.items >= UNLIMITED else float(self.items)

    def is_met(self, tally: Tally) -> bool:
        """Whether the leader of `tally` is named; of "not worse" only the first, and then the second is worse."""
        if tally.leader is None or (self.not_worse is not None and tally.leader == 1):
            return False
        return bool(_shown(self._bets(tally))[-1, tally.leader])

    def no_difference(self, tally: Tally) -> bool:
        """Whether the gap is shown to be within `near_tie` of zero."""
        return self.near_tie is not None and bool(_shown(self._bets(tally))[0].all())

    def risk(self, tally: Tally) -> float:
        """The risk of an answer that is given: the threshold; 1 without one."""
        answered = self.is_met(tally) or self._passes(tally) or self.no_difference(tally)
        return self.threshold if answered else 1.0

    def reason_to_stop(self, tally: Tally) -> StopReason | None:
        """Why to stop: what was asked is shown, or no verdicts within the limit can show it any more."""
        bounds = f"at a risk of {self.threshold:g} the bounds of the gap exclude"
        if self.is_met(tally):
            out = "0" if self.min_gap is None else f"that the other one is better by {points(self.min_gap)} or more"
            return StopReason(StopKind.RISK_MET, f"{bounds} {out}")
        if self._passes(tally):
            out = f"that the second system is worse by {points(self.not_worse or 0.0)} or more"
            return StopReason(StopKind.NOT_WORSE, f"{bounds} {out}")
        return super().reason_to_stop(tally)

    def _passes(self, tally: Tally) -> bool:
        return self.not_worse is not None and bool(_shown(self._bets(tally))[-1, 1])

    def can_be_met(self, tally: Tally, unknown: int) -> bool:
        """As `Rule.can_be_met`: nothing is better for an answer than wins of its side, or for "nearly equal" ties."""
        # All to there was asked. Under the limit of now it may look as if the rule could not be met.
        if asked(tally) < self.since:
            return True
        following = self._followed_by(tally)
        shown = _shown(following.bets)
        if shown[-1].any() or any(following.wins.needs(-1, side, unknown) for side in (0, 1)):
            return True
        return self.near_tie is not None and (shown[0].all() or following.levelled(tally).fall(0, unknown))

    def chance(self, tally: Tally, more: int) -> float:
        """As `Rule.chance`; of both nulls of a near-tie at most as probable as the less probable one."""
        found = sum(self._falls(tally, -1, side, more) for side in (0, 1))
        if self.near_tie is not None:
            found += min(self._falls(tally, 0, side, more) for side in (0, 1))
        return min(1.0, found)

    def _falls(self, tally: Tally, at: int, side: int, more: int) -> float:
        """How probable it is that a side's null falls: that the lead over it grows to what wins alone would take."""
        following = self._followed_by(tally)
        if _shown(following.bets)[at, side]:
            return 1.0
        null = float(np.broadcast_to(self.begin[at].null, 2)[side])
        wins = following.wins.needs(at, side, more)
        counts = tally.wins[side], tally.wins[1 - side], tally.judged
        return chance_to_reach(*counts, more, wins * (1 - null), -null) if wins else 0.0

    def chance_at_the_end(self, tally: Tally, within: int) -> float:
        """As `Rule.chance_at_the_end`, by simulation from the wealth and the shares so far."""
        first, second = tally.wins
        found = self._simulated(self._bets(tally), (first, tally.ties, second), within, asked(tally), spread=True)
        return 1 - found.none

    def outlook(self, gap: float, ties: float) -> Outlook:
        """What a run does whose verdicts have this gap, first minus second, and this share of ties: by simulation."""
        return _outlook(replace(self, limits=()), round(gap, 4), round(ties, 4))

    def _simulated(
        self, begin: Sequence[HedgedBets], shares: tuple[float, float, float], within: int, drawn: int, *, spread: bool
    ) -> Outlook:
        """Follow runs for at most `within` draws of these `shares`; `spread` by what is not known of them."""
        rng = np.random.default_rng(SEED)
        runs, alike = (REPLAYS_OF_A_LOOK, ALIKE_THERE) if spread else (REPLAYS, ALIKE)
        within = max(0, min(within, self.most - drawn))
        chances = rng.dirichlet(np.array(shares) + (1.0 if spread else 0.0) + 1e-9, runs)
        if not spread:
            chances = np.tile(np.array(shares) / sum(shares), (runs, 1))
        left = self.items - drawn if self.items < UNLIMITED else within
        if spread:
            counts = np.array([rng.multinomial(left, chance) for chance in chances])
        else:  # the whole pool has these shares
            counts = np.tile(_whole(np.array(shares) / sum(shares) * left), (runs, 1))
            counts = np.array([rng.multinomial(left, one) for one in chances]) if self.items >= UNLIMITED else counts
        scores = np.array([1, 0, -1], dtype=np.int8)
        draws = np.array([rng.permutation(np.repeat(scores, one))[:within] for one in counts])
        when, which = answers(begin, draws, alike=alike if within > SINGLY else None)
        return Outlook(float(when.mean()), *(float((which == answer).mean()) for answer in (0, 1, NEAR)))

    def first_met(self, tally: Tally, shares: Tally, most: int) -> int | None:
        """As `Rule.first_met`; beyond the limit those of a run that plans for them, whose stakes are others."""
        skipped = share_skipped(tally)
        judged = np.array([shares.wins[0], shares.ties, shares.wins[1]]) / shares.judged * (1 - skipped)
        scaled = np.array([*judged, skipped])
        within = max(0, min(most, self.most - asked(tally)))
        if found := self.met_after(tally, scaled, within):
            return found
        gap = abs(float(scaled[0] - scaled[2])) - skipped  # which counts against either system
        if not self.goes_on or gap <= 0:
            return None
        independent = boundary_at_the_end(self.threshold) ** 2 * float(scaled[0] + scaled[2] + skipped) / gap**2
        planned = math.ceil(independent / (1 + independent / self._items)) - asked(tally)
        # So many would have been enough, in another order or without skips: these verdicts take more.
        while planned <= within < most:
            within = min(most, within + max(1, (asked(tally) + within) // LONGER))
            if found := replace(self, limit=asked(tally) + within, limits=()).met_after(tally, scaled, within):
                return found
        return planned if within < planned <= most else None

    def met_after(self, tally: Tally, shares: NDArray[np.float64], within: int) -> int | None:
        """After how many of so many further items it is met, with these shares of 1, 0, -1 and skips, spread evenly."""
        taken, bets = np.zeros(4), self._bets(tally)
        for number in range(1, within + 1):
            score = int(np.argmax(number * shares - taken))
            taken[score] += 1
            bets = _after(bets, scores_of(OBSERVED[score]))
            if _shown(bets)[-1].any() or (len(bets) > 1 and _shown(bets)[0].all()):
                return number
        return None

    def items_to_decide(self, tally: Tally) -> ItemsToDecide | None:
        """As `Rule.items_to_decide`, by the boundary of bets at their end, in standard deviations.

        A proxy takes off the lead, and off what it varies by, what it foresees of them.
        """
        if tally.leader is None or not sum(tally.wins):
            return None
        moved, controls = scores_for(tally, tally.leader), controls_of(tally)
        if controls is not None:
            moved = moved - (1, -1)[tally.leader] * controls.values
        square = float((moved * moved).sum()) - tally.abstentions
        return items_to_decide(tally.items, float(moved.sum()) / square**0.5, boundary_at_the_end(self.threshold))

    def bounds_by_draw(self, tally: Tally, items: float, limit: int) -> NDArray[np.float64]:
        """As `Rule.bounds_by_draw`, with the nulls that were asked; population and limit are the rule's own."""
        del items, limit
        scores, (first, then) = np.array([scores_for(tally, side) for side in (0, 1)]), self._plan
        return lower_bounds(scores, self.threshold, first, self._items, self.begin, controls_of(tally), then)

    def met_along_each(
        self, preferences: NDArray[np.int8], items: int, thresholds: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """As `Rule.met_along_each`: while the system that was ruled better leads."""
        del items  # the bets are for the pool that they were made for
        met = np.zeros((len(thresholds), *preferences.shape), dtype=np.bool_)
        leads = np.cumsum(preferences, axis=1, dtype=np.int64)
        for at, threshold in enumerate(thresholds.tolist()):
            bets: tuple[HedgedBets, ...] = replace(self, threshold=threshold).begin
            for look, scores in enumerate(preferences.T):
                bets = tuple(one.after(np.stack([scores, -scores], axis=-1)) for one in bets)
                shown = _shown(bets)[-1]
                met[at, :, look] = (shown[:, 0] & (leads[:, look] > 0)) | (shown[:, 1] & (leads[:, look] < 0))
        return met

    def _bets(self, tally: Tally) -> tuple[HedgedBets, ...]:
        return self._followed_by(tally).bets

    def _followed_by(self, tally: Tally) -> _Course:
        """The bets after the verdicts of a tally; of one that grows each verdict is looked at once."""
        if isinstance(tally.preferences, Growing) and in_order(tally):
            return self._following.after(tally.preferences)
        found = _Course(self.begin)
        for observed in verdicts_of(tally):
            found.follow(observed)
        return found

    @cached_property
    def _following(self) -> IncrementalState[Observed, _Course]:
        return IncrementalState(lambda: _Course(self.begin), _Course.follow)


@dataclass(slots=True)
class _Imagined:
    """After how many draws each null falls, if draws come that are thought of."""

    bets: tuple[HedgedBets, ...]
    scores: Callable[[int], NDArray[np.float64]]  # of so many draws, shape (draws, systems)
    most: float = 0.0  # that a proxy may take off a score, and has foreseen nothing of it
    _looked: int = 0
    _fallen: NDArray[np.int64] | None = None  # by null and side; one more than was looked at: not yet

    def needs(self, at: int, side: int, within: int) -> int:
        """How many draws it takes until the null has fallen with all before it; 0: more than these."""
        if self._fallen is None or self._looked < min(within, self._fallen[at, side]):
            self._looked = max(LOOKED_AT, within, 2 * self._looked)
            scores = self.scores(self._looked)
            each = [one.falls(scores, -self.most, self.most) for one in self.bets]
            self._fallen = np.maximum.accumulate(each)
        found = int(self._fallen[at, side])
        return found if found <= within else 0

    def fall(self, at: int, within: int) -> bool:
        """Whether it has fallen for both sides after so many draws."""
        return all(self.needs(at, side, within) for side in (0, 1))


@dataclass(slots=True)
class _Course:
    """Bets after some draws, and how they would go on."""

    bets: tuple[HedgedBets, ...]
    slope: Slope | None = None  # of the labels by the proxy's verdicts; None without any
    most: float = 0.0  # that a proxy may take off a score
    _wins: _Imagined | None = None
    _levelled: _Imagined | None = None

    def follow(self, observed: Observed) -> None:
        """Go on by one draw."""
        if isinstance(observed, WithProxy):
            aside, slope = Aside(*observed.proxy), self.slope or Slope()
            control, most = float(aside.control(slope.value)), np.array(aside.most(slope.value))
            self.bets = _after(self.bets, scores_of(observed), np.array([control, -control]), most)
            self.slope = slope if observed.observed is None else slope.after(observed.observed, aside.cheap)
            self.most = 2 * min(1.0, float(self.slope.value) + GROWS)
        else:
            self.bets = _after(self.bets, scores_of(observed))
        self._wins = self._levelled = None

    @property
    def wins(self) -> _Imagined:
        """If each system won every further item, as no proxy foresaw."""
        self._wins = self._wins or _Imagined(self.bets, lambda draws: np.ones((draws, 2)), self.most)
        return self._wins

    def levelled(self, tally: Tally) -> _Imagined:
        """If the system behind won until both are level, and all further items were ties."""
        lead = tally.wins[0] - tally.wins[1]
        sign = (lead > 0) - (lead < 0)
        self._levelled = self._levelled or _Imagined(
            self.bets, lambda draws: np.where(np.arange(draws)[:, None] < abs(lead), (-float(sign), float(sign)), 0.0)
        )
        return self._levelled


def _after(
    bets: Sequence[HedgedBets], scores: Sequence[float] | NDArray[Any], controls: Numbers = 0.0, most: Numbers = 0.0
) -> tuple[HedgedBets, ...]:
    return tuple(one.after(np.array(scores, dtype=np.float64), controls, most) for one in bets)


def _shown(bets: Sequence[HedgedBets]) -> NDArray[np.bool_]:
    """Which nulls are ruled out with all before them, shape (nulls, …, systems)."""
    of_both = np.zeros(2, dtype=np.bool_)
    return np.logical_and.accumulate([one.ruled_out | of_both for one in bets], axis=0)


@lru_cache(maxsize=64)
def _outlook(rule: Bets, gap: float, ties: float) -> Outlook:
    shares = (1 - ties + gap) / 2, ties, (1 - ties - gap) / 2
    return rule._simulated(rule.begin, shares, rule.most, 0, spread=False)  # noqa: SLF001 - the rule's own


def _whole(parts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Parts as whole numbers with their sum: the largest remainders are rounded up."""
    found = np.floor(parts).astype(np.int64)
    found[np.argsort(found - parts, kind="stable")[: round(parts.sum()) - found.sum()]] += 1
    return found


def answers(
    begin: Sequence[HedgedBets],
    draws: NDArray[np.integer | np.floating],
    proxy: Aside | None = None,
    *,
    alike: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Follow runs of bets through `draws`, shape (runs, draws), of the first system's scores.

    `proxy` has what a proxy says of each, in arrays of this shape. The result is the number of draws of each run
    until its answer, and the system whose answer it is: 0, 1, `NEAR` for both, or -1. With `alike` it is about this:
    after each so many draws one more is taken at once, of wins, ties and losses without a proxy.
    """
    runs, most = draws.shape
    when, which, going = np.full(runs, most), np.full(runs, -1), np.arange(runs)
    bets, slope, rng = tuple(begin), Slope(), np.random.default_rng(SEED)
    controls, largest = np.zeros(2), np.zeros(2)
    t = 0
    while t < most:
        at_once = 1 + t // alike if alike else 1
        if t and 2 * np.count_nonzero(which[going] < 0) <= len(going):  # those that have their answer are left out
            goes_on = which[going] < 0
            going, bets = going[goes_on], tuple(one.of(goes_on) for one in bets)
            slope = slope if proxy is None else slope.of(goes_on)
        if not len(going):
            break
        scores = np.stack([draws[going, t], -draws[going, t]], axis=-1)
        if proxy is not None:
            aside = Aside(np.asarray(proxy.cheap)[going, t], np.asarray(proxy.mean)[going, t], proxy.block)
            control = aside.control(slope.value)
            controls, largest = np.stack([control, -control], axis=-1), np.stack(aside.most(slope.value), axis=-1)
            slope = slope.after(draws[going, t], aside.cheap)
        if at_once == 1:
            bets = _after(bets, scores, controls, largest)
        else:
            several = draws[going, t : t + at_once]
            won, lost = (np.count_nonzero(several == score, axis=1) for score in (1, -1))
            tied = several.shape[1] - won - lost
            wins, ties, losses = (np.stack(pair, axis=-1) for pair in ((won, lost), (tied, tied), (lost, won)))
            bets = tuple(one.after_several(wins, ties, losses, rng.random(wins.shape)) for one in bets)
        shown = _shown(bets)
        near = (
            shown[0].all(axis=-1) & ~shown[-1].any(axis=-1) if len(bets) > 1 else np.zeros(len(going), dtype=np.bool_)
        )
        new = (which[going] < 0) & (near | shown[-1].any(axis=-1))
        when[going[new]], which[going[new]] = (
            t + (at_once + 1) // 2,
            np.where(near, NEAR, shown[-1].argmax(axis=-1))[new],
        )
        t += at_once
    return when, which
