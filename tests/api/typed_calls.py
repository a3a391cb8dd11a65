"""Calls of the Python functions as mypy reads them; `ignore` marks those that it has to refuse.

mypy reads this with all other files, and reports an `ignore` that nothing needs. It is not run.
"""

from __future__ import annotations

import judgeloop

ROWS = [{"id": "1", "prompt": "p", "output": "o"}]


async def awaited() -> float | None:
    found = await judgeloop.compare_async(ROWS, "b.jsonl", judge="human", seed=3)
    return found.risk


def accepted() -> None:
    print(judgeloop.compare(prompts=["p"], a=["x"], b=["y"], judge=len).winner)
    print(judgeloop.estimate(ROWS, judge=len, half_width=0.1).mean)
    print(judgeloop.select({"a": ROWS}, baseline="a", judge=["human", len]).standings)


def refused() -> None:
    judgeloop.compare(ROWS, ROWS, judge="human", colour="red")  # type: ignore[call-overload]
    judgeloop.compare(ROWS, ROWS, judge="human", seed="red")  # type: ignore[call-overload]
    judgeloop.compare(ROWS, ROWS)  # type: ignore[call-overload]
    judgeloop.estimate(ROWS, judge="human", colour="red")  # type: ignore[call-arg]
