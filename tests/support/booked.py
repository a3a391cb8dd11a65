"""Ledgers with verdicts, outputs and calls that are booked, and what is known and spent in one."""

from __future__ import annotations

import asyncio

from judgeloop.core.keys import KeyIngredients, digest
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Reply, Verdict
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.periods import MIDNIGHT
from judgeloop.ledger.records import End, KeptResult, Reservation

COST_P, WORST_P = 3, 10


def ingredients_of(item):
    call = Call(Item(item, f"prompt of {item}"), ("old", "new"), ("a", "b"))
    return KeyIngredients.of(JudgeIdentity("test", "m", {}), call, blind=True)


def key_of(item):
    """The key of the verdict on an item."""
    return ingredients_of(item).key


def noted(item):
    """A note whose ingredients give the verdict a place in a history."""
    return {"ingredients": ingredients_of(item).to_note(), "systems": ["old", "new"]}


def name_of(address):
    """What tells a ledger from others in its texts."""
    return str(address).rpartition("/")[2]


def write(path, scores, *, run="night", outputs=(), unknown=0, in_flight=0, limit_p=None):
    """Book verdicts by item, outputs by key, attempts of unknown cost, and some still in flight."""
    name = name_of(path)

    async def book():
        ledger = open_ledger(path)
        if limit_p is not None:
            ledger.set_budget("", limit_p, "day", MIDNIGHT)

        async def sent(names, *, output=False):
            wanted = [
                [Reservation(one if output else key_of(one), WORST_P, one, "judge", noted(one), output=output)]
                for one in names
            ]
            tickets = [ticket for (ticket,) in await ledger.reserve(run, wanted, None)]
            await asyncio.gather(*map(ledger.sending, tickets))
            return tickets

        replies = [
            Reply(Verdict(score, "why", probabilities={"first": score}), cost_p=COST_P, model=f"model of {name}")
            for score in scores.values()
        ]
        await ledger.settle_all(list(zip(await sent(scores), replies, strict=True)))
        for key, ticket in zip(outputs, await sent(outputs, output=True), strict=True):
            reply = Reply(Output(f"text of {key} in {name}"), cost_p=COST_P)
            await ledger.settle(ticket, reply)
        for ticket in await sent([f"unknown{number}" for number in range(unknown)]):
            await ledger.abandon(ticket, End.TIMED_OUT, "timed out")
        texts = {digest(text): text for text in ("a", name)}
        ledger.keep(run, KeptResult("new is better", "text", "{}", texts))
        await sent([f"open{number}" for number in range(in_flight)])
        await ledger.aclose()

    asyncio.run(book())
    return path


def known(path, items):
    """The scores that are known, by item."""
    names = {key_of(item): item for item in items}

    async def look():
        ledger = open_ledger(path)
        found = await ledger.verdicts(list(names))
        await ledger.aclose()
        return {names[key]: verdict.score for key, verdict in found.items()}

    return asyncio.run(look())


def spent(path):
    with open_reader(path) as reader:
        found = reader.spending()
    return {kind: sum(group.charged_p for group in groups.values()) for kind, groups in found.items()}
