"""The exact chances of a walk's first exits, by counting orders of verdicts; and bounds of them.

Takes the least lead that gives each of two answers, by judgments and decisive judgments. Returns
where runs end, and the largest chance of an answer at a gap at which it is wrong. The proofs are in
`exact_tables.ExactTable`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDING, TINY = 1e-9, 1e-12
NOTHING = -1e30  # the logarithm of 0, which stays finite times 0
HALVINGS = 0.5 ** np.arange(8, 40)
EVEN_POINTS = 401  # of the grid on which an error is bounded, beside one for each judgment
STRIDE = 32  # points of the grid from one that is looked at first to the next


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

    def chances(self, win: float, loss: float) -> Floats:
        """The probability of each state for independent draws, shape (states,)."""
        shares = win, loss, 1 - win - loss
        logs = [math.log(share) if share > TINY else NOTHING for share in shares]
        by_kind = self.wins * logs[0] + self.losses * logs[1] + self.ties * logs[2]
        return np.asarray(np.exp(self.orders + by_kind), dtype=np.float64)

    def chances_among(self, wins: int, losses: int, items: int) -> Floats:
        """The probability of each state for draws without replacement, shape (states,).

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


def stops_of(leads: Ints) -> tuple[Stops, Stops]:
    """Count the orders of verdicts that end in each state, in one pass over the judgments.

    The counts are kept as probabilities under a win of 1/4, a loss of 1/4 and a tie of 1/2, by the
    number of decisive draws (rows) and the lead of side 0 (columns). Only the states in which a walk
    may end are looked at, which are few.
    """
    reached, most = _reached(leads)
    ends = [_ends(leads[side], reached[side], -reached[1 - side]) for side in (0, 1)]
    found: list[list[Floats]] = [[], []]
    alive, first = np.ones((1, 1)), 0
    for n in range(1, leads.shape[1]):
        new = np.zeros((n + 1, alive.shape[1] + 2))
        np.multiply(alive, 0.5, out=new[:-1, 1:-1])
        alive = 0.25 * alive
        new[1:, 2:] += alive
        new[1:, :-2] += alive
        first -= 1
        for side, sign in enumerate((1, -1)):
            m, own = ends[side].after(n)
            at = sign * own - first
            found[side].append(new[m, at])
            new[m, at] = 0
        low, high = -int(most[1, n]), int(most[0, n])
        alive, first = new[:, low - first : high - first + 1], low
    one, other = (each.counted(np.concatenate(parts)) for each, parts in zip(ends, found, strict=True))
    return one, other


def _reached(leads: Ints) -> tuple[Ints, Ints]:
    """The largest lead of each side that a walk reaches, and with which it goes on.

    The first has the shape (2, n, m), the second (2, n): the largest of all m.
    """
    reached, most = np.full_like(leads, -leads.shape[1]), np.zeros(leads.shape[:2], dtype=np.int64)
    farthest = reached[:, 0].copy()
    farthest[:, 0] = 0
    for n in range(1, leads.shape[1]):
        by_win = farthest[:, :-1] + 1
        reached[:, n] = farthest
        np.maximum(reached[:, n, 1:], by_win, out=reached[:, n, 1:])
        farthest = np.minimum(reached[:, n], leads[:, n] - 1)
        most[:, n] = farthest.max(axis=1)
    return reached, most


class _Ends(NamedTuple):
    """The states in which a walk may end with one answer, in the order of judgments."""

    n: Ints
    m: Ints
    lead: Ints
    begins: Ints  # where the states after each number of judgments begin

    def after(self, n: int) -> tuple[Ints, Ints]:
        """The decisive draws and the leads of those after n judgments."""
        part = slice(self.begins[n], self.begins[n + 1])
        return self.m[part], self.lead[part]

    def counted(self, chances: Floats) -> Stops:
        """Those with a chance, with the logarithm of the number of orders."""
        some = chances > 0
        n, m, lead = self.n[some], self.m[some], self.lead[some]
        orders = np.log(chances[some]) + m * math.log(4) + (n - m) * math.log(2)
        return Stops((m + lead) // 2, (m - lead) // 2, n - m, orders)


def _ends(leads: Ints, reached: Ints, lowest: Ints) -> _Ends:
    """The states of one side in which a walk may end, by the leads that it can have."""
    least = np.maximum(leads, lowest)
    least += (least + np.arange(len(leads))) % 2  # a lead is even where the decisive draws are
    n, m = np.nonzero(least <= reached)
    counts = (reached[n, m] - least[n, m]) // 2 + 1
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    n, m, lead = (np.repeat(each, counts) for each in (n, m, least[n, m]))
    begins = np.searchsorted(n, np.arange(len(reached) + 1))
    return _Ends(n, m, lead + 2 * steps, begins)


def largest_error(stops: Stops, null: float, limit: int, items: int | None, coarse: int | None = None) -> float:
    """The largest chance of an answer at the gap `null`: proved, or at a few shares."""
    if not len(stops.orders):
        return 0.0
    if items is not None:
        apart = behind(null, items)
        most = (items - apart) // 2
        tried = range(most + 1) if coarse is None else {round(most * share) for share in _sines(coarse)}
        return max(float(stops.chances_among(wins, wins + apart, items).sum()) for wins in tried)

    def at(share: float) -> float:
        win, loss = share * (1 + null) / 2, share * (1 - null) / 2 - (1 - share) * null
        return float(stops.chances(win, loss).sum())

    return max(map(at, _sines(coarse))) if coarse else _certified(at, limit)


def _sines(points: int) -> Floats:
    """Numbers from 0 to 1 that are close to each other at the ends."""
    return np.asarray(np.sin(np.linspace(0, np.pi, points) / 2) ** 2, dtype=np.float64)


def _certified(error: Callable[[float], float], limit: int) -> float:
    """An upper bound of a polynomial on [0, 1] (`ExactTable`, all shares of ties).

    It is bounded between points of a grid. Between two that are far apart the points in between are
    added, unless the bound there is already below the largest that is needed anyway.
    """
    v = np.unique(np.concatenate([_sines(EVEN_POINTS + limit), HALVINGS, 1 - HALVINGS]))
    last = len(v) - 1
    e = {at: error(v[at]) for at in (*range(0, last, STRIDE), 1, last - 1, last)}
    ends = max(e[0] + limit * v[1], e[last] + limit * (1 - v[last - 1]))
    while True:
        at = np.array(sorted(e.keys() - {0, last}))
        errors, room, steps = (np.array([e[place] for place in at.tolist()]), v[at] * (1 - v[at]), np.diff(at))
        bend = math.sqrt(2) * limit * np.diff(v[at]) ** 2 / 8 / np.minimum(room[:-1], room[1:])
        larger = np.maximum(errors[:-1], errors[1:])
        top = 1.0
        for _ in range(20):  # a bound of e bounds its own bend
            worst = min(top, 0.5)
            bounds = larger + bend * math.sqrt(worst * (1 - worst))
            top = min(top, max(float(bounds.max()), ends))
        needed = max(float(errors.max()), float(bounds[steps == 1].max(initial=0.0)), ends)
        wide = np.flatnonzero((steps > 1) & (bounds > needed))
        if not len(wide):
            return top
        e |= {place: error(v[place]) for place in ((at[wide] + at[wide + 1]) // 2).tolist()}


def behind(null: float, items: int) -> int:
    """By how many of `items` an answer's side is behind at least where it is wrong."""
    return math.ceil(-null * items - ROUNDING)
