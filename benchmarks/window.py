"""How a run keeps its places busy: calls in flight, idle moments, seconds, and verdicts not needed.

    python benchmarks/window.py [--seeds 200] [--places 64] [--ms 300]    many runs on a virtual clock
    python benchmarks/window.py --server [--seeds 200] [...]              the same against a server, by its arrivals

The first runs the engine in full, with a ledger in memory, for pairs with several gaps, and replies after so many
milliseconds, a tenth more or less. The second runs it against a server on loopback, in a process of its own, that
notes when requests come and go; its seconds are from the first arrival to the last reply. A moment is idle in which
no call is in flight, after the first. Ideal are the judgments of the run in rounds of the places, rounded up, times
the latency. Each pair is asked about in one order. By default at most 200 of 805 items are judged, with 30 % ties
(`--limit`, `--ties`, `--near-tie`). What is printed is the mean, with its standard error, as a table of a page.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from throughput import make_judge, make_pool

from judgeloop.__main__ import NEW_OBJECTS
from judgeloop.catalogue import rule_row
from judgeloop.core.protocols import Judge
from judgeloop.core.records import UNLIMITED, Call, Order, Pool, Reply, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.session import WASTED, WASTED_OF_FEW, Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.judges.recorded import ScriptedJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.writer import Writer
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.rows import Draft
from judgeloop.methods.selectors.random import Random
from judgeloop.questions.compare.settings import RULES

ITEMS, TIES, RISK = 805, 0.3, 0.05
GAPS = (0.0, 0.1, 0.2, 0.4)
JITTER = 0.1  # of a reply's time, more or less
REAL_S = 0.001  # for what a thread has done to arrive


class Cell(NamedTuple):
    """What is run: which pair, how it is asked about, and how a judge replies."""

    gap: float
    places: int
    ms: int
    ahead: int | None = None
    ties: float = TIES
    limit: int = 200
    near_tie: float | None = None


class Ran(NamedTuple):
    """One run: how long it took, the judgments of its decision, and answers that were not needed."""

    seconds: float
    judgments: int
    unneeded: int


def verdicts(gap: float, seed: int, ties: float = TIES) -> list[float]:
    """The scores of a pair by item."""
    shares = [(1 - ties + gap) / 2, ties, (1 - ties - gap) / 2]
    return np.random.default_rng([seed, 7]).choice([1.0, 0.5, 0.0], size=ITEMS, p=shares).tolist()


async def run(cell: Cell, judge: Judge, pool: Pool, seed: int, ledger: str | Path) -> Ran:
    """Run a comparison in full."""
    draft = Draft(ITEMS, cell.limit, RISK, population=UNLIMITED, settings=SimpleNamespace(near_tie=cell.near_tie))
    rule = rule_row("compare", RULES[0]).make(draft)
    session = Session(
        items=ITEMS,
        selector=Random(),
        estimator=Preferences(sampled=True),
        rule=rule,
        limits=Limits(5, cell.limit),
        rng=np.random.default_rng(seed),
        ahead=cell.ahead,
    )
    book, began = open_ledger(ledger), asyncio.get_running_loop().time()
    try:
        terms = Terms("run", order=Order.FIXED, budget_p=10**15, concurrency=cell.places)
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


def seen(log: list[tuple[float, int]]) -> tuple[float, int]:
    """The calls in flight in the mean, and the idle moments, of the times when calls began (1) and ended (-1)."""
    flying, spans = np.cumsum([step for _, step in log])[:-1], np.diff([at for at, _ in log])
    return (flying * spans).sum() / spans.sum(), int((flying == 0).sum())


def on_virtual_clock(cell: Cell, seed: int) -> tuple[float, ...]:
    """One run whose replies take their time on a clock that does not wait; with what was seen of its calls."""
    table, rng, clock = verdicts(cell.gap, seed, cell.ties), np.random.default_rng(seed), VirtualClock()
    log: list[tuple[float, int]] = []

    class Late(ScriptedJudge):
        async def judge(self, call: Call) -> Reply:
            log.append((clock.now_s, 1))
            await asyncio.sleep(cell.ms / 1000 * (1 + JITTER * rng.uniform(-1, 1)))
            log.append((clock.now_s, -1))
            return Reply(self.script(call), cost_p=self.cost_p)

    def script(call: Call) -> Verdict:
        return Verdict(table[int(call.item.id[1:])])

    loop = asyncio.SelectorEventLoop(clock)
    loop.time = lambda: clock.now_s  # type: ignore[method-assign]
    pool, judge = make_pool(ITEMS), Late(script, cost_p=10**8)
    booking = {name: clock.noting(getattr(Writer, name)) for name in ("queued", "submit")}
    with closing(loop), patch.multiple(Writer, **booking):
        ran = loop.run_until_complete(run(cell, judge, pool, seed, ":memory:"))
    return *ran, *seen(log)


HEAD = ("gap", "in flight", "ms", "ahead", "seconds", "times the ideal", "mean in flight", "idle moments", "judgments",
        "not needed", "at most")  # fmt: skip


def tabulate(seeds: int, cells: Sequence[Cell], measured: Callable[[Cell, int], tuple[float, ...]]) -> None:
    """Print what runs take in the mean, with its standard error, and how it compares to the ideal."""
    asked = f"at most {cells[0].limit} of {ITEMS} items, {cells[0].ties:.0%} ties, near tie {cells[0].near_tie}"
    print(f"{seeds} seeds; {asked}, risk {RISK:g}, rule {RULES[0]}\n")
    line(*HEAD)
    line(*["---"] * len(HEAD))
    for cell in cells:
        found = np.array([measured(cell, seed) for seed in range(seeds)])
        means, errors = found.mean(axis=0), found.std(axis=0) / math.sqrt(seeds)
        seconds, judgments, unneeded, busy, idle = means
        ideal = np.ceil(found[:, 1] / cell.places).mean() * cell.ms / 1000
        times = f"{seconds / ideal:.2f} ± {errors[0] / ideal:.2f}"
        most = max(WASTED_OF_FEW, WASTED * (judgments + unneeded))
        line(*shown(cell), f"{seconds:.2f}", times, f"{busy:.1f}", f"{idle:.1f}",
             f"{judgments:.1f}", f"{unneeded:.1f} ± {errors[2]:.1f}", f"{most:.1f}")  # fmt: skip


def line(*cells: object) -> None:
    """Print a row of a table."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def shown(cell: Cell) -> tuple[object, ...]:
    """The columns that say what is run."""
    return f"{cell.gap:g}", cell.places, f"{cell.ms:,}", "auto" if cell.ahead is None else cell.ahead


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


