"""The mean score of one system over a whole pool, from the items judged so far.

Takes labels, and perhaps a proxy of every item's score. Returns `Ratings`. A stopping rule decides whether the mean
is precise enough (`methods/stopping/precise.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Label, Verdict
from judgeloop.methods.estimators.preferences import NOTHING_FURTHER, SAMPLE_JUDGED, whole
from judgeloop.methods.stats.strata import Counts, Floats, Moments, Strata, of_sample, stratified, with_proxy


@dataclass(frozen=True, eq=False)
class Ratings:
    """The scores in [0, 1] of the items at `positions`, NaN for an abstention; shape (asked,).

    `drawn` is True if all items were drawn at random within their strata. `proxy`, shape (items,),
    is a cheap guess at the score of every item, or None.
    With `sampled`, the mean is that of the population of which the items, in one stratum, are a sample.
    """

    strata: Strata
    positions: Counts
    scores: Floats
    drawn: bool = True
    proxy: Floats | None = None
    sampled: bool = False

    @property
    def items(self) -> int:
        """Number of items in the pool."""
        return len(self.strata.labels)

    @property
    def asked(self) -> int:
        """Number of items asked about."""
        return len(self.positions)

    @property
    def judged(self) -> int:
        """Number of items with a score."""
        return self.asked - self.abstentions

    @property
    def abstentions(self) -> int:
        """Number of items asked about that got no score."""
        return int(np.isnan(self.scores).sum())

    @property
    def flips(self) -> int:
        """Always 0: a rating of one output has no order of presentation."""
        return 0

    @property
    def leader(self) -> int | None:
        """0, the only system, once an item has a score; None before."""
        return 0 if self.judged else None

    @cached_property
    def moments(self) -> Moments:
        """The mean over all items, as estimated from the items with a score."""
        known = ~np.isnan(self.scores)
        return self._estimated(self.positions[known], self.scores[known])

    def moments_with(self, score: float) -> Moments:
        """Estimate the mean over all items with `score` for every abstention.

        A `score` of 0 gives the lowest mean that the abstentions allow, 1 the highest.
        """
        return self._estimated(self.positions, np.nan_to_num(self.scores, nan=score))

    def _estimated(self, positions: Counts, scores: Floats) -> Moments:
        if self.sampled:
            return of_sample(scores)
        if self.proxy is None:
            return stratified(self.strata, positions, scores)
        return with_proxy(self.strata, positions, scores, self.proxy)


@final
@dataclass(frozen=True, eq=False)
class MeanScore:
    """Scores by stratum, with the help of a `proxy`, shape (items,), if there is one.

    `methods/stats/strata.py` estimates the mean from them. With `sampled`, it is the mean of the
    population of which the items are a sample (`Ratings`).
    """

    strata: Strata
    proxy: Floats | None = None
    sampled: bool = False

    def tally(self, labels: Sequence[Label], items: int) -> Ratings:
        """Collect `labels` over a pool of `items`.

        Raises:
            ValueError: the strata are those of another number of items.
        """
        if items != len(self.strata.labels):
            raise ValueError(f"expected strata of {items} items, found strata of {len(self.strata.labels)}")
        positions = np.zeros(0, dtype=np.int64)
        none = Ratings(self.strata, positions, np.zeros(0), proxy=self.proxy, sampled=self.sampled)
        return self.extended(none, labels)

    def extended(self, tally: Ratings, labels: Sequence[Label]) -> Ratings:
        """Add further labels to `tally`."""
        positions = [label.choice.position for label in labels]
        scores = [label.answer.score if isinstance(label.answer, Verdict) else np.nan for label in labels]
        return replace(
            tally,
            positions=np.concatenate([tally.positions, np.array(positions, dtype=np.int64)]),
            scores=np.concatenate([tally.scores, np.array(scores, dtype=np.float64)]),
            drawn=tally.drawn and all(label.choice.propensity is not None for label in labels),
        )

    def exhausted(self, tally: Ratings) -> StopReason:
        """Why a run ends when no further item is to be asked about."""
        if tally.asked < tally.items:
            return NOTHING_FURTHER
        if tally.abstentions:
            return StopReason(
                StopKind.POOL_EXHAUSTED,
                f"every item was asked about, but {tally.abstentions:,} of {tally.items:,} got no score",
            )
        if self.sampled:
            return SAMPLE_JUDGED
        return whole(tally.items)
