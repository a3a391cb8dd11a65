"""Orders of presentation: the calls for a query, and one answer from the answers to its calls.

A judge's score is about the output that it was shown first. Only this module converts the score of
a swapped call. A rating has no order. Nothing is asked here.

In both orders, a tie and anything is a tie. So the second call is made only if the first prefers a
system: otherwise it cannot change the verdict. Which order comes first is a coin from the seed and
the item's texts. It does not depend on what is already paid for, and is the same for items with the
same texts, which share their calls.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Sequence

from judgeloop.core.records import TIE, Abstention, Answer, Call, Query, Verdict


class Order(enum.StrEnum):
    """How a comparison is shown to a judge."""

    BOTH = "both"  # a call in each order, the second if it matters; a tie if they disagree
    RANDOM = "random"  # one call; the order depends on the seed and the item's id
    FIXED = "fixed"  # one call, in the order given


def calls_for(query: Query, order: Order, seed: int, *, order_matters: bool) -> tuple[Call, ...]:
    """Return the calls that answer `query`, in the order made.

    There are two for both orders of a comparison, else one. The second of two is made only if the
    answer to the first does not settle the verdict (`settles`).
    """
    straight = Call(query.item, query.systems, query.outputs)
    swapped = Call(query.item, query.systems[::-1], query.outputs[::-1])
    if len(query.outputs) == 1 or not order_matters or order is Order.FIXED:
        return (straight,)
    if order is Order.BOTH:
        texts = (query.item.prompt, *sorted(query.outputs))
        shown_first = min(query.outputs) if _coin(seed, *texts) else max(query.outputs)
        return (straight, swapped) if query.outputs[0] == shown_first else (swapped, straight)
    return (swapped,) if _coin(seed, query.item.id) else (straight,)


def settles(first: Answer) -> bool:
    """Return whether the answer to the first of two calls is the answer, whatever the second says.

    A tie is a tie. Without a verdict in one order the query has none: the other order alone would
    carry the judge's position bias.
    """
    return isinstance(first, Abstention) or first.preference == 0


def combine(query: Query, calls: Sequence[Call], answers: Sequence[Answer | None]) -> Answer:
    """Return the answer to `query` from `answers`, each about the order of its call.

    `answers` are in the order of `calls`, None for a call that was not made. If the first answer
    settles the verdict, the second is not looked at, even if it is known. Two orders that prefer
    the same system give the mean of their scores. Two orders that disagree give a tie with
    `flipped` set. A rating has a single answer.
    """
    verdicts: list[Verdict] = []
    for call, answer in zip(calls, answers, strict=True):
        if isinstance(answer, Abstention):
            return answer
        assert answer is not None, "the second call is left out only if the first settles"
        verdicts.append(answer if call.systems == query.systems else _turned(answer))
        if settles(answer):
            break
    both = len(verdicts) > 1
    if len({verdict.preference for verdict in verdicts}) > 1:
        return Verdict(TIE, reason="the two orders disagree", flipped=True, both=both)
    mean = sum(verdict.score for verdict in verdicts) / len(verdicts)
    return Verdict(mean, reason=verdicts[0].reason, both=both)


def _turned(verdict: Verdict) -> Verdict:
    return Verdict(1.0 - verdict.score, reason=verdict.reason)


def _coin(seed: int, *texts: str) -> bool:
    # A hash, not a generator: an item's order does not depend on which other items are judged.
    tossed = ":".join([str(seed), *texts]).encode("utf-8", "surrogatepass")
    return hashlib.sha256(tossed).digest()[0] % 2 == 1
