"""How a run keeps its places busy: calls in flight, idle moments, seconds, and verdicts not needed.

    python benchmarks/window.py [--seeds 200] [--ahead auto 0]      many runs on a virtual clock
    python benchmarks/window.py --server [--ahead auto 0]           runs against a server, by its arrivals

The first runs the engine in full, with a ledger in memory, and replies after 300 ms (a tenth more or less) with 64
calls in flight, for pairs with several gaps. The second runs it against a server on loopback, in a process of its own,
that answers each request after 10, 300 or 2,000 ms and notes when requests come. A moment is idle in which it has none,
after the first. Ideal are the judgments of the run in rounds of the places, rounded up, times the latency. Each pair is
asked about in one order, up to 200 of 805 items, 30 % ties.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import selectors
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from throughput import make_judge, make_pool

from judgeloop.catalogue import rule_row
from judgeloop.core.protocols import Judge
from judgeloop.core.records import UNLIMITED, Call, Order, Pool, Reply, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.writer import Writer
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.rows import Draft
from judgeloop.methods.selectors.random import Random
from judgeloop.questions.compare.settings import RULES

ITEMS, LIMIT, TIES, RISK = 805, 200, 0.3, 0.05
GAPS = (0.0, 0.1, 0.2, 0.4)
PLACES, LATENCY_S, JITTER = 64, 0.3, 0.1
REAL_S = 0.001  # for what a thread has done to arrive


class Ran(NamedTuple):
    """One run: how long it took, the judgments of its decision, and answers that were not needed."""

    seconds: float
    judgments: int
    unneeded: int


def verdicts(gap: float, seed: int) -> list[float]:
    """The scores of a pair by item."""
    shares = [(1 - TIES + gap) / 2, TIES, (1 - TIES - gap) / 2]
    return np.random.default_rng([seed, 7]).choice([1.0, 0.5, 0.0], size=ITEMS, p=shares).tolist()


async def run(judge: Judge, pool: Pool, *, seed: int, ahead: int | None, places: int, ledger: str | Path) -> Ran:
    """Run a comparison in full."""
    rule = rule_row("compare", RULES[0]).make(Draft(ITEMS, LIMIT, RISK, population=UNLIMITED))
    session = Session(
        items=ITEMS,
        selector=Random(),
        estimator=Preferences(sampled=True),
        rule=rule,
        limits=Limits(5, LIMIT),
        rng=np.random.default_rng(seed),
        ahead=ahead,
    )
    book, began = open_ledger(ledger), asyncio.get_running_loop().time()
    try:
        terms = Terms("run", order=Order.FIXED, budget_p=10**15, concurrency=places)
        finished = await drive(session, pool, judge, book, terms)
    finally:
        await book.aclose()
    seconds = asyncio.get_running_loop().time() - began
    return Ran(seconds, len(finished.ending.labels), finished.ending.ahead)


class VirtualClock(selectors.DefaultSelector):
    """Lets time pass at once when nothing is left to do before a timer: also not in the ledger's thread."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s, self.booked = 0.0, deque[Any]()

    def noting(self, method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """A method that gives the ledger's thread something to do, which the clock waits for."""

        def noted(writer: Any, action: Any) -> Any:
            self.booked.append(method(writer, action))
            return self.booked[-1]

        return noted

    def select(self, timeout: float | None = None) -> list[Any]:
        """What is ready; else the time of the next timer has come."""
        while self.booked and self.booked[0].done():
            self.booked.popleft()
        if self.booked or timeout is None:
            return super().select(timeout)
        found = super().select(min(REAL_S, timeout))
        if not found:
            self.now_s += timeout
        return found


def on_virtual_clock(gap: float, seed: int, ahead: int | None) -> Ran:
    """One run whose replies take their time on a clock that does not wait."""
    table, rng, clock = verdicts(gap, seed), np.random.default_rng(seed), VirtualClock()

    class Late(ScriptedJudge):
        async def judge(self, call: Call) -> Reply:
            await asyncio.sleep(LATENCY_S * (1 + JITTER * rng.uniform(-1, 1)))
            return Reply(self.script(call), cost_p=self.cost_p)

    def script(call: Call) -> Verdict:
        return Verdict(table[int(call.item.id[1:])])

    loop = asyncio.SelectorEventLoop(clock)
    loop.time = lambda: clock.now_s  # type: ignore[method-assign]
    pool, judge = make_pool(ITEMS), Late(script, cost_p=10**8)
    booking = {name: clock.noting(getattr(Writer, name)) for name in ("queued", "submit")}
    with closing(loop), patch.multiple(Writer, **booking):
        return loop.run_until_complete(run(judge, pool, seed=seed, ahead=ahead, places=PLACES, ledger=":memory:"))


def simulate(seeds: int, ways: list[int | None], gaps: list[float]) -> None:
    """Print what runs take in the mean, with its standard error, and what the ideal is."""
    print(f"{PLACES} in flight, {1000 * LATENCY_S:.0f} ms, {seeds} seeds; risk {RISK:g}, rule {RULES[0]}")
    print("gap   ahead   seconds   ideal   times the ideal   judgments   not needed (at most)")
    for gap in gaps:
        for ahead in ways:
            found = np.array([on_virtual_clock(gap, seed, ahead) for seed in range(seeds)])
            (seconds, judgments, unneeded), errors = found.mean(axis=0), found.std(axis=0) / math.sqrt(seeds)
            ideal = np.ceil(found[:, 1] / PLACES).mean() * LATENCY_S
            most = max(4, 0.05 * (judgments + unneeded))
            times = f"{seconds / ideal:.2f} ± {errors[0] / ideal:.2f}"
            print(
                f"{gap:<6g}{shown(ahead):<8}{seconds:<10.2f}{ideal:<8.2f}{times:<18}"
                f"{judgments:<12.1f}{unneeded:.1f} ± {errors[2]:.1f} ({most:.1f})",
                flush=True,
            )


def shown(ahead: int | None) -> str:
    """How a way is typed."""
    return "auto" if ahead is None else str(ahead)


async def serve() -> None:
    """Answer chat requests late, with verdicts by the item's number, and note when requests come and go."""
    state: dict[str, Any] = {"table": [], "latency_s": 0.0, "log": []}

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length")
                    ),
                    0,
                )
                body = await reader.readexactly(length)
                if head.startswith(b"POST /begin"):
                    state.update(json.loads(body), log=[])
                    reply: Any = {}
                elif head.startswith(b"GET /log"):
                    reply = state["log"]
                else:
                    state["log"].append((time.monotonic(), 1))
                    await asyncio.sleep(state["latency_s"])
                    state["log"].append((time.monotonic(), -1))
                    reply = answer(state["table"], body.decode())
                text = json.dumps(reply).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(text)
                )
                writer.write(text)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def answer(table: list[float], request: str) -> dict[str, Any]:
    """A chat completion with the verdict on the item that the request shows, in either order; right about controls."""
    (_, prompt), (first, number), (_, other) = re.findall(r"(prompt|an answer|another) (\d+)", request)[:3]
    if number != other:  # the answer to another question
        score = float(number == prompt)
    else:
        score = table[int(number)] if first == "an answer" else 1 - table[int(number)]
    winner = {1.0: "A", 0.0: "B", 0.5: "tie"}[score]
    content = json.dumps({"reason": "r", "winner": winner})
    return {
        "id": "x", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": len(request) // 4, "completion_tokens": 20, "total_tokens": len(request) // 4 + 20},
    }  # fmt: skip


