"""How a query is put to judges, and one answer to it: orders of presentation, and a panel's vote.

A judge's score is about the output that it was shown first. Only this module converts the score of
a swapped call. A rating has no order.

In both orders, a tie and anything is a tie. So the second call is made only if the first prefers a
system: otherwise it cannot change the verdict. Which order comes first is a coin from the item's
texts. It does not depend on what is already paid for, and is the same for items with the same texts,
which share their calls, and in runs with another seed, which find the tie that a first call brought.

One order is another question than both: with many items that get (A, tie), single calls may prefer
A while both orders prefer B. Its population is that of pairs (item, order).

The answer of a single judge is returned as it is. For ratings of a panel only `mean` makes sense:
the other votes count preferences, which a rating does not have.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from judgeloop.core.records import TIE, Abstention, Answer, Call, Order, Query, Verdict, Vote, as_score


def calls_for(query: Query, order: Order, seed: int, *, order_matters: bool) -> tuple[Call, ...]:
    """The calls that answer `query`, in the order made.

    There are two for both orders of a comparison, else one. The second of
    two is made only if the answer to the first is not a tie or an abstention (`settles`).
    """
    straight = Call(query.item, query.systems, query.outputs)
    swapped = Call(query.item, query.systems[::-1], query.outputs[::-1])
    if len(query.outputs) == 1 or not order_matters or order is Order.FIXED:
        return (straight,)
    if order is Order.BOTH:
        texts = (query.item.prompt, *sorted(query.outputs))
        shown_first = min(query.outputs) if _coin(*texts) else max(query.outputs)
        return (straight, swapped) if query.outputs[0] == shown_first else (swapped, straight)
    return (swapped,) if _coin(seed, query.item.id) else (straight,)


def settles(first: Answer) -> bool:
    """Whether the answer to the first of two calls is the answer, whatever the second says.

    A tie is a tie. Without a verdict in one order the query has none: the other order alone would
    carry the judge's position bias.
    """
    return isinstance(first, Abstention) or first.preference == 0


def combine(query: Query, calls: Sequence[Call], answers: Sequence[Answer | None]) -> Answer:
    """The answer to `query` from `answers`, each about the order of its call.

    `answers` are in the order of `calls`, None for a call that was not made. If the first answer
    settles the verdict, the second is not looked at, even if it is known. Two orders that prefer
    the same system give the mean of their scores. Two orders that disagree give a tie with
    `flipped` set and both reasons. A rating has a single answer.
    """
    verdicts: list[Verdict] = []
    for call, answer in zip(calls, answers, strict=True):
        if isinstance(answer, Abstention):
            return answer
        assert answer is not None, "the second call is left out only if the first settles"
        straight = call.systems == query.systems
        verdicts.append(answer if straight else Verdict(1.0 - answer.score, reason=answer.reason, swapped=True))
        if settles(answer):
            break
    both = len(verdicts) > 1
    flipped = len({verdict.preference for verdict in verdicts}) > 1
    score = TIE if flipped else sum(verdict.score for verdict in verdicts) / len(verdicts)
    other = verdicts[1].reason if flipped else ""
    place = verdicts[0].preference * (1 if calls[0].systems == query.systems else -1) if flipped else 0
    return replace(verdicts[0], score=score, flipped=flipped, both=both, other_reason=other, place=place)


def _coin(*parts: object) -> bool:
    import hashlib  # 4 ms, which `--help` need not wait for

    # A hash, not a generator: an item's order does not depend on which other items are judged.
    text = ":".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).digest()[0] % 2 == 1


def decide(answers: Sequence[Answer], vote: Vote) -> Answer:
    """The panel's answer, with every judge's score in `votes` (None for an abstention).

    A panel abstains if at least half of its judges abstain; under `unanimous`, if any judge does.
    """
    if len(answers) == 1:
        return answers[0]
    verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
    lacked = [answer for answer in answers if isinstance(answer, Abstention)]
    if lacked and (vote is Vote.UNANIMOUS or 2 * len(lacked) >= len(answers)):
        why = f"{len(lacked)} of {len(answers)} judges gave no verdict: {lacked[0].reason}"
        return Abstention(why, too_long=any(one.too_long for one in lacked))
    score = {Vote.MAJORITY: _majority, Vote.MEAN: _mean, Vote.UNANIMOUS: _unanimous}[vote](verdicts)
    orders = {verdict.swapped for verdict in verdicts}
    return Verdict(
        score,
        reason=" / ".join(verdict.reason for verdict in verdicts),
        flipped=any(verdict.flipped for verdict in verdicts),
        both=any(verdict.both for verdict in verdicts),
        swapped=orders.pop() if len(orders) == 1 else None,
        other_reason=" / ".join(verdict.other_reason for verdict in verdicts if verdict.flipped),
        votes=tuple(answer.score if isinstance(answer, Verdict) else None for answer in answers),
    )


def _majority(verdicts: Sequence[Verdict]) -> float:
    preferred, count = Counter(verdict.preference for verdict in verdicts).most_common(1)[0]
    return as_score(preferred) if 2 * count > len(verdicts) else TIE


def _mean(verdicts: Sequence[Verdict]) -> float:
    return math.fsum(verdict.score for verdict in verdicts) / len(verdicts)


def _unanimous(verdicts: Sequence[Verdict]) -> float:
    preferences = {verdict.preference for verdict in verdicts}
    return as_score(preferences.pop()) if len(preferences) == 1 else TIE
