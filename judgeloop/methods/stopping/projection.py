"""Forecasts: how many judgments would meet a rule if the shares of verdicts stayed as they are.

It is used for plans before a run and for forecasts after a run.
"""

from __future__ import annotations

from dataclasses import replace

from judgeloop.core.outcomes import Tally
from judgeloop.core.protocols import StoppingRule


def first_met(
    rule: StoppingRule[Tally], shares: Tally, least: int, most: int, limit: int
) -> int | None:
    """Return the fewest judgments from `least` to `most` that meet `rule`; None if none do.

    It assumes the shares of `shares`, and scales its counts in proportion, rounded. The result is a
    projection without a promise. A `limit` under the number of judgments is raised to that number.
    """

    def is_met(judged: int) -> bool:
        ends = rule.for_limit(max(limit, judged)).reason_to_stop(_scaled(shares, judged))
        return ends is not None

    if not shares.judged or least > most:
        return None
    enough = least  # guaranteed rules process every verdict, so small numbers are cheap to test
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
    return replace(
        tally, wins=(first, second), ties=max(0, judged - first - second), preferences=()
    )
