"""What a judge said beside what people said, in the order drawn.

Takes labels whose answers are the judge's or a person's; the other side's are known beforehand, by position. Returns
an `Agreement`. A rule decides whether it is enough (`methods/stopping/agreement.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import final

import numpy as np

from judgeloop.core.outcomes import StopKind, StopReason
from judgeloop.core.records import Abstention, Label, Verdict, as_score
from judgeloop.methods.estimators.preferences import NOTHING_FURTHER, whole
from judgeloop.methods.stats.with_people import Floats, agreements, by_people

ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Paired:
    """Scores of the judge, shape (asked,), and of people, shape (asked, people), of the items at `positions`.

    What is NaN is not known. Of a comparison scores are 1, 0.5 or 0, and `step` is None; of ratings it is how far two
    may be apart that count as the same, perhaps 0.
    """

    items: int
    step: float | None
    positions: tuple[int, ...]
    judge: Floats
    people: Floats

    @property
    def rates(self) -> bool:
        """Whether these are ratings."""
        return self.step is not None

    @property
    def asked(self) -> int:
        """Number of items asked about."""
        return len(self.positions)

    @cached_property
    def truth(self) -> Floats:
        """What people said of each item together: what most said of a pair, the mean of ratings."""
        together = fmean if self.rates else by_people
        said = ([one for one in row if not math.isnan(one)] for row in self.people.tolist())
        return np.array([together(votes) if votes else math.nan for votes in said])

    @cached_property
    def known(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which items have a verdict of both."""
        return ~(np.isnan(self.judge) | np.isnan(self.truth)) if self.asked else np.zeros(0, dtype=np.bool_)

    @property
    def judged(self) -> int:
        """Number of items with a verdict of both."""
        return int(self.known.sum())

    @property
    def abstentions(self) -> int:
        """Number of items that lack a verdict of one."""
        return self.asked - self.judged

    @property
    def leader(self) -> int | None:
        """0 once an item has a verdict of both; None before."""
        return 0 if self.judged else None

    @cached_property
    def agreement(self) -> Floats:
        """1 - |c - x| by item, NaN where it is not known."""
        return agreements(self.judge, self.truth) if self.asked else np.zeros(0)

    @cached_property
    def equal(self) -> Floats:
        """1 where both say the same, of ratings within a step, else 0; NaN where it is not known."""
        same = self.agreement > 1 - (self.step or 0.0) - ROUNDING
        return np.where(np.isnan(self.agreement), np.nan, same.astype(np.float64))

    @cached_property
    def with_a_person(self) -> Floats:
        """The mean agreement of the judge with a person, and of two people, shape (asked, 2).

        NaN where the judge said nothing, or fewer than two people answered.
        """
        found = [
            _with_a_person(judge, [one for one in row if not math.isnan(one)])
            for judge, row in zip(self.judge.tolist(), self.people.tolist(), strict=True)
        ]
        return np.array(found).reshape(-1, 2)

    @property
    def beside_people(self) -> Floats:
        """The former less the latter: the mean over all people of the judge in the place of one of them."""
        return self.with_a_person[:, 0] - self.with_a_person[:, 1]


def _with_a_person(judge: float, people: Sequence[float]) -> tuple[float, float]:
    if len(people) < 2 or math.isnan(judge):  # noqa: PLR2004 - two people
        return math.nan, math.nan
    pairs = [1 - abs(one - other) for at, one in enumerate(people) for other in people[:at]]
    return fmean(1 - abs(judge - one) for one in people), fmean(pairs)


@final
@dataclass(frozen=True, eq=False)
class Pairing:
    """Puts verdicts side by side; `people` has theirs by person and position, NaN where they said nothing.

    If a person is asked, `judged` has the judge's score by position, and the person is the last of the people.
    `step` is as in `Paired`, `sampled` as for other estimators. `again` has the judge's scores by position where it was
    asked anew; None where it was not.
    """

    people: Floats
    step: float | None
    sampled: bool
    judged: Floats | None = None
    again: Mapping[int, float] | None = None

    def tally(self, labels: Sequence[Label], items: int) -> Paired:
        """Collect `labels` over `items`: families, where these are drawn."""
        each = len(self.people) + (self.judged is not None)
        return self.extended(Paired(items, self.step, (), np.zeros(0), np.zeros((0, each))), labels)

    def extended(self, tally: Paired, labels: Sequence[Label]) -> Paired:
        """Add further labels to `tally`."""
        if not labels:
            return tally
        places = [label.choice.position for label in labels]
        said = np.array([self.score(label) for label in labels])
        people = self.people[:, places].T
        judge = said if self.judged is None else self.judged[places]
        if self.judged is not None:
            people = np.column_stack([people, said])
        return replace(
            tally,
            positions=(*tally.positions, *places),
            judge=np.concatenate([tally.judge, judge]),
            people=np.concatenate([tally.people, people]),
        )

    def score(self, label: Label) -> float:
        """What an answer says, as a score; NaN without one."""
        answer = label.answer
        if isinstance(answer, Abstention):
            return math.nan
        return as_score(answer.preference) if self.step is None else answer.score

    def exhausted(self, tally: Paired) -> StopReason:
        """Why a run ends when no further item is to be asked about."""
        if tally.asked < tally.items:
            return NOTHING_FURTHER
        if tally.abstentions:
            lack = f"{tally.abstentions:,} of {tally.items:,} lack a verdict of the judge or of people"
            return StopReason(StopKind.POOL_EXHAUSTED, f"every item was asked about, but {lack}")
        return whole(tally.items, sampled=self.sampled)


def merged(label: Label, judge: Verdict, people: Sequence[float]) -> Label:
    """The label of an item with the judge's verdict, and people's scores as the votes behind it."""
    votes = tuple(None if math.isnan(one) else one for one in people)
    return replace(label, answer=replace(judge, votes=(judge.score, *votes)))
