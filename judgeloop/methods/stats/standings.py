"""Counts, win rates and the race of many systems that are each compared with one baseline.

Holds and sums up what `methods/estimators/win_rates.py` counts. The stopping rules `methods/stopping/separated.py`
and `methods/stopping/fixed_budget.py` decide whether it is enough to name the best system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgeloop.core.records import TIE
from judgeloop.methods.stats.racing import Flags, Floats, Race

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
