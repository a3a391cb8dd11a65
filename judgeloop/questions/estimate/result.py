"""The result of an estimate of one system's mean score: all figures that the reports show.

Every figure is computed once, here. `page.py` makes facts of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from judgeloop.core.jsonable import Part
from judgeloop.core.outcomes import Ending, Finished, Outcome, StopKind, outcome_of
from judgeloop.core.records import TIE, Item
from judgeloop.methods.estimators.mean_score import Ratings
from judgeloop.methods.selectors.blocks import LEAST_BLOCK
from judgeloop.methods.stats.intervals import reach, unseen_variance
from judgeloop.methods.stopping.precise import AT_THE_END, IntervalKind, narrow_enough
from judgeloop.methods.stopping.rule import with_seen
from judgeloop.report.labels import LabelRow, label_rows
from judgeloop.report.notes import Note, NoteCode, note
from judgeloop.report.records import DataNotes, Setup, counts_of
from judgeloop.report.result import FEWEST_TIES, RunResult

SPARE = 1.15  # of a limit that is said to be enough


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions(Part):
    """The settings that only an estimate has.

    - `layer`: the layer of hidden states, and in brackets the number that `auto` found; null without hidden states
    - `strata`: the number of strata in the pool: those that are drawn from, or the groups that may help the interval
    - `half_width`: the greatest accepted reach of the interval, null if the run was to go to its
      limit
    - `interval_kind`: how the interval is made: exact, for scores of 0 and 1; anytime, by bets; or approximate
    - `proxy`: the cheap judge beside the judge; null without one
    - `block`: how many items it rates for each judgment; 0 where it rates all
    - `required_score`: the score that must be reached; null without one
    """

    layer: str | None = None
    strata: int = 1
    half_width: float | None = None
    interval_kind: str
    proxy: str | None = None
    block: int = 0
    required_score: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Estimation(RunResult):
    """One system's mean score over all items.

    - `mean`: the estimated mean score; null if nothing is judged
    - `interval`: bounds that miss the mean over all items with the threshold's probability; null if
      too few items are judged, or if items were picked
    - `mean_biased`: whether items were picked, so that the error of the mean is unknown
    - `sampled_mean`: the plain mean of the judged items
    - `cautious`: true if the interval was widened for rare scores that the judged items may not
      contain
    - `proxy_mean`: the mean of the proxy over all items that it rated
    - `criteria`: the plain mean score of the judged items by each criterion of the rubric, without a claim; empty
      without any
    """

    LEFT_OUT = frozenset(
        {
            *("winner", "leader", "risk", "flips", "both_orders", "flip_rate", "flip_interval"),
            *("flips_in_all", "both_in_all"),
            *("agreement", "required_winner", "order", "instead"),
        }
    )
    COMPUTED = ("decided", "reach", *RunResult.COMPUTED)

    job: ClassVar[str] = "estimate"

    options: EstimateOptions
    mean: float | None
    interval: tuple[float, float] | None
    mean_biased: bool
    sampled_mean: float | None
    cautious: bool
    proxy_mean: float | None
    criteria: dict[str, float] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether the question is answered."""
        return self.winner is not None

    @property
    def reach(self) -> float | None:
        """Distance from the mean to the farther end of the interval; null without an interval."""
        if self.interval is None or self.mean is None:
            return None
        return reach(self.mean, self.interval)

    @property
    def whole(self) -> bool:
        """Whether nothing is left to chance: all that the score is of is judged, whatever ended the run."""
        every = self.judged == self.items and not self.setup.sampled
        return every or self.stop_reason is StopKind.ALL_JUDGED

    def lost(self, label: LabelRow) -> bool:
        """Whether the score is in the lower half."""
        return label.score is not None and label.score < TIE

    def doubts(self) -> tuple[Note, ...]:
        """A warning if all scores are the same: the judge may give no other."""
        scores = {row.score for row in self.verdicts}
        alike = self.judged >= FEWEST_TIES and len(scores) == 1
        return (note(NoteCode.ALL_SAME, judged=self.judged, score=scores.pop()),) if alike else ()

    @property
    def per_label(self) -> int:
        """As `RunResult.per_label`."""
        return self.options.block or 1

    def to_decide(self) -> tuple[Note, ...]:
        """What would do, after an end that did not cut the run short."""
        enough, every = self.asked + (self.more_judgments or 0), self.data.drawn or self.items
        more = enough * self.per_label - every
        if (
            self.setup.sampled and enough * min(self.per_label, LEAST_BLOCK) > every
        ):  # a higher limit makes smaller ones
            others = (note(NoteCode.OTHER_FAMILIES, unit=self.data.unit),) if self.data.families else ()
            low = enough > (self.setup.max_judgments or enough)
            code = NoteCode.ITEMS_AND_LIMIT if low else NoteCode.ITEMS_WANTED
            return (note(code, items=more, unit=self.data.unit, **({"limit": enough} if low else {})), *others)
        if self.asked == self.drawable:
            return (note(NoteCode.ALL_ASKED),)
        if self.options.half_width is None or self.shown == "open":
            if self.stop_reason is StopKind.BUDGET:
                return ()  # which budget would do is said behind it
            ends = () if self.options.half_width is None else (note(NoteCode.HALF_WIDTH_ENDS),)
            left, exact = self.drawable - self.asked, not self.setup.sampled and self.per_label == 1
            code = NoteCode.REST_IS_EXACT if exact else NoteCode.TOO_FEW_JUDGED
            return (*ends, note(code, limit=self.drawable, left=left, usd=self.usd_for(left)))
        if self.more_judgments is None:
            skipped = self.counts.abstentions if self.judged > 1 else 0
            return (self.fewer_skips(skipped) if skipped else note(NoteCode.NO_FORECAST),)
        limited = self.stop_reason is StopKind.JUDGMENT_LIMIT
        if limited:  # another limit plans other bounds, which may be a little wider
            enough = min(self.drawable, math.ceil(enough * SPARE))
        code = NoteCode.LIMIT_ENOUGH if limited else NoteCode.MORE_JUDGMENTS
        return (note(code, judgments=self.more_judgments, limit=enough, usd=self.more_usd),)

    @property
    def shown(self) -> str | None:
        """Whether the required score is reached, missed or open; None if no score is required."""
        required = self.options.required_score
        if required is None:
            return None
        if self.interval is None or self.interval[0] < required <= self.interval[1]:
            return "open"
        return "reached" if self.interval[0] >= required else "missed"

    @property
    def requirement(self) -> str:
        """What is required of the score, in words; empty if nothing is."""
        least = self.options.required_score
        return "" if least is None else f"the score must be at least {least:g}"

    @property
    def found(self) -> str:
        """Between what the score lies."""
        return "" if self.interval is None else "{:.3f} to {:.3f}".format(*self.interval)

    def stands(self) -> Outcome:
        """How the run ended; where a score is required, whether it is reached."""
        ended = outcome_of(self.stop_reason, self.winner, None, lost=self.lost_to_failures)
        if self.shown is None or ended.broke_off:
            return ended
        return {"reached": Outcome.PASSED, "missed": Outcome.FAILED, "open": Outcome.UNDECIDED}[self.shown]


