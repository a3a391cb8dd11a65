"""Waiting without a clock: for the first of several things, and for any change."""

from __future__ import annotations

import asyncio

import pytest

from judgeloop.engine.state import first_of

pytestmark = pytest.mark.usefixtures("no_task_is_lost")


async def forever(noted):
    """Never over; notes that it was cancelled."""
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        noted.append("cancelled")
        raise


async def turns(count=5):
    """Let every task that can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def test_it_waits_until_the_first_is_over_and_cancels_the_others():
    async def story():
        over, noted = asyncio.Event(), []
        waiting = asyncio.create_task(first_of(forever(noted), over.wait(), forever(noted)))
        await turns()
        assert not waiting.done()
        over.set()
        await waiting
        await turns()
        return noted

    assert asyncio.run(story()) == ["cancelled", "cancelled"]


def test_whoever_is_cancelled_while_it_waits_leaves_nothing_running():
    async def story():
        noted = []
        waiting = asyncio.create_task(first_of(forever(noted), forever(noted)))
        await turns()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await turns()
        return noted, asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(story()) == (["cancelled", "cancelled"], set())
