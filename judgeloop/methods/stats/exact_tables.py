"""Exactly calibrated tests with a zone in which either of their two answers is true.

Takes the gaps at which each answer is wrong, a risk, a limit of judgments and a population. Returns
a `Table`: how large a lead gives each answer, by judgments and decisive judgments. Its errors are
finite sums, computed for every share of ties. What the answers mean, and how a run looks at a
table, is in `methods/stopping/by_table.py`.

A lead is seen from the side of an answer, as wins less losses. Of n judgments, m are decisive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEVER = 1 << 20  # a lead that no walk has
ROUNDING, TINY = 1e-9, 1e-12
NOTHING = -1e30  # the logarithm of 0, which stays finite times 0
ENTRIES = 1 << 21  # of the largest matrix
HALVINGS = 0.5 ** np.arange(8, 40)
EVEN_POINTS = 401  # at which an error is computed beside one for each judgment
STEPS, GROWTH, NUDGE, LARGEST = 7, 1.4, 1.004, 100.0  # of the search for the scale
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
    """Return the zone of "this system is better, or the two differ by less than `gap`"."""
    return Zone((-gap, -gap), (1, 1))


def not_worse(margin: float) -> Zone:
    """Return the zone of "not worse by `margin` or more" (side 0) and of "worse" (side 1)."""
    return Zone((-margin, 0.0), (-NEVER, 1))


class Stops(NamedTuple):
    """The states in which a walk ends with one answer, and how many orders of verdicts end there.

    Wins and losses are from the side of the answer. Shape (states,) each; the orders as logarithms.
    """

    wins: Ints
    losses: Ints
    ties: Ints
    orders: Floats

    @property
    def judged(self) -> Ints:
        """The number of judgments."""
        return self.wins + self.losses + self.ties

    def chances(self, win: Floats, loss: Floats) -> Floats:
        """Return the probability of each state for independent draws, shape (draws, states).

        `win` and `loss` are the probabilities of a draw, shape (draws,).
        """
        shares = np.stack([win, loss, 1 - win - loss], axis=1)
        logs = np.where(shares > TINY, np.log(np.maximum(shares, 1e-300)), NOTHING)
        states = np.stack([self.wins, self.losses, self.ties])
        return np.exp(self.orders + logs @ states)

    def chance(self, win: Floats, loss: Floats) -> Floats:
        """Return the probability of the answer for each draw's probabilities, shape (draws,)."""
        at_once = max(1, ENTRIES // max(1, len(self.orders)))
        parts = range(0, len(win), at_once)
        return np.concatenate(
            [
                self.chances(win[at : at + at_once], loss[at : at + at_once]).sum(axis=1)
                for at in parts
            ]
        )

    def chances_among(self, wins: int, losses: int, items: int) -> Floats:
        """Return the probability of each state for draws without replacement, shape (states,).

        The draws are from `items` items, of which the side of the answer wins and loses so many.
        """
        falling = _falling(items)
        ties = items - wins - losses
        parts = falling(wins, self.wins) + falling(losses, self.losses) + falling(ties, self.ties)
        return np.exp(self.orders + parts - falling(items, self.judged))


def _falling(items: int) -> Callable[[int, Ints], Floats]:
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, items + 1)))])

    def falling(of: int, drawn: Ints) -> Floats:
        """The logarithms of of · (of - 1) · … with `drawn` factors."""
        return np.where(drawn <= of, logs[of] - logs[np.maximum(of - drawn, 0)], NOTHING)

    return falling


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
class Table:
    """The least lead that gives each answer, after n judgments of which m were decisive.

    A run gives the first answer whose lead is reached. `leads` has the shape (2, limit + 1,
    limit + 1): side, n, m. `half` holds the distances from the centre of the zone at a scale of 1.
    `items` is the number of items drawn from without replacement, None for independent draws.

    **Exact errors.** Let H(w, l, k) be the number of orders of w wins, l losses and k ties that end
    with an answer there, and not before. H does not depend on the shares. So the answer has the
    probability Σ H pʷ qˡ tᵏ for independent draws with the shares p, q and t. From N items with W
    wins, L losses and T ties it is Σ H W₍w₎ L₍l₎ T₍k₎ / N₍n₎, with falling factorials. One pass
    forward counts H (`stops`).

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
        return _stops(self.leads)

    def error(self, side: int) -> float:
        """Return a proved upper bound of the chance that this answer is given wrongly."""
        return _error(self.stops[side], self.zone.nulls[side], self.limit, self.items)

    def outlook(self, gap: float, decisive: float) -> Outlook:
        """Return what a run does at a gap, seen from side 0, and a share of decisive items."""
        answers, judgments = [], 0.0
        for stops, own in zip(self.stops, (gap, -gap), strict=True):
            win, loss = (decisive + own) / 2, (decisive - own) / 2
            if self.items is None:
                chances = stops.chances(np.array([win]), np.array([loss]))[0]
            else:
                counts = round(self.items * win), round(self.items * loss)
                chances = stops.chances_among(*counts, self.items)
            answers.append(float(chances.sum()))
            judgments += float(chances @ stops.judged)
        found = Outlook((answers[0], answers[1]), judgments)
        return found._replace(judgments=judgments + found.none * self.limit)

    def stated(self, side: int, judged: int, decisive: int, lead: int) -> float:
        """Return the stated risk of an answer that is given in this state.

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
        """Return the risk of giving an answer now, which the table does not give.

        It is the error of the table that gives the answer at this lead after `judged` judgments,
        and is unchanged before and after. So it holds whether or not the run ends now.
        """
        lowered = self.leads[side].copy()
        lowered[judged] = np.minimum(lowered[judged], lead)
        return self.with_leads(side, lowered).error(side)

    def with_leads(self, side: int, leads: Ints) -> Table:
        """Return the table with other leads for a side."""
        other = np.maximum(self.leads[1 - side], 1 - leads)
        return replace(self, leads=np.stack([leads, other] if side == 0 else [other, leads]))


