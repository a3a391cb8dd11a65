"""The exact chances of a walk's first exits, by counting orders of verdicts; and bounds of them.

Takes the least lead that gives each of two answers, by judgments and decisive judgments. Returns
where runs end, and the largest chance of an answer at a gap at which it is wrong. The proofs are in
`exact_tables.Table`.
"""

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

ROUNDING, TINY = 1e-9, 1e-12
NOTHING = -1e30  # the logarithm of 0, which stays finite times 0
HALVINGS = 0.5 ** np.arange(8, 40)
EVEN_POINTS = 401  # at which an error is computed beside one for each judgment


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
        """Return the probability of each state for independent draws, shape (states,)."""
        shares = win, loss, 1 - win - loss
        logs = [math.log(share) if share > TINY else NOTHING for share in shares]
        by_kind = self.wins * logs[0] + self.losses * logs[1] + self.ties * logs[2]
        return np.asarray(np.exp(self.orders + by_kind), dtype=np.float64)

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


def stops_of(leads: Ints) -> tuple[Stops, Stops]:
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


def largest_error(
    stops: Stops, null: float, limit: int, items: int | None, coarse: int | None = None
) -> float:
    """Return the largest chance of an answer at the gap `null`: proved, or at a few shares."""
    if not len(stops.orders):
        return 0.0
    if items is not None:
        return max(
            float(stops.chances_among(wins, wins + behind(null, items), items).sum())
            for wins in _wins((items - behind(null, items)) // 2, coarse)
        )

    def at(share: float) -> float:
        win, loss = share * (1 + null) / 2, share * (1 - null) / 2 - (1 - share) * null
        return float(stops.chances(win, loss).sum())

    return max(map(at, _sines(coarse))) if coarse else _certified(at, limit)


def _wins(most: int, coarse: int | None) -> Iterable[int]:
    every = range(most + 1)
    return every if coarse is None else {round(most * share) for share in _sines(coarse)}


def _sines(points: int) -> Floats:
    """Return numbers from 0 to 1 that are close to each other at the ends."""
    return np.asarray(np.sin(np.linspace(0, np.pi, points) / 2) ** 2, dtype=np.float64)


def _certified(error: Callable[[float], float], limit: int) -> float:
    """Return an upper bound of a polynomial on [0, 1] (`Table`, all shares of ties)."""
    v = np.unique(np.concatenate([_sines(EVEN_POINTS + limit), HALVINGS, 1 - HALVINGS]))
    e, room = np.array([error(share) for share in v]), (v * (1 - v))[1:-1]
    bend = math.sqrt(2) * limit * np.diff(v)[1:-1] ** 2 / 8 / np.minimum(room[:-1], room[1:])
    ends = max(e[0] + limit * v[1], e[-1] + limit * (1 - v[-2]))
    top = 1.0
    for _ in range(20):  # a bound of e bounds its own bend
        worst = min(top, 0.5)
        spread = math.sqrt(worst * (1 - worst))
        top = min(top, max(float((np.maximum(e[1:-2], e[2:-1]) + bend * spread).max()), ends))
    return top


def behind(null: float, items: int) -> int:
    """Return by how many of `items` an answer's side is behind at least where it is wrong."""
    return math.ceil(-null * items - ROUNDING)
