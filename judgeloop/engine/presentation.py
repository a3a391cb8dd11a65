"""In which order a judge sees two outputs, and what its answers in both orders say together.

Judges answer about what they were shown first; only this module turns such answers round. One output alone has no order.
Nothing is asked here.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence

from judgeloop.core.records import TIE, Abstention, Answer, Call, Query, Verdict


class Order(enum.StrEnum):
    """How a comparison is shown to a judge."""

    BOTH = "both"  # twice, once each way round: agreement is the verdict
    RANDOM = "random"  # once, the way round drawn from the seed and the item's id
    FIXED = "fixed"  # once, as given


def calls_for(query: Query, order: Order, seed: int, *, order_matters: bool) -> tuple[Call, ...]:
    """The calls that answer `query`: two for both orders of a comparison, else one."""
    straight = Call(query.item, query.systems, query.outputs)
    swapped = Call(query.item, query.systems[::-1], query.outputs[::-1])
    if len(query.outputs) == 1 or not order_matters or order is Order.FIXED:
        return (straight,)
    if order is Order.BOTH:
        return (straight, swapped)
    return (swapped,) if _coin(seed, query.item.id) else (straight,)


def combine(query: Query, calls: Sequence[Call], answers: Sequence[Answer]) -> Answer:
    """The answer to `query` from the answers to its calls, each about the order it was shown in.

    Two orders that prefer the same system give the mean of their scores. Two that do not give a tie, marked as
    flipped. If any order brought no verdict, there is none: one order alone carries the judge's bias of position.
    The one answer of a rating is its answer.
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
    # A hash, not a generator: the order of an item does not depend on which others are judged.
    return hashlib.sha256(f"{seed}:{item_id}".encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1