@lru_cache(maxsize=16)
def _error_moved_out(table: Table, side: int, scale: float) -> float:
    """Return the error of an answer whose side of the table is at a larger scale."""
    leads = _leads(scale, table.half, table.zone, table.items)[side]
    return table.with_leads(side, leads).error(side)


@lru_cache(maxsize=16)
def calibrated(zone: Zone, risk: float, limit: int, items: int | None = None) -> Table:
    """Return the table with the least scale found whose errors are proved to be at most `risk`.

    If no scale keeps the risk (very few judgments at a tiny risk), the table gives no answer, but
    for one that is certain. Takes 0.2 s for 200 judgments, and several seconds for 805.

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


def _least(zone: Zone, risk: float, limit: int, items: int | None, half: Floats) -> Table | None:
    """Search the least scale: by bisection at a few shares, then up to one that is proved."""
    sides = (0,) if zone.nulls[0] == zone.nulls[1] else (0, 1)  # alike sides err alike

    def made(scale: float) -> Table:
        return _made(scale, zone, limit, items, half)

    def keeps(table: Table) -> bool:
        return all(
            _error(table.stops[side], zone.nulls[side], limit, items, COARSE) <= risk
            for side in sides
        )

    low = high = 0.5
    while not keeps(made(high)):
        low, high = high, GROWTH * high
        if high > LARGEST:
            return None
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if keeps(made(middle)) else (middle, high)
    while max(map((table := made(high)).error, sides)) > risk:
        high *= NUDGE
    return table


def _made(scale: float, zone: Zone, limit: int, items: int | None, half: Floats) -> Table:
    return Table(zone, limit, items, scale, half, _leads(scale, half, zone, items))


def _half(zone: Zone, risk: float, limit: int, items: int | None, more: float) -> Floats:
    """Return the distances from the centre of the zone at a scale of 1, by n and m.

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
    """Return the leads at a scale: whole numbers that keep the condition of `Table`'s proof."""
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
            sure = items - n + 1 - _behind(zone.nulls[side], items)
            lead = np.where(m > n, np.inf, np.minimum(lead, np.maximum(sure, least)))
        leads.append(lead)
    if limit == items:  # all are judged: one of the answers is true
        leads[1][-1] = np.maximum(1 - leads[0][-1], zone.least[1])
    first, second = map(_gentle, leads)
    second = np.maximum(second, 1 - first)
    both = np.where(m > n, NEVER, np.minimum([first, second], NEVER)).astype(np.int64)
    both[:, 0] = NEVER
    return both


