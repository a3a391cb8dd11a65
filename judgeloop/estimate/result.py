"""The result of an estimate of one system's mean score: every figure that any report shows, worked out once.

It formats nothing for people and writes no file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from judgeloop.core.records import DecoyTally, Outcome, Spend, StopKind
from judgeloop.report.run_result import (
    EXIT_OTHER_WON,
    EXIT_UNDECIDED,
    RunResult,
    RunSetup,
    label_rows,
)
from judgeloop.stats.mean_intervals import reach, unseen_variance
from judgeloop.stats.ratings import Ratings


@dataclass(frozen=True, slots=True)
class EstimateSetup(RunSetup):
    """What was estimated, and how.

    `represent` is None for a selector that looks at no vectors, `layer` for vectors that are no hidden states. `strata` is how many parts the
    pool was cut into, `half_width` how narrow the interval was to be. `history` says where earlier ratings are from, None where none were looked
    at.
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

    `mean` is None while nothing is judged; `interval` misses the mean over all items with the threshold's chance, and is None where items were picked:
    then `mean_biased` says that nothing is known of how far off the mean is. `cautious` says that the interval is as wide as scores that few
    items have, and none of those judged, may make it. `sampled_mean` is the plain mean of the judged items,
    `proxy_mean` that of the proxy over all items.
    """

    job: ClassVar[str] = "estimate"

    setup: EstimateSetup
    mean: float | None
    interval: tuple[float, float] | None
    mean_biased: bool
    sampled_mean: float | None
    cautious: bool
    proxy_mean: float | None

    @property
    def reach(self) -> float | None:
        """How far the interval reaches from the mean, to the farther side."""
        if self.interval is None or self.mean is None:
            return None
        return reach(self.mean, self.interval)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values: with whether it is decided, and nothing of what only a contest has."""
        values = super(Estimated, self).to_json()
        contest = (
            "winner",
            "leader",
            "risk",
            "flips",
            "flip_rate",
            "agreement",
            "required_winner",
            "order",
        )
        kept = {name: value for name, value in values.items() if name not in contest}
        promise = self.setup.guarantee or "approximate"
        return kept | {
            "decided": self.winner is not None,
            "reach": self.reach,
            "guarantee": promise,
        }

    @property
    def shown(self) -> str | None:
        """What is known of the required score: reached, missed, or open; None where none is required."""
        required = self.setup.required_score
        if required is None:
            return None
        if self.interval is None or self.interval[0] < required <= self.interval[1]:
            return "open"
        return "reached" if self.interval[0] >= required else "missed"

    @property
    def exit_code(self) -> int:
        """The exit code that says how the run ended; with a required score, whether it is surely reached or surely missed."""
        ended = super(Estimated, self).exit_code  # by its name: a class with slots is made twice
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
    """Work out a result from how a run ended; `item_ids` by position, `least` is how many judgments there were to be."""
    tally, systems = outcome.estimate.tally, setup.systems
    certain = outcome.stop.kind is StopKind.ALL_JUDGED
    mean = tally.moments.mean
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
        flip_rate=None,
        stop_reason=outcome.stop.kind,
        stop_sentence=outcome.stop.sentence,
        more_judgments=more_judgments,
        spend=spend,
        judge_models=judge_models,
        agreement=None,
        decoys=decoys,
        labels=label_rows(outcome.labels, systems, item_ids, outcome.deciding),
        mean=None if math.isnan(mean) else min(1.0, max(0.0, mean)),
        interval=(mean, mean) if certain else outcome.estimate.interval,
        mean_biased=not tally.drawn and not certain,
        sampled_mean=plain,
        cautious=bool(tally.moments.variance < unseen_variance(mean, tally.judged, tally.items))
        if len(known)
        else False,
        proxy_mean=proxy_mean,
    )


def _cut_too_short(outcome: Outcome[Ratings], least: int) -> bool:
    """Whether money or time ended the run before there was anything to be sure of."""
    tally = outcome.estimate.tally
    cut = outcome.stop.kind in {StopKind.BUDGET, StopKind.DEADLINE}
    return cut and (tally.judged < least or (tally.drawn and outcome.estimate.interval is None))
