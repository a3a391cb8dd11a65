"""What judgeloop itself takes: to print its help, and for a verdict without a network.

    python benchmarks/costs.py [--repeats 15] [--judgments 5000] [--in-flight 64 256] [--away 20]

Help is compared with a Python that does nothing, in turns; each figure is the least of the repeats.
A verdict is one of a run with so many calls in flight, whose judge answers at once and costs money: its
reservation, its sending, its verdict, and the choice of the next item, in a process that looks for garbage
as seldom as the command does. Beside it stands how long the disk takes to keep four kilobytes, which each
group of bookings waits for. With `--away` the ledger is on a PostgreSQL server of this program's own, behind
a line on which an answer takes at least so many milliseconds; of the processor only this program's part is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
from throughput import make_pool

from judgeloop.__main__ import NEW_OBJECTS
from judgeloop.core.records import Call, JudgeIdentity, Order, Pool, Quote, Reply, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.judges.base import BaseJudge
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.papers.diffuse.rules import TieAware

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.postgres import running

SYNCS = 200
COMMAND = str(Path(sys.executable).parent / "judgeloop")
EMPTY = "an empty Python"
COMMANDS = {
    EMPTY: [sys.executable, "-c", "pass"],
    "judgeloop --help": [COMMAND, "--help"],
    "judgeloop compare --help": [COMMAND, "compare", "--help"],
}


class AtOnce(BaseJudge):
    """Answers at once, for a picodollar of at most ten."""

    identity = JudgeIdentity("test", "at-once", {})

    def quote(self, call: Call) -> Quote:
        """Return the most that a call may cost."""
        del call
        return Quote(10, 0)

    async def judge(self, call: Call) -> Reply:
        """Return a verdict."""
        del call
        await asyncio.sleep(0)
        return Reply(Verdict(1.0, "why"), cost_p=1)


async def judged(pool: Pool, address: Path | str, in_flight: int) -> None:
    """Judge a whole pool, with a ledger at this address."""
    ledger = open_ledger(address)
    session = Session(
        items=len(pool),
        selector=Random(),
        estimator=Preferences(),
        rule=TieAware(0.0),
        limits=Limits(len(pool), len(pool)),
        rng=np.random.default_rng(0),
    )
    terms = Terms("run", order=Order.FIXED, budget_p=10**15, concurrency=in_flight)
    finished = await drive(session, pool, AtOnce(), ledger, terms)
    assert finished.ending.asked == len(pool)
    await ledger.aclose()


@contextmanager
def server(away_ms: float) -> Iterator[str]:
    """Yield the address of a ledger on a server that is so many milliseconds away."""
    with running() as near:
        here, there = get_context("spawn").Pipe()
        line = get_context("spawn").Process(target=delay, args=(there, str(near.folder), away_ms), daemon=True)
        line.start()
        ledger = near.ledger()
        yield ledger.replace("@/", f"@127.0.0.1:{here.recv()}/").partition("?")[0]
        line.kill()


def delay(told: Connection, folder: str, away_ms: float) -> None:
    """Pass on what a client and the server at the socket in `folder` say, half of the delay later each way."""

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            asyncio.get_running_loop().call_later(away_ms / 2000, writer.write, data)
        asyncio.get_running_loop().call_later(away_ms / 2000, writer.close)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.5432")
        await asyncio.gather(pump(reader, forth), pump(back, writer))

    async def serve() -> None:
        listening = await asyncio.start_server(accept, "127.0.0.1", 0)
        told.send(listening.sockets[0].getsockname()[1])
        await listening.serve_forever()

    asyncio.run(serve())


def sync_ms(folder: Path) -> float:
    """Return how long the disk takes to keep four kilobytes, in milliseconds: a mean."""
    with (folder / "synced").open("wb", buffering=0) as file:
        began = time.perf_counter()
        for _ in range(SYNCS):
            file.write(bytes(4096))
            os.fsync(file.fileno())
        return 1000 * (time.perf_counter() - began) / SYNCS


def helps(repeats: int) -> Iterable[tuple[str, float]]:
    """Yield the least seconds of each command."""
    least = dict.fromkeys(COMMANDS, float("inf"))
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            least[name] = min(least[name], time.perf_counter() - began)
    return least.items()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--judgments", type=int, default=5000)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--away", type=float, help="milliseconds to a server and back")
    arguments = parser.parse_args()
    found = dict(helps(arguments.repeats)) if arguments.repeats else {}
    for name, seconds in found.items():
        print(f"{name:<28}{1000 * seconds:>8.0f} ms{seconds / found[EMPTY]:>8.1f} times")
    gc.set_threshold(NEW_OBJECTS)
    for in_flight in arguments.in_flight:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            synced, file = sync_ms(folder), folder / "ledger.sqlite"
            with nullcontext(str(file)) if arguments.away is None else server(arguments.away) as address:
                began, processor = time.perf_counter(), time.process_time()
                asyncio.run(judged(make_pool(arguments.judgments), address, in_flight))
            each = (time.perf_counter() - began) / arguments.judgments
            computed = (time.process_time() - processor) / arguments.judgments
        print(
            f"a verdict, {in_flight} in flight: {1000 * each:.2f} ms, {1000 * computed:.2f} of the processor", end="; "
        )
        print(f"to keep 4 kB on this disk: {synced:.2f} ms", flush=True)


if __name__ == "__main__":
    main()