def _behind(null: float, items: int) -> int:
    """Return by how many of `items` an answer's side is behind at least where it is wrong."""
    return math.ceil(-null * items - ROUNDING)


def _gentle(lead: Floats) -> Floats:
    """Return the largest table below `lead` that changes by at most 1 from m to m + 1."""
    m = np.arange(lead.shape[1])
    rising = np.minimum.accumulate(lead - m, axis=1) + m
    return np.minimum.accumulate((rising + m)[:, ::-1], axis=1)[:, ::-1] - m


def _stops(leads: Ints) -> tuple[Stops, Stops]:
    """Count the orders of verdicts that end in each state, in one pass over the judgments.

    The counts are kept as probabilities under a win of 1/4, a loss of 1/4 and a tie of 1/2, by the
    number of decisive draws (rows) and the lead of side 0 (columns).
    """
    found: tuple[list[Floats], list[Floats]] = ([], [])
    alive, first = np.ones((1, 1)), 0
    for n in range(1, leads.shape[1]):
        new = np.zeros((n + 1, alive.shape[1] + 2))
        new[:-1, 1:-1] += 0.5 * alive
        new[1:, 2:] += 0.25 * alive
        new[1:, :-2] += 0.25 * alive
        first -= 1
        lead = first + np.arange(new.shape[1])
        ends = [sign * lead >= leads[side, n, : n + 1, None] for side, sign in enumerate((1, -1))]
        for side, sign in enumerate((1, -1)):
            m, at = np.nonzero(ends[side] & (new > 0))
            own = sign * (at + first)
            orders = np.log(new[m, at]) + m * math.log(4) + (n - m) * math.log(2)
            found[side].append(np.stack([(m + own) / 2, (m - own) / 2, n - m, orders]))
        new[ends[0] | ends[1]] = 0
        kept = np.flatnonzero(new.any(axis=0))
        if not len(kept):
            break
        alive, first = new[:, kept[0] : kept[-1] + 1], first + int(kept[0])
    one, other = (np.concatenate(each, axis=1) for each in found)
    return _as_stops(one), _as_stops(other)


def _as_stops(states: Floats) -> Stops:
    wins, losses, ties = states[:3].astype(np.int64)
    return Stops(wins, losses, ties, states[3])


def _error(
    stops: Stops, null: float, limit: int, items: int | None, coarse: int | None = None
) -> float:
    """Return the largest chance of an answer at the gap `null`: proved, or at a few shares."""
    if not len(stops.orders):
        return 0.0
    if items is not None:
        return max(
            float(stops.chances_among(wins, wins + _behind(null, items), items).sum())
            for wins in _wins((items - _behind(null, items)) // 2, coarse)
        )

    def at(shares: Floats) -> Floats:
        return stops.chance(shares * (1 + null) / 2, shares * (1 - null) / 2 - (1 - shares) * null)

    if coarse:
        return float(at(_sines(coarse)).max())
    return _certified(at, limit)


def _wins(most: int, coarse: int | None) -> Iterable[int]:
    if coarse is None:
        return range(most + 1)
    return sorted({round(most * share) for share in np.linspace(0, 1, coarse) ** 2})


def _sines(points: int) -> Floats:
    """Return numbers from 0 to 1 that are close to each other at the ends."""
    return np.asarray(np.sin(np.linspace(0, np.pi, points) / 2) ** 2, dtype=np.float64)


def _certified(error: Callable[[Floats], Floats], limit: int) -> float:
    """Return an upper bound of a polynomial on [0, 1] (`Table`, all shares of ties)."""
    v = np.unique(np.concatenate([_sines(EVEN_POINTS + limit), HALVINGS, 1 - HALVINGS]))
    e, room = error(v), (v * (1 - v))[1:-1]
    bend = math.sqrt(2) * limit * np.diff(v)[1:-1] ** 2 / 8 / np.minimum(room[:-1], room[1:])
    ends = max(e[0] + limit * v[1], e[-1] + limit * (1 - v[-2]))
    top = 1.0
    for _ in range(20):  # a bound of e bounds its own bend
        worst = min(top, 0.5)
        spread = math.sqrt(worst * (1 - worst))
        top = min(top, max(float((np.maximum(e[1:-2], e[2:-1]) + bend * spread).max()), ends))
    return top
