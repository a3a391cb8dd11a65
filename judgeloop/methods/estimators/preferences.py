"""Counts of preferences between two systems, and the gap from weighted draws.

Takes labels and returns a `Tally`, whose counts are not weighted. `weighted_gap` corrects for the
propensities of weighted draws (an item's weight over the weights of all items left), and for
nothing else: if draws also depend on the scores themselves, it is biased. A stopping rule decides
whether the counts are enough (`stopping/`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean
from typing import NamedTuple, final

import numpy as np

from judgeloop.core.memory import grown
from judgeloop.core.outcomes import Observed, StopKind, StopReason, Tally, every_one, scores_of
from judgeloop.core.records import Abstention, Label, Verdict, preference
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.stats.intervals import UNSEEN, Interval, interval_at_once
from judgeloop.methods.stats.strata import FEWEST, UNKNOWN, Floats, Moments

# Lower limit for the degrees of freedom. With fewer the interval says nothing, and the `UNSEEN`
# scores already widen the interval of a few draws.
LEAST_FREEDOM = 3.0
# Approximate probability that an interval from weighted draws misses the gap.
MISSES = 0.1
NOTHING_FURTHER = StopReason(StopKind.POOL_EXHAUSTED, "the selector has no further items to propose")
SAMPLE_JUDGED = StopReason(
    StopKind.POOL_EXHAUSTED, "every item was asked about, and for items like these the verdicts may still be chance"
)
ROUNDING = 1e-9  # relative: a smaller difference from an even propensity is rounding


@final
@dataclass(frozen=True)
class Preferences:
    """Counts of wins, ties and abstentions.

    Ashury-Tahan et al. (2024), equation 1, on the labels in the decision. With `sampled`, the pool
    is a sample of the population that the result is about. Then a pool that is judged whole leaves
    something to chance. Where several members of each family are judged, `family_of` is the family of each position,
    and the mean of a family's verdicts counts. The verdicts of a `proxy` stand beside the labels.
    """

    sampled: bool = False
    family_of: Mapping[int, int] = field(default_factory=dict, hash=False)
    proxy: ProxyVerdicts | None = None

    def tally(self, labels: Sequence[Label], items: int) -> Tally:
        """Count `labels` over a pool of `items`."""
        return self.extended(Tally(items), labels)

    def extended(self, tally: Tally, labels: Sequence[Label]) -> Tally:
        """Add further labels to `tally`."""
        answers, total = [label.answer for label in labels], tally.total
        seen = [None if isinstance(answer, Abstention) else answer.preference for answer in answers]
        won: Sequence[Observed] = seen
        preferences: Sequence[Observed] = seen if self.proxy is None else self.proxy.beside(tally, labels, seen)
        if self.family_of:
            labels, preferences = self._by_family(labels)
            leads = [None if one is None else (scores_of(one)[0] - scores_of(one)[1]) / 2 for one in preferences]
            won = [None if lead is None else preference(lead) for lead in leads]
            total = (total or 0.0) + sum(lead or 0.0 for lead in leads)
        return Tally(
            items=tally.items,
            wins=(tally.wins[0] + won.count(1), tally.wins[1] + won.count(-1)),
            ties=tally.ties + won.count(0),
            abstentions=tally.abstentions + won.count(None),
            total=total,
            flips=tally.flips + sum(isinstance(answer, Verdict) and answer.flipped for answer in answers),
            both=tally.both + sum(isinstance(answer, Verdict) and answer.both for answer in answers),
            picked=tally.picked or any(label.choice.propensity is None for label in labels),
            preferences=grown(tally.preferences, preferences),
            propensities=_propensities(tally, labels),
        )

    def _by_family(self, labels: Sequence[Label]) -> tuple[list[Label], list[Observed]]:
        """The first label of each family, and the mean scores of its members; those of a family stand together.

        A member without a verdict has the worst score for both systems; a family of such members abstains.
        """
        first, means = [], list[Observed]()
        for _, group in groupby(labels, key=lambda label: self.family_of[label.choice.position]):
            members = list(group)
            first.append(members[0])
            seen = [None if isinstance(one.answer, Abstention) else one.answer.preference for one in members]
            one, other = (fmean(of) for of in zip(*map(scores_of, seen), strict=True))
            means.append(None if set(seen) == {None} else (one, other))
        return first, means

    def exhausted(self, tally: Tally) -> StopReason:
        """Why a run ends when no further item is to be asked about."""
        margin = abs(tally.wins[0] - tally.wins[1])
        if tally.judged + tally.abstentions < tally.items:
            return NOTHING_FURTHER
        if self.sampled:
            return SAMPLE_JUDGED
        if margin > tally.abstentions:
            return whole(tally.items)
        if margin == 0 and tally.abstentions == 0:
            return StopReason(StopKind.NO_DIFFERENCE, f"{every_one(tally.items)} is judged, and the systems are level")
        return StopReason(
            StopKind.POOL_EXHAUSTED,
            f"every item was asked about, but {tally.abstentions:,} abstentions outweigh a lead of {margin}",
        )


def whole(items: int, *, sampled: bool = False) -> StopReason:
    """The reason that all of a pool is judged; others are meant if it is `sampled`, and it may be of families."""
    if sampled:
        return StopReason(StopKind.POOL_EXHAUSTED, f"all {items:,} that could be judged are judged")
    return StopReason(StopKind.ALL_JUDGED, f"{every_one(items)} is judged, so nothing is left to chance")


class WeightedGap(NamedTuple):
    """The gap over all items, first minus second, from draws that preferred some items.

    The papers call it the win distance.
    `interval` is None with fewer than two draws.
    """

    value: float
    interval: tuple[float, float] | None


def weighted_gap(tally: Tally) -> WeightedGap | None:
    """Estimate the gap over all items from the propensities.

    None if the tally has no propensities, no verdicts, or only counts, as in a projection. The
    value leaves abstentions out. The interval misses with probability about `MISSES`. It covers the
    intervals with all abstentions as wins of the first system, and with all of them as wins of the
    second.
    """
    if not tally.judged or not tally.propensities or len(tally.propensities) != len(tally.preferences):
        return None
    preferences = np.array(
        [math.nan if seen is None else scores_of(seen)[0] for seen in tally.preferences], dtype=np.float64
    )
    propensities = np.array(tuple(tally.propensities))
    found = weighted_interval((1 + preferences) / 2, propensities, tally.items, MISSES)
    return WeightedGap(
        value=weighted_moments(preferences, propensities).mean,
        interval=None if found is None else (2 * found[0] - 1, 2 * found[1] - 1),
    )


def _propensities(tally: Tally, labels: Sequence[Label]) -> Sequence[float]:
    """The propensities of the tally and of further labels.

    Empty if an item was picked, or if all draws were even.
    """
    drawn = [label.choice.propensity for label in labels if label.choice.propensity is not None]
    if tally.picked or len(drawn) < len(labels):
        return ()
    before = tally.judged + tally.abstentions  # a preference may count again, without a draw
    if not tally.propensities and all(
        math.isclose(propensity, _even(tally.items, before + at), rel_tol=ROUNDING)
        for at, propensity in enumerate(drawn)
    ):
        return ()
    earlier = tally.propensities or tuple(_even(tally.items, at) for at in range(before))
    return grown(earlier, drawn)


def _even(items: int, asked: int) -> float:
    """The propensity of a draw that prefers none of the items not asked about before."""
    return 1 / max(1, items - asked)


class _Sample(NamedTuple):
    """The known scores, with the chance of each item to be drawn and its share in the mean.

    All have shape (scores,).
    """

    scores: Floats
    chances: Floats
    shares: Floats


def chances_to_be_drawn(propensities: Floats) -> Floats:
    """For each of the n items drawn its chance to be among n drawn: shape (n,), in (0, 1].

    `propensities`, shape (n,), are in the order drawn, and so is the result. Successive draws are a
    race of exponential waiting times whose rates are the weights. So an item of weight w is drawn
    before time τ with probability 1 - exp(-w τ) (Rosén 1997, "On sampling with probability
    proportional to size"). τ is the time at which the first item that is not drawn would have come,
    as expected from the order alone: Σ 1 / W, with W the weight left before each draw and after the
    last (rank conditioning: Cohen & Kaplan 2008, "Tighter estimation using bottom k sketches"). The
    weights follow from the propensities, because all weights sum to 1.

    For even draws all chances are the same. Once all items are drawn the chances are 1. If the
    weights changed as the run learned, each item is treated as if the weight by which it was drawn
    had applied from the start. The bias and the coverage are measured in
    `tests/statistical/test_gap_coverage.py`.
    """
    left = np.concatenate([[1.0], np.cumprod(1 - propensities)])
    if left[-1] <= 0:
        return np.ones(len(propensities))
    chances: Floats = -np.expm1(-propensities * left[:-1] * float((1 / left).sum()))
    return chances


def weighted_moments(scores: Floats, propensities: Floats) -> Moments:
    """Estimate the mean of all items, the variance of the estimate, and its degrees of freedom.

    The mean is Hájek's (1971): each score counts with the inverse of its item's chance to be drawn.
    It is nearly unbiased, and errs less than the exactly unbiased mean of Des Raj (1956), which
    jumps at every win on an item that was unlikely to be drawn. The variance is Rosén's for order
    sampling (1997, section 5). The degrees of freedom are the effective number of draws behind it,
    less one (Kish 1965); items that were certain to be drawn do not count. What cannot be estimated
    from so few scores is NaN.
    """
    sample = _sample(scores, propensities)
    if not len(sample.scores):
        return UNKNOWN
    mean = float(sample.shares @ sample.scores)
    if len(sample.scores) < FEWEST:
        return Moments(mean, np.nan, np.nan)
    return Moments(mean, _variance(sample, mean), _freedom(sample))


def weighted_interval(scores: Floats, propensities: Floats, items: int, risk: float) -> Interval | None:
    """An interval that misses the mean of all `items` with probability about `risk`.

    None with fewer than two draws. The interval is that of `interval_at_once`, with the variance
    that `UNSEEN` more scores of 0 and as many of 1 would add: draws that prefer some items may well
    miss scores that only other items have. If some items have no score, the interval covers the
    interval with 0 for all of them and the interval with 1. Its coverage is measured, not proved:
    at one look, and where the tie-aware rule ended the run (`papers/diffuse/rules.py`,
    `tests/statistical/test_gap_coverage.py`).
    """
    if len(scores) < FEWEST:
        return None
    found = [
        _interval(np.nan_to_num(scores, nan=missing), propensities, items, risk)
        for missing in ((0.0, 1.0) if np.isnan(scores).any() else (0.0,))
    ]
    return min(low for low, _ in found), max(high for _, high in found)


def _interval(scores: Floats, propensities: Floats, items: int, risk: float) -> Interval:
    moments = weighted_moments(scores, propensities)
    variance = moments.variance + _unseen(_sample(scores, propensities), moments.mean)
    found = interval_at_once(moments._replace(variance=variance), len(scores), items, risk)
    assert found is not None, "the variance is known with two scores or more"
    return found


def _sample(scores: Floats, propensities: Floats) -> _Sample:
    known = ~np.isnan(scores)
    chances = chances_to_be_drawn(propensities)[known]
    return _Sample(scores[known], chances, (1 / chances) / (1 / chances).sum())


def _variance(sample: _Sample, mean: float) -> float:
    """The variance of the mean from each score's weighted distance from it.

    The distances are centred on a mean to which items that were certain to be drawn do not
    contribute.
    """
    missed = 1 - sample.chances
    if not missed.any():
        return 0.0
    apart = sample.shares * (sample.scores - mean)
    centre = float(missed @ apart / missed.sum())
    drawn = len(sample.scores)
    return float(missed @ (apart - centre) ** 2) * drawn / (drawn - 1)


def _freedom(sample: _Sample) -> float:
    unsure = (1 - sample.chances) * sample.shares**2
    if not unsure.any():
        return math.inf
    return max(LEAST_FREEDOM, float(unsure.sum() ** 2 / (unsure @ unsure)) - 1)


def _unseen(sample: _Sample, mean: float) -> float:
    """What unseen scores of 0 and of 1 would add to the variance.

    Each has the mean weight of a draw. For even draws this is nearly
    `intervals.unseen_variance`. There it is a lower limit; here it is added, because measured
    coverage required it.
    """
    of_one_draw = float(((1 - sample.chances) * sample.shares**2).mean())
    return UNSEEN * (mean**2 + (1 - mean) ** 2) * of_one_draw
