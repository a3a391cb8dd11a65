"""Forecasts the further judgments, calls and cost of a run, for any question.

Reads numbers of judgments and quotes, and returns a `Plan`. The worst case is an upper bound; the
low and expected cases are guesses. The question's own `plan.py` forecasts the judgments.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from judgeloop.core.records import Quote

EVEN = 0.5
FEWEST_KNOWN = 20  # verdicts that say shares; of fewer, a forecast takes the others as assumed
Quotes = Sequence[Sequence[Quote]]  # the quotes of every call, by query


@dataclass(frozen=True, slots=True)
class Range:
    """The low, expected and worst case of a number."""

    low: int
    expected: int
    worst: int


@dataclass(frozen=True, slots=True)
class EqualSystem:
    """What `not_worse` does with a system that is equal, at a share of ties.

    The chances that it passes, fails and gets no answer, the expected `judgments`, and
    (approximately) the limit and the margin with which it passes in 80 % of the runs. If it passes with
    less than an even chance at this `limit`, and no limit up to `most` makes it 80 %, `passes_at_most` is its
    chance at that.
    """

    ties: float
    judgments: float
    passes: float
    fails: float
    none: float
    limit_for_80: int
    margin_for_80: float
    limit: int
    most: int
    passes_at_most: float | None


def usual(equal: Sequence[EqualSystem]) -> EqualSystem | None:
    """Return the one with the share of ties in the middle; None of none."""
    return equal[len(equal) // 2] if equal else None


@dataclass(frozen=True, slots=True)
class GroupOutlook:
    """A group's number of items, and the smallest gap that is found in it in 90 % of the runs.

    The gap is approximate, and None where judging all items finds any.
    """

    group: str | None
    items: int
    gap_found: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """Further judgments, calls and cost in picodollars.

    `assumed` says in words what the expected case assumes; None if it rests on verdicts.
    `affordable` is the number of judgments that the rest of the budget probably pays for; None
    without a budget, or if calls cost nothing. Each is set aside at its worst case, `reserved_p`,
    after the calls that are made in any case have cost about `beside_p`. `controls` are the calls for controls,
    expected and in the worst case.
    `questions` is the number of queries that may be asked, of which `unasked` take no call: their
    outputs are identical, or too large. All would probably cost `all_p`; 0 if that is not known.
    `stays_open` is a sentence on why the question will probably have no answer; empty if one is expected.
    `equal` says what happens to an equal system, by the share of ties, if that is asked. `groups` are those
    that are tested, the largest first.
    `outputs` are the part of `calls` for the outputs of systems that answer live, `outputs_cost_p` is their cost, and
    `judging_cost_p` that of all other calls; None without such systems.
    """

    judgments: Range
    calls: Range
    cost_p: Range
    assumed: str | None
    affordable: int | None
    reserved_p: int = 0
    beside_p: int = 0
    controls: tuple[int, int] = (0, 0)
    questions: int = 0
    unasked: int = 0
    all_p: int = 0
    stays_open: str = ""
    equal: tuple[EqualSystem, ...] = ()
    groups: tuple[GroupOutlook, ...] = ()
    outputs: Range | None = None
    outputs_cost_p: Range | None = None
    judging_cost_p: Range | None = None


def priced(
    judgments: Range,
    *,
    quotes: Quotes,
    left_p: int | None,
    assumed: str | None,
    beside: Quotes = (),
    perhaps: Quotes = (),
) -> Plan:
    """Return the plan for further `judgments`.

    `quotes` holds the quotes of every query that may be asked, and `beside` those of queries that
    are asked first, in any case (controls, a proxy), and `perhaps` those that only the worst case
    has. The low and expected cases use the mean number
    of calls, at likely costs. The worst case has all judgments that the limit allows, on the
    queries with the most calls and the highest worst-case costs. Retries are not included.
    `left_p`, the rest of the budget, bounds no figure: it only gives `affordable`.
    """
    most = judgments.worst
    calls_of = sorted(map(len, quotes), reverse=True)
    calls_each = sum(calls_of) / max(1, len(quotes))
    dearest = sorted((sum(call.cost_p for call in calls) for calls in quotes), reverse=True)
    likely_p = sum(call.likely_cost_p for calls in quotes for call in calls) / max(1, len(quotes))
    asked = [cost_p for cost_p in dearest if cost_p]
    reserved_p = round(sum(asked) / len(asked)) if asked else 0
    extra_calls = sum(map(len, beside))
    extra_p = sum(call.likely_cost_p for calls in beside for call in calls)
    most_beside = [call for calls in (*beside, *perhaps) for call in calls]
    worst_p = sum(dearest[:most]) + sum(call.cost_p for call in most_beside)
    return Plan(
        judgments=judgments,
        calls=Range(
            _whole(judgments.low * calls_each) + extra_calls,
            _whole(judgments.expected * calls_each) + extra_calls,
            sum(calls_of[:most]) + len(most_beside),
        ),
        cost_p=Range(
            round(judgments.low * likely_p) + extra_p, round(judgments.expected * likely_p) + extra_p, worst_p
        ),
        assumed=assumed,
        affordable=None if left_p is None else _affordable(left_p - extra_p, likely_p, reserved_p),
        reserved_p=reserved_p,
        beside_p=extra_p,
        questions=len(quotes),
        unasked=calls_of.count(0),
    )


def _whole(calls: float) -> int:
    """Return a mean number of calls as a whole one, of which some cost something: then at least one."""
    return max(round(calls), math.ceil(min(calls, 1)))


def _affordable(left_p: int, likely_p: float, reserved_p: int) -> int | None:
    """Return how many judgments `left_p` probably pays for; None if they cost nothing.

    The last one must still be set aside at its worst case, `reserved_p`.
    """
    if left_p < 0:
        return 0
    if likely_p == 0:
        return None
    return 0 if left_p < reserved_p else int((left_p - reserved_p) / likely_p) + 1
