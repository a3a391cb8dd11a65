"""A provider that keeps the true bill, and a judge of it in a process.

Every request has a fate from the seed, its key and its number: it is answered, refused, late, lost.
In clear weather all requests are answered.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.history import History, Request
from simulation.world import LIFE

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.keys import KeyIngredients, digest, output_note
from judgeloop.core.records import Abstention, Answer, Call, Item, JudgeIdentity, Output, Quote, Reply, Usage, Verdict
from judgeloop.judges.base import BaseJudge

WORST_P = 100
USAGE = Usage(10, 5)


@dataclass
class Provider:
    """What answers; `storm` is how likely a request is not simply answered."""

    seed: int
    history: History
    storm: float = 0.0
    timeout_s: float = 30.0
    asked: Counter[str] = field(default_factory=Counter)

    def output_of(self, call: Call) -> str:
        """Return the one true output of a system; some are long, and some are the same."""
        rng = random.Random(f"{self.seed}/{call.item.id}")
        same, length = rng.random() < 0.2, rng.choice([0, 10, 60])
        return "x" * length if same else f"{call.systems[0]}'s answer {call.item.id}" + "x" * length

    def answer_to(self, call: Call) -> Verdict:
        """Return the one true answer, which does not depend on when it is asked for."""
        rng = random.Random(f"{self.seed}/{call.item.id}/{min(call.outputs)}")
        better, first = rng.choices([1.0, 0.0, 0.5], [5, 3, 2])[0], rng.random() < 0.15
        straight = call.outputs[0] == min(call.outputs)
        return Verdict(1.0 if first else better if straight else 1 - better)

    def fate_of(self, key: str) -> tuple[str, random.Random]:
        """Return what becomes of the next request for `key`."""
        self.asked[key] += 1
        rng = random.Random(f"{self.seed}/{key}/{self.asked[key]}")
        if rng.random() >= self.storm:
            return "answered", rng
        return rng.choices(list(FATES), [share for share, _ in FATES.values()])[0], rng


@dataclass
class Judge(BaseJudge):
    """One judge of a process; a `free` judge computes, and costs nothing."""

    provider: Provider
    run: str
    name: str = "one"
    free: bool = False
    reads: bool = False  # a longer output costs more

    def __post_init__(self) -> None:
        self.order_matters = not self.free

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity("simulated", self.name)

    def quote(self, call: Call) -> Quote:
        worst_p = 0 if self.free else WORST_P + 7 * (len(call.item.id) % 3)
        worst_p += 2 * sum(map(len, call.outputs)) if self.reads else 0
        return Quote(worst_p, worst_p // 2)

    async def judge(self, call: Call) -> Reply:
        key = KeyIngredients.of(self.identity, call, blind=True).key
        return await self.exchanged(call, key)

    async def exchanged(self, call: Call, key: str) -> Reply:
        """Send one request, and let its fate happen."""
        life, history, provider = LIFE.get(), self.provider.history, self.provider
        life.check_alive()
        worst_p = self.quote(call).cost_p
        about = (self.name, call.item.prompt, call.outputs)
        request = Request(len(history.requests), life, self.run, key, worst_p, about)
        history.receive(request, free=self.free)
        fate, rng = provider.fate_of(key)
        try:
            reply = await FATES[fate][1](Exchange(provider, request, call, rng))
            life.check_alive()
        except JudgeError as error:
            if error.kind is ErrorKind.REJECTED:
                life.over = f"{life.name} was rejected"
            raise
        finally:
            history.leave(request)
        request.handed = not isinstance(reply.answer, Abstention)
        return reply


class System(Judge):
    """A system that answers live, at the same provider."""

    lasts, limit_is_default, timeout_s = True, False, 30.0
    at_once, label, typed = None, "system", "system"
    longest_bytes = likely_bytes = 8  # less than most outputs: the earmark is then too small

    def sent(self, item: Item) -> str:
        return item.prompt

    def read(self, output: Output) -> Output:
        return output

    async def answer(self, call: Call) -> Reply:
        note = output_note(self.identity, self.sent(call.item), "")
        return await self.exchanged(call, digest(note))


@dataclass
class Exchange:
    """A request with its fate."""

    provider: Provider
    request: Request
    call: Call
    rng: random.Random

    async def answered(self, *, usage: bool = True, dear: int = 0, model: str = "m", late_s: float = 0.0) -> Reply:
        """A verdict; without `usage` nobody is told what it costs."""
        worst_p = self.request.worst_p
        self.request.billed_p = cost_p = worst_p + dear if dear else self.rng.randint(0, worst_p)
        self.provider.history.over_p += max(0, cost_p - worst_p)
        await asyncio.sleep(late_s or self.rng.expovariate(1.0))
        if dear:
            self.request.life.over = "a reply that was dearer than its worst case"
        if not self.call.outputs:
            self.request.score = text = self.provider.output_of(self.call)
            return self.reply(Output(text, seconds=float(self.request.number)), usage=usage, model=model)
        verdict = self.provider.answer_to(self.call)
        self.request.score = verdict.score
        return self.reply(Verdict(verdict.score, self.request.mark), usage=usage, model=model)

    async def unread(self, *, truncated: bool = False, again: bool = True) -> Reply:
        """A reply without a verdict, which is billed all the same."""
        self.request.billed_p = self.rng.randint(0, self.request.worst_p)
        await asyncio.sleep(self.rng.expovariate(1.0))
        return self.reply(Abstention("unreadable", again=again, truncated=truncated))

    def reply(self, answer: Answer | Output, *, usage: bool = True, model: str = "m") -> Reply:
        billed_p = self.request.billed_p
        return Reply(answer, billed_p if usage else None, USAGE if usage else None, model)

    async def late(self, *, more_s: float = 0.0) -> Reply:
        """A reply that comes about when its caller gives up, or never."""
        late_s = self.provider.timeout_s * self.rng.uniform(0.9, 1.1) + more_s
        return await self.answered(late_s=late_s)

    async def fails(self, kind: ErrorKind, **more: Any) -> Reply:
        """An error; what may be billed is billed."""
        error = JudgeError(kind, f"{kind} of {self.request.mark}", **more)
        if error.billed:
            self.request.billed_p = self.rng.randint(0, self.request.worst_p)
        await asyncio.sleep(self.rng.expovariate(2.0))
        raise error


def failing(kind: ErrorKind, **more: Any) -> Callable[[Exchange], Any]:
    """A fate that ends in an error."""
    return lambda exchange: exchange.fails(kind, **more)


# Each fate with its weight in a storm.
FATES: dict[str, tuple[float, Callable[[Exchange], Any]]] = {
    "answered": (0, Exchange.answered),
    "moved model": (3, lambda exchange: exchange.answered(model="moved")),
    "no usage": (6, lambda exchange: exchange.answered(usage=False)),
    "dearer": (0.3, lambda exchange: exchange.answered(dear=50)),
    "unreadable": (6, Exchange.unread),
    "refused in words": (2, lambda exchange: exchange.unread(again=False)),
    "cut off": (2, lambda exchange: exchange.unread(truncated=True)),
    "late": (5, Exchange.late),
    "lost": (3, lambda exchange: exchange.late(more_s=1e6)),
    "HTTP 500": (10, failing(ErrorKind.RETRY, billed=True)),
    "not connected": (6, failing(ErrorKind.RETRY, billed=False)),
    "unreachable": (3, failing(ErrorKind.UNREACHABLE, billed=False)),
    "crowded": (6, failing(ErrorKind.CROWDED, billed=False)),
    "crowded, wait": (4, failing(ErrorKind.CROWDED, billed=False, wait_s=20.0)),
    "overloaded": (3, failing(ErrorKind.CROWDED, billed=True)),
    "no capacity": (1, failing(ErrorKind.SCARCE, billed=False)),
    "another form": (2, failing(ErrorKind.CHANGED, billed=False)),
    "filtered": (2, failing(ErrorKind.ITEM, billed=False)),
    "filtered, billed": (2, failing(ErrorKind.ITEM, billed=True)),
    "refused": (2, failing(ErrorKind.REFUSED, billed=True)),
    "refused, free": (1, failing(ErrorKind.REFUSED, billed=False)),
    "firewall": (1, failing(ErrorKind.BLOCKED, billed=False)),
    "bad key": (0.3, failing(ErrorKind.REJECTED, billed=False)),
}
