"""How many judgments would meet a rule, were the shares so far to go on: for forecasts, before and after a run."""

from __future__ import annotations

from dataclasses import replace

from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Tally


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
