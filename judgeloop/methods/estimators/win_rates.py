"""Counts, win rates and the race of many systems that are each compared with one baseline.

Takes labels and returns `Standings`. A stopping rule decides whether they are enough to name the
best system (`methods/stopping/best_of_many.py`, `methods/stopping/best_of_many.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.growing import grown
from judgeloop.core.outcomes import StopKind, StopReason, every_one
from judgeloop.core.pool import UNLIMITED
from judgeloop.core.records import TIE, Abstention, Label, Verdict
from judgeloop.methods.estimators.preferences import SAMPLE_JUDGED
from judgeloop.methods.stats.racing import Flags, Floats, Race, after, start

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Standings:
    """Counts of preferences over the baseline for each of m systems, the baseline among them.

    The counts have shape (m,); `silent` counts abstentions. The baseline ties with itself without
    being asked.

    `scores` has a row, shape (m,), for each query in the order asked: 1 if the system was
    preferred, ½ for a tie, 0 if the baseline was preferred, NaN for an abstention or a system not
    asked about. `race` is None once a query was picked rather than drawn. Of the `both` verdicts
    that were asked in both orders of presentation, `flips` changed with the order.
    """

    items: int
    baseline: int
    wins: Counts
    ties: Counts
    losses: Counts
    silent: Counts
    race: Race | None
    scores: Sequence[Floats] = ()
    flips: int = 0
    both: int = 0

    @property
    def queries(self) -> int:
        """Number of items asked about so far."""
        return len(self.scores)

    @property
    def judged(self) -> int:
        """Number of verdicts, not counting the baseline's ties with itself."""
        return int((self.wins + self.ties + self.losses).sum() - self.ties[self.baseline])

    @property
    def abstentions(self) -> int:
        """Number of choices asked about that got no verdict."""
        return int(self.silent.sum())

    @property
    def rates(self) -> Floats:
        """Each system's win rate, (wins + ½ ties) / verdicts, shape (m,); NaN without verdicts.

        Durmazkeser et al. (2025), section 2.2.
        """
        verdicts = self.wins + self.ties + self.losses
        rates: Floats = np.full(len(verdicts), np.nan)
        np.divide(self.wins + TIE * self.ties, verdicts, out=rates, where=verdicts > 0)
        return rates

    @property
    def asked(self) -> Counts:
        """Number of queries on which each system was asked about, shape (m,)."""
        return self.wins + self.ties + self.losses + self.silent

    @property
    def in_question(self) -> Flags:
        """Which systems were asked about on every query, shape (m,)."""
        asked: Flags = np.equal(self.asked, self.queries)
        return asked

    @property
    def best(self) -> list[int]:
        """Systems with the highest win rate among those in question; several if they are tied."""
        rates = np.where(self.in_question & ~np.isnan(self.rates), self.rates, -np.inf)
        return (
            [int(system) for system in np.flatnonzero(rates == rates.max())] if self.queries else []
        )

    @property
    def leader(self) -> int | None:
        """System with the highest win rate among those in question; None if several are tied."""
        return self.best[0] if len(self.best) == 1 else None


def scores_of(labels: Sequence[Label], systems: int, baseline: int) -> tuple[Floats, Flags]:
    """Return one query's scores and which systems were asked about, both of shape (systems,).

    A score is 1 if the system was preferred to the baseline, ½ for a tie, and 0 if the baseline was
    preferred. It is NaN for an abstention, and for a system that was not asked about. The baseline
    always counts as asked, and ties with itself.
    """
    scores, asked = np.full(systems, np.nan), np.zeros(systems, dtype=bool)
    scores[baseline], asked[baseline] = TIE, True
    for label in labels:
        system = label.choice.systems[0]
        asked[system] = True
        if not isinstance(label.answer, Abstention):
            scores[system] = TIE + label.answer.preference / 2
    return scores, asked


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
