"""Scores of one system on some items of a pool, in the order asked.

Holds the scores, and estimates the mean over all items with `methods/stats/strata.py`. A stopping rule
decides whether the estimate is precise enough (`methods/stopping/precise.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgeloop.methods.stats.strata import Counts, Floats, Moments, Strata, stratified, with_proxy


@dataclass(frozen=True, eq=False)
class Ratings:
    """The scores in [0, 1] of the items at `positions`, NaN for an abstention; shape (asked,).

    `drawn` is True if all items were drawn at random within their strata. `proxy`, shape (items,),
    is a cheap guess at the score of every item, or None.
    """

    strata: Strata
    positions: Counts
    scores: Floats
    drawn: bool = True
    proxy: Floats | None = None

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
        if self.proxy is None:
            return stratified(self.strata, positions, scores)
        return with_proxy(self.strata, positions, scores, self.proxy)
