"""Counts, win rates and levels of many systems that are each compared with one baseline.

Takes labels and returns `Standings`. A stopping rule decides whether they are enough to name the
best system (`methods/stopping/best_of_many.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import final

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.outcomes import StopKind, StopReason, every_one
from judgeloop.core.records import TIE, TWO_SYSTEMS, UNLIMITED, Abstention, Label, Verdict, as_score, preference
from judgeloop.methods.estimators.preferences import SAMPLE_JUDGED
from judgeloop.methods.estimators.proxy import ProxyVerdicts
from judgeloop.methods.stats.levels import Drawn, Flags, Floats, Levels, start

Counts = NDArray[np.int64]
ProxyByPair = Mapping[tuple[int, ...], ProxyVerdicts]  # by a system and the baseline

# Items on which all systems are compared with one of them, to choose a baseline; and what a pool must have
# so that they can be spared.
SCOUTED = 3
FEWEST_BESIDE = 10


@dataclass(frozen=True, eq=False)
class Standings:
    """Counts of preferences over the baseline for each of m systems, the baseline among them.

    The counts have shape (m,); `silent` counts abstentions. Those of the baseline are 0, as nothing is
    asked about it. `levels` are bounds; None without a stated risk, or once a query was picked rather
    than drawn. `drawn` says that none was picked. Of the `both` verdicts that were asked in both orders
    of presentation, `flips` changed with the order.
    """

    items: int
    baseline: int
    wins: Counts
    ties: Counts
    losses: Counts
    silent: Counts
    levels: Levels | None
    drawn: bool = True
    flips: int = 0
    both: int = 0

    @property
    def judged(self) -> int:
        """Number of verdicts."""
        return int((self.wins + self.ties + self.losses).sum())

    @property
    def abstentions(self) -> int:
        """Number of choices asked about that got no verdict."""
        return int(self.silent.sum())

    @property
    def rates(self) -> Floats:
        """Each system's win rate, (wins + ½ ties) / verdicts, shape (m,); NaN without verdicts.

        Durmazkeser et al. (2025), section 2.2. That of the baseline is ½.
        """
        verdicts = self.wins + self.ties + self.losses
        rates: Floats = np.full(len(verdicts), np.nan)
        np.divide(self.wins + TIE * self.ties, verdicts, out=rates, where=verdicts > 0)
        rates[self.baseline] = TIE
        return rates

    @property
    def asked(self) -> Counts:
        """Number of items on which each system was asked about, shape (m,)."""
        return self.wins + self.ties + self.losses + self.silent

    @property
    def queries(self) -> int:
        """Number of items asked about: some system was asked about on all of them."""
        return int(self.asked.max())

    @cached_property
    def in_question(self) -> Flags:
        """Which systems may still be named: by their bounds, or as asked about on every query."""
        if self.levels is not None:
            return self.levels.in_question
        asked: Flags = np.equal(self.asked, self.queries)
        asked[self.baseline] = True
        return asked

    @property
    def best(self) -> list[int]:
        """Systems with the highest win rate among those in question; several if they are tied."""
        rates = np.where(self.in_question & ~np.isnan(self.rates), self.rates, -np.inf)
        return [int(system) for system in np.flatnonzero(rates == rates.max())] if self.queries else []

    @property
    def level(self) -> list[int]:
        """The systems that share the highest win rate, known of each if there are bounds; none where one is alone."""
        best = self.best if self.levels is None else self.levels.level
        return best if len(best) > 1 else []

    @cached_property
    def leader(self) -> int | None:
        """The system that would be named now: with the least gap, or the highest win rate.

        None while no gap is proved, or if several have the highest win rate and there are no bounds.
        """
        if self.levels is not None:
            return self.levels.leader
        best = self.best
        return best[0] if len(best) == 1 else None


def scouted_items(systems: int, baseline: int | str | None, items: int) -> int:
    """The number of items that choose the baseline: 0 if it is given, or of two systems.

    In a very small pool, the first system is the baseline.
    """
    few = systems == len(TWO_SYSTEMS) or items < SCOUTED + FEWEST_BESIDE
    return 0 if few or baseline is not None else SCOUTED


def level_at_the_end(tally: Standings) -> StopReason:
    """The reason that nothing is left to tell the best systems apart."""
    return StopReason(
        StopKind.POOL_EXHAUSTED, f"{every_one(tally.items)} was asked about, and the best systems are level"
    )


def score_of(label: Label) -> float:
    """The score of a label's system: 1 if it was preferred, ½ for a tie, 0 if the baseline was.

    It is NaN for an abstention.
    """
    if isinstance(label.answer, Abstention):
        return np.nan
    return as_score(label.answer.preference)


def rows_of(labels: Sequence[Label], proxy: ProxyByPair | None = None) -> Iterator[dict[int, Drawn]]:
    """Yield the scores of each item by system, beside those of a `proxy`; the labels of an item stand together."""

    def seen(label: Label) -> Drawn:
        if proxy is None:
            return Drawn(score_of(label))
        own = proxy[label.choice.systems]
        return Drawn(score_of(label), own.scores[label.choice.position], own.total)

    for _, group in groupby(labels, key=lambda label: label.choice.position):
        yield {label.choice.systems[0]: seen(label) for label in group}


@final
@dataclass(frozen=True)
class WinRates:
    """Wins, ties and losses of `systems` systems against system number `baseline`.

    Without a `baseline`, it is the one of the labels, and the items that chose it are not in the pool
    (`scouted_items`). `risk` is that of the bounds, None for none, and `gap` the one that the race ends
    at. With `sampled`, the pool is a sample of the population that the result is about (`Preferences`). The verdicts of
    a `proxy` on all items are there before the first label of a pair.
    """

    systems: int
    baseline: int | None
    risk: float | None = None
    sampled: bool = False
    gap: float = 0.0
    proxy: ProxyByPair | None = None

    def tally(self, labels: Sequence[Label], items: int) -> Standings:
        """Count `labels` over a pool of `items`."""
        none, levels = np.zeros(self.systems, dtype=np.int64), None
        items -= scouted_items(self.systems, self.baseline, items)
        baseline = labels[0].choice.systems[1] if labels else self.baseline or 0
        if self.risk is not None:
            population = UNLIMITED if self.sampled else items
            beside = self.proxy is not None
            levels = start(self.systems, baseline, self.risk, population, items, gap=self.gap, beside=beside)
        return self.extended(Standings(items, baseline, none, none, none, none, levels), labels)

    def extended(self, tally: Standings, labels: Sequence[Label]) -> Standings:
        """Add further labels to `tally`."""
        systems = np.array([label.choice.systems[0] for label in labels], dtype=np.int64)
        scores = np.array([score_of(label) for label in labels])
        known, preferred = ~np.isnan(scores), preference(scores - TIE)
        drawn = tally.drawn and all(label.choice.propensity is not None for label in labels)
        levels = tally.levels if drawn else None
        verdicts = [label.answer for label in labels if isinstance(label.answer, Verdict)]

        def counted(before: Counts, which: Flags) -> Counts:
            return before + np.bincount(systems[which], minlength=self.systems)

        given = self.baseline is not None or not labels
        return replace(
            tally,
            baseline=tally.baseline if given else labels[0].choice.systems[1],
            wins=counted(tally.wins, preferred > 0),
            ties=counted(tally.ties, known & (preferred == 0)),
            losses=counted(tally.losses, preferred < 0),
            silent=counted(tally.silent, ~known),
            levels=levels and levels.after(rows_of(labels, self.proxy)),
            drawn=drawn,
            flips=tally.flips + sum(verdict.flipped for verdict in verdicts),
            both=tally.both + sum(verdict.both for verdict in verdicts),
        )

    def exhausted(self, tally: Standings) -> StopReason:
        """Why a run ends when no further query is to be asked."""
        asked = np.delete(tally.asked, tally.baseline)
        if self.sampled and tally.queries == tally.items:
            return SAMPLE_JUDGED
        if (asked < tally.items).any():
            return StopReason(StopKind.POOL_EXHAUSTED, "the selector has no further queries to propose")
        if len(tally.best) > 1 and not tally.abstentions:
            return level_at_the_end(tally)
        points = tally.wins + TIE * tally.ties
        points[tally.baseline] = TIE * tally.items
        rivals = np.delete(points + tally.silent, tally.best[0])
        if len(tally.best) == 1 and (points[tally.best[0]] > rivals).all():
            return StopReason(
                StopKind.ALL_JUDGED, f"every system is judged on {every_one(tally.items)}, so nothing is left to chance"
            )
        return StopReason(
            StopKind.POOL_EXHAUSTED,
            f"every item was asked about, but {tally.abstentions:,} abstentions outweigh the lead",
        )
