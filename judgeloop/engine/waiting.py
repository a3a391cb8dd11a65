"""Waits for the first of several coroutines to end and for changes; reads what tasks answered."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, final

from judgeloop.core.records import Answer


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of `waits` ends, and cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


@final
class Changes:
    """Counts changes, and wakes all tasks that wait for the next change."""

    def __init__(self) -> None:
        """Start with a count of 0."""
        self.count = 0
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Count a change, and wake the waiting tasks."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, count: int) -> None:
        """Wait until the count is above `count`."""
        while self.count <= count:
            await self._next.wait()


def prefix(answers: Sequence[Answer | None]) -> list[Answer]:
    """Return the answers before the first missing answer."""
    found: list[Answer] = []
    for answer in answers:
        if answer is None:
            break
        found.append(answer)
    return found


def is_answered(task: asyncio.Task[Answer | None]) -> bool:
    """Return whether a task has ended with an answer."""
    return (
        task.done()
        and not task.cancelled()
        and task.exception() is None
        and task.result() is not None
    )
