"""Tells people how far the run is that they judge for."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from judgeloop.core.protocols import SoFar, T
from judgeloop.engine.state import Observe, Progress
from judgeloop.runs.forecast import Forecast
from judgeloop.runs.prepared import Prepared

REFRESH = 5  # answers after which the forecast is made anew


def standing_of(found: Forecast, first: SoFar) -> SoFar:
    """How far a run is before its first answer, by its forecast: of what people read, identical outputs left out."""
    if found.people is None:
        return first
    result, skipped = found.result, found.result.counts.abstentions - found.skipped
    known = len(result.labels) - result.identical - found.skipped + found.known
    most_again = first.again if found.judgments.worst else found.people.again[-1]
    again, judged = (*found.people.again[:2], most_again), known - skipped
    low, expected, worst = map(sum, zip(found.people.judgments, again, strict=True))
    return replace(
        first,
        asked=known,
        skipped=skipped,
        most=known + worst,
        again=most_again,
        usually_again=found.people.again[1],
        usual=(judged + low, judged + expected) if expected and found.needs is None else None,
        each_s=found.people.each_s,
        affords=judged + (found.affordable or 0) if found.falls_short else None,
        needs=found.needs,
        only_again=found.skipped if found.decided else 0,
    )


def told(
    run: Prepared[Any],
    observe: Observe[T],
    more: Callable[[T], int | None],
    first: SoFar,
    found: Forecast | None = None,
) -> Observe[T]:
    """An observer that tells people how far the run is; the forecast is made in a thread, and seldom.

    `more` says how many more decide, which takes up to a second. Several people are not told: the forecast moves with
    each answer, and so says who leads. `found` is the forecast before the first answer: what is known from before
    counts at once, also behind a skip, and no forecast is made until the run has reached it.
    """
    people, alone = run.people, len(run.config.people) <= 1
    if people is None:
        return observe
    latest, made_at, making = first, -REFRESH, False
    in_all: int | None = None
    known = 0 if found is None else found.result.asked - found.skipped
    share = 1.0  # of the judgments that people are asked for
    if found is not None and found.people is not None and found.judgments.worst:
        share = (found.people.judgments[-1] - found.skipped) / found.judgments.worst

    def tell(asked: int, skipped: int) -> None:
        nonlocal latest
        more = None if in_all is None else max(0, in_all - asked)
        latest = replace(latest, asked=asked, skipped=skipped, more=more)
        people.hear(latest)

    async def forecast(asked: int, tally: T) -> None:
        nonlocal in_all, making
        left = await asyncio.to_thread(more, tally)
        in_all, making = None if left is None else asked + round(share * left), False
        tell(latest.asked, latest.skipped)

    tasks: set[asyncio.Task[None]] = set()

    def observed(progress: Progress[T]) -> None:
        nonlocal made_at, making
        observe(progress)
        asked = first.asked + progress.asked - (0 if found is None else progress.uncalled)
        tell(asked, max(first.skipped, progress.silent))
        again = made_at + (1 if latest.more == 0 else REFRESH)  # at once if it was wrong
        if alone and asked >= again and not making and progress.asked >= known:
            made_at, making = asked, True
            task = asyncio.get_running_loop().create_task(forecast(asked, progress.tally))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    people.hear(first)
    return observed
