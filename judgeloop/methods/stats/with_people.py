"""How well a judge agrees with people: shares, kappas, and intervals for them that hold at every look.

Takes scores in [0, 1] by item: of a comparison 1, 0.5 for a tie, and 0; of ratings any. What is NaN is not known, and
counts against whoever claims something. Agreement on an item is 1 - |c - x|: a tie against a side is worth half.

**Kappa is a mean, by blocks.** Linearly weighted kappa is (E w - e) / (1 - e), where w is the agreement on an item and
e the mean agreement of the judge's verdict on one item with the people's on another. In a block of m independent items
let v be the mean of the m agreements, and u that of the m (m - 1) between different items. Then E v = E w and E u = e,
so kappa <= k exactly where E(v - (1 - k) u - k) <= 0: a mean of a score in a known range, which bets test at every look
(`hedged.py`). All k of a grid that are not ruled out are the interval; its hull, as bets change with k.

**Where the judge has also judged items without a label** each label is a block by itself: v is its agreement, and u the
mean agreement of its label with the judge's verdicts on items of its own that have none. Of these items the judge's
verdicts on all of them take their place, which makes e exact: E u = e, as people's verdict on a random item beside the
judge's on a random other one. The rest is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from judgeloop.methods.stats.confidence_sequence import lower_bounds
from judgeloop.methods.stats.hedged import HedgedBets
from judgeloop.methods.stats.intervals import share_interval

BLOCK = 2  # items of a block, by which kappa is known: with more of them, the fewer bets cost more than they bring
GRID = np.linspace(-1.0, 1.0, 201)  # of kappas
Floats = NDArray[np.float64]
Interval = tuple[float, float]


def agreements(judge: Floats, people: Floats) -> Floats:
    """1 - |c - x| on each item; NaN where one of the two gave no verdict.

    >>> agreements(np.array([1.0, 0.5, 0.0]), np.array([1.0, 1.0, 1.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    found: Floats = 1 - np.abs(judge - people)
    return found


def mean_bounds(scores: Floats, risk: float, limit: int, items: float = math.inf, least: float = 0.0) -> Interval:
    """Bounds of the mean of scores in [least, 1], each wrong with at most half of the risk, at every look.

    `scores` are in random order; what is NaN counts as the least for one bound and as 1 for the other. `limit` is the
    planned number of draws, and `items` that of the population.
    """
    if not len(scores):
        return least, 1.0
    wide = (1 - least) / 2
    low, high = (np.nan_to_num(scores, nan=given) for given in (least, 1.0))
    sides = np.array([(low - least) / wide - 1, 1 - (high - least) / wide])
    first, second = lower_bounds(sides, risk / 2, limit, items)[:, -1].tolist()
    return least + wide * (1 + first), least + wide * (1 - second)


def share_interval_of(equal: Floats, risk: float, items: float = math.inf) -> Interval:
    """Bounds of a share, each wrong with at most half of the risk, for one look: Clopper & Pearson (1934).

    Of a population of so many `items` those of the hypergeometric distribution. A missing verdict is 0 for the lower
    bound and 1 for the upper.

    >>> [round(one, 2) for one in share_interval_of(np.array([1.0] * 24 + [0.0] * 6), 0.1)]
    [0.64, 0.91]
    >>> share_interval_of(np.array([1.0, 1.0, 0.0]), 0.1, items=3)
    (0.6666666666666666, 0.6666666666666666)
    """
    missing, drawn = int(np.isnan(equal).sum()), len(equal)
    least = int(np.nansum(equal))
    if math.isinf(items):
        return share_interval(least, drawn - least, risk)[0], share_interval(
            least + missing, drawn - least - missing, risk
        )[1]
    from scipy.stats import hypergeom

    have = np.arange(int(items) + 1)
    kept = (hypergeom.sf(least - 1, int(items), have, drawn) > risk / 2) & (
        hypergeom.cdf(least + missing, int(items), have, drawn) > risk / 2
    )
    possible = have[kept]
    return float(possible[0] / items), float(possible[-1] / items)


def linear_kappa(judge: Floats, people: Floats) -> float | None:
    """Linearly weighted kappa (Cohen 1968) of scores, none of them NaN; None where one verdict is all there is.

    >>> linear_kappa(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.5, 0.0, 0.0]))
    0.75
    """
    if not len(judge):
        return None
    expected = _by_chance(judge, people, lambda c, x: 1 - np.abs(c - x))
    return None if expected > 1 - 1e-12 else (float(agreements(judge, people).mean()) - expected) / (1 - expected)


def nominal_kappa(judge: Floats, people: Floats) -> float | None:
    """Cohen's kappa (1960) of equal verdicts; None where one verdict is all there is."""
    if not len(judge):
        return None
    expected = _by_chance(judge, people, lambda c, x: (c == x).astype(np.float64))
    return None if expected > 1 - 1e-12 else (float((judge == people).mean()) - expected) / (1 - expected)


def _by_chance(judge: Floats, people: Floats, worth: Callable[[Floats, Floats], Floats]) -> float:
    """The mean worth of the judge's verdict on one item beside people's on another, drawn with replacement."""
    (c, often), (x, also) = (np.unique(values, return_counts=True) for values in (judge, people))
    return float(often @ worth(c[:, None], x[None, :]) @ also) / len(judge) ** 2


def ac1(judge: Floats, people: Floats, categories: int) -> float | None:
    """Gwet's AC1 (2008) of equal verdicts, among so many categories.

    >>> round(ac1(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.5, 0.0]), 3), 3)
    0.52
    """
    if not len(judge):
        return None
    both = np.concatenate([judge, people])
    shares = np.array([(both == value).mean() for value in np.unique(both)])
    expected = float((shares * (1 - shares)).sum()) / (categories - 1)
    return (float((judge == people).mean()) - expected) / (1 - expected)


def kappa_scores(  # noqa: PLR0917 - what the scores are made of
    judge: Floats,
    people: Floats,
    kappas: Floats,
    block: int = BLOCK,
    others: Floats | None = None,
    items: float = math.inf,
) -> Floats:
    """For each kappa k and block of items the score whose mean is above 0 where kappa is above k; in [-1, 1].

    Shape (kappas, blocks). Items that fill no block are left out. A block in which a verdict is missing has NaN.
    `others` are the judge's verdicts on items without a label, in random order; of so many `items`, those on all. With
    at least one of them for each label a block is a label.
    """
    each = 0 if others is None or not len(judge) else len(others) // len(judge)
    if others is not None and each:
        same = agreements(judge, people)
        if math.isfinite(items):  # all of them beside each label, of which there are few kinds
            said, kind = np.unique(people, return_inverse=True)
            other = agreements(others[None], said[:, None]).mean(axis=1)[kind]
        else:
            mates = others[: each * len(judge)].reshape(len(judge), each)
            other = agreements(mates, people[:, None]).mean(axis=1)
    else:
        blocks = len(judge) // block
        c, x = (values[: blocks * block].reshape(blocks, block) for values in (judge, people))
        pairs = 1 - np.abs(c[:, :, None] - x[:, None, :])
        same = np.einsum("bii->b", pairs) / block
        other = (pairs.sum(axis=(1, 2)) - same * block) / (block * (block - 1))
    scores: Floats = (same - (1 - kappas[:, None]) * other - kappas[:, None]) / _range(kappas)[:, None]
    return scores


def _range(kappas: Floats) -> Floats:
    """The largest size of the scores of `kappa_scores`."""
    return np.maximum(1.0, 1 - kappas)


def kappa_interval(  # noqa: PLR0917 - what the interval is made of
    judge: Floats, people: Floats, risk: float, limit: int, others: Floats | None = None, items: float = math.inf
) -> Interval:
    """Bounds of the linearly weighted kappa, each wrong with at most half of the risk; `others` as in `kappa_scores`.

    The items are in random order, of which `limit` are planned.
    """
    scores = kappa_scores(judge, people, GRID, others=others, items=items)
    bets = HedgedBets(risk / 2, np.zeros((2, 1)), blocks_of(limit, len(judge), scores), items)
    for score in scores.T:
        worst = -1 / _range(GRID)  # of a block with a missing verdict: no agreement, or all of it
        best = (1 - GRID) / _range(GRID)
        above, below = (np.where(np.isnan(score), given, score) for given in (worst, best))
        bets = bets.after(np.stack([above, -below]))
    out = np.broadcast_to(bets.ruled_out, (2, len(GRID)))
    kept = np.flatnonzero(~(out[0] | out[1]))
    if not len(kept):
        return -1.0, 1.0  # the two contradict each other, which has at most the risk
    return float(GRID[max(0, kept[0] - 1)]) if kept[0] else -1.0, float(GRID[min(len(GRID) - 1, kept[-1] + 1)])


def blocks_of(limit: int, labels: int, scores: Floats) -> int:
    """How many of the `scores` of `kappa_scores` are planned, where `limit` labels are, of `labels` so far.

    >>> blocks_of(200, 30, np.zeros((1, 15))), blocks_of(200, 30, np.zeros((1, 30)))
    (100, 200)
    """
    return max(1, limit if scores.shape[-1] == labels > 1 else limit // BLOCK)


def by_people(votes: Sequence[float]) -> float:
    """What several people say of a pair together: the score that most gave, else a tie.

    >>> by_people([1.0, 1.0, 0.0]), by_people([1.0, 0.0]), by_people([0.5])
    (1.0, 0.5, 0.5)
    """
    values = list(votes)
    most = max(values, key=values.count)
    return most if 2 * values.count(most) > len(values) else 0.5
