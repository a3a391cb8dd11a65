"""Many systems, each compared with one baseline: how often each won, and how they fare on the queries that they share.

Whether that is enough to name the best is a stopping rule's business.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import TIE
from judgeloop.stats.racing import Flags, Floats, Race

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Standings:
    """Counts of preferences over the baseline for each of m systems, the baseline among them: it ties with itself, unasked.

    `scores` has a row a query, in the order asked: 1 the system was preferred, ½ a tie, 0 the baseline was preferred, NaN an abstention or
    not asked. `race` is None once a query was picked and not drawn.
    """

    items: int
    baseline: int
    wins: Counts
    ties: Counts
    losses: Counts
    silent: Counts
    race: Race | None
    scores: tuple[Floats, ...] = ()
    flips: int = 0

    @property
    def queries(self) -> int:
        """Items asked about so far."""
        return len(self.scores)

    @property
    def judged(self) -> int:
        """Verdicts given: the baseline's ties with itself are none."""
        return int((self.wins + self.ties + self.losses).sum() - self.ties[self.baseline])

    @property
    def abstentions(self) -> int:
        """Choices asked for without a verdict."""
        return int(self.silent.sum())

    @property
    def rates(self) -> Floats:
        """Each system's win rate, (wins + ½ ties) / verdicts: Durmazkeser et al. (2025), section 2.2; NaN where nothing is judged."""
        verdicts = self.wins + self.ties + self.losses
        rates: Floats = np.full(len(verdicts), np.nan)
        np.divide(self.wins + TIE * self.ties, verdicts, out=rates, where=verdicts > 0)
        return rates

    @property
    def asked(self) -> Counts:
        """On how many queries each system was asked for."""
        return self.wins + self.ties + self.losses + self.silent

    @property
    def in_question(self) -> Flags:
        """Which systems were asked for on every query."""
        asked: Flags = np.equal(self.asked, self.queries)
        return asked

    @property
    def best(self) -> list[int]:
        """The systems with the highest win rate among those in question; several where they are level."""
        rates = np.where(self.in_question & ~np.isnan(self.rates), self.rates, -np.inf)
        return (
            [int(system) for system in np.flatnonzero(rates == rates.max())] if self.queries else []
        )

    @property
    def leader(self) -> int | None:
        """The one with the highest win rate among those in question; None where several are level."""
        return self.best[0] if len(self.best) == 1 else None
