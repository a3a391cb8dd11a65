"""A query to everything that has to be asked for it, and the answers back to one.

Pure: it orders, keys and combines. Which of it is already known, and what it costs, is not looked
at here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from judgeloop.core.protocols import Judge, Reservation
from judgeloop.core.records import TIE, Answer, Call, Query, Verdict
from judgeloop.core.verdict_key import KeyIngredients
from judgeloop.engine.panel import Vote, decide
from judgeloop.engine.presentation import Order, calls_for, combine


@dataclass(frozen=True, slots=True)
class Ask:
    """A call to the judge of that number, with the key of its verdict and what the key is made of."""

    judge: int
    call: Call
    key: str
    ingredients: KeyIngredients


@dataclass(frozen=True, slots=True)
class Planned:
    """A query with everything that has to be asked for it."""

    query: Query
    asks: tuple[Ask, ...]

    @property
    def keys(self) -> list[str]:
        """The keys of all verdicts that it takes."""
        return [ask.key for ask in self.asks]


def asks_for(query: Query, judges: Sequence[Judge], order: Order, seed: int) -> tuple[Ask, ...]:
    """Everything that has to be asked for `query`: each judge, in each order that it is asked in."""
    asks = []
    for number, judge in enumerate(judges):
        if judge.blind and len(set(query.outputs)) < len(query.outputs):
            continue  # the same text twice is a tie, and nobody need be asked
        for call in calls_for(query, order, seed, order_matters=judge.order_matters):
            ingredients = KeyIngredients.of(judge.identity, call, blind=judge.blind)
            asks.append(Ask(number, call, ingredients.key, ingredients))
    return tuple(asks)


def reservation(ask: Ask, judge: Judge) -> Reservation:
    """What has to be reserved before `ask` is sent."""
    quote = judge.quote(ask.call)
    note = {
        "ingredients": ask.ingredients.to_note(),
        "systems": list(ask.call.systems),
        "price": quote.price,
    }
    return Reservation(
        ask.key, quote.cost_p, ask.call.item.id, judge.identity.name, note, quote.rehearsed
    )


def decided(planned: Planned, answers: Sequence[Answer], judges: int, vote: Vote) -> Answer:
    """Each judge's answer from those to its calls, in the order of `planned.asks`, and the panel's from these."""
    by_judge: list[Answer] = []
    for number in range(judges):
        own = [
            (ask.call, answer)
            for ask, answer in zip(planned.asks, answers, strict=True)
            if ask.judge == number
        ]
        if own:
            calls, replies = zip(*own, strict=True)
            by_judge.append(combine(planned.query, calls, replies))
        else:
            by_judge.append(Verdict(TIE, reason="the outputs are identical"))
    return decide(by_judge, vote)
