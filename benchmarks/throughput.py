"""Wall time of judgeloop's calls to a slow server, against plain SDK and plain httpx calls.

    python benchmarks/throughput.py [--judgments 2000] [--repeats 5] [--decisions]

All three send the same requests to the same server. The server is a separate process on loopback
that answers each request after 200 ms. With `--decisions` the judge is a decision model that answers after
10 ms, so that the loop and not the judge is the bottleneck: the table then has the processor's time a verdict.

The plain SDK and httpx calls run in a semaphore and keep
nothing. The httpx calls use pools of 16 connections and show what a leaner client than the SDK
would give. judgeloop runs in full: reservations and durable verdicts, both checked and counted.
Each query is asked in one order, so that a judgment is one call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai

from judgeloop.core.records import Call, Item, Order, Pool
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.judges.chat import ChatJudge, ModelJudge, form_of
from judgeloop.judges.decisions import DecisionJudge, questions_of
from judgeloop.judges.prompt import shipped_template
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.papers.diffuse.rules import TieAware
from judgeloop.providers.chat import ChatSpec, Clients
from judgeloop.providers.decisions import MOST_OUTPUT, SystemOne
from judgeloop.providers.endpoint import Endpoint
from judgeloop.providers.openai import OpenAIChat
from judgeloop.providers.pricing import price_from_text

DELAY_S, DECISION_S = 0.2, 0.01
DECISION = {
    "model": "jev-1.14.0",
    "answers": {"verdict": {"type": "choice", "probabilities": {"first": 0.8, "second": 0.15, "neither": 0.05}}},
    "usage": {"input_tokens": 400, "output_tokens": 20},
}
BODY = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": '{"reason": "r", "winner": "A"}'},
            }
        ],
        "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
    }
).encode()


def reply_of(body: bytes) -> bytes:
    """Return a whole reply with this body."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


REPLY, DECIDED = reply_of(BODY), reply_of(json.dumps(DECISION).encode())


async def serve() -> None:
    """Print the port, then answer every request after the delay."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                decides = b"/systemone " in head
                await asyncio.sleep(DECISION_S if decides else DELAY_S)
                writer.write(DECIDED if decides else REPLY)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def make_pool(judgments: int) -> Pool:
    """Make a pool of distinct short texts."""
    return Pool(
        items=tuple(Item(f"i{i}", f"prompt {i}") for i in range(judgments)),
        systems=("a", "b"),
        outputs=(tuple(f"an answer {i}" for i in range(judgments)), tuple(f"another {i}" for i in range(judgments))),
    )


TEMPLATE = shipped_template("pairwise.v1")
IN_FLIGHT = 64


def make_judge(url: str) -> ChatJudge:
    """Make the judge; the plain calls use only its request."""
    endpoint, form = Endpoint(url, "key", 60.0), form_of(TEMPLATE, "schema")
    return ChatJudge(OpenAIChat(ChatSpec("m", endpoint, price_from_text("1,1"), form)), TEMPLATE)


def make_decision_judge(url: str) -> DecisionJudge:
    """Make the judge that is a decision model."""
    template = shipped_template("pairwise-decision.v1")
    spec = ChatSpec("m", Endpoint(url, "key", 60.0), price_from_text("1,0"), questions_of(template))
    return DecisionJudge(SystemOne(replace(spec, max_output_tokens=MOST_OUTPUT)), template)


def body_of(judge: ChatJudge, pool: Pool, position: int) -> dict[str, Any]:
    """Return the request that the judge's own calls send."""
    query = pool.query(position)
    return request_of(judge, Call(query.item, query.systems, query.outputs))


def request_of(judge: ChatJudge, call: Call) -> dict[str, Any]:
    """Return the request that the judge sends about a call."""
    messages = list(zip(("system", "user"), TEMPLATE.render(call), strict=True))
    return judge.chat.request(call, messages)


async def plain(url: str, pool: Pool, in_flight: int) -> None:
    """Make SDK calls in a semaphore, and nothing else."""
    judge, semaphore = make_judge(url), asyncio.Semaphore(in_flight)
    client = openai.AsyncOpenAI(base_url=url, api_key="key", max_retries=0)

    async def ask(position: int) -> None:
        request = body_of(judge, pool, position)
        async with semaphore:
            reply = await client.chat.completions.create(**request)
        json.loads(reply.choices[0].message.content or "")

    await asyncio.gather(*map(ask, range(len(pool))))
    await client.close()


class _Client(httpx.AsyncClient):
    """A client with the method `close`, which `Clients` expects of the SDKs' clients."""

    close = httpx.AsyncClient.aclose


