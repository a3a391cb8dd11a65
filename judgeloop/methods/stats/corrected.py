"""The gap by people, from their labels on some items and a cheap judge's verdicts on more.

A cheap verdict c is a *control* of a dear one x: f(c) less its mean is 0 on average whatever the judge is worth, and
takes off x what the judge foresees of it. All scores are in [-1, 1]: 1 for the first system, -1 for the second.

**Theorem 1 (these items).** Let labels come in a uniform order of N items, whose cheap verdicts are all known. Let f_t
be any function of an item that is fixed before label t, and g_t its mean over the items without a label. Then
f_t(i_t) - g_t is a control as the theorem of `hedged.py` asks for.
*Proof.* Given what is known before label t, i_t is uniform on the items that are left, so E f_t(i_t) = g_t. ∎

**Theorem 2 (items like these; also these items, drawn with replacement).** Let each label come with a block of k fresh
independent items whose cheap verdicts are bought, and let the item of the label be one of them at random. With the
mean of f_t over the block in the place of g_t the same holds.
*Proof.* f_t is fixed before the block, whose k items are exchangeable, so the item of the label has the block's mean
of f_t on average; and E x_t is the mean of the population. ∎ The mean over a whole pool would be wrong here: the luck
of the pool's cheap verdicts would stay in every label.

Neither what the judge is worth nor how f is chosen enters. Here f = b c, with the slope b that a regression of the
labels so far says (`Slope`). The interval has all means that bets with this control do not rule out
(`confidence_sequence.py`), so it holds at every look, and leaves 0 out when the bets of a comparison name a system.
The figure in it is the regression estimate (Cochran 1977, section 7.1; with the slope of Angelopoulos, Duchi & Zrnic
2023, "PPI++: Efficient prediction-powered inference", section 6, whose estimate it is).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.betting import Controls
from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.hedged import Floats, Numbers

PRIOR, PRIOR_SLOPE = 8.0, 0.2  # of the slope: worth so many labels of verdicts without ties
FEWEST = 4  # labels of which a correlation has an interval
MISSES = 0.1  # about how often the interval of what is saved misses


@dataclass(frozen=True, slots=True)
class Slope:
    """What labels so far say of the slope of the dear score by the cheap one; figures may be arrays of many runs."""

    labels: int = 0
    dear: Numbers = 0.0
    cheap: Numbers = 0.0
    product: Numbers = 0.0
    square: Numbers = 0.0

    @property
    def value(self) -> Numbers:
        """The slope, in [0, 1]: a judge that contradicts people is not used the other way round."""
        labels = max(self.labels, 1)
        together = self.product - self.dear * self.cheap / labels
        alone = self.square - self.cheap * self.cheap / labels
        return np.minimum(np.maximum((together + PRIOR * PRIOR_SLOPE) / (alone + PRIOR), 0.0), 1.0)

    def after(self, dear: Numbers, cheap: Numbers) -> Slope:
        """With one more label."""
        return Slope(
            self.labels + 1,
            self.dear + dear,
            self.cheap + cheap,
            self.product + dear * cheap,
            self.square + cheap * cheap,
        )

    def of(self, runs: NDArray[np.bool_]) -> Slope:
        """Those of some of many runs."""
        parts = (np.asarray(one)[runs] for one in (self.dear, self.cheap, self.product, self.square))
        return Slope(self.labels, *parts)


class Aside(NamedTuple):
    """What is known beside a label: the item's `cheap` score, and the `mean` that it was drawn from.

    `block` is the number of items that have this mean, among which the label's item is; 0 where it is the mean of all
    items that were left, which was known before the draw.
    """

    cheap: Numbers
    mean: Numbers
    block: int = 0

    def control(self, slope: Numbers) -> Numbers:
        """What is taken off the first system's score, and added to the second's."""
        return slope * (self.cheap - self.mean)

    def most(self, slope: Numbers) -> tuple[Numbers, Numbers]:
        """The largest that could have been taken off the score of each system, as far as known before the draw."""
        if self.block:
            most = slope * (2.0 * (1 - 1 / self.block))
            return most, most
        return slope * (1.0 - self.mean), slope * (1.0 + self.mean)


ALONE = Aside(0.0, 0.0, 1)  # beside a label of which no judge says anything


def controls(scores: Sequence[float | None], asides: Sequence[Aside]) -> Controls:
    """The controls of labels in the order drawn; a label without a verdict, None, says nothing of the slope."""
    slope, values, mosts = Slope(), [], []
    for score, aside in zip(scores, asides, strict=True):
        values.append(aside.control(slope.value))
        mosts.append(aside.most(slope.value))
        slope = slope if score is None else slope.after(score, aside.cheap)
    return Controls(np.array(values, dtype=np.float64), np.array(mosts, dtype=np.float64).reshape(-1, 2).T)


def of_pool(cheap: Floats, drawn: Sequence[int]) -> list[Aside]:
    """What is known beside the labels of the items `drawn`, in this order, where all items have a `cheap` score."""
    own = cheap[np.asarray(drawn, dtype=np.int64)]
    left = float(cheap.sum()) - np.concatenate([[0.0], np.cumsum(own)[:-1]]) if len(own) else np.zeros(0)
    means = np.clip(left / (len(cheap) - np.arange(len(own))), -1.0, 1.0)
    return [Aside(float(one), float(mean)) for one, mean in zip(own, means, strict=True)]


def of_blocks(cheap: Floats, drawn: Sequence[int], seed: int) -> list[Aside]:
    """As `of_pool`, for items like these: the items without a label are shared out to blocks at random, evenly.

    What is over after that is not used. Where there are fewer of them than labels no block has more than one item, and
    the controls are 0.
    """
    others = np.setdiff1d(np.arange(len(cheap)), drawn)
    each = len(others) // max(1, len(drawn))
    mates = np.random.default_rng(seed).permutation(others)[: each * len(drawn)].reshape(len(drawn), each)
    return [
        Aside(float(cheap[at]), float((cheap[at] + cheap[own].sum()) / (each + 1)), each + 1)
        for at, own in zip(drawn, mates, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Corrected:
    """The gap by people with the help of a cheap judge, first system less second, in [-1, 1].

    - `gap`: the regression estimate, None without a label; `interval`: bounds that hold at every look, each wrong with
      at most `risk`, None where the labels were not drawn at random
    - `labels`: of people, with a verdict; `cheap`: verdicts of the judge that are used
    - `alone`: the gap by the judge alone; `off`: by how much it is off (`alone` less `gap`), and `off_interval`
    - `slope`: of the estimate; `r2`: the squared correlation of both, None where it is not defined
    - `saved`: about how many labels more an interval as narrow would take without the judge; `saved_interval`: an
      approximate one
    - `to_halve`: how many labels in all would halve the interval
    - `widened`: by which share the judge made the interval wider than the labels alone would; below 0 it made it
      narrower. None where no verdict of it stands beside an item without a label
    """

    gap: float | None
    interval: tuple[float, float] | None
    labels: int
    cheap: int
    risk: float
    alone: float
    off: float | None
    off_interval: tuple[float, float] | None
    slope: float
    r2: float | None
    saved: float | None
    saved_interval: tuple[float, float] | None
    to_halve: int
    widened: float | None = None


def corrected(  # noqa: PLR0917 - what the correction is made of
    scores: Sequence[float | None],
    asides: Sequence[Aside],
    pool: Floats,
    risk: float,
    limit: int,
    items: float = math.inf,
    *,
    drawn: bool = True,
    known: tuple[float, float] | None = None,
) -> Corrected:
    """Correct a judge by labels.

    `scores` are people's, in the order drawn, None for an abstention, which counts for neither system, and against both
    in the bounds. `asides` belong to them. `pool` has all cheap scores that were bought: of all `items`, or, where that
    is inf, of all blocks. The bets aim at an end after `limit` labels. `drawn`: whether the order is a uniform one.
    `known` are the bounds of the gap where they are known already.
    """
    judged = [(score, aside.cheap) for score, aside in zip(scores, asides, strict=True) if score is not None]
    dear, cheap = np.array(judged, dtype=np.float64).reshape(-1, 2).T
    labels, alone = len(dear), float(pool.mean()) if len(pool) else 0.0
    slope, r2 = _regression(dear, cheap, pool)
    gap = float(dear.mean() - slope * (cheap.mean() - alone)) if labels else None
    interval = off_interval = None
    if drawn and scores:
        low, high = known or bounds(scores, asides, risk, limit, items)
        interval = low, high
        off_interval = (
            (alone - high, alone - low) if not math.isinf(items) else gap_of_judge(scores, asides, risk, limit)
        )
    if gap is not None and interval is not None:
        interval = min(interval[0], gap), max(interval[1], gap)
    finite = labels / items
    # Of what the judge explains, the luck of its own verdicts in a block does not help.
    share = 1 - 1 / max(asides[0].block, 1) if labels and math.isinf(items) else 1.0
    return Corrected(
        gap=gap,
        interval=interval,
        labels=labels,
        cheap=len(pool),
        risk=risk,
        alone=alone,
        off=None if gap is None else alone - gap,
        off_interval=off_interval,
        slope=slope,
        r2=r2,
        saved=None if r2 is None else saved(r2 * share, labels, items),
        saved_interval=None if r2 is None or labels < FEWEST else _saved_between(r2, share, labels, items),
        to_halve=math.ceil(4 * labels / (1 + 3 * finite)),
    )


def bounds(
    scores: Sequence[float | None], asides: Sequence[Aside], risk: float, limit: int, items: float = math.inf
) -> tuple[float, float]:
    """Bounds for the mean of people's scores, each ever wrong with at most `risk`, however often it is looked at."""
    both = np.array([[-1.0 if one is None else sign * one for one in scores] for sign in (1, -1)])
    low, high = lower_bounds(both, risk, limit, items, controls=controls(scores, asides))[:, -1].tolist()
    return min(low, -high), max(low, -high)


