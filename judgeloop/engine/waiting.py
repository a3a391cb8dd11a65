"""Waiting for whichever of several things comes first, and for any change at all."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, final


async def first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of `waits` is over, and cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


@final
class Changes:
    """Counts changes, and wakes everyone who waits for the next one."""

    def __init__(self) -> None:
        """Nothing has changed yet."""
        self.count = 0
        self._next = asyncio.Event()

    def notify(self) -> None:
        """Something has changed."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, count: int) -> None:
        """Wait until more than `count` changes have been counted."""
        while self.count <= count:
            await self._next.wait()
