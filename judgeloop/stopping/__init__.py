"""Whether to go on: the stopping rules, and what they imply before the next verdict is known.

Limits of judgments and money are not rules of evidence and stand elsewhere (`session.py`, `ledger/`).
"""

from __future__ import annotations

from dataclasses import replace

from judgeloop.core.errors import InputError
from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Tally
from judgeloop.stopping.anytime import Anytime
from judgeloop.stopping.calibrated import Calibrated
from judgeloop.stopping.giving_up import GivingUp
from judgeloop.stopping.heuristic import Hypergeometric, TieAware
from judgeloop.stopping.sequential import Sequential

__all__ = [
    "GUARANTEED", "RULES", "Anytime", "Calibrated", "GivingUp", "Hypergeometric", "Sequential", "TieAware", "first_met", "make_rule",
]  # fmt: skip

RULES = ("sequential", "anytime", "tie-aware", "hypergeometric")
GUARANTEED = {"sequential", "anytime"}


def make_rule(
    name: str, *, risk: float, items: int, limit: int, near_tie: float | None = None
) -> StoppingRule[Tally]:
    """The rule called `name`, for a pool of `items` of which at most `limit` are judged.

    Raises:
        InputError: `near_tie` is given, and the rule makes no statement about the win distance.
    """
    if near_tie is not None and name != "anytime":
        raise InputError(
            f"--near-tie needs bounds for the win distance, which --rule {name} does not have; use --rule anytime"
        )
    rules: dict[str, StoppingRule[Tally]] = {
        "sequential": Sequential(risk, items, limit),
        "anytime": Anytime(risk, items, near_tie),
        "tie-aware": TieAware(risk),
        "hypergeometric": Hypergeometric(risk),
    }
    return rules[name]


def first_met(
    rule: StoppingRule[Tally], shares: Tally, least: int, most: int, limit: int
) -> int | None:
    """The fewest judgments from `least` to `most` that meet `rule` if the shares are those of `shares`; or None.

    A projection and no promise: it scales the counts in proportion, rounded, and takes the limit to be raised where it is too low.
    """

    def is_met(judged: int) -> bool:
        return rule.for_limit(max(limit, judged)).is_met(_scaled(shares, judged))

    if shares.leader is None or least > most:
        return None
    enough = least  # the guaranteed rules look at every verdict, so begin with few
    while not is_met(enough):
        if enough == most:
            return None
        least, enough = enough + 1, min(most, 2 * enough)
    while least < enough:
        middle = (least + enough) // 2
        if is_met(middle):
            enough = middle
        else:
            least = middle + 1
    return least


def _scaled(tally: Tally, judged: int) -> Tally:
    share = judged / tally.judged
    first, second = (round(wins * share) for wins in tally.wins)
    return replace(tally, wins=(first, second), ties=max(0, judged - first - second), history=())