def gap_of_judge(
    scores: Sequence[float | None], asides: Sequence[Aside], risk: float, limit: int
) -> tuple[float, float]:
    """Bounds for E(c - x), the judge's gap less people's, on items like these, each ever wrong with at most `risk`.

    Of these items the judge's gap is known, so that `bounds` of people's say it.
    """
    halves = [
        None if one is None else (float(aside.cheap) - one) / 2 for one, aside in zip(scores, asides, strict=True)
    ]
    low, high = bounds(halves, asides, risk, limit)
    return 2 * low, 2 * high


def saved(explained: float, labels: int, items: float = math.inf) -> float:
    """How many further labels would say without a judge what these say with it; `explained` is its share of variance.

    Of these `items` each further label says more than the one before it, so that there are never more than are left.

    >>> saved(0.5, 100), saved(0.0, 100), round(saved(0.5, 100, 300))
    (100.0, 0.0, 50)
    """
    if not labels:
        return 0.0
    return 1 / (max(1 - explained, 1e-9) * (1 / labels - 1 / items) + 1 / items) - labels


def _regression(dear: Floats, cheap: Floats, pool: Floats) -> tuple[float, float | None]:
    """The slope of the estimate, which is 0 where it is not known, and the squared correlation."""
    if len(dear) < 2:  # noqa: PLR2004 - a variance
        return 0.0, None
    together = float(((dear - dear.mean()) * (cheap - cheap.mean())).mean())
    among_all, product = float(pool.var(ddof=1)), float(dear.var() * cheap.var())
    slope = together / among_all if among_all > 0 else 0.0
    return min(1.0, max(0.0, slope)), min(1.0, together * together / product) if product > 0 else None


