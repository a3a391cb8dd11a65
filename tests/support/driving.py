"""Runs of the async driver for tests: scripted judges, a ledger, and one call that runs it all."""

from __future__ import annotations

import asyncio
from collections import Counter

from judgeloop.core.records import Verdict
from judgeloop.engine.batch import NO_SYSTEMS
from judgeloop.engine.loop import drive
from judgeloop.engine.pace import RetryPolicy
from judgeloop.engine.state import Terms
from judgeloop.ledger.opening import open_ledger
from support.pools import make_pool, make_session

AT_ONCE = RetryPolicy(first_wait_s=0.0)


def script_from(table):
    """A judge that always agrees with itself: the score of the item, turned round where the order
    is."""

    def script(call):
        score = table[int(call.item.id.removeprefix("item-"))]
        return Verdict(score if call.systems[0] == "a" else 1 - score)

    return script


def jitter(call):
    """Replies that arrive out of order, the same way every time."""
    return (hash((call.item.id, call.systems)) % 7) / 2000


def run(
    judge,
    *,
    items=40,
    pool=None,
    terms=None,
    ledger=":memory:",
    interruption=None,
    observe=None,
    systems=NO_SYSTEMS,
    **session,
):
    async def story():
        book = open_ledger(ledger)
        try:
            return await drive(
                make_session(items, **session),
                pool or make_pool(items),
                judge,
                book,
                terms or Terms("run", policy=AT_ONCE),
                systems=systems,
                interruption=interruption,
                observe=observe or (lambda progress: None),
            )
        finally:
            await book.aclose()

    return asyncio.run(story())


def failing(times, error):
    """A script that fails so many times on each call before it answers."""
    failed = Counter()

    def script(call):
        key = (call.item.id, call.systems)
        if failed[key] < times:
            failed[key] += 1
            raise error
        return Verdict(1.0 if call.systems[0] == "a" else 0.0)

    return script
