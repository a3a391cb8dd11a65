"""Whether to go on: the stopping rules, and what they imply before the next verdict is known.

Limits of judgments and money are not rules of evidence and stand elsewhere (`session.py`, `ledger/`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

from judgeloop.protocols import StoppingRule
from judgeloop.records import Tally
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


RULES: dict[str, Callable[[float], StoppingRule]] = {
    "tie-aware": TieAware,
    "hypergeometric": Hypergeometric,
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
