"""From a query to its calls with their keys, and from the calls' answers to one answer.

Pure. `batch.py` looks up verdicts in the ledger, and `accounts.py` reserves money.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from judgeloop.core.keys import KeyIngredients
from judgeloop.core.protocols import Judge
from judgeloop.core.records import (
    DECISION_MARGIN,
    IDENTICAL,
    NOBODY,
    TIE,
    Abstention,
    Answer,
    Call,
    Order,
    Query,
    Verdict,
    Vote,
)
from judgeloop.engine.presentation import calls_for, combine, decide, settles
from judgeloop.engine.state import Terms
from judgeloop.ledger.records import Reservation

ANEW = "asked anew"  # a parameter of a judge that is asked past its earlier verdicts
BY_ANOTHER, BY_THE_SAME = "by another person", "by the same person"  # its values where people read an item again


@dataclass(frozen=True, slots=True)
class Ask:
    """A call to judge number `judge`, with the key of its verdict and the key's ingredients.

    `after` is the key of the call that is made first, if there is one; this one is made only if
    that one's answer does not settle the verdict.
    """

    judge: int
    call: Call
    key: str
    ingredients: KeyIngredients
    after: str | None = None


@dataclass(frozen=True, slots=True)
class OutputAsk:
    """A call to a system for its output to an item, with the key of the output."""

    system: str
    call: Call
    key: str
    note: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Planned:
    """A query with all calls that answer it.

    `unasked` is the answer to a query that no judge is asked; it has no calls. `outputs` are the
    calls for the outputs that the query lacks. What it takes to judge them is not known yet.
    """

    query: Query
    asks: tuple[Ask, ...]
    unasked: Answer | None = None
    outputs: tuple[OutputAsk, ...] = ()

    @property
    def keys(self) -> list[str]:
        """The keys of the verdicts of all calls."""
        return [ask.key for ask in self.asks]


def plan_for(query: Query, judges: Sequence[Judge], terms: Terms) -> Planned:
    """The calls that answer `query`, or none if it is larger than `terms` allow."""
    most = terms.max_item_bytes
    if most is not None and size_of(query) > most:
        what = f"the output of {name}" if (name := longest_in(query)) else "the prompt"
        why = f"larger than {most:,} bytes (`max_item_bytes`), of which {what} is the longest text"
        return Planned(query, (), Abstention(why, too_long=True))
    return Planned(query, asks_for(query, judges, terms))


def size_of(query: Query) -> int:
    """The bytes of UTF-8 of the query's texts: prompt, reference and outputs."""
    texts = (query.item.prompt, query.item.reference or "", *query.outputs)
    return len("".join(texts).encode("utf-8", "surrogatepass"))


def longest_in(query: Query) -> str:
    """The system of the longest output; empty if the prompt is longer."""
    texts = zip((query.item.prompt, *query.outputs), ("", *query.systems), strict=True)
    return max(texts, key=lambda one: len(one[0].encode("utf-8", "surrogatepass")))[1]


def asks_for(query: Query, judges: Sequence[Judge], terms: Terms) -> tuple[Ask, ...]:
    """The calls that answer `query`: for each judge, in each order of presentation.

    A blind judge is not asked about two identical outputs.
    """
    asks = []
    for number in asked_of(query, len(judges) - (terms.proxy is not None)):
        judge = judges[number]
        if judge.blind and len(set(query.outputs)) < len(query.outputs):
            continue  # identical outputs are a tie; `decided` fills it in
        before, identity = None, judge.identity
        anew = terms.anew if query.reading is None else BY_THE_SAME if query.reading.same else BY_ANOTHER
        if anew:  # as another judge, so that no earlier verdict answers
            identity = replace(identity, parameters={**identity.parameters, ANEW: anew})
        # One order of a control is drawn with it, so that it is the same for every seed.
        order = Order.FIXED if query.alone is not None and terms.order is not Order.BOTH else terms.order
        order = terms.proxy.order if query.by_proxy and terms.proxy else order
        calls = calls_for(query, order, terms.seed, order_matters=judge.order_matters)
        if query.reading is not None or (
            number and judge.by_hand
        ):  # the other way round: a preference for a side cancels
            calls = tuple(Call(one.item, one.systems[::-1], one.outputs[::-1], query.reading) for one in calls)
        for call in calls:
            ingredients = KeyIngredients.of(identity, call, blind=judge.blind)
            asks.append(Ask(number, call, ingredients.key, ingredients, before))
            before = asks[-1].key
    return tuple(asks)


def asked_of(query: Query, panel: int) -> Sequence[int]:
    """Which judges are asked, by number: those of a panel of so many, the proxy after them, or one alone."""
    if query.alone is not None:
        return (query.alone,) if query.alone != NOBODY else ()
    return (panel,) if query.by_proxy else range(panel)


def reservation(ask: Ask, judge: Judge) -> Reservation:
    """The reservation to make before `ask` is sent."""
    quote = judge.quote(ask.call)
    note = {"ingredients": ask.ingredients.to_note(), "systems": list(ask.call.systems), "price": quote.price}
    return Reservation(ask.key, quote.cost_p, ask.call.item.id, judge.identity.name, note, quote.rehearsed)


def used(planned: Planned, answers: Sequence[Answer | None]) -> list[bool]:
    """Which of `answers` count: not those that follow a settled one."""
    by_key = dict(zip(planned.keys, answers, strict=True))
    firsts = [None if ask.after is None else by_key[ask.after] for ask in planned.asks]
    return [first is None or not settles(first) for first in firsts]


def answered_by(planned: Planned, known: Mapping[str, Answer], judges: int, terms: Terms) -> Answer | None:
    """The answer to a query as far as its calls are `known`, by key; None if one that counts is not."""
    answers = [known.get(ask.key) for ask in planned.asks]
    if any(answer is None and needed for answer, needed in zip(answers, used(planned, answers), strict=True)):
        return None
    return decided(planned, answers, judges, terms.vote, terms.tie_margin)


def decided(
    planned: Planned, answers: Sequence[Answer | None], judges: int, vote: Vote, tie_margin: float = DECISION_MARGIN
) -> Answer:
    """The answer to a query: combine each judge's answers, then decide by `vote`.

    `answers` are in the order of `planned.asks`, None for a call that was not needed; `judges` is
    the number of judges, but for a proxy. A judge without a call saw identical
    outputs, which are a tie. Within `tie_margin` the probabilities of a decision model are a tie.
    """
    if planned.unasked is not None:
        return planned.unasked
    by_judge: list[Answer] = []
    for number in asked_of(planned.query, judges):
        own = [(ask.call, answer) for ask, answer in zip(planned.asks, answers, strict=True) if ask.judge == number]
        if own:
            calls, replies = zip(*own, strict=True)
            by_judge.append(combine(planned.query, calls, replies, tie_margin))
        else:
            by_judge.append(Verdict(TIE, reason=IDENTICAL))
    return decide(by_judge, vote)