async def lean(url: str, pool: Pool, in_flight: int) -> None:
    """Make plain httpx calls in a semaphore, and nothing else."""
    judge, semaphore = make_judge(url), asyncio.Semaphore(in_flight)
    tls = httpx.create_ssl_context()
    clients = Clients(lambda: _Client(verify=tls))

    async def ask(position: int) -> None:
        request = body_of(judge, pool, position)
        async with semaphore:
            with clients.one() as client:
                reply = await client.post(f"{url}/chat/completions", json=request)
        json.loads(reply.json()["choices"][0]["message"]["content"])

    await asyncio.gather(*map(ask, range(len(pool))))
    await clients.aclose()


async def whole(url: str, pool: Pool, in_flight: int, make: Callable[[str], ModelJudge] = make_judge) -> None:
    """Run judgeloop, with its ledger on disk."""
    with tempfile.TemporaryDirectory() as folder:
        ledger, judge = open_ledger(Path(folder) / "ledger.sqlite"), make(url)
        everything = Limits(len(pool), len(pool))
        session = Session(
            items=len(pool),
            selector=Random(),
            estimator=Preferences(),
            rule=TieAware(0.1),
            limits=everything,
            rng=np.random.default_rng(0),
        )
        terms = Terms("run", order=Order.FIXED, budget_p=10**15, concurrency=in_flight)
        finished = await drive(session, pool, judge, ledger, terms)
        assert finished.ending.asked == len(pool)
        await judge.aclose()
        await ledger.aclose()


def seconds(way, url: str, pool: Pool, in_flight: int) -> float:  # noqa: ANN001
    """Return the wall time of one run of `lean`, `plain` or `whole`, in seconds."""
    began = time.perf_counter()
    asyncio.run(way(url, pool, in_flight))
    return time.perf_counter() - began


async def bare_decisions(url: str, pool: Pool, in_flight: int) -> None:
    """Make the SDK's calls to a decision model in a semaphore, and nothing else."""
    judge, semaphore = make_decision_judge(url), asyncio.Semaphore(in_flight)

    async def ask(position: int) -> None:
        query = pool.query(position)
        async with semaphore:
            await judge.judge(Call(query.item, query.systems, query.outputs))

    await asyncio.gather(*map(ask, range(len(pool))))
    await judge.aclose()


def decisions(url: str, pool: Pool, repeats: int) -> None:
    """Print wall and processor time of a decision model that takes 10 ms, one order a pair."""
    ways: dict[str, Callable[[], Any]] = {
        "the judge alone": lambda: bare_decisions(url, pool, IN_FLIGHT),
        "judgeloop": lambda: whole(url, pool, IN_FLIGHT, make_decision_judge),
    }
    print(f"{len(pool)} judgments, {DECISION_S * 1000:.0f} ms each, {IN_FLIGHT} in flight, median of {repeats}")
    print(f"{'':>18}{'ideal s':>10}{'wall s':>10}{'a second':>10}{'CPU ms a verdict':>18}")
    for name, way in ways.items():
        walls, processor = [], []
        for _ in range(repeats):
            wall, cpu = time.perf_counter(), time.process_time()
            asyncio.run(way())
            walls.append(time.perf_counter() - wall)
            processor.append(time.process_time() - cpu)
        wall, each = statistics.median(walls), 1000 * statistics.median(processor) / len(pool)
        print(
            f"{name:>18}{len(pool) / IN_FLIGHT * DECISION_S:>10.2f}{wall:>10.2f}{len(pool) / wall:>10.0f}{each:>18.2f}"
        )


def main() -> None:
    """Print the table."""
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--decisions", action="store_true")
    arguments = parser.parse_args()
    pool = make_pool(arguments.judgments)
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    try:
        if arguments.decisions:
            decisions(url, pool, arguments.repeats)
            return
        print(f"{arguments.judgments} judgments, {DELAY_S * 1000:.0f} ms each, median of {arguments.repeats}")
        print(
            f"{'in flight':>10}{'ideal s':>10}{'httpx s':>10}{'SDK s':>10}{'judgeloop s':>13}{'to SDK':>8}{'to httpx':>10}"
        )
        for in_flight in (IN_FLIGHT, 256):
            rounds = [
                [seconds(way, url, pool, in_flight) for way in (lean, plain, whole)] for _ in range(arguments.repeats)
            ]
            ideal = arguments.judgments / in_flight * DELAY_S
            bare, sdk, ours = (statistics.median(times) for times in zip(*rounds, strict=True))
            to_sdk = statistics.median(times[2] / times[1] for times in rounds)
            to_bare = statistics.median(times[2] / times[0] for times in rounds)
            print(f"{in_flight:>10}{ideal:>10.1f}{bare:>10.1f}{sdk:>10.1f}{ours:>13.1f}{to_sdk:>8.2f}{to_bare:>10.2f}")
    finally:
        server.kill()


if __name__ == "__main__":
    main()
