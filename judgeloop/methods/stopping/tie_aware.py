"""A heuristic: the DiffUse paper's test on decisive verdicts only, so that ties do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.majority import Counts, MajorityTest, Tested


@final
@dataclass(frozen=True)
class TieAware(MajorityTest):
    """The test of `Hypergeometric` on decisive verdicts only, so that ties are not counted.

    With m decisive of n judged verdicts, the population is the expected number of decisive items,
    N' = max(m, round(N·m/n)). Under the null, each system is preferred on half of them. The rule is
    a heuristic, as `Hypergeometric` is.
    """

    name: str = "tie-aware"
    guarantee: str | None = None
    needs_draws: bool = False

    def tested(self, wins: Counts, losses: Counts, judged: Counts | int, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        decisive = wins + losses
        population = np.maximum(
            decisive, np.rint(items * decisive / np.maximum(1, judged)).astype(int)
        )
        return wins, population, population // 2, decisive


def made_of(given: Ingredients) -> TieAware:
    """Make the rule for one run."""
    return TieAware(given.risk)
