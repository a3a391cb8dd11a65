"""The mean score of one system over a whole pool, with a forecast of every item's score.

Takes labels and a forecast from earlier systems' scores (`methods/stats/foretelling.py`), and returns
`Ratings`. A stopping rule decides whether the mean is precise enough (`methods/stopping/precise.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopReason
from judgeloop.core.records import Label
from judgeloop.methods.estimators.mean_score import MeanScore
from judgeloop.methods.stats.foretelling import Forecast, with_forecast
from judgeloop.methods.stats.ratings import Ratings
from judgeloop.methods.stats.strata import Counts, Floats, Moments, Strata


@dataclass(frozen=True, eq=False)
class ForetoldRatings(Ratings):
    """Ratings whose `proxy` is a forecast of the scores themselves.

    `spread` is the standard deviation of the earlier systems' scores.
    """

    spread: float = 1.0

    def _estimated(self, positions: Counts, scores: Floats) -> Moments:
        assert self.proxy is not None, "the estimator makes these ratings with a proxy"
        return with_forecast(self.strata, positions, scores, Forecast(self.proxy, self.spread))


@final
@dataclass(frozen=True, eq=False)
class ForetoldMean:
    """Scores by stratum, with a forecast from earlier systems' scores."""

    strata: Strata
    forecast: Forecast

    def tally(self, labels: Sequence[Label], items: int) -> Ratings:
        """Collect `labels` over a pool of `items`.

        Raises:
            ValueError: the forecast is for another number of items.
        """
        scores, spread = self.forecast
        if items != len(scores):
            raise ValueError(f"expected a forecast of {items} items, found one of {len(scores)}")
        none = np.zeros(0, dtype=np.int64), np.zeros(0)
        return self.extended(
            ForetoldRatings(self.strata, *none, proxy=scores, spread=spread), labels
        )

    def extended(self, tally: Ratings, labels: Sequence[Label]) -> Ratings:
        """Add further labels to `tally`."""
        return self._plain.extended(tally, labels)

    def exhausted(self, tally: Ratings) -> StopReason:
        """Return why a run ends when no further item is to be asked about."""
        return self._plain.exhausted(tally)

    @property
    def _plain(self) -> MeanScore:
        return MeanScore(self.strata, self.forecast.scores)
