"""Seconds and processor from the command to the decision, and calls paid for, beside the plain ways to judge two files.

    python benchmarks/speed.py [--items 805] [--turns 3] [--ms 300] [--places 64] [--peers PYTHON]

Two files of outputs are judged by a server on loopback, in a process of its own, that answers each request after so
many milliseconds. Each way is a whole process, from its start to its end. All ways take turns. The figures of a turn
are divided by those of the plain SDK in the same turn, and the table has the median. The plain ways ask about every
item in one order and keep the winners in a file, without a budget, and without a word on how sure they are. `--peers`
names a Python in which litellm and inspect_ai are installed; without it they are left out. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

LEVEL, CLEAR = "a level pair", "a gap of 0.4"
PRICE = "0.4,1.6"  # dollars for a million tokens, in and out
ASKED = 'Which answer is better? Reply with one JSON object: {"reason": …, "winner": "A", "B" or "tie"}'
TEXT = "Some words of an output that is as long as those of a chat model usually are. " * 12
ATTEMPTS = 6
JUDGELOOP: dict[str, list[str]] = {
    "judgeloop, all items, one order": ["--order", "fixed", "--max-judgments", "{items}"],
    "judgeloop, all items, both orders": ["--max-judgments", "{items}"],
    "judgeloop, by default": [],
}


class Took(NamedTuple):
    """What one process took: seconds, seconds of the processor, MiB, and calls that the server answered."""

    seconds: float
    cpu: float
    memory: float
    calls: int


def rows(folder: Path) -> list[tuple[str, str, str]]:
    """The prompts with both outputs, from the files in a folder."""
    files = [[json.loads(line) for line in (folder / f"{name}.jsonl").open(encoding="utf-8")] for name in "ab"]
    return [(one["prompt"], one["output"], other["output"]) for one, other in zip(*files, strict=True)]


def messages(prompt: str, first: str, second: str) -> list[dict[str, str]]:
    """What a judge is asked about an item."""
    content = f"Task: {prompt}\n\nAnswer A: {first}\n\nAnswer B: {second}"
    return [{"role": "system", "content": ASKED}, {"role": "user", "content": content}]


async def script(folder: Path, places: int, ask: Callable[[list[dict[str, str]]], Awaitable[str]]) -> None:
    """Ask about all items, so many at a time, and keep the winners, as a script does."""
    semaphore = asyncio.Semaphore(places)

    async def one(row: tuple[str, str, str]) -> str:
        async with semaphore:
            return str(json.loads(await ask(messages(*row)))["winner"])

    winners = await asyncio.gather(*map(one, rows(folder)))
    (folder / "winners.json").write_text(json.dumps(winners), encoding="utf-8")


async def bare(url: str, folder: Path, places: int) -> None:
    """httpx2, without retries."""
    import httpx2

    limits = httpx2.Limits(max_connections=places)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def ask(said: list[dict[str, str]]) -> str:
            reply = await client.post(f"{url}/chat/completions", json={"model": "judge", "messages": said})
            return str(reply.raise_for_status().json()["choices"][0]["message"]["content"])

        await script(folder, places, ask)


async def plain(url: str, folder: Path, places: int) -> None:
    """The SDK with tenacity."""
    import openai
    import tenacity

    async with openai.AsyncOpenAI(base_url=url, api_key="key", max_retries=0) as client:

        @tenacity.retry(
            wait=tenacity.wait_random_exponential(min=1, max=60), stop=tenacity.stop_after_attempt(ATTEMPTS)
        )
        async def ask(said: list[dict[str, str]]) -> str:
            reply = await client.chat.completions.create(model="judge", messages=said)
            return str(reply.choices[0].message.content)

        await script(folder, places, ask)


async def litellm(url: str, folder: Path, places: int) -> None:
    """The same by litellm, with its retries."""
    import litellm as library

    async def ask(said: list[dict[str, str]]) -> str:
        reply = await library.acompletion(
            model="openai/judge", api_base=url, api_key="key", messages=said, num_retries=ATTEMPTS - 1
        )
        return str(reply.choices[0].message.content)

    await script(folder, places, ask)


async def inspect_ai(url: str, folder: Path, places: int) -> None:
    """One task of inspect_ai, whose scorer reads the winner."""
    from inspect_ai import Task, dataset, eval_async, model, scorer, solver

    @scorer.scorer(metrics=[scorer.mean()])
    def winner() -> Any:
        async def score(state: Any, target: Any) -> Any:
            del target
            return scorer.Score(value=float(json.loads(state.output.completion)["winner"] == "A"))

        return score

    kinds = {"system": model.ChatMessageSystem, "user": model.ChatMessageUser}
    samples = [
        dataset.Sample([kinds[one["role"]](content=one["content"]) for one in messages(*row)]) for row in rows(folder)
    ]
    judge = model.get_model(
        "openai/judge", base_url=url, api_key="key", responses_api=False,
        config=model.GenerateConfig(max_connections=places),
    )  # fmt: skip
    task = Task(dataset.MemoryDataset(samples), solver=solver.generate(), scorer=winner())
    (log,) = await eval_async(task, model=judge, max_samples=places, log_dir=str(folder / "logs"))
    assert log.status == "success", log.error


PLAIN = {"the SDK and tenacity": plain, "httpx2, bare": bare}
PEERS = {"litellm": litellm, "inspect_ai": inspect_ai}


def command(way: str, url: str, given: argparse.Namespace) -> list[str]:
    """What is typed for a way."""
    if way in JUDGELOOP:
        asked = [one.format(items=given.items) for one in JUDGELOOP[way]]
        return [
            sys.executable, "-m", "judgeloop", "compare", "a.jsonl", "b.jsonl", "--judge", "openai/judge",
            "--judge-base-url", url, "--judge-price", PRICE, "--budget", "100",
            "--concurrency", str(given.places), "--ledger", "ledger.sqlite", "--quiet", *asked,
        ]  # fmt: skip
    python = given.peers if way in PEERS else sys.executable
    return [python, __file__, "--way", way, "--url", url, "--places", str(given.places)]


def took(way: str, pair: str, url: str, given: argparse.Namespace, ms: int) -> Took:
    """One process in a folder of its own."""
    from window import told, verdicts

    level = [float(number % 2) for number in range(given.items)]
    table = level if pair == LEVEL else verdicts(0.4, 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in (("a", "an answer"), ("b", "another")):
            lines = (
                {"id": f"i{i}", "prompt": f"prompt {i}", "output": f"{text} {i}. {TEXT}"} for i in range(given.items)
            )
            (folder / f"{file}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
        told(url, "/begin", {"table": table, "latency_s": ms / 1000})
        environment = {"PATH": os.environ["PATH"], "HOME": name, "OPENAI_API_KEY": "key"}
        # litellm asks for prices on the net when it is imported, and inspect_ai draws, unless they are told not to.
        environment |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "INSPECT_DISPLAY": "none"}
        began = time.perf_counter()
        process = subprocess.Popen(
            command(way, f"{url}/v1", given),
            cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 3}:  # 3: undecided, as a level pair is
        sys.exit(f"{way}: {said.decode()[-2000:]}")
    calls = sum(step > 0 for _, step in told(url, "/log"))
    return Took(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, calls)


def measure(given: argparse.Namespace) -> None:
    """Print a table for each latency."""
    from window import served

    own = [(way, pair) for way in JUDGELOOP for pair in ((LEVEL, CLEAR) if way.endswith("default") else (LEVEL,))]
    ways = [(way, LEVEL) for way in (*PLAIN, *(PEERS if given.peers else ()))] + own
    # The first way is what the others are measured by.
    ways = ways[:1] + [(way, pair) for way, pair in ways[1:] if given.only in f"{way}, {pair}"]
    with served() as url:
        for way, pair in ways:  # what is compiled at a first start is there
            took(way, pair, url, given, 0)
        for ms in given.ms:
            turns = [[took(way, pair, url, given, ms) for way, pair in ways] for _ in range(given.turns)]
            print(f"\n{given.items} items, {given.places} in flight, {ms} ms a call, {given.turns} turns\n")
            print("| way | calls paid for | seconds | processor | MiB |\n|---|---|---|---|---|")
            for at, (way, pair) in enumerate(ways):
                each = [turn[at] for turn in turns]
                seconds = statistics.median(
                    one.seconds / turn[0].seconds for one, turn in zip(each, turns, strict=True)
                )
                cpu = statistics.median(one.cpu / turn[0].cpu for one, turn in zip(each, turns, strict=True))
                calls, memory = statistics.median(one.calls for one in each), max(one.memory for one in each)
                named = f"{way}, {pair}" if way.endswith("default") else way
                print(f"| {named} | {calls:g} | {seconds:.2f} | {cpu:.2f} | {memory:.0f} |", flush=True)


def main() -> None:
    """Measure, or go one way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=805)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--ms", nargs="*", type=int, default=[300])
    parser.add_argument("--places", type=int, default=64)
    parser.add_argument("--peers")
    parser.add_argument("--only", default="", help="part of the name of what is measured beside the SDK")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        asyncio.run((PLAIN | PEERS)[given.way](given.url, Path(), given.places))
    else:
        measure(given)


if __name__ == "__main__":
    main()
