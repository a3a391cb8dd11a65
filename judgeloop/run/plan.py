"""What a run may take, in judgments, calls and dollars: what the forecasts of all questions share.

Arithmetic on counts and quotes. It asks nobody, and promises nothing but its upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgeloop.core.records import Quote

Quotes = Sequence[Sequence[Quote]]  # of every call, by query


@dataclass(frozen=True, slots=True)
class Range:
    """Low, expected and worst."""

    low: int
    expected: int
    worst: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Further judgments, calls and picodollars.

    `assumed` says on what the expected case rests where nothing is known; None where it rests on
    verdicts. `affordable` is how many judgments what is left of the budget probably pays for (None:
    without a budget, or for nothing).
    """

    judgments: Range
    calls: Range
    cost_p: Range
    assumed: str | None
    affordable: int | None


def priced(
    judgments: Range,
    *,
    quotes: Quotes,
    left_p: int | None,
    assumed: str | None,
    beside: Quotes = (),
) -> Plan:
    """What so many further judgments cost.

    `quotes` holds the calls of every query that may be asked, `beside` those of queries that are
    made in any case (decoys, a proxy). Low and expected: at likely costs. Worst: all that the limit
    allows, each the dearest and at its worst case. Retries are not foreseen, and `left_p`, what is
    left of the budget, cuts no figure: a run stops when it is gone.
    """
    most = judgments.worst
    calls_each = max((len(calls) for calls in quotes), default=0)
    dearest = sorted((sum(call.cost_p for call in calls) for calls in quotes), reverse=True)
    likely_p = sum(call.likely_cost_p for calls in quotes for call in calls) / max(1, len(quotes))
    extra_calls = sum(map(len, beside))
    extra_p = sum(call.likely_cost_p for calls in beside for call in calls)
    worst_p = sum(dearest[:most]) + sum(call.cost_p for calls in beside for call in calls)
    return Plan(
        judgments=judgments,
        calls=Range(
            *(n * calls_each + extra_calls for n in (judgments.low, judgments.expected, most))
        ),
        cost_p=Range(
            round(judgments.low * likely_p) + extra_p,
            round(judgments.expected * likely_p) + extra_p,
            worst_p,
        ),
        assumed=assumed,
        affordable=None if left_p is None or likely_p == 0 else int(left_p / likely_p),
    )
