"""How many judgments a comparison may take, before it is paid for, and how many it may still take.

Arithmetic on counts; it asks nobody.
"""

from __future__ import annotations

from dataclasses import replace

from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Tally
from judgeloop.engine.session import Limits
from judgeloop.run.plan import Range
from judgeloop.stopping.projection import first_met

# What the expected case assumes while nothing is known: shares in per cent, the rest ties.
ASSUMED_WINS = (45, 25)
ASSUMED_TIES = 30
ASSUMED = "45 % to 25 % wins and 30 % ties"


def judgments_to_decide(
    rule: StoppingRule[Tally], tally: Tally, limits: Limits, *, asked: int
) -> tuple[Range, str | None]:
    """Further judgments that a run at `tally` would take with `asked` items asked, and what the expected case assumes.

    Low: the fewest that can meet the rule. Worst: all that the limit allows.
    """
    most = min(limits.max_judgments, tally.items) - asked
    assumed = tally.judged < limits.min_judgments or tally.leader is None
    judgments = Range(
        low=_fewest(rule, tally, limits, most),
        expected=_expected(rule, tally, limits, most, assumed=assumed),
        worst=most,
    )
    return judgments, ASSUMED if assumed else None


def more_to_decide(
    rule: StoppingRule[Tally], tally: Tally, limits: Limits, unasked: int
) -> int | None:
    """How many further judgments would probably decide, were the shares so far to go on; None: not even all.

    All that are `unasked` do, whatever the rule says, unless some item is left without a verdict.
    """
    if tally.leader is None:
        return None
    most = tally.items - tally.abstentions
    enough = first_met(rule, tally, tally.judged + 1, most, limits.max_judgments)
    if enough is None and tally.abstentions:
        return None
    return unasked if enough is None else min(unasked, enough - tally.judged)


def _fewest(rule: StoppingRule[Tally], tally: Tally, limits: Limits, most: int) -> int:
    start = max(1, limits.min_judgments - tally.judged)
    return next((n for n in range(start, most) if rule.can_be_met(tally, n)), max(0, most))


def _expected(
    rule: StoppingRule[Tally], tally: Tally, limits: Limits, most: int, *, assumed: bool
) -> int:
    shares = replace(tally, wins=ASSUMED_WINS, ties=ASSUMED_TIES) if assumed else tally
    least = max(tally.judged + 1, limits.min_judgments)
    enough = first_met(rule, shares, least, tally.judged + most, limits.max_judgments)
    return most if enough is None else enough - tally.judged
