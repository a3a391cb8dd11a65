"""The mean score of one system over a whole pool, helped by what earlier systems' scores let expect of each item.

What they let expect is worked out in `stats/foretelling.py`; how sure the mean is, is a stopping rule's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from judgeloop.core.records import Label, StopReason
from judgeloop.estimators.mean_score import MeanScore
from judgeloop.stats.foretelling import Forecast, with_forecast
from judgeloop.stats.ratings import Ratings
from judgeloop.stats.strata import Counts, Floats, Moments, Strata


@dataclass(frozen=True, eq=False)
class ForetoldRatings(Ratings):
    """Ratings whose `proxy` foretells the scores themselves, where earlier systems' scores had the standard deviation `spread`."""

    spread: float = 1.0

    def _estimated(self, positions: Counts, scores: Floats) -> Moments:
        assert self.proxy is not None, "made with one by the estimator"
        return with_forecast(self.strata, positions, scores, Forecast(self.proxy, self.spread))


@final
@dataclass(frozen=True, eq=False)
class ForetoldMean:
    """Scores by stratum, helped by what earlier systems' scores let expect."""

    strata: Strata
    forecast: Forecast

    def tally(self, labels: Sequence[Label], items: int) -> Ratings:
        """Collect `labels` over a pool of `items`."""
        scores, spread = self.forecast
        if items != len(scores):
            raise ValueError(f"a forecast of {len(scores)} items for {items}")
        none = np.zeros(0, dtype=np.int64), np.zeros(0)
        return self.extended(
            ForetoldRatings(self.strata, *none, proxy=scores, spread=spread), labels
        )

    def extended(self, tally: Ratings, labels: Sequence[Label]) -> Ratings:
        """`tally` with further labels."""
        return self._plain.extended(tally, labels)

    def exhausted(self, tally: Ratings) -> StopReason:
        """What it means that nothing further is to be asked."""
        return self._plain.exhausted(tally)

    @property
    def _plain(self) -> MeanScore:
        return MeanScore(self.strata, self.forecast.scores)
