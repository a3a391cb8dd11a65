"""Scores of one system on some items of a pool, in the order asked.

What they say about all items is worked out in `strata.py`; whether that is enough is a stopping rule's business.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgeloop.stats.strata import Counts, Floats, Moments, Strata, stratified, with_proxy


@dataclass(frozen=True, eq=False)
class Ratings:
    """The scores in [0, 1] at `positions`, NaN for an abstention; `drawn` says that all were drawn at random within their strata.

    `proxy`, shape (items,), is a cheap guess at the score of every item, where there is one.
    """

    strata: Strata
    positions: Counts
    scores: Floats
    drawn: bool = True
    proxy: Floats | None = None

    @property
    def items(self) -> int:
        """All that there are."""
        return len(self.strata.labels)

    @property
    def asked(self) -> int:
        """Items asked about."""
        return len(self.positions)

    @property
    def judged(self) -> int:
        """Items with a score."""
        return self.asked - self.abstentions

    @property
    def abstentions(self) -> int:
        """Items asked about that got none."""
        return int(np.isnan(self.scores).sum())

    @property
    def flips(self) -> int:
        """A rating has no order that could change it."""
        return 0

    @property
    def leader(self) -> int | None:
        """The one system, once anything is known of it."""
        return 0 if self.judged else None

    @cached_property
    def moments(self) -> Moments:
        """The mean over all items as estimated from the items with a score."""
        known = ~np.isnan(self.scores)
        return self._estimated(self.positions[known], self.scores[known])

    def moments_with(self, score: float) -> Moments:
        """The same, were `score` what every abstention hides: 0 gives the least it can be, 1 the most."""
        return self._estimated(self.positions, np.nan_to_num(self.scores, nan=score))

    def _estimated(self, positions: Counts, scores: Floats) -> Moments:
        if self.proxy is None:
            return stratified(self.strata, positions, scores)
        return with_proxy(self.strata, positions, scores, self.proxy)
