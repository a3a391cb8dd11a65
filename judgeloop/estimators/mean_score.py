"""The mean score of one system over a whole pool, from the items judged so far.

It collects the labels that it is given; how sure the mean is, is a stopping rule's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from judgeloop.core.records import Label, StopKind, StopReason, Verdict
from judgeloop.stats.ratings import Ratings
from judgeloop.stats.strata import Floats, Strata


@final
@dataclass(frozen=True, eq=False)
class MeanScore:
    """Scores by stratum; `proxy`, shape (items,), helps where there is one (`stats/strata.py`)."""

    strata: Strata
    proxy: Floats | None = None

    def tally(self, labels: Sequence[Label], items: int) -> Ratings:
        """Collect `labels` over a pool of `items`."""
        if items != len(self.strata.labels):
            raise ValueError(f"strata of {len(self.strata.labels)} items for {items}")
        none = Ratings(self.strata, np.zeros(0, dtype=np.int64), np.zeros(0), proxy=self.proxy)
        return self.extended(none, labels)

    def extended(self, tally: Ratings, labels: Sequence[Label]) -> Ratings:
        """`tally` with further labels."""
        positions = [label.choice.position for label in labels]
        scores = [
            label.answer.score if isinstance(label.answer, Verdict) else np.nan for label in labels
        ]
        return replace(
            tally,
            positions=np.concatenate([tally.positions, np.array(positions, dtype=np.int64)]),
            scores=np.concatenate([tally.scores, np.array(scores, dtype=np.float64)]),
            drawn=tally.drawn and all(label.choice.propensity is not None for label in labels),
        )

    def exhausted(self, tally: Ratings) -> StopReason:
        """What it means that nothing further is to be asked."""
        if tally.asked < tally.items:
            return StopReason(
                StopKind.POOL_EXHAUSTED, "the selector has no further items to propose"
            )
        if tally.abstentions:
            return StopReason(
                StopKind.POOL_EXHAUSTED,
                f"every item is asked, but {tally.abstentions} of {tally.items} got no score",
            )
        return StopReason(
            StopKind.ALL_JUDGED,
            f"every one of the {tally.items} items is judged, so nothing is left to chance",
        )
