"""Exactly calibrated tests with a zone in which either of their two answers is true.

Takes the gaps at which each answer is wrong, a risk, a limit of judgments and a population. Returns
a `ExactTable`: how large a lead gives each answer, by judgments and decisive judgments. Its errors are
finite sums, computed for every share of ties. What the answers mean, and how a run looks at a
table, is in `methods/stopping/by_table.py`.

A lead is seen from the side of an answer, as wins less losses. Of n judgments, m are decisive.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, repeat
from operator import mul
from typing import NamedTuple, final

import numpy as np

from judgeloop.methods.stats.exact_errors import ROUNDING, TINY, Floats, Ints, Stops, behind, largest_error, stops_of

NEVER = 1 << 20  # a lead that no walk has
# Of the search for the scale: those between which it is found, steps of bisection, and the last steps.
SCALES, STEPS, NUDGE = tuple(accumulate(repeat(1.4, 15), mul, initial=0.5)), 7, 1.004
COARSE = 21  # shares of decisive items at which a scale is tried
MORE_COUNTED = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)  # decisive draws that are added to the share
MOST_RISK = 0.4  # the shapes below are for risks under this


class Zone(NamedTuple):
    """For each answer, the largest gap at which it is wrong, and the least lead that gives it.

    Gaps and leads are seen from the side of the answer; the gaps are 0 or below.
    """

    nulls: tuple[float, float]
    least: tuple[int, int]

    @property
    def width(self) -> float:
        """Half of the distance between the two gaps."""
        return -sum(self.nulls) / 2

    def centre(self, side: int) -> float:
        """The gap in the middle of the zone, from this side."""
        return (self.nulls[side] - self.nulls[1 - side]) / 2


def within(gap: float) -> Zone:
    """The zone of "this system is better, or the two differ by less than `gap`"."""
    return Zone((-gap, -gap), (1, 1))


def not_worse(margin: float) -> Zone:
    """The zone of "not worse by `margin` or more" (side 0) and of "worse" (side 1)."""
    return Zone((-margin, 0.0), (-NEVER, 1))


class Outlook(NamedTuple):
    """What a run will do: the chance of each answer and of none, and the expected judgments."""

    answers: tuple[float, float]
    judgments: float

    @property
    def none(self) -> float:
        """The chance of no answer within the limit."""
        return max(0.0, 1.0 - sum(self.answers))


@final
@dataclass(frozen=True, eq=False)
class ExactTable:
    """The least lead that gives each answer, after n judgments of which m were decisive.

    A run gives the first answer whose lead is reached. `leads` has the shape (2, limit + 1,
    limit + 1): side, n, m. `half` holds the distances from the centre of the zone at a scale of 1.
    `items` is the number of items drawn from without replacement, None for independent draws.

    **Exact errors.** Let H(w, l, k) be the number of orders of w wins, l losses and k ties that end
    with an answer there, and not before. H does not depend on the shares. So the answer has the
    probability Σ H pʷ qˡ tᵏ for independent draws with the shares p, q and t. From N items with W
    wins, L losses and T ties it is Σ H W₍w₎ L₍l₎ T₍k₎ / N₍n₎, with falling factorials. One pass
    forward counts H (`exact_errors.stops_of`).

    **The least favourable shares.** If each table changes by at most 1 from m to m + 1, and the two
    regions are disjoint, then the error of an answer over all gaps at which it is wrong is attained
    at its largest such gap. Proof: order the verdicts loss < tie < win. By the condition, the
    region of an answer is closed under a tie made a win (m + 1, lead + 1) and a loss made a tie
    (m - 1, lead + 1), and the other region under the reverse. Let two runs have the verdicts
    X₁ ≤ X'₁, X₂ ≤ X'₂, …. If X ends with the answer at n, X' is in its region at n. It has not ended
    with the other answer before, as X would have been in that region, too. So better draws give the
    answer no less often. Draws (p, q) with a gap below the largest, -g, are coupled with better
    draws (p, p + g), losses made ties; in a population likewise, in the same random order.

    **All shares of ties, from a grid.** At a gap of -g, a draw is with probability v from
    ((1 - g)/2, (1 + g)/2, 0) and else from (0, g, 1 - g), as (win, loss, tie): every share of ties
    is some v. So the error e(v) is a polynomial of degree n = limit in Bernstein form,
    Σ c Bⱼ(v), with 0 ≤ c ≤ 1. With K = B″/B, E K = 0 and E K² = 2n(n - 1)/(v(1 - v))². By
    Cauchy-Schwarz |e″(v)| ≤ √2 n √(e(1 - e)) / (v(1 - v)). Between two points e exceeds the larger
    value by at most their distance²/8 times sup |e″|. At the ends e(v) ≤ e(0) + n v and
    e(v) ≤ e(1) + n(1 - v). Of a finite population every number of wins is tried.
    """

    zone: Zone
    limit: int
    items: int | None
    scale: float
    half: Floats
    leads: Ints

    @cached_property
    def stops(self) -> tuple[Stops, Stops]:
        """Where a run ends with each answer."""
        return stops_of(self.leads)

    def error(self, side: int) -> float:
        """A proved upper bound of the chance that this answer is given wrongly."""
        return largest_error(self.stops[side], self.zone.nulls[side], self.limit, self.items)

    def outlook(self, gap: float, decisive: float) -> Outlook:
        """What a run does at a gap, seen from side 0, and a share of decisive items."""
        answers, judgments = [], 0.0
        for stops, own in zip(self.stops, (gap, -gap), strict=True):
            chances = self._chances(stops, (decisive + own) / 2, (decisive - own) / 2)
            answers.append(float(chances.sum()))
            judgments += float(chances @ stops.judged)
        found = Outlook((answers[0], answers[1]), judgments)
        return found._replace(judgments=judgments + found.none * self.limit)

    def _chances(self, stops: Stops, win: float, loss: float) -> Floats:
        if self.items is None:
            return stops.chances(win, loss)
        wins = round(self.items * win)
        losses = min(round(self.items * loss), self.items - wins)
        return stops.chances_among(wins, losses, self.items)

    def stated(self, side: int, judged: int, decisive: int, lead: int) -> float:
        """The stated risk of an answer that is given in this state.

        It is the error of the widest table that gives the answer there: only the side of the answer
        is moved out. A run has not left this wider table before, so it gives the answer there, too.
        So for every x, a wrong answer with a stated risk of at most x has probability at most x.
        """
        half = self.half[judged, decisive]
        room = lead - self.zone.centre(side) * judged
        if half <= 0 or room <= self.scale * half:
            return self.error(side)
        return min(self.error(side), _error_moved_out(self, side, float(room / half)))

    def stated_now(self, side: int, judged: int, lead: int) -> float:
        """The risk of giving an answer now, which the table does not give.

        It is the error of the table that gives the answer at this lead after `judged` judgments,
        and is unchanged before and after. So it holds whether or not the run ends now.
        """
        lowered = self.leads[side].copy()
        lowered[judged] = np.minimum(lowered[judged], lead)
        return self.with_leads(side, lowered).error(side)

    def with_leads(self, side: int, leads: Ints) -> ExactTable:
        """The table with other leads for a side."""
        other = np.maximum(self.leads[1 - side], 1 - leads)
        return replace(self, leads=np.stack([leads, other] if side == 0 else [other, leads]))


@lru_cache(maxsize=4)
def _error_moved_out(table: ExactTable, side: int, scale: float) -> float:
    """The error of an answer whose side of the table is at a larger scale."""
    leads = _leads(scale, table.half, table.zone, table.items)[side]
    return table.with_leads(side, leads).error(side)


@lru_cache(maxsize=4)
def calibrated(zone: Zone, risk: float, limit: int, items: int | None = None) -> ExactTable:
    """The table with the least scale found whose errors are proved to be at most `risk`.

    If no scale keeps the risk (very few judgments at a tiny risk), the table gives no answer, but
    for one that is certain. Takes a fifth of a second for 200 judgments, and three seconds for 805.

    Raises:
        ValueError: the risk is `MOST_RISK` or above.
    """
    if not 0 < risk < MOST_RISK:
        raise ValueError(f"expected a risk above 0 and below {MOST_RISK}, found {risk}")
    for more in MORE_COUNTED:
        half = _half(zone, risk, limit, items, more)
        table = _least(zone, risk, limit, items, half)
        if table is not None:
            return table
    return _made(math.inf, zone, limit, items, half)


def _least(zone: Zone, risk: float, limit: int, items: int | None, half: Floats) -> ExactTable | None:
    """Search the least scale: by bisection at a few shares, then up to one that is proved."""
    alike = zone.nulls[0] == zone.nulls[1]  # alike sides err alike
    tried: dict[float, ExactTable | None] = {}

    def keeps(scale: float) -> bool:
        if scale not in tried:
            table = _made(scale, zone, limit, items, half)
            errors = (
                largest_error(table.stops[side], null, limit, items, COARSE)
                for side, null in enumerate(zone.nulls[: 1 if alike else 2])
            )
            tried[scale] = table if all(error <= risk for error in errors) else None
        return tried[scale] is not None

    bracket = _bracket(keeps, (0.65 if alike else 1.0) * math.log(1 / risk - 1))
    if bracket is None:
        return None
    low, high = bracket
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(middle) else (middle, high)
    table = tried[high] or _made(high, zone, limit, items, half)
    while max(map(table.error, (0,) if alike else (0, 1))) > risk:
        high *= NUDGE
        table = _made(high, zone, limit, items, half)
    return table


def _bracket(keeps: Callable[[float], bool], usual: float) -> tuple[float, float] | None:
    """The last of `SCALES` that keeps the risk no longer and the first that does; None if none does.

    The search begins at the `usual` scale. Where the least of them keeps it, both are that.
    """
    at = bisect(SCALES, usual)
    while at < len(SCALES) and not keeps(SCALES[at]):
        at += 1
    if at == len(SCALES):
        return None
    while at and keeps(SCALES[at - 1]):
        at -= 1
    return SCALES[max(0, at - 1)], SCALES[at]


def _made(scale: float, zone: Zone, limit: int, items: int | None, half: Floats) -> ExactTable:
    return ExactTable(zone, limit, items, scale, half, _leads(scale, half, zone, items))


def _half(zone: Zone, risk: float, limit: int, items: int | None, more: float) -> Floats:
    """The distances from the centre of the zone at a scale of 1, by n and m.

    Only the number of judgments rests on this shape; the errors are exact for any. The distance is
    that at which the likelihood ratio of the zone's two ends is constant, at the share of decisive
    draws seen. The root keeps the first draws from spending the risk, and the falling factor ends
    level runs (Lorden 1976, 2-SPRT; Anderson 1960). Where the zone is one-sided, the width is added
    to the share. Else the share may be as small as the width, where the ratio is not defined.
    """
    n, m = np.arange(limit + 1.0)[:, None], np.arange(limit + 1.0)
    odds, width = math.log(1 / risk - 1), zone.width
    added = max(0.5, odds - 1) + more
    left, used = (1.0, 0.0) if items is None else (1 - n / items, limit / items)
    share = (m + added) / (n + added)
    size = width**2 * limit
    even = zone.nulls[0] == zone.nulls[1]
    with np.errstate(all="ignore"):
        if even:
            share = share * left
            knee = (odds / 2.2) ** 2 * max(0.1, (0.2 + 0.8 * used**2) / size)
            reach = np.where(share > width, 1 / np.arctanh(width / share), 0.0)
        else:
            share = (share + 2 * width) * left
            knee = odds * (0.07 + 0.03 * used**2 / size)
            reach = share / (2 * width)
        time = width**2 * n / share
        half = np.sqrt(time / (time + knee)) * np.maximum(1 - time / (3.5 * odds), 0) * reach
    half = np.where(m > n, np.inf, np.nan_to_num(half, nan=0.0, posinf=0.0))
    return np.minimum.accumulate(half[:, ::-1], axis=1)[:, ::-1] if even else half


def _leads(scale: float, half: Floats, zone: Zone, items: int | None) -> Ints:
    """The leads at a scale: whole numbers that keep the condition of `ExactTable`'s proof."""
    limit = len(half) - 1
    n, m = np.arange(limit + 1)[:, None], np.arange(limit + 1)
    leads = []
    for side, least in enumerate(zone.least):
        centre = zone.centre(side) * n
        lead = (
            np.where(half <= TINY, np.floor(centre) + 1, np.ceil(centre + scale * half - ROUNDING))
            if math.isfinite(scale)
            else np.full(half.shape, np.inf)
        )
        lead = np.where(m > n, np.inf, np.maximum(lead, least))
        if items is not None:  # from here on the answer is certain
            sure = items - n + 1 - behind(zone.nulls[side], items)
            lead = np.where(m > n, np.inf, np.minimum(lead, np.maximum(sure, least)))
        leads.append(lead)
    if limit == items:  # all are judged: one of the answers is true
        leads[1][-1] = np.maximum(1 - leads[0][-1], zone.least[1])
    first, second = map(_gentle, leads)
    second = np.maximum(second, 1 - first)
    both = np.where(m > n, NEVER, np.minimum([first, second], NEVER)).astype(np.int64)
    both[:, 0] = NEVER
    return both


def _gentle(lead: Floats) -> Floats:
    """The largest table below `lead` that changes by at most 1 from m to m + 1."""
    m = np.arange(lead.shape[1])
    rising = np.minimum.accumulate(lead - m, axis=1) + m
    return np.minimum.accumulate((rising + m)[:, ::-1], axis=1)[:, ::-1] - m
