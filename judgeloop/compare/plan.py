"""What a run may take, before it is paid for, and what it may still take, after it stopped.

Arithmetic on counts and quotes; it asks nobody and promises nothing but its upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from judgeloop.core.protocols import StoppingRule
from judgeloop.core.records import Quote, Tally
from judgeloop.engine.session import Limits
from judgeloop.stopping import first_met

# Shares that the expected case assumes while nothing is known: 45 % to 25 %, the rest ties.
ASSUMED_WINS = (45, 25)
ASSUMED_TIES = 30


@dataclass(frozen=True, slots=True)
class Range:
    """Low, expected and worst."""

    low: int
    expected: int
    worst: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Further judgments, calls and picodollars.

    `assumed` when the expected case rests on assumed shares; `affordable` is how many judgments what is left of the budget
    probably pays for (None: without a budget, or for nothing).
    """

    judgments: Range
    calls: Range
    cost_p: Range
    assumed: bool
    affordable: int | None


def plan(
    rule: StoppingRule[Tally],
    tally: Tally,
    limits: Limits,
    *,
    asked: int,
    quotes: Sequence[Sequence[Quote]],
    left_p: int | None,
    beside: Sequence[Sequence[Quote]] = (),
) -> Plan:
    """What a run would still take that stands at `tally` with `asked` items asked.

    `quotes` holds the calls of every item of the pool, `beside` those of queries that are made whatever comes (decoys). Low: the fewest judgments that can meet the rule, at likely
    costs. Worst: all that the limit allows, each the dearest and at its worst case. Retries are not foreseen, and `left_p`,
    what is left of the budget, cuts no figure: a run stops when it is gone.
    """
    most = min(limits.max_judgments, tally.items) - asked
    assumed = tally.judged < limits.min_judgments or tally.leader is None
    judgments = Range(
        low=_fewest(rule, tally, limits, most),
        expected=_expected(rule, tally, limits, most, assumed=assumed),
        worst=most,
    )
    return priced(judgments, quotes=quotes, beside=beside, left_p=left_p, assumed=assumed)


def priced(
    judgments: Range,
    *,
    quotes: Sequence[Sequence[Quote]],
    left_p: int | None,
    assumed: bool,
    beside: Sequence[Sequence[Quote]] = (),
) -> Plan:
    """What so many further judgments cost, where `quotes` holds the calls of every query that may be asked."""
    most = judgments.worst
    calls_each = max((len(calls) for calls in quotes), default=0)
    worst_p = sum(
        sorted((sum(call.cost_p for call in calls) for calls in quotes), reverse=True)[:most]
    )
    likely_p = sum(call.likely_cost_p for calls in quotes for call in calls) / max(1, len(quotes))
    extra_calls = sum(map(len, beside))
    extra_p = sum(call.likely_cost_p for calls in beside for call in calls)
    worst_p += sum(call.cost_p for calls in beside for call in calls)
    costs = [round(n * likely_p) + extra_p for n in (judgments.low, judgments.expected)] + [worst_p]
    return Plan(
        judgments=judgments,
        calls=Range(
            *(
                n * calls_each + extra_calls
                for n in (judgments.low, judgments.expected, judgments.worst)
            )
        ),
        cost_p=Range(*costs),
        assumed=assumed,
        affordable=None if left_p is None or likely_p == 0 else int(left_p / likely_p),
    )


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
