"""The mean score of one system over a whole pool, from the items judged so far.

Takes labels, and perhaps a proxy's scores of all items, or of those in blocks beside the labels. Returns `Ratings`. A
stopping rule decides whether the mean is precise enough (`methods/stopping/precise.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Answer, Label, Verdict
from judgeloop.methods.estimators.preferences import NOTHING_FURTHER, whole
from judgeloop.methods.selectors.blocks import Blocks
from judgeloop.methods.stats.strata import (
    Counts,
    Floats,
    Moments,
    Strata,
    of_blocks,
    of_sample,
    stratified,
    with_groups,
    with_proxy,
)

NO_SCORE = 0.5  # the proxy's score of an item that it does not score: any value does that is fixed without the label


@dataclass(frozen=True, eq=False)
class Ratings:
    """The scores in [0, 1] of the items at `positions`, NaN for an abstention; shape (asked,).

    `drawn` is True if all items were drawn at random within their strata. `proxy`, shape (items,),
    is a cheap guess at the score of every item, or None; NaN where it is not known yet.
    With `sampled`, the mean is that of the population of which the items, in one stratum, are a sample. A proxy is then
    known of the items in `blocks` of which the first is the one that got the label, in the order of the labels.
    `groups` of the items help a mean of uniform draws, as the proxy does.
    """

    strata: Strata
    positions: Counts
    scores: Floats
    drawn: bool = True
    proxy: Floats | None = None
    sampled: bool = False
    blocks: Counts | None = None
    groups: Strata | None = None

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
        if self.sampled and self.proxy is not None and self.blocks is not None:
            known = np.isin(self.positions, positions)
            return of_blocks(scores, self.proxy[self.blocks[: self.asked]], known)
        if self.sampled:
            return of_sample(scores)
        if self.groups is not None:
            return with_groups(self.strata, positions, scores, self.proxy, self.groups)
        if self.proxy is None:
            return stratified(self.strata, positions, scores)
        return with_proxy(self.strata, positions, scores, self.proxy)


@final
@dataclass(frozen=True, eq=False)
class MeanScore:
    """Scores by stratum, with the help of a `proxy`, shape (items,), and of `groups`, if there are any.

    `methods/stats/strata.py` estimates the mean from them. With `sampled`, it is the mean of the
    population of which the items are a sample (`Ratings`). A proxy that is a judge is asked beside the labels: `tell`
    takes its scores, about all items before the first label, or about each block before its label.
    """

    strata: Strata
    proxy: Floats | None = None
    sampled: bool = False
    blocks: Blocks | None = None
    groups: Strata | None = None

    def needed(self, position: int) -> Sequence[int]:
        """The items that the proxy is still to be asked about before the label of this one."""
        assert self.proxy is not None, "there is a proxy"
        wanted = range(len(self.proxy)) if self.blocks is None else self.blocks.needed[position]
        return [place for place in wanted if np.isnan(self.proxy[place])]

    def tell(self, position: int, answer: Answer) -> None:
        """Take what the proxy says of an item."""
        assert self.proxy is not None, "there is a proxy"
        self.proxy[position] = answer.score if isinstance(answer, Verdict) else NO_SCORE

    def tally(self, labels: Sequence[Label], items: int) -> Ratings:
        """Collect `labels` over a pool of `items`.

        Raises:
            ValueError: the strata are those of another number of items.
        """
        if items != len(self.strata.labels):
            raise ValueError(f"expected strata of {items} items, found strata of {len(self.strata.labels)}")
        positions = np.zeros(0, dtype=np.int64)
        blocks = None if self.blocks is None else np.array([block for (block,) in self.blocks.by_label])
        none = Ratings(
            self.strata,
            positions,
            np.zeros(0),
            proxy=self.proxy,
            sampled=self.sampled,
            blocks=blocks,
            groups=self.groups,
        )
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
        return whole(tally.items, sampled=self.sampled)
