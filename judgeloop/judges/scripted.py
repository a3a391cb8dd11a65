"""A judge that answers from a function, for tests of judgeloop and of users' pipelines.

It sends no requests. The cost and the delay of an answer are given, not computed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from judgeloop.core.records import Answer, Call, JudgeIdentity, Quote, Reply
from judgeloop.judges.base import BaseJudge


@final
@dataclass
class ScriptedJudge(BaseJudge):
    """Answers a call with `script(call)`, which may also raise a JudgeError.

    - `cost_p`: the cost of a call, in picodollars; `worst_p`: its worst case, by default `cost_p`.
    - `delay_s`: returns the seconds to wait before answering a call.
    - `calls`: the calls received, in the order of arrival.
    """

    script: Callable[[Call], Answer]
    cost_p: int = 0
    worst_p: int | None = None
    delay_s: Callable[[Call], float] | None = None
    order_matters: bool = True
    blind: bool = True
    priced: bool = True
    by_hand: bool = False
    model: str = "scripted"
    calls: list[Call] = field(default_factory=list)

    @property
    def identity(self) -> JudgeIdentity:
        """The model only: another script or cost is the same judge."""
        return JudgeIdentity("scripted", self.model)

    def quote(self, call: Call) -> Quote:
        """Return the given costs."""
        del call
        worst_p = self.cost_p if self.worst_p is None else self.worst_p
        return Quote(cost_p=worst_p, likely_cost_p=self.cost_p)

    async def judge(self, call: Call) -> Reply:
        """Wait for the delay, if any, then return the script's answer."""
        self.calls.append(call)
        if self.delay_s is not None:
            await asyncio.sleep(self.delay_s(call))
        return Reply(self.script(call), cost_p=self.cost_p, model=self.model)
