"""A time limit counts the time in which the process ran, and no other."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from judgeloop.engine.pace import TICKS, time_limit


def run(story):
    return asyncio.run(asyncio.wait_for(story, 20))


async def limited(seconds, wait):
    async with time_limit(seconds):
        return await wait


def test_a_block_that_takes_longer_is_ended_in_time():
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        run(limited(0.2, asyncio.sleep(10)))
    assert 0.2 <= time.monotonic() - began < 5


def test_a_block_that_ends_in_time_goes_on_undisturbed():
    async def story():
        async with time_limit(0.1):
            pass
        await asyncio.sleep(0.3)
        return "done"

    assert run(story()) == "done"


def test_a_block_that_is_cancelled_is_not_late():
    async def story():
        task = asyncio.create_task(limited(5, asyncio.sleep(10)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(story())


@pytest.mark.parametrize("before_s", [0.0, 0.15])
def test_what_arrived_while_the_process_stood_still_is_read(before_s):
    """The reply comes during a pause that is longer than the limit, soon or late in the limit."""

    async def story():
        near, far = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=near)
        loop = asyncio.get_running_loop()

        def pause():
            far.sendall(b"a reply in several reads\n" * 10)
            time.sleep(0.6)

        loop.call_later(before_s, pause)
        try:
            async with time_limit(0.2):
                return [await reader.readline() for _ in range(10)]
        finally:
            writer.close()
            far.close()

    assert len(run(story())) == 10


def test_after_a_pause_the_rest_of_the_limit_holds():
    async def story():
        loop = asyncio.get_running_loop()
        loop.call_soon(time.sleep, 0.6)
        began = loop.time()
        with pytest.raises(TimeoutError):
            async with time_limit(0.4):
                await asyncio.sleep(10)
        return loop.time() - began

    assert 0.6 <= run(story()) < 5


def test_a_loop_that_is_always_late_does_not_put_the_end_off_for_ever():
    pauses = []

    def pause():
        time.sleep(0.03)
        pauses.append("late")

    async def late():
        while True:
            asyncio.get_running_loop().call_soon(pause)
            await asyncio.sleep(0)

    with pytest.raises(TimeoutError):
        run(limited(0.08, late()))
    assert len(pauses) <= 6 * TICKS


def test_without_a_limit_nothing_ends():
    assert run(limited(None, asyncio.sleep(0.1, "done"))) == "done"
