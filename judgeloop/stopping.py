"""Whether to go on: the stopping rules, and what they imply before the next verdict is known.

Limits of judgments and money are not rules of evidence and stand elsewhere (`session.py`, `ledger/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from judgeloop.protocols import StoppingRule
from judgeloop.records import Tally
from judgeloop.stats.crossing import boundary, crossing_table
from judgeloop.stats.hypergeometric import survival


@final
@dataclass(frozen=True)
class Hypergeometric:
    """The papers' rule: how unlikely so many votes are, were the leader preferred on half of all items.

    risk = sf(k-1, N, N/2, n) with n judged and k votes for the leader (Ashury-Tahan et al. 2024, appendix A.2).
    For odd N the null is ⌊N/2⌋, the most votes that are not a majority. A heuristic: it is looked at many times,
    the items need not be drawn at random, and ties count as votes against the leader.
    """

    threshold: float
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
class TieAware:
    """The papers' test on decisive verdicts only, so that ties are no longer votes against the leader.

    With m decisive of n judged, the population is the decisive items to be expected: N' = max(m, round(N·m/n)),
    half of them for each system under the null. A heuristic like the rule it comes from.
    """

    threshold: float
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


@final
@dataclass(frozen=True)
class Sequential:
    """Decisive verdicts against a boundary that holds at every look; guaranteed, for random draws up to a known limit.

    Were a system preferred no more often than the other among all items, its decisive verdicts would come like draws without
    replacement from a population that is balanced at best. The stated risk is the chance that such draws ever, within
    `limit` judgments, look as lopsided as these do now, by their hypergeometric p-value; exact, by dynamic programming
    (`stats/crossing.py`). Ties do not move it: fewer decisive items than `items` only make the draws steadier. An abstention
    counts as a verdict for the other side. Between two level systems either may be named, each with the stated risk.
    """

    threshold: float
    items: int
    limit: int
    name: str = "sequential"
    needs_draws: bool = True

    @property
    def guarantee(self) -> str:
        """What is promised."""
        return (
            f"for random draws and at most {self.limit} judgments, a system that is not the better one is ever named with "
            "at most this chance, however often one looks"
        )

    def risk(self, tally: Tally) -> float:
        """The stated risk of naming the leader of `tally`."""
        if tally.leader is None:
            return 1.0
        against = tally.wins[1 - tally.leader] + tally.abstentions
        draws = tally.wins[tally.leader] + against
        limit = min(self.limit, self.items)
        if draws > limit:
            return 1.0
        p_value = survival(tally.wins[tally.leader], self.items, self.items // 2, draws)
        thresholds, chances = crossing_table(
            self.items, limit, (boundary(self.items, limit, self.threshold),)
        )
        return float(min(1.0, chances[np.searchsorted(thresholds, p_value)]))


Rule = Callable[[float, int, int], StoppingRule]


def _whatever_the_pool(rule: Callable[[float], StoppingRule]) -> Rule:
    def make(threshold: float, items: int, limit: int) -> StoppingRule:
        del items, limit
        return rule(threshold)

    return make


# By name, from the threshold, the number of items and the limit of judgments.
RULES: dict[str, Rule] = {
    "tie-aware": _whatever_the_pool(TieAware),
    "hypergeometric": _whatever_the_pool(Hypergeometric),
    "sequential": Sequential,
}


def is_met(rule: StoppingRule, tally: Tally) -> bool:
    """Whether `rule` names the leader of `tally` the winner."""
    return tally.leader is not None and rule.risk(tally) <= rule.threshold


def can_be_met(rule: StoppingRule, tally: Tally, unknown: int) -> bool:
    """Whether any verdicts on `unknown` further items could meet `rule`.

    The best that can happen to a side is wins and ties only, so those are tried. While this is False, asking for
    one more item wastes nothing, whatever the answers: this is how queries run in parallel without overspending.
    """
    return any(
        is_met(rule, _with_wins(tally, side, wins, unknown)) for side in (0, 1) for wins in range(unknown + 1)
    )


def first_met(rule: StoppingRule, shares: Tally, least: int, most: int) -> int | None:
    """The fewest judgments from `least` to `most` that meet `rule` if the shares are those of `shares`; or None.

    A projection and no promise: it scales the counts in proportion, rounded.
    """
    if shares.leader is None or least > most or not is_met(rule, _scaled(shares, most)):
        return None
    while least < most:
        middle = (least + most) // 2
        if is_met(rule, _scaled(shares, middle)):
            most = middle
        else:
            least = middle + 1
    return least


def _with_wins(tally: Tally, side: int, wins: int, unknown: int) -> Tally:
    first, second = tally.wins
    more = (first + wins, second) if side == 0 else (first, second + wins)
    return replace(tally, wins=more, ties=tally.ties + unknown - wins)


def _scaled(tally: Tally, judged: int) -> Tally:
    share = judged / tally.judged
    first, second = (round(wins * share) for wins in tally.wins)
    return replace(tally, wins=(first, second), ties=max(0, judged - first - second))
