"""A system that answers from a function, and runs in which systems of a pool answer live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from judgeloop.core.outcomes import Finished
from judgeloop.core.records import Call, Item, JudgeIdentity, Output, Quote, Reply
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from support.driving import AT_ONCE, run, script_from
from support.pools import make_pool


@dataclass
class ScriptedSystem:
    """Answers a call with `script(call)`, which may also raise a JudgeError; as `ScriptedJudge`."""

    script: Callable[[Call], Output] = lambda call: Output(f"an answer to {call.item.id}")
    cost_p: int = 0
    worst_p: int | None = None
    delay_s: float = 0.0
    lasts: bool = True
    limit_is_default: bool = False
    at_once: int | None = None
    model: str = "system"
    calls: list[str] = field(default_factory=list)
    label, typed = "scripted", "b.toml"
    priced = True
    timeout_s = None
    longest_bytes = likely_bytes = 100

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity("scripted", self.model)

    def sent(self, item: Item) -> str:
        return item.prompt

    def quote(self, call: Call) -> Quote:
        return Quote(self.cost_p if self.worst_p is None else self.worst_p, self.cost_p)

    async def answer(self, call: Call) -> Reply:
        self.calls.append(call.item.id)
        await asyncio.sleep(self.delay_s)
        return Reply(self.script(call), cost_p=self.cost_p)

    def read(self, output: Output) -> Output:
        return output

    async def aclose(self) -> None:
        """Do nothing."""


def run_live(
    items: int = 40,
    judge: ScriptedJudge | None = None,
    limits: Limits | None = None,
    ledger: Any = ":memory:",
    interruption: Any = None,
    **more: Any,
) -> Finished[Any]:
    """Compare `a` and `b`, of which those given answer live; the other names are terms of the run."""
    pool = make_pool(items)
    live = {name: more.pop(name) for name in pool.systems if name in more}
    texts = zip(pool.systems, pool.outputs, strict=True)
    outputs = tuple(("",) * items if name in live else own for name, own in texts)
    places = tuple(place for place, name in enumerate(pool.systems) if name in live)
    return run(
        judge or ScriptedJudge(script_from([1.0] * items)),
        items=items,
        pool=replace(pool, outputs=outputs, live=places),
        terms=Terms("run", **({"policy": AT_ONCE} | more)),
        ledger=ledger,
        interruption=interruption,
        systems=live,
        limits=limits or Limits(items, items),
    )
