"""The mean score of one system over a whole pool, from the items judged so far.

Takes labels and returns `Ratings`. A stopping rule decides whether the mean is precise enough
(`methods/stopping/precise.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason, every_one
from judgeloop.core.records import Label, Verdict
from judgeloop.methods.stats.ratings import Ratings
from judgeloop.methods.stats.strata import Floats, Strata


@final
@dataclass(frozen=True, eq=False)
class MeanScore:
    """Scores by stratum, with the help of a `proxy`, shape (items,), if there is one.

    `methods/stats/strata.py` estimates the mean from them.
    """

    strata: Strata
    proxy: Floats | None = None

    def tally(self, labels: Sequence[Label], items: int) -> Ratings:
        """Collect `labels` over a pool of `items`.

        Raises:
            ValueError: the strata are those of another number of items.
        """
        if items != len(self.strata.labels):
            raise ValueError(
                f"expected strata of {items} items, found strata of {len(self.strata.labels)}"
            )
        none = Ratings(self.strata, np.zeros(0, dtype=np.int64), np.zeros(0), proxy=self.proxy)
        return self.extended(none, labels)

    def extended(self, tally: Ratings, labels: Sequence[Label]) -> Ratings:
        """Add further labels to `tally`."""
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
        """Return why a run ends when no further item is to be asked about."""
        if tally.asked < tally.items:
            return StopReason(
                StopKind.POOL_EXHAUSTED, "the selector has no further items to propose"
            )
        if tally.abstentions:
            return StopReason(
                StopKind.POOL_EXHAUSTED,
                f"every item was asked about, but {tally.abstentions:,} of {tally.items:,} got no score",
            )
        return StopReason(
            StopKind.ALL_JUDGED,
            f"{every_one(tally.items)} is judged, so nothing is left to chance",
        )