def _saved_between(r2: float, share: float, labels: int, items: float) -> tuple[float, float]:
    """About the labels saved, by Fisher's (1921) interval of a correlation."""
    middle, reach = math.atanh(min(math.sqrt(r2), 1 - 1e-9)), NormalDist().inv_cdf(1 - MISSES / 2)
    ends = [math.tanh(max(0.0, middle + sign * reach / math.sqrt(max(1, labels - 3)))) ** 2 for sign in (-1, 1)]
    return saved(ends[0] * share, labels, items), saved(ends[1] * share, labels, items)


def corrected_by_pool(
    scores: Sequence[float | None],
    positions: Sequence[int],
    cheap: NDArray[np.float64],
    risk: float,
    *,
    sampled: bool,
    seed: int = 0,
    limit: int | None = None,
    drawn: bool = True,
) -> Corrected:
    """Correct a judge that has rated every item by labels on the items at `positions`, in the order drawn.

    `sampled`: the result is about items like these. Without a `limit` the bets aim at twice the labels, as far as there
    are items: such bounds are narrow now and later. They aim at the labels alone where blocks of one item are no help.
    """
    helps = not sampled or len(cheap) >= 2 * len(scores)
    limit = limit or max(1, min(2 * len(scores), len(cheap)) if helps else len(scores))
    asides = of_blocks(cheap, positions, seed) if sampled else of_pool(cheap, positions)
    items = math.inf if sampled else float(len(cheap))
    found = corrected(scores, asides, cheap, risk, limit, items, drawn=drawn)
    if found.interval is None or len(cheap) == len(scores):
        return found
    alone = len(scores) if sampled else limit  # without these verdicts the bets would aim at the labels
    low, high = bounds(scores, [ALONE] * len(scores), risk, alone, items)
    return replace(found, widened=(found.interval[1] - found.interval[0]) / (high - low) - 1) if low < high else found
