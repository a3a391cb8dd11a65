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
not off the sum of the scores, so that what the copy does wrong corrects itself. For a null that was asked a coin is one
draw that moves the wealth; a tie moves neither. For one of a grid, which may be far from 0, a tie speaks as well: each
draw is a coin, with the variance and the skewness that the null and the share of ties so far give a score. With a
control each draw moves, by what the null does not expect of it. Where there would be more than `MOST_COINS` coins, one
stands for several draws, with their variance and their skewness.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = float | Floats
Limits = tuple[tuple[int, int], ...]  # after how many draws which limit began to hold

MOST_COINS = 400
SHARES = np.exp(np.linspace(0.0, math.log(0.03), 16))  # of draws that are no ties, for which there are tables
_RATES = 0.5 * 1.25 ** -np.arange(22.0)
MEANS = tuple((2 * np.concatenate([_RATES[::-1], 1 - _RATES[1:]]) - 1).tolist())  # of a draw that moves
FEWER_COINS = 100  # of the tables for the grid
_BETWEEN_MEANS = np.tanh((np.arctanh(MEANS)[1:] + np.arctanh(MEANS)[:-1]) / 2)
_BETWEEN = -np.sqrt(SHARES[1:] * SHARES[:-1])  # ascending: where the next share is the nearer one
PRIOR, PRIOR_SHARE = 4.0, 0.7  # draws as which the first guess of the share counts
FEW = 20  # planned draws, of which none are taken to be ties: of five, all five are needed
HOPELESS = (
    0.003  # the wealth at which bets end: under the null it comes back to 1/risk with at most this times the risk
)
VERSION = 4  # of the stakes: with others, the same verdicts may end a run elsewhere
RARELY = -0.3  # the mean of a draw that moves, under the null, below which ties count as evidence
SURE, LEAST = 1e-9, 1e-12
GONE = 1e-250  # a wealth that is given up: numbers that small are a hundred times slower to reckon with
SLACK = 1e-6  # of the wealth: a perfect copy ends at 1/risk but for rounding, which must not cost the answer
BOLDEST = 0.98  # of the stake that could lose everything
SPENT, SPENT_LATE = 0.38, 2.0  # on a grid: the power of the share of a plan that is over gives that of the risk spent
SPENT_ASKED = 0.5  # the same for a null that was asked
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

    def on_a_draw(self, table: NDArray[np.int64], time: Floats, chance: Floats, size: Floats) -> Floats:
        """The stake per unit of a score, where those that move the wealth have this size."""
        stake: Floats = self.on_a_coin(table, time, chance) / (size * self.scale[table])
        return stake

    def on_a_coin(self, table: NDArray[np.int64], time: Floats, chance: Floats) -> Floats:
        """The stake per unit of a coin, linear between states and between rows; shapes as given, broadcast."""
        row, following, share = self.rows(table, time)
        # Both rows in one search: with few nulls the calls of numpy are what takes the time.
        here, there = self._slopes(np.array([row + chance, following + chance]))
        stake: Floats = here * (1 - share) + there * share
        return stake

    def rows(self, table: NDArray[np.int64], time: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """The numbers of the two rows that a time lies between, and its share of the way to the second."""
        coins, begin = self.coins[table], self.first[table]
        at = time * coins
        row = np.minimum(at.astype(np.int64), coins - 1)
        return begin + row, begin + np.minimum(row + 1, coins - 1), np.minimum(at - row, 1.0)

    def slope(self, row: int, chance: float) -> float:
        """That of one row in plain numbers: the same to the last bit, and for a single state ten times as quick."""
        keys, slopes, width, middle, begin = self._plain
        key = row + chance
        below = min(max(bisect_left(keys, key, begin[row], begin[row + 1]), 1), len(keys) - 1) - 1
        share: float = (key - keys[below]) / width[below] + middle[below]
        slope: float = slopes[below] * (1 - share) + slopes[below + 1] * share
        return slope

    def _slopes(self, key: Floats) -> Floats:
        above = np.minimum(np.maximum(self.keys.searchsorted(key), 1), len(self.keys) - 1)
        below = above - 1
        width, middle = self._between
        share = (key - self.keys[below]) / width[below] + middle[below]
        slopes: Floats = self.slopes[below] * (1 - share) + self.slopes[above] * share
        return slopes

    @cached_property
    def _between(self) -> tuple[Floats, Floats]:
        """What a key's distance to the one below it is divided by, and 0.5 where both keys are equal."""
        width = np.diff(self.keys)
        return np.where(width > 0, width, 1.0), np.where(width > 0, 0.0, 0.5)

    @cached_property
    def _plain(self) -> tuple[Any, ...]:
        """Keys, slopes, what lies between keys, and the first key of each row, which are numbered from 0."""
        begin = self.keys.searchsorted(np.arange(self.first[-1] + self.coins[-1] + 1))
        arrays: tuple[Any, ...] = self.keys, self.slopes, *self._between, begin
        return tuple(memoryview(one) for one in arrays)


def made_anew(name: str, make: Callable[[], Stakes]) -> Stakes:
    """Tables that are kept nowhere."""
    del name
    return make()


# The edge may set one that keeps tables from process to process (`runs/kept_tables.py`): this half reads no disk.
keep: Callable[[str, Callable[[], Stakes]], Stakes] = made_anew


@lru_cache(maxsize=64)
def stakes_of_a_zone(risk: float, limit: int, drawn: float, zone: float) -> Stakes:
    """One table for each of `SHARES`, for a null about a zone of this half-width; `drawn` is limit / items."""
    moves = np.maximum(4.0, np.round(limit * SHARES))
    coins = np.minimum(moves, MOST_COINS).astype(np.int64)
    scale = np.sqrt(moves / coins)
    half = np.minimum(zone / SHARES * scale, 0.95)
    return _tables(risk, coins, scale, drawn, -half, size=zone**2 * limit)


@lru_cache(maxsize=64)
def stakes_of_a_null(risk: float, limit: int, drawn: float) -> Stakes:
    """One table for each of `SHARES`, for a null of 0."""
    moves = np.maximum(4.0, np.round(limit * SHARES))
    coins = np.minimum(moves, MOST_COINS).astype(np.int64)
    return _tables(risk, coins, np.sqrt(moves / coins), drawn, np.zeros(len(coins)))


@lru_cache(maxsize=64)
def stakes_of_means(risk: float, limit: int, drawn: float, spent: float) -> Stakes:
    """One table for each of `MEANS` of a coin that stands for a draw; on a grid a tie is one, too."""
    mean, each = np.array(MEANS), max(4, limit) / min(max(4, limit), FEWER_COINS)
    coins = np.full(len(MEANS), min(max(4, limit), FEWER_COINS))
    skewed = mean / np.sqrt(1 - mean**2) / math.sqrt(each)
    of_coin = skewed / np.sqrt(1 + skewed**2)
    return _tables(risk, coins, np.sqrt(each * (1 - mean**2) / (1 - of_coin**2)), drawn, of_coin, spent=spent)


@lru_cache(maxsize=64)
def boundary_at_the_end(risk: float) -> float:
    """The lead that the stakes aim at, in standard deviations, when the last draw of a plan is made."""
    coins = np.array([FEWER_COINS])
    bars, _ = _one_sided(risk, _Walk(np.zeros(1), None, FEWER_COINS), coins)
    return float(2 * bars[0, -1] - FEWER_COINS) / math.sqrt(FEWER_COINS)


def _tables(  # noqa: PLR0917 - what a family of tables is made of
    risk: float,
    coins: NDArray[np.int64],
    scale: Floats,
    drawn: float,
    mean: Floats,
    size: float = 0.0,
    spent: float = SPENT_ASKED,
) -> Stakes:
    """The tables of walks of so many coins with this `mean` under the null; a zone's if it has a `size`."""
    made_of = np.concatenate([[VERSION, risk, drawn, size, spent], coins, scale, mean])
    name = hashlib.sha256(made_of.tobytes()).hexdigest()[:32]
    return keep(name, lambda: _made(risk, coins, scale, drawn, mean, size, spent))


def _made(  # noqa: PLR0917 - as `_tables`
    risk: float, coins: NDArray[np.int64], scale: Floats, drawn: float, mean: Floats, size: float, spent: float
) -> Stakes:
    """Tables, made.

    A state is a number of heads. Row k has the numbers up to k, and on to the boundary.
    """
    most = int(coins.max())
    walk = _Walk(mean, coins / drawn if drawn else None, most)
    bars, lows = _zone(risk, walk, coins, drawn, size) if size else _one_sided(risk, walk, coins, spent)
    rows = np.arange(most)
    # Row k: what k tosses can give, and beyond it up to the boundary, where a wealth may be that ties have led astray.
    top = np.maximum(rows, np.minimum(bars[:, :-1], most + 1))
    top[:, 0] = 1
    lengths = np.where(rows < coins[:, None], top + 1, 0)
    first = np.cumsum(coins) - coins
    keys = np.full((len(coins), most, most + 2), 1 - 1e-9)  # by table, toss and heads
    slopes = np.zeros_like(keys)
    # Outside of a band the value is 0 or 1 in every table, and the slope 0.
    counts = np.arange(most + 1) <= coins[:, None]
    begin = np.maximum(np.where(counts, lows, most).min(axis=0), 0)
    end = np.minimum(np.where(counts, bars, 0).max(axis=0) + 1, most + 2)
    after = np.zeros((len(coins), most + 3))
    for k in range(most, -1, -1):
        low = max(0, min(begin[k : k + 2]) - 1)
        high = int(max(end[k : k + 2]))
        band, heads = slice(low, high), walk.heads[low:high]
        mean = walk.back(k, after, band)
        ahead = after[:, low + 1 : high + 1] - after[:, band]
        now = np.where((coins == k)[:, None], 0.0, mean)
        if k:
            np.copyto(now, 1.0, where=heads >= bars[:, k, None])
            np.copyto(now, 0.0, where=heads <= lows[:, k, None])
        if k < most:
            np.divide(ahead, 2 * mean, out=slopes[:, k, band], where=(mean > LEAST) & (heads <= most))
            keys[:, k, :low], keys[:, k, band] = 0.0, np.minimum(np.maximum.accumulate(now, axis=1), 1 - 1e-9)
        after[:, :low], after[:, band], after[:, high : most + 2] = 0.0, now, 1.0
    keys += (first[:, None] + rows)[..., None]
    kept = walk.heads < lengths[..., None]
    return Stakes(keys[kept], slopes[kept], first, coins, scale)


class _Walk:
    """Walks of coins, one a table: the chance of heads in each state under the null.

    A band of states is a slice of the numbers of heads so far.
    """

    def __init__(self, mean: Floats, items: Floats | None, most: int) -> None:
        self.mean, self.items = mean[:, None], None if items is None else items[:, None]
        self.heads = np.arange(most + 2)
        self._sum = None if self.items is None else self.mean * self.items

    def chance(self, k: int, band: slice) -> Floats:
        """Of heads at toss k, by table and number of heads so far."""
        if self.items is None or self._sum is None:
            return (1 + self.mean) / 2
        mean = (self._sum - (2 * self.heads[band] - k)) / np.maximum(self.items - k, 1e-9)
        return np.minimum(np.maximum((1 + mean) / 2, 0.0), 1.0)

    def back(self, k: int, after: Floats, band: slice) -> Floats:
        """Means before toss k of values after it, in a band; beyond the last state there is a value, too."""
        heads = self.chance(k, band)
        mean: Floats = (1 - heads) * after[:, band] + heads * after[:, band.start + 1 : band.stop + 1]
        return mean

    def on(self, k: int, alive: Floats, band: slice) -> None:
        """Probabilities after toss k in the place of those before it, which are 0 outside of a band but for its end."""
        heads = self.chance(k, band) * alive[:, band]
        alive[:, band] -= heads
        alive[:, band.start + 1 : band.stop] += heads[:, :-1]


def _one_sided(
    risk: float, walk: _Walk, coins: NDArray[np.int64], power: float = SPENT_ASKED
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least heads that end the walk, if by toss k of K it may have spent risk · (k / K)^p (Lan & DeMets 1983).

    The second boundary is never reached.
    """
    most = int(coins.max())
    bars = np.full((len(coins), most + 1), most + 2, dtype=np.int64)
    alive, end = np.zeros((len(coins), most + 3)), 1  # beyond the end there is no probability
    alive[:, 0] = 1.0
    spent = np.zeros(len(coins))
    for k in range(1, most + 1):
        band = slice(0, min(end + 2, most + 2))
        walk.on(k - 1, alive, band)
        beyond = np.cumsum(alive[:, band][:, ::-1], axis=1)[:, ::-1]
        allowed = risk * np.minimum(k / coins, 1.0) ** power - spent + 1e-15
        bar = np.argmax(beyond <= allowed[:, None], axis=1)
        bar = np.where(walk.mean[:, 0] == 0, np.maximum(bar, k // 2 + 1), bar)  # a name needs a lead
        bars[:, k] = bar
        spent += np.take_along_axis(beyond, np.minimum(bar, band.stop - 1)[:, None], axis=1)[:, 0]
        np.copyto(alive[:, band], 0.0, where=walk.heads[band] >= bar[:, None])
        end = min(end + 1, int(bar.max()))
    return bars, np.full_like(bars, -1)


def _zone(
    risk: float, walk: _Walk, coins: NDArray[np.int64], drawn: float, size: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Two boundaries that close on one another (Anderson 1960; Lorden 1976), which spend the risk together.

    A walk that reaches the lower one has the other answer.
    """
    most, zone = int(coins.max()), -walk.mean
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
        begins, ends = np.maximum(lows.min(axis=0), 0), np.minimum(bars.max(axis=0), most + 1)
        alive, spent, begin, end = np.zeros((len(coins), most + 3)), np.zeros(len(coins)), 0, 1
        alive[:, 0] = 1.0
        for toss in range(1, most + 1):
            band = slice(begin, end + 1)
            walk.on(toss - 1, alive, band)
            heads, here = walk.heads[band], alive[:, band]
            over = heads >= bars[:, toss, None]
            spent += np.where(toss <= coins, (here * over).sum(axis=1), 0.0)
            np.copyto(here, 0.0, where=over | (heads <= lows[:, toss, None]))
            begin, end = max(begin, int(begins[toss])), max(1, min(end + 1, int(ends[toss])))
        low, high = np.where(spent <= risk, low, scale), np.where(spent <= risk, scale, high)
    return boundaries(high)


class Aim(NamedTuple):
    """What decides a stake beside the wealth.

    `table` and `time` say where in the tables it is read, for draws of this `size`. A stake on a coin is taken times
    `up` / `down`, where a draw that does not move is no coin. It is at least `least` and at most `most`.
    """

    table: NDArray[np.int64]
    time: Floats
    size: Floats
    up: Floats
    down: Floats
    least: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class HedgedBets:
    """The wealth of bets against "the mean of the scores is at most `null`", after some draws.

    All figures may be arrays of one common shape: both sides of a comparison, or thousands of replays.

    - `risk`: of ruling out a null that is true. `limit`: the planned draws. `then`: limits that replace it later
    - `null`: in [-1, 1]. `items`: of the population, inf for items like these
    - `zone`: half-width of the zone where the question has two answers, else 0
    - `of_grid`: whether the null is one of many, with any mean; else it is 0, or the far end of the zone
    - `late`: whether the stakes on a grid aim at the last draw of the plan alone
    - `total`, `square`, `fourth`: sums of the scores, and of powers of what moved the wealth
    """

    risk: float
    null: Numbers
    limit: int
    items: float = math.inf
    zone: float = 0.0
    of_grid: bool = False
    late: bool = False
    then: Limits = ()
    drawn: int | NDArray[np.int64] = 0
    wealth: Numbers = 1.0
    total: Numbers = 0.0
    square: Numbers = 0.0
    fourth: Numbers = 0.0
    ruled_out: NDArray[np.bool_] = field(default_factory=lambda: np.zeros((), dtype=np.bool_))

    @property
    def remaining(self) -> Floats:
        """The largest mean of the next score under the null; below -1 the null is refuted for certain."""
        if math.isinf(self.items):
            return np.asarray(self.null)
        mean: Floats = (self.items * np.asarray(self.null) - self.total) / np.maximum(self.items - self.drawn, 1e-9)
        return mean

    @property
    def hopeless(self) -> NDArray[np.bool_]:
        """Where the wealth is so low that the bets have ended: only certainty can rule the null out."""
        return np.asarray(self.wealth) < HOPELESS

    def stake(self, most: Numbers = 0.0) -> Floats:
        """The stake per unit of score above `remaining`, fixed before the draw. `most`: the largest control."""
        aim, wealth = self.aim(most), np.asarray(self.wealth)
        chance = np.minimum(np.maximum(self.risk * wealth, LEAST), 1 - SURE)
        stake = self._stakes.on_a_draw(aim.table, aim.time, chance, aim.size)
        stake = np.maximum(stake * aim.up / aim.down, aim.least)
        return np.minimum(np.where((chance < 1 - 2 * SURE) & (wealth >= HOPELESS), stake, 0.0), aim.most)

    def aim(self, most: Numbers) -> Aim:
        """What decides the stake on the next draw beside the wealth."""
        mean, square = np.minimum(np.maximum(self.remaining, -1.0), 1.0), np.asarray(self.square)
        # Zones are ruined by a share of ties that is guessed too large: the prior there is none.
        prior = PRIOR if self.zone or self.limit <= FEW else PRIOR_SHARE * PRIOR
        second = (square + prior) / (self.drawn + PRIOR)
        size = np.sqrt((self.fourth + 0.5) / (square + 0.5))  # of the scores that count: 1 for signs whatever the ties
        controlled = bool(np.any(most))
        size = np.sqrt(second) if controlled else size  # each draw moves (`after`)
        share = np.minimum(1.0, second / (size * size))
        draws = np.maximum(0, self.limit - self.drawn)
        half = np.minimum(np.maximum(mean / size / share, -0.98), 0.98)  # of a draw that moves, under the null
        half = np.zeros_like(half) if controlled else half
        bold = np.where(draws > 0, BOLDEST / np.maximum(1 + mean + most, SURE), 0.0)
        least = np.zeros(())
        if self.of_grid:
            # A score is -size, 0 or size: its mean, variance and third moment in sizes, under the null.
            mean = half * share
            spread = share - mean * mean
            skewness = mean * (1 - 3 * share + 2 * mean * mean) / spread**1.5
            half = -skewness / np.sqrt(4 + skewness**2)  # the mean of a coin that is as skewed
            size = size * np.sqrt(spread / (1 - half * half))
            time = np.full(half.shape, np.minimum(self.drawn / self.limit, 1.0))
            each = np.ones(())  # a tie is a coin as well
            return Aim(np.searchsorted(_BETWEEN_MEANS, half), time, size, each, each, least, bold)
        time, table = square / np.maximum(square + second * draws, LEAST), np.searchsorted(_BETWEEN, -share)
        if self.zone:
            # The boundaries stay as they are once they are close.
            time = np.minimum(time, 1.2 * math.log(1 / self.risk - 1) * SHARES[table] / (self.zone**2 * self.limit))
            # Where few draws move, a coin that keeps the null hardly ever does, and each tie speaks against the null:
            # the stake that lets wealth grow the fastest, as if the scores had a mean of 0, is the larger one.
            edge = np.maximum(-mean, 0.0)
            least = np.where(half < RARELY, edge / (second + edge * edge), 0.0)
        return Aim(table, time, size, 1 - half * half, 1 - half * mean / size, least, bold)

    @property
    def _drawn(self) -> float:
        """The share of the items that a whole plan draws."""
        return 0.0 if math.isinf(self.items) else self.limit / self.items

    @property
    def _stakes(self) -> Stakes:
        if self.of_grid:
            return stakes_of_means(self.risk, self.limit, self._drawn, SPENT_LATE if self.late else SPENT)
        if self.zone:
            return stakes_of_a_zone(self.risk, self.limit, self._drawn, self.zone)
        return stakes_of_a_null(self.risk, self.limit, self._drawn)

    def after(self, score: Numbers, control: Numbers = 0.0, most: Numbers = 0.0, stake: Floats | None = None) -> Self:
        """The bets after one more draw; `control` has a mean of 0 given what was known, and is at most `most`.

        Another `stake` than the own one must be fixed before the draw, too.
        """
        score = np.asarray(score, dtype=np.float64)
        moved, mean = score - control, self.remaining
        stake = self.stake(most) if stake is None else stake
        wealth = np.maximum(0.0, self.wealth * (1 + stake * (moved - np.minimum(mean, 1.0))))
        wealth = np.where(self.ruled_out, self.wealth, wealth)  # against what is ruled out nobody bets
        total, square = self.total + score, (moved - np.minimum(mean, 1.0) if np.any(most) else moved) ** 2
        limit, then = self.limit, self.then
        if then and self.drawn + 1 >= then[0][0]:
            (_, limit), *rest = then
            then = tuple(rest)
        return type(self)(
            self.risk,
            self.null,
            limit,
            self.items,
            self.zone,
            self.of_grid,
            self.late,
            then,
            self.drawn + 1,
            wealth,
            total,
            self.square + square,
            self.fourth + square * square,
            self.ruled_out | self._certain(total, self.drawn + 1) | (wealth >= (1 - SLACK) / self.risk),
        )

    def _certain(self, total: Numbers, drawn: int | NDArray[np.int64]) -> NDArray[np.bool_] | bool:
        """Where the null leaves less than -1 for each score after so many draws."""
        if math.isinf(self.items):
            return False
        left: NDArray[np.bool_] = self.items * np.asarray(self.null) - total < drawn - self.items - SURE
        return left

    def falls(self, scores: Floats, control: float = 0.0, most: float = 0.0) -> list[int]:
        """At which of some draws each null is ruled out; one more than there are: at none. One that is already: at 1.

        As `after` finds it, to the last bit, for `scores` of the shape (draws, nulls). With them all but the wealth is
        known, so that alone is followed draw by draw, in plain numbers.
        """
        draws, nulls = scores.shape

        def sums(before: Numbers, each: Floats) -> Floats:
            return np.cumsum(np.vstack([np.broadcast_to(before, nulls), each]), axis=0)

        total, drawn = sums(self.total, scores), self.drawn + np.arange(draws)[:, None]
        bets = replace(self, total=total[:-1], drawn=drawn)
        gain = scores - control - np.minimum(bets.remaining, 1.0)
        square = (gain if most else scores - control) ** 2
        bets = replace(bets, square=sums(self.square, square)[:-1], fourth=sums(self.fourth, square * square)[:-1])
        aim, stakes, sure = bets.aim(most), self._stakes, self.ruled_out | self._certain(total[1:], drawn + 1)
        figures = (*stakes.rows(aim.table, aim.time), aim.size * stakes.scale[aim.table], *aim[-4:], gain, sure)
        along = zip(*(np.broadcast_to(one, scores.shape).T.tolist() for one in figures), strict=True)
        wealths = np.broadcast_to(self.wealth, nulls).tolist()
        return [self._fall(stakes, *one) for one in zip(wealths, along, strict=True)]

    def _fall(self, stakes: Stakes, wealth: float, figures: tuple[Sequence[Any], ...]) -> int:
        """At which draw one null is ruled out: what `stake` and `after` find, in plain numbers."""
        draws = enumerate(zip(*figures, strict=True), start=1)
        for number, (row, following, share, size, up, down, least, most, gain, sure) in draws:
            chance = min(max(self.risk * wealth, LEAST), 1 - SURE)
            if most and wealth >= HOPELESS and chance < 1 - 2 * SURE:
                slope = stakes.slope(row, chance) * (1 - share) + stakes.slope(following, chance) * share
                stake = min(max(slope / size * up / down, least), most)
                wealth = max(0.0, wealth * (1 + stake * gain))
            if sure or wealth >= (1 - SLACK) / self.risk:
                return number
        return len(figures[0]) + 1

    def after_several(self, wins: Floats, ties: Floats, losses: Floats, luck: Floats) -> Self:
        """About what the bets are after several draws with scores of 1, 0 and -1, as many in each run.

        For forecasts: all draws have the stake of the first, where a run has a stake for each. Wealth that is high
        before and after was high enough between them with the chance of a Brownian bridge, which the `luck`, uniform
        in [0, 1), decides.
        """
        number = int((wins + ties + losses).flat[0])
        mean, stake = np.minimum(self.remaining, 1.0), self.stake()
        each = ((1.0, wins), (0.0, ties), (-1.0, losses))
        wealth = math.prod((np.maximum(0.0, 1 + stake * (score - mean)) ** times for score, times in each), start=1.0)
        wealth = np.where(self.ruled_out, self.wealth, np.maximum(self.wealth * wealth, GONE))
        enough = math.log((1 - SLACK) / self.risk)
        spread = np.maximum(stake**2 * (wins + losses), GONE)
        between = np.exp(-2 * np.maximum(0.0, (enough - np.log(self.wealth)) * (enough - np.log(wealth))) / spread)
        total = np.asarray(self.total + wins - losses)
        return replace(
            self,
            drawn=self.drawn + number,
            wealth=wealth,
            total=total,
            square=self.square + wins + losses,
            fourth=self.fourth + wins + losses,
            ruled_out=self.ruled_out
            | self._certain(total, self.drawn + number)
            | (np.log(wealth) >= enough)
            | (luck < between),
        )

    def of(self, runs: NDArray[np.bool_]) -> Self:
        """The bets of some of the runs, the first dimension of the figures."""
        figures = (self.wealth, self.total, self.square, self.fourth, self.ruled_out)
        wealth, total, square, fourth, ruled_out = (np.asarray(one)[runs] for one in figures)
        return replace(self, wealth=wealth, total=total, square=square, fourth=fourth, ruled_out=ruled_out)
