"""Rules that state a risk and prove nothing: the papers', and one that does not take ties for votes against the leader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from judgeloop.core.records import Tally
from judgeloop.stats.hypergeometric import survival
from judgeloop.stopping.rule import Rule


@final
@dataclass(frozen=True)
class Hypergeometric(Rule):
    """The papers' rule: how unlikely so many votes are, were the leader preferred on half of all items.

    risk = sf(k-1, N, N/2, n) with n judged and k votes for the leader (Ashury-Tahan et al. 2024, appendix A.2).
    For odd N the null is ⌊N/2⌋, the most votes that are not a majority. A heuristic: it is looked at many times,
    the items need not be drawn at random, and ties count as votes against the leader.
    """

    name: str = "hypergeometric"
    guarantee: str | None = None
    needs_draws: bool = False

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        if tally.leader is None:
            return 1.0
        votes = tally.wins[tally.leader]
        return survival(votes, tally.items, tally.items // 2, tally.judged)


@final
@dataclass(frozen=True)
class TieAware(Rule):
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
