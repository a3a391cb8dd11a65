"""Waiting without a clock: for the first of several things, and for any change."""

from __future__ import annotations

import asyncio

import pytest

from judgeloop.engine.state import CommandCalls, RunState, Terms, first_of

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_task_is_lost")]


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


async def test_it_waits_until_the_first_is_over_and_cancels_the_others():
    over, noted = asyncio.Event(), []
    waiting = asyncio.create_task(first_of(forever(noted), over.wait(), forever(noted)))
    await turns()
    assert not waiting.done()
    over.set()
    await waiting
    await turns()
    assert noted == ["cancelled", "cancelled"]


async def test_whoever_is_cancelled_while_it_waits_leaves_nothing_running():
    before, noted = asyncio.all_tasks(), []
    waiting = asyncio.create_task(first_of(forever(noted), forever(noted)))
    await turns()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await turns()
    assert noted == ["cancelled", "cancelled"]
    assert asyncio.all_tasks() == before


async def test_a_later_part_of_a_command_knows_that_the_judge_has_answered_before():
    first, later, new = RunState(Terms("run")), *(RunState(Terms("run"), calls=CommandCalls({"a"})) for _ in "12")
    first.found = later.found = True
    assert [first.goes_on, later.goes_on, new.goes_on] == [False, True, False]
