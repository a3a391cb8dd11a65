"""Orders of presentation: the calls for a query, and one answer from the answers to its calls.

A judge's score is about the output that it was shown first. Only this module converts the score of
a swapped call. A rating has no order. Nothing is asked here.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence

from judgeloop.core.records import TIE, Abstention, Answer, Call, Query, Verdict


class Order(enum.StrEnum):
    """How a comparison is shown to a judge."""

    BOTH = "both"  # two calls, one in each order; a tie if they disagree
    RANDOM = "random"  # one call; the order depends on the seed and the item's id
    FIXED = "fixed"  # one call, in the order given


def calls_for(query: Query, order: Order, seed: int, *, order_matters: bool) -> tuple[Call, ...]:
    """Return the calls that answer `query`: two for both orders of a comparison, else one."""
    straight = Call(query.item, query.systems, query.outputs)
    swapped = Call(query.item, query.systems[::-1], query.outputs[::-1])
    if len(query.outputs) == 1 or not order_matters or order is Order.FIXED:
        return (straight,)
    if order is Order.BOTH:
        return (straight, swapped)
    return (swapped,) if _coin(seed, query.item.id) else (straight,)


def combine(query: Query, calls: Sequence[Call], answers: Sequence[Answer]) -> Answer:
    """Return the answer to `query` from `answers`, each about the order of its call.

    Two orders that prefer the same system give the mean of their scores. Two orders that disagree
    give a tie with `flipped` set. If one order has no verdict, the query has none: the other order
    alone would carry the judge's position bias. A rating has a single answer.
    """
    verdicts: list[Verdict] = []
    for call, answer in zip(calls, answers, strict=True):
        if isinstance(answer, Abstention):
            return answer
        verdicts.append(answer if call.systems == query.systems else _turned(answer))
    if len({verdict.preference for verdict in verdicts}) > 1:
        return Verdict(TIE, reason="the two orders disagree", flipped=True)
    mean = sum(verdict.score for verdict in verdicts) / len(verdicts)
    return Verdict(mean, reason=verdicts[0].reason)


def _turned(verdict: Verdict) -> Verdict:
    return Verdict(1.0 - verdict.score, reason=verdict.reason)


def _coin(seed: int, item_id: str) -> bool:
    # A hash, not a generator: an item's order does not depend on which other items are judged.
    return hashlib.sha256(f"{seed}:{item_id}".encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1
