"""A heuristic: the DiffUse paper's hypergeometric test against a majority of all items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from judgeloop.methods.stopping.catalogue import Ingredients
from judgeloop.methods.stopping.majority import Counts, MajorityTest, Tested


@final
@dataclass(frozen=True)
class Hypergeometric(MajorityTest):
    """Tests the leader's votes against the null that it is preferred on half of all items.

    risk = sf(k-1, N, N/2, n) with n judged and k votes for the leader (Ashury-Tahan et al. 2024,
    appendix A.2). For odd N the null is ⌊N/2⌋, the most votes that are not a majority. The rule is
    a heuristic: it is checked many times, the items need not be drawn at random, and ties count as
    votes against the leader.
    """

    name: str = "hypergeometric"
    guarantee: str | None = None
    needs_draws: bool = False

    def tested(self, wins: Counts, losses: Counts, judged: Counts | int, items: int) -> Tested:
        """As `MajorityTest.tested`."""
        del losses
        population, draws = np.full_like(wins, items), np.full_like(wins, judged)
        return wins, population, population // 2, draws


def made_of(given: Ingredients) -> Hypergeometric:
    """Make the rule for one run."""
    return Hypergeometric(given.risk)
