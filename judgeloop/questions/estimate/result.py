"""The result of an estimate of one system's mean score: all figures that the reports show.

Every figure is computed once, here. Formats nothing for people and writes no file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from judgeloop.core.errors import EXIT_OTHER_WON, EXIT_UNDECIDED
from judgeloop.core.outcomes import DecoyTally, Outcome, Spend, StopKind
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.stats.mean_intervals import reach, unseen_variance
from judgeloop.questions.estimate import text
from judgeloop.report.page import Page
from judgeloop.report.run_result import RunResult, RunSetup, label_rows


@dataclass(frozen=True, slots=True)
class EstimateSetup(RunSetup):
    """What was estimated, and with which settings.

    `represent` is None if the selector uses no vectors, `layer` if the vectors are not hidden
    states. `strata` is the number of strata in the pool. `half_width` is the greatest accepted
    reach of the interval, None if the run was to go to its limit. `history` is the source of
    earlier ratings, None if none were used.
    """

    represent: str | None
    layer: str | None
    strata: int
    half_width: float | None
    interval_kind: str
    proxy: str | None
    history: str | None
    required_score: float | None


@dataclass(frozen=True, slots=True)
class Estimated(RunResult):
    """One system's mean score over all items.

    `mean` is None if nothing is judged. `interval` misses the mean over all items with the
    threshold's probability. It is None if too few items are judged, or if items were picked. In the
    second case `mean_biased` is True, and the error of the mean is unknown. `cautious` is True if
    the interval was widened for rare scores that the judged items may not contain. `sampled_mean`
    is the plain mean of the judged items. `proxy_mean` is the mean of the proxy over all items.
    """

    job: ClassVar[str] = "estimate"
    # Fields that only comparisons have.
    ONLY_COMPARED: ClassVar[frozenset[str]] = frozenset(
        {
            "winner",
            "leader",
            "risk",
            "flips",
            "both_orders",
            "flip_rate",
            "flip_interval",
            "agreement",
            "required_winner",
            "order",
        }
    )

    setup: EstimateSetup
    mean: float | None
    interval: tuple[float, float] | None
    mean_biased: bool
    sampled_mean: float | None
    cautious: bool
    proxy_mean: float | None

    @property
    def page(self) -> Page:
        """The result as text: the headline, and the details."""
        return text.page(self)

    @property
    def reach(self) -> float | None:
        """Distance from the mean to the farther end of the interval; None without an interval."""
        if self.interval is None or self.mean is None:
            return None
        return reach(self.mean, self.interval)

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without the fields that only comparisons have."""
        values = super(Estimated, self).to_json()
        kept = {name: value for name, value in values.items() if name not in self.ONLY_COMPARED}
        promise = self.setup.guarantee or "approximate"
        return kept | {
            "decided": self.winner is not None,
            "reach": self.reach,
            "guarantee": promise,
        }

    @property
    def shown(self) -> str | None:
        """Whether the required score is reached, missed or open; None if no score is required."""
        required = self.setup.required_score
        if required is None:
            return None
        if self.interval is None or self.interval[0] < required <= self.interval[1]:
            return "open"
        return "reached" if self.interval[0] >= required else "missed"

    @property
    def exit_code(self) -> int:
        """The exit code of the run, which also says whether a required score is reached."""
        # A dataclass with slots is a new class, so `super()` without arguments fails.
        ended = super(Estimated, self).exit_code
        if self.shown is None or ended not in {0, EXIT_UNDECIDED}:
            return ended
        return {"reached": 0, "missed": EXIT_OTHER_WON, "open": EXIT_UNDECIDED}[self.shown]


def estimated_of(
    outcome: Outcome[Ratings],
    spend: Spend,
    setup: EstimateSetup,
    *,
    item_ids: Sequence[str],
    judge_models: tuple[tuple[str, ...], ...],
    decoys: DecoyTally | None,
    proxy_mean: float | None,
    more_judgments: int | None,
    least: int,
) -> Estimated:
    """Compute the result from a run's outcome.

    `item_ids` are in the order of positions. `least` is the minimum number of judgments.
    """
    tally, systems = outcome.estimate.tally, setup.systems
    certain = outcome.stop.kind is StopKind.ALL_JUDGED
    mean = tally.moments.mean
    interval = (mean, mean) if certain else outcome.estimate.interval
    if math.isnan(mean):
        interval = None  # only abstentions: from 0 to 1, which says nothing
    known = tally.scores[~np.isnan(tally.scores)]
    plain = float(known.mean()) if len(known) else None
    decided = outcome.winner is not None and not _cut_too_short(outcome, least)
    return Estimated(
        setup=setup,
        winner=systems[0] if decided else None,
        leader=None if tally.leader is None else systems[tally.leader],
        risk=None,
        judged=tally.judged,
        asked=outcome.asked,
        ahead=outcome.ahead,
        rounds=outcome.rounds,
        items=tally.items,
        abstentions=tally.abstentions,
        flips=0,
        both_orders=0,
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=None,
        decoys=decoys,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
        mean=None if math.isnan(mean) else min(1.0, max(0.0, mean)),
        interval=interval,
        mean_biased=not tally.drawn and not certain,
        sampled_mean=plain,
        cautious=bool(tally.moments.variance < unseen_variance(mean, tally.judged, tally.items))
        if len(known)
        else False,
        proxy_mean=proxy_mean,
    )


def _cut_too_short(outcome: Outcome[Ratings], least: int) -> bool:
    """Return whether money or time ended the run before the minimum, or without an interval."""
    tally = outcome.estimate.tally
    cut = outcome.stop.kind in {StopKind.BUDGET, StopKind.DEADLINE}
    return cut and (tally.judged < least or (tally.drawn and outcome.estimate.interval is None))
