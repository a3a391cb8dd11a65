"""A heuristic: the DiffUse paper's test on decisive verdicts only, so that ties do not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from judgeloop.core.records import Tally
from judgeloop.stats.hypergeometric import survival
from judgeloop.stopping.catalogue import Ingredients
from judgeloop.stopping.rule import CountingRule


@final
@dataclass(frozen=True)
class TieAware(CountingRule):
    """The test of `Hypergeometric` on decisive verdicts only, so that ties are not counted.

    With m decisive of n judged verdicts, the population is the expected number of decisive items,
    N' = max(m, round(N·m/n)). Under the null, each system is preferred on half of them. The rule is
    a heuristic, as `Hypergeometric` is.
    """

    name: str = "tie-aware"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally: Tally) -> float:
        """Return the stated risk of naming the leader of `tally`; 1 without a leader."""
        if tally.leader is None:
            return 1.0
        decisive = sum(tally.wins)
        population = max(decisive, round(tally.items * decisive / tally.judged))
        return survival(tally.wins[tally.leader], population, population // 2, decisive)


def made_of(given: Ingredients) -> TieAware:
    """Make the rule for one run."""
    return TieAware(given.risk)