def estimated_of(
    finished: Finished[Ratings],
    setup: Setup,
    options: EstimateOptions,
    data: DataNotes,
    *,
    items: Sequence[Item],
    interval: tuple[float, float] | None,
    proxy_mean: float | None,
    more_judgments: int | None,
    least: int,
) -> Estimation:
    """Compute the result from how a run ended.

    `items` are in the order of positions. `least` is the minimum number of judgments.
    """
    ending, systems = finished.ending, setup.systems
    labels = label_rows(ending.labels, systems, items, ending.deciding)
    by_criterion: dict[str, list[float]] = {}
    for name, score in (each for row in labels for each in row.criteria.items()):
        by_criterion.setdefault(name, []).append(score)
    tally = ending.estimate.tally
    certain = ending.stop.kind is StopKind.ALL_JUDGED
    mean = tally.moments.mean
    interval = (mean, mean) if certain else interval
    interval = with_seen(interval, mean)
    if math.isnan(mean) or tally.judged < least:
        interval = None  # only abstentions: from 0 to 1, which says nothing; or too few to rely on
    known = tally.scores[~np.isnan(tally.scores)]
    plain = float(known.mean()) if len(known) else None
    # The width is looked at now and then, and once more at the end.
    narrow = (
        ending.stop.kind in AT_THE_END and interval is not None and narrow_enough(mean, interval, options.half_width)
    )
    decided = (ending.winner is not None or narrow) and not _cut_too_short(ending, least)
    return Estimation(
        setup=setup,
        options=options,
        data=data,
        counts=counts_of(finished),
        spend=finished.spend,
        labels=labels,
        winner=systems[0] if decided else None,
        leader=None if tally.leader is None else systems[tally.leader],
        risk=None,
        stop_reason=ending.stop.kind,
        stop_sentence=ending.stop.sentence,
        more_judgments=more_judgments,
        mean=None if math.isnan(mean) else min(1.0, max(0.0, mean)),
        interval=interval,
        mean_biased=not tally.drawn and not certain,
        sampled_mean=plain,
        cautious=options.interval_kind == IntervalKind.APPROXIMATE
        and len(known) > 0
        and bool(tally.moments.variance < unseen_variance(mean, tally.judged, tally.items)),
        proxy_mean=proxy_mean,
        criteria={name: math.fsum(scores) / len(scores) for name, scores in by_criterion.items()},
    )


def _cut_too_short(ending: Ending[Ratings], least: int) -> bool:
    """Whether money or time ended the run before the minimum, or without an interval."""
    tally = ending.estimate.tally
    cut = ending.stop.kind in {StopKind.BUDGET, StopKind.DEADLINE}
    return cut and (tally.judged < least or (tally.drawn and ending.estimate.interval is None))
