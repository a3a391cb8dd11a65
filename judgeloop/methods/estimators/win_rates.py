"""Counts and win rates of many systems against one baseline.

Takes labels and returns `Standings`. A stopping rule decides whether they are enough to name the
best system (`methods/stopping/separated.py`, `methods/stopping/fixed_budget.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import final

import numpy as np

from judgeloop.core.growing import grown
from judgeloop.core.outcomes import StopKind, StopReason, every_one
from judgeloop.core.pool import UNLIMITED
from judgeloop.core.records import TIE, Label, Verdict
from judgeloop.methods.estimators.preferences import SAMPLE_JUDGED
from judgeloop.methods.stats.query_scores import scores_of
from judgeloop.methods.stats.racing import after, start
from judgeloop.methods.stats.standings import Standings


@final
@dataclass(frozen=True)
class WinRates:
    """Wins, ties and losses of `systems` systems against system number `baseline`, by query.

    With `sampled`, the pool is a sample of the population that the result is about (`Preferences`).
    """

    systems: int
    baseline: int
    sampled: bool = False

    def tally(self, labels: Sequence[Label], items: int) -> Standings:
        """Count `labels` over a pool of `items`; the labels of a query stand next to each other."""
        none = np.zeros(self.systems, dtype=np.int64)
        race = start(UNLIMITED if self.sampled else items, self.systems)
        return self.extended(Standings(items, self.baseline, none, none, none, none, race), labels)

    def extended(self, tally: Standings, labels: Sequence[Label]) -> Standings:
        """Add the labels of further whole queries to `tally`."""
        for _, group in groupby(labels, key=lambda label: label.choice.position):
            tally = self._with_query(tally, list(group))
        return tally

    def _with_query(self, tally: Standings, labels: Sequence[Label]) -> Standings:
        scores, asked = scores_of(labels, self.systems, self.baseline)
        drawn = all(label.choice.propensity is not None for label in labels)
        race = after(tally.race, scores, asked) if tally.race is not None and drawn else None
        verdicts = [label.answer for label in labels if isinstance(label.answer, Verdict)]
        return replace(
            tally,
            wins=tally.wins + (scores > TIE),
            ties=tally.ties + (scores == TIE),
            losses=tally.losses + (scores < TIE),
            silent=tally.silent + (asked & np.isnan(scores)),
            race=race,
            scores=grown(tally.scores, [scores]),
            flips=tally.flips + sum(verdict.flipped for verdict in verdicts),
            both=tally.both + sum(verdict.both for verdict in verdicts),
        )

    def exhausted(self, tally: Standings) -> StopReason:
        """Return why a run ends when no further query is to be asked."""
        if tally.queries < tally.items:
            return StopReason(
                StopKind.POOL_EXHAUSTED, "the selector has no further queries to propose"
            )
        if self.sampled:
            return SAMPLE_JUDGED
        if len(tally.best) > 1 and not tally.abstentions:
            return StopReason(
                StopKind.POOL_EXHAUSTED,
                f"{every_one(tally.items)} was asked about, and the best systems are level",
            )
        if not tally.in_question.all():
            return StopReason(
                StopKind.POOL_EXHAUSTED, "the selector has no further queries to propose"
            )
        points = tally.wins + TIE * tally.ties
        rivals = np.delete(points + tally.silent, tally.best[0])
        if len(tally.best) == 1 and (points[tally.best[0]] > rivals).all():
            return StopReason(
                StopKind.ALL_JUDGED,
                f"every system is judged on {every_one(tally.items)}, so nothing is left to chance",
            )
        return StopReason(
            StopKind.POOL_EXHAUSTED,
            f"every item was asked about, but {tally.abstentions:,} abstentions outweigh the lead",
        )