def on_server(url: str, cell: Cell, seed: int) -> tuple[float, ...]:
    """One run as the server sees it, from the first arrival to the last reply."""
    told(url, "/begin", {"table": verdicts(cell.gap, seed, cell.ties), "latency_s": cell.ms / 1000})
    ran, log = asyncio.run(one_run(url, cell, seed)), told(url, "/log")
    return log[-1][0] - log[0][0], ran.judgments, ran.unneeded, *seen(log)


async def one_run(url: str, cell: Cell, seed: int) -> Ran:
    """One run against the server, with a ledger on disk."""
    judge = make_judge(f"{url}/v1")
    with tempfile.TemporaryDirectory() as folder:
        try:
            return await run(cell, judge, make_pool(ITEMS), seed, Path(folder) / "ledger.sqlite")
        finally:
            await judge.aclose()


def main() -> None:
    """Print a table."""
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--ahead", nargs="*", default=["auto"])
    parser.add_argument("--server", action="store_true")
    parser.add_argument("--places", nargs="*", type=int, default=[64])
    parser.add_argument("--ms", nargs="*", type=int, default=[300])
    parser.add_argument("--gaps", nargs="*", type=float, default=list(GAPS))
    parser.add_argument("--ties", type=float, default=TIES)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--near-tie", type=float)
    given = parser.parse_args()
    ways = [None if one == "auto" else int(one) for one in given.ahead]
    each = product(given.gaps, given.places, given.ms, ways)
    cells = [Cell(*one, given.ties, given.limit, given.near_tie) for one in each]
    if not given.server:
        tabulate(given.seeds, cells, on_virtual_clock)
        return
    gc.set_threshold(NEW_OBJECTS)  # as the command does
    with served() as url:
        on_server(url, Cell(0.4, 8, 1), 0)  # imports what a run needs
        tabulate(given.seeds, cells, partial(on_server, url))


if __name__ == "__main__":
    main()
