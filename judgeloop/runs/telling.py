"""Tells people how far the run is that they judge for."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from judgeloop.core.protocols import SoFar, T
from judgeloop.engine.state import Observe, Progress
from judgeloop.runs.prepared import Prepared

REFRESH = 5  # answers after which the forecast is made anew


def told(run: Prepared[Any], observe: Observe[T], more: Callable[[T], int | None], first: SoFar) -> Observe[T]:
    """An observer that tells people how far the run is; the forecast is made in a thread, and seldom.

    `more` says how many more decide, which takes up to a second. Several people are not told: the forecast moves with
    each answer, and so says who leads.
    """
    people, alone = run.people, len(run.config.people) <= 1
    if people is None:
        return observe
    latest, made_at, making = first, -REFRESH, False
    in_all: int | None = None

    def tell(asked: int, skipped: int) -> None:
        nonlocal latest
        more = None if in_all is None else max(0, in_all - asked)
        latest = replace(latest, asked=asked, skipped=skipped, more=more)
        people.hear(latest)

    async def forecast(asked: int, tally: T) -> None:
        nonlocal in_all, making
        left = await asyncio.to_thread(more, tally)
        in_all, making = None if left is None else asked + left, False
        tell(latest.asked, latest.skipped)

    tasks: set[asyncio.Task[None]] = set()

    def observed(progress: Progress[T]) -> None:
        nonlocal made_at, making
        observe(progress)
        tell(progress.asked, progress.tally.abstentions)
        again = made_at + (1 if latest.more == 0 else REFRESH)  # at once if it was wrong
        if alone and progress.asked >= again and not making:
            made_at, making = progress.asked, True
            task = asyncio.get_running_loop().create_task(forecast(progress.asked, progress.tally))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    people.hear(first)
    return observed