@contextmanager
def served() -> Iterator[str]:
    """The address of the server, which runs in a process of its own."""
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
    finally:
        server.kill()
        server.wait()


def told(url: str, path: str, body: Any = None) -> Any:
    """Say something to the server, or ask it."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"{url}{path}", data) as reply:  # noqa: S310 - on loopback
        return json.loads(reply.read())


def against_server(places: list[int], latencies_ms: list[int], ways: list[int | None], gaps: list[float]) -> None:
    """Print what the server saw of runs."""
    pool = make_pool(ITEMS)
    print("gap   in flight   ms      ahead   seconds   ideal   mean in flight   idle moments   judgments   not needed")
    with served() as url:
        told(url, "/begin", {"table": verdicts(0.4, 1), "latency_s": 0.0})
        asyncio.run(one_run(url, pool, None, 8))  # imports what a run needs
        for gap, most, latency_ms, ahead in product(gaps, places, latencies_ms, ways):
            told(url, "/begin", {"table": verdicts(gap, 1), "latency_s": latency_ms / 1000})
            ran = asyncio.run(one_run(url, pool, ahead, most))
            log = told(url, "/log")
            flying = np.cumsum([step for _, step in log])[:-1]
            spans = np.diff([at for at, _ in log])
            busy, idle = (flying * spans).sum() / spans.sum(), int((flying == 0).sum())
            ideal = math.ceil(ran.judgments / most) * latency_ms / 1000
            print(
                f"{gap:<6g}{most:<12}{latency_ms:<8}{shown(ahead):<8}{ran.seconds:<10.2f}{ideal:<8.2f}"
                f"{busy:<17.1f}{idle:<15}{ran.judgments:<12}{ran.unneeded}",
                flush=True,
            )


async def one_run(url: str, pool: Pool, ahead: int | None, places: int) -> Ran:
    """One run against the server, with a ledger on disk."""
    judge = make_judge(f"{url}/v1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            return await run(judge, pool, seed=1, ahead=ahead, places=places, ledger=Path(folder) / "ledger.sqlite")
        finally:
            await judge.aclose()


def main() -> None:
    """Print a table."""
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--ahead", nargs="*", default=["0", "auto"])
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--places", nargs="*", type=int, default=[8, 64, 256])
    parser.add_argument("--ms", nargs="*", type=int, default=[10, 300, 2000])
    parser.add_argument("--gaps", nargs="*", type=float, default=list(GAPS))
    arguments = parser.parse_args()
    ways = [None if one == "auto" else int(one) for one in arguments.ahead]
    if arguments.server:
        against_server(arguments.places, arguments.ms, ways, arguments.gaps)
    else:
        simulate(arguments.seeds, ways, arguments.gaps)


if __name__ == "__main__":
    main()
