"""A test of a mean by hedged bets: as quick as an exact boundary, and valid whatever the stakes are.

**Theorem.** Let scores y_1, y_2, … in [-1, 1] be drawn from items, and let F_{t-1} be all that is known before draw
t is processed. The null is that the mean of all items is at most m. Then the mean of the next score given F_{t-1} is
at most μ_t: m for items like these, (N m - S) / (N - t + 1) for N items of which t - 1 with the sum S are drawn. Let
c_t be a control with E(c_t | F_{t-1}) = 0, and λ_t ≥ 0 a stake fixed by F_{t-1} so that 1 + λ_t (y - c - μ_t) ≥ 0 for
every y and c that can occur. Under the null the probability that the wealth Π (1 + λ_s (y_s - c_s - μ_s)) ever
reaches 1/r is at most r.
*Proof.* Given F_{t-1} the factor has a mean of at most 1, so the wealth is a nonnegative supermartingale that begins
at 1 (Ville 1939). Where μ_t < -1 the null is impossible. ∎ The stakes, the limit and the tables below enter nowhere:
they only say how soon a false null falls. So draws may be processed in batches, a limit may change, and a run that
is resumed has the same wealth to the last bit. (Waudby-Smith & Ramdas 2024, "Estimating means of bounded random
variables by betting", equations 32 and 33, for any stake; the stakes here are ours.)

**The stakes** copy those of a gambler whose last chance is a walk of coins: a wealth of W stands for a state in which
a walk of coins, which keeps the null, ends beyond an optimal boundary with the probability r W. The coin's stake is
the relative slope of that probability from one outcome of the coin to the other. The state is read off the wealth,
not off the sum of the scores, so that what the copy does wrong corrects itself. A coin is one draw that moves the
wealth; a tie moves neither. Where there would be more than `MOST_COINS` coins, one stands for several draws, with
their variance and their skewness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MOST_COINS = 400
SHARES = np.exp(np.linspace(0.0, math.log(0.03), 16))  # of draws that are no ties, for which there are tables
SLACK = 1e-6  # of the wealth: a perfect copy ends at 1/risk but for rounding, which must not cost the answer
BOLDEST = 0.98  # of the stake that could lose everything
ROUNDS = 10  # of the bisection for the scale of a zone's boundary


@dataclass(frozen=True, eq=False)
class Stakes:
    """What to stake on the next coin, by the time and by the probability to end with the answer.

    One ascending array `keys` holds number of row + probability for every state of every row, so that one search
    serves all rows of all tables. `slopes` has half the difference of the probability after the two outcomes of the
    coin. `first` and `coins` are the first row and the number of rows of each table, `scale` the size of its coin in
    draws that move.
    """

    keys: Floats
    slopes: Floats
    first: NDArray[np.int64]
    coins: NDArray[np.int64]
    scale: Floats

    def on_a_coin(self, table: NDArray[np.int64], time: Floats, chance: Floats) -> Floats:
        """The stake per unit of a coin, linear between states and between rows; shapes as given, broadcast."""
        coins = self.coins[table]
        at = time * coins
        row = np.minimum(at.astype(np.int64), coins - 1)
        share = np.clip(at - row, 0.0, 1.0)
        here = self._slope(self.first[table] + row, chance)
        following = self._slope(self.first[table] + np.minimum(row + 1, coins - 1), chance)
        stake: Floats = here * (1 - share) + following * share
        return stake

    def _slope(self, row: NDArray[np.int64], chance: Floats) -> Floats:
        key = row + chance
        above = np.clip(np.searchsorted(self.keys, key), 1, len(self.keys) - 1)
        low, high = self.keys[above - 1], self.keys[above]
        share = np.where(high > low, (key - low) / np.where(high > low, high - low, 1.0), 0.5)
        slope: Floats = self.slopes[above - 1] * (1 - share) + self.slopes[above] * share
        return slope


@lru_cache(maxsize=64)
def stakes_of_shares(risk: float, limit: int, drawn: float, zone: float) -> Stakes:
    """One table for each of `SHARES`, for a null about the lead (`zone` = 0) or about a zone of this half-width.

    `drawn` is limit / items, 0 for items like these.
    """
    moves = np.maximum(4.0, np.round(limit * SHARES))
    coins = np.minimum(moves, MOST_COINS).astype(np.int64)
    scale = np.sqrt(moves / coins)
    if not zone:
        return _tables(risk, coins, scale, drawn, np.zeros(len(coins)))
    half = np.minimum(zone / SHARES * scale, 0.95)
    return _tables(risk, coins, scale, drawn, -half, size=zone**2 * limit)


@lru_cache(maxsize=16)
def stakes_of_means(risk: float, limit: int, drawn: float, means: tuple[float, ...], most: int) -> Stakes:
    """One table of at most `most` coins for each mean of a draw under the null, all draws moving."""
    coins = np.full(len(means), min(limit, most), dtype=np.int64)
    each = limit / coins  # draws a coin
    skewed = np.array(means) / np.sqrt(1 - np.square(means)) / np.sqrt(each)
    of_coin = skewed / np.sqrt(1 + skewed**2)
    scale = np.sqrt(each * (1 - np.square(means)) / (1 - of_coin**2))
    return _tables(risk, coins, scale, drawn, of_coin)


def _tables(  # noqa: PLR0917 - what a family of tables is made of
    risk: float, coins: NDArray[np.int64], scale: Floats, drawn: float, mean: Floats, size: float = 0.0
) -> Stakes:
    """The tables of walks of so many coins with this `mean` under the null; a zone's if it has a `size`.

    A state is a number of heads. Row k has the numbers up to k, and on to the boundary.
    """
    most = int(coins.max())
    walk = _Walk(coins, mean, coins / drawn if drawn else None, most)
    bars, lows = _zone(risk, walk, drawn, size) if size else _one_sided(risk, walk)
    value = np.zeros((len(coins), most, most + 2))
    slope = np.zeros_like(value)
    after = np.zeros((len(coins), most + 2))
    for k in range(most, -1, -1):
        now = walk.back(k, after)
        now = np.where((coins == k)[:, None], 0.0, now)
        if k:
            now[walk.heads[None, :] >= bars[:, k, None]] = 1.0
            if lows is not None:
                now[walk.heads[None, :] <= lows[:, k, None]] = 0.0
        if k < most:
            mean = walk.back(k, after)
            value[:, k] = now
            slope[:, k, :-1] = np.divide(
                after[:, 1:] - after[:, :-1],
                2 * mean[:, :-1],
                out=np.zeros((len(coins), most + 1)),
                where=mean[:, :-1] > 1e-12,
            )
        after = now
    rows = np.arange(most)
    # Row k: what k tosses can give, and beyond it up to the boundary, where a wealth may be that ties have led astray.
    top = np.maximum(rows[None, :], np.minimum(bars[:, :-1], most + 1))
    top[:, 0] = 1
    kept = (rows[None, :, None] < coins[:, None, None]) & (walk.heads[None, None, :] <= top[:, :, None])
    first = np.concatenate([[0], np.cumsum(coins)[:-1]])
    numbers = first[:, None, None] + rows[None, :, None]
    value = np.clip(np.maximum.accumulate(value, axis=2), 0.0, 1 - 1e-9) + numbers
    return Stakes(value[kept], slope[kept], first, coins, scale)


class _Walk:
    """Walks of coins, one a table: the chance of heads in each state under the null."""

    def __init__(self, coins: NDArray[np.int64], mean: Floats, items: Floats | None, most: int) -> None:
        self.coins, self.mean, self.items = coins, mean, items
        self.heads = np.arange(most + 2)

    def chance(self, k: int) -> Floats:
        """Of heads at toss k, by table and number of heads so far."""
        if self.items is None:
            return (1 + self.mean[:, None]) / 2
        left = np.maximum(self.items - k, 1e-9)[:, None]
        mean = ((self.mean * self.items)[:, None] - (2 * self.heads - k)) / left
        return np.clip((1 + mean) / 2, 0.0, 1.0)

    def back(self, k: int, after: Floats) -> Floats:
        """Means before toss k of values after it."""
        heads = self.chance(k)
        mean = (1 - heads) * after
        mean[:, :-1] += (heads * np.ones_like(after))[:, :-1] * after[:, 1:]
        return mean

    def on(self, k: int, before: Floats) -> Floats:
        """Probabilities after toss k of probabilities before it."""
        heads = self.chance(k) * before
        after = before - heads
        after[:, 1:] += heads[:, :-1]
        return after


def _one_sided(risk: float, walk: _Walk) -> tuple[NDArray[np.int64], None]:
    """The least heads that end the walk, if by toss k of K it may have spent risk · (k / K)^½ (Lan & DeMets 1983)."""
    coins, most = walk.coins, int(walk.coins.max())
    bars = np.full((len(coins), most + 1), most + 2, dtype=np.int64)
    alive = np.zeros((len(coins), most + 2))
    alive[:, 0] = 1.0
    spent = np.zeros(len(coins))
    for k in range(1, most + 1):
        alive = walk.on(k - 1, alive)
        beyond = np.cumsum(alive[:, ::-1], axis=1)[:, ::-1]
        allowed = risk * np.sqrt(np.minimum(k / coins, 1.0)) - spent + 1e-15
        bar = np.argmax(beyond <= allowed[:, None], axis=1)
        bar = np.where(walk.mean == 0, np.maximum(bar, k // 2 + 1), bar)  # a name needs a lead
        bars[:, k] = bar
        spent += np.take_along_axis(beyond, bar[:, None], axis=1)[:, 0]
        alive[walk.heads[None, :] >= bar[:, None]] = 0.0
    return bars, None


def _zone(risk: float, walk: _Walk, drawn: float, size: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two boundaries that close on one another (Anderson 1960; Lorden 1976), which spend the risk together.

    A walk that reaches the lower one has the other answer.
    """
    coins, most = walk.coins, int(walk.coins.max())
    zone = -walk.mean[:, None]
    odds, k = math.log(1 / risk - 1), np.arange(1, most + 1.0)
    left = np.maximum(1 - drawn * k / coins[:, None], 1e-9)
    information = zone**2 * k / left
    knee = (odds / 2.2) ** 2 * max(0.1, (0.2 + 0.8 * drawn**2) / size)
    form = np.sqrt(information / (information + knee)) * np.maximum(1 - information / (3.5 * odds), 0.0)
    form /= np.arctanh(np.minimum(zone / left, 0.99999))
    low, high = np.full(len(coins), 0.3), np.full(len(coins), 8.0)

    def boundaries(scale: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        lead = np.maximum(1.0, scale[:, None] * form)
        bars, lows = np.full((len(coins), most + 1), most + 2), np.full((len(coins), most + 1), -1)
        bars[:, 1:], lows[:, 1:] = np.ceil((k + lead) / 2), np.floor((k - lead) / 2)
        return bars, lows

    for _ in range(ROUNDS):
        scale = np.sqrt(low * high)
        bars, lows = boundaries(scale)
        alive, spent = np.zeros((len(coins), most + 2)), np.zeros(len(coins))
        alive[:, 0] = 1.0
        for toss in range(1, most + 1):
            alive = walk.on(toss - 1, alive)
            over = walk.heads[None, :] >= bars[:, toss, None]
            spent += np.where(toss <= coins, (alive * over).sum(axis=1), 0.0)
            alive[over | (walk.heads[None, :] <= lows[:, toss, None])] = 0.0
        low, high = np.where(spent <= risk, low, scale), np.where(spent <= risk, scale, high)
    return boundaries(high)


@dataclass(frozen=True, eq=False)
class HedgedBets:
    """The wealth of bets against "the mean of the scores is at most `null`", after some draws.

    All figures may be arrays of any common shape: both sides of a comparison, or thousands of replays.

    - `null`: in [-1, 1]; `limit`: planned draws; `items`: inf for items like these
    - `zone`: half-width of the zone where the question has two answers, else 0
    - `total`, `square`, `fourth`: sums of the scores, and of powers of what moved the wealth
    """

    risk: float
    null: float
    limit: int
    items: float = math.inf
    zone: float = 0.0
    drawn: int = 0
    wealth: ArrayLike = 1.0
    total: ArrayLike = 0.0
    square: ArrayLike = 0.0
    fourth: ArrayLike = 0.0
    peak: ArrayLike = 1.0

    @property
    def remaining(self) -> Floats:
        """The largest mean of the next score under the null; below -1 the null is refuted for certain."""
        if math.isinf(self.items):
            return np.asarray(self.null)
        mean: Floats = (self.items * self.null - np.asarray(self.total)) / max(self.items - self.drawn, 1e-9)
        return mean

    def stake(self, most: float = 0.0) -> Floats:
        """The stake per unit of score above `remaining`, fixed before the draw. `most`: the largest control."""
        mean = np.clip(self.remaining, -1.0, 1.0)
        square, fourth = np.asarray(self.square), np.asarray(self.fourth)
        # Zones are ruined by a share of ties that is guessed too large: the prior there is none.
        prior, weight = (1.0, 4.0) if self.zone else (0.7, 4.0)
        second = (square + prior * weight) / (self.drawn + weight)
        size = np.sqrt((fourth + 0.5) / (square + 0.5))  # of the scores that count: 1 for signs whatever the ties
        share = np.minimum(1.0, second / size**2)
        left = second * max(0, self.limit - self.drawn)
        chance = np.clip(self.risk * np.asarray(self.wealth), 1e-12, 1 - 1e-9)
        time = square / np.maximum(square + left, 1e-12)
        table = np.rint(np.log(share) / math.log(0.03) * (len(SHARES) - 1)).astype(np.int64)
        table = np.clip(table, 0, len(SHARES) - 1)
        if self.zone:  # the boundaries stay as they are once they are close
            time = np.minimum(time, 1.2 * math.log(1 / self.risk - 1) * SHARES[table] / (self.zone**2 * self.limit))
        drawn = 0.0 if math.isinf(self.items) else self.limit / self.items
        stakes = stakes_of_shares(self.risk, self.limit, drawn, self.zone)
        stake = stakes.on_a_coin(table, *np.broadcast_arrays(time, chance)) / size / stakes.scale[table]
        if self.zone:
            half = np.clip(mean / size / share, -0.98, 0.98)
            stake = stake * (1 - half**2) / (1 - half * mean / size)
        stake = np.where((chance < 1 - 2e-9) & (left > 0), stake, 0.0)
        return np.clip(stake, 0.0, BOLDEST / np.maximum(1 + mean + most, 1e-9))

    def after(self, score: ArrayLike, control: ArrayLike = 0.0, most: float = 0.0) -> Self:
        """The bets after one more draw; `control` has a mean of 0 given what was known, and is at most `most`."""
        score = np.asarray(score, dtype=np.float64)
        mean = self.remaining
        moved = score - control
        gain = 1 + self.stake(most) * (moved - np.minimum(mean, 1.0))
        wealth = np.where(mean < -1 - 1e-12, np.inf, np.maximum(0.0, self.wealth * gain))
        return replace(
            self,
            drawn=self.drawn + 1,
            wealth=wealth,
            total=self.total + score,
            square=self.square + moved**2,
            fourth=self.fourth + moved**4,
            peak=np.maximum(self.peak, wealth),
        )

    @property
    def ruled_out(self) -> NDArray[np.bool_]:
        """Whether the null was ever ruled out."""
        return np.asarray(self.peak >= (1 - SLACK) / self.risk)
