"""How a query is put to judges, and one answer to it: orders of presentation, and a panel's vote.

A judge's score is about the output that it was shown first. Only this module converts the score of
a swapped call. A rating has no order.

In both orders, a tie and anything is a tie. So the second call is made only if the first prefers a
system: otherwise it cannot change the verdict. A decision model is always asked in both orders: its
probabilities are kept, and what is a tie is said here, by the margin of the run, when they are read.

Which order comes first is a coin from the item's texts. It does not depend on what is already paid
for, and is the same for items with the same texts, which share their calls, and in runs with another
seed, which find the tie that a first call brought.

One order is another question than both: with many items that get (A, tie), single calls may prefer
A while both orders prefer B. Its population is that of pairs (item, order).

The answer of a single judge is returned as it is. For ratings of a panel only `mean` makes sense:
the other votes count preferences, which a rating does not have.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from judgeloop.core.records import (
    CRITERION,
    DECISION_MARGIN,
    FIRST,
    SECOND,
    TIE,
    Abstention,
    Answer,
    Call,
    Order,
    Query,
    Verdict,
    Vote,
    as_score,
    leaning,
    preference,
)


def calls_for(query: Query, order: Order, seed: int, *, order_matters: bool) -> tuple[Call, ...]:
    """The calls that answer `query`, in the order made.

    There are two for both orders of a comparison, else one. The second of
    two is made only if the answer to the first is not a tie or an abstention (`settles`).
    """
    straight = Call(query.item, query.systems, query.outputs)
    if len(query.outputs) == 1 or not order_matters or order is Order.FIXED:
        return (straight,)
    swapped = Call(query.item, query.systems[::-1], query.outputs[::-1])
    if order is Order.BOTH:
        texts = (query.item.prompt, *sorted(query.outputs))
        shown_first = min(query.outputs) if _coin(*texts) else max(query.outputs)
        return (straight, swapped) if query.outputs[0] == shown_first else (swapped, straight)
    return (swapped,) if _coin(seed, query.item.id) else (straight,)


def settles(first: Answer) -> bool:
    """Whether the answer to the first of two calls is the answer, whatever the second says.

    A tie is a tie, but for one that another margin might undo. Without a verdict in one order the
    query has none: the other order alone would carry the judge's position bias.
    """
    return isinstance(first, Abstention) or (first.probabilities is None and first.preference == 0)


def read(answer: Verdict, margin: float) -> Verdict:
    """A verdict as it is with this margin, which is kept with a decision model's probabilities, not its score.

    The scores by criteria are found among them, too.
    """
    if answer.probabilities is None:
        return answer
    parts: dict[str, dict[str, float]] = {}
    for name, share in answer.probabilities.items():
        criterion, _, option = name.rpartition(CRITERION)
        parts.setdefault(criterion, {})[option] = share
    whole = parts.pop("", {})
    score = as_score(leaning(whole, margin)) if FIRST in whole else answer.score
    return replace(answer, score=score, criteria={name: _by_one(own, margin) for name, own in parts.items()})


def _by_one(shares: Mapping[str, float], margin: float) -> float:
    """The score by one criterion: which is better, or the mean of levels that are given from the lowest on."""
    if FIRST in shares:
        return as_score(leaning(shares, margin))
    known = math.fsum(shares.values()) * max(1, len(shares) - 1)
    return min(1.0, math.fsum(place * share for place, share in enumerate(shares.values())) / known)


def _turned(verdict: Verdict) -> Verdict:
    """A verdict about two systems as one about them the other way round."""
    shares, other = verdict.probabilities, {FIRST: SECOND, SECOND: FIRST}

    def name_of(name: str) -> str:
        criterion, dot, option = name.rpartition(CRITERION)
        return f"{criterion}{dot}{other.get(option, option)}"

    return Verdict(
        1.0 - verdict.score,
        reason=verdict.reason,
        swapped=True,
        probabilities=shares and {name_of(name): share for name, share in shares.items()},
        criteria={name: 1.0 - score for name, score in verdict.criteria.items()},
    )


def _both(verdicts: Sequence[Verdict]) -> tuple[Mapping[str, float] | None, dict[str, float]]:
    """The mean of the probabilities in both orders, None of a judge that gives none; and the scores by criteria."""
    told = [verdict.probabilities for verdict in verdicts if verdict.probabilities is not None]
    if len(told) < len(verdicts):
        return None, {}
    options = [name for name in told[0] if all(name in shares for shares in told)]
    shares = {name: math.fsum(each[name] for each in told) / len(told) for name in options}
    common = [name for name in verdicts[0].criteria if all(name in one.criteria for one in verdicts)]
    return shares, {name: _of_orders([one.criteria[name] for one in verdicts]) for name in common}


def _of_orders(scores: Sequence[float]) -> float:
    """The score of all orders of presentation: a tie if they prefer different systems."""
    flipped = len({preference(score - TIE) for score in scores}) > 1
    return TIE if flipped else sum(scores) / len(scores)


def combine(
    query: Query, calls: Sequence[Call], answers: Sequence[Answer | None], margin: float = DECISION_MARGIN
) -> Answer:
    """The answer to `query` from `answers`, each about the order of its call.

    `answers` are in the order of `calls`, None for a call that was not made. If the first answer
    settles the verdict, the second is not looked at, even if it is known. Two orders that prefer
    the same system give the mean of their scores. Two orders that disagree give a tie with
    `flipped` set and both reasons. Probabilities are averaged, but not before the sign is taken: that
    would take more items. A rating has a single answer.
    """
    verdicts: list[Verdict] = []
    for call, answer in zip(calls, answers, strict=True):
        if isinstance(answer, Abstention):
            return answer
        assert answer is not None, "the second call is left out only if the first settles"
        found = read(answer, margin)
        verdicts.append(found if call.systems == query.systems else _turned(found))
        if settles(answer):
            break
    both = len(verdicts) > 1
    flipped = len({verdict.preference for verdict in verdicts}) > 1
    score = _of_orders([verdict.score for verdict in verdicts])
    other = verdicts[1].reason if flipped else ""
    place = verdicts[0].preference * (1 if calls[0].systems == query.systems else -1) if flipped else 0
    shares, criteria = _both(verdicts)
    return replace(
        verdicts[0],
        score=score,
        flipped=flipped,
        both=both,
        other_reason=other,
        place=place,
        probabilities=shares,
        criteria=criteria,
    )


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
    by_vote = {Vote.MAJORITY: _majority, Vote.MEAN: _mean, Vote.UNANIMOUS: _unanimous}[vote]
    orders = {verdict.swapped for verdict in verdicts}
    common = [name for name in verdicts[0].criteria if all(name in one.criteria for one in verdicts)]
    by_one = {name: [Verdict(one.criteria[name]) for one in verdicts] for name in common}
    return Verdict(
        by_vote(verdicts),
        reason=" / ".join(verdict.reason for verdict in verdicts if verdict.reason),
        flipped=any(verdict.flipped for verdict in verdicts),
        both=any(verdict.both for verdict in verdicts),
        swapped=orders.pop() if len(orders) == 1 else None,
        other_reason=" / ".join(one.other_reason for one in verdicts if one.flipped and one.other_reason),
        criteria={name: by_vote(own) for name, own in by_one.items()},
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
