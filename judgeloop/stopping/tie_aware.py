"""The papers' test on decisive verdicts alone, so that ties do not count against the leader. A heuristic."""

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
    """The papers' test on decisive verdicts only, so that ties are no longer votes against the leader.

    With m decisive of n judged, the population is the decisive items to be expected: N' = max(m, round(N·m/n)),
    half of them for each system under the null. A heuristic like the rule it comes from.
    """

    name: str = "tie-aware"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        if tally.leader is None:
            return 1.0
        decisive = sum(tally.wins)
        population = max(decisive, round(tally.items * decisive / tally.judged))
        return survival(tally.wins[tally.leader], population, population // 2, decisive)


def made_of(given: Ingredients) -> TieAware:
    """The rule for one run."""
    return TieAware(given.risk)
