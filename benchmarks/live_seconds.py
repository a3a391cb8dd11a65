r"""How long a decision takes when systems answer live, against generating all outputs first.

    python benchmarks/live_seconds.py DATA [--pairs 3] [--items 805] [--ratio 0.3] [--inspect PYTHON]
        [--promptfoo COMMAND]

DATA holds `alpacaeval`. For each pair of systems a server on loopback (`recorded_server.py`) answers
with the recorded outputs and verdicts, and keeps the bill. A call to the judge takes `--ratio` times as
long as an output on average. All ways have 8 calls in flight. Those that generate or judge everything
are plain calls of the OpenAI SDK in a semaphore, judging by judgeloop's prompt; `compare` and `live` are
judgeloop as users call it.

With `--inspect`, a Python that has inspect_ai, `live_inspect.py` does the same as an inspect task:
both systems answer every item, and the judge is asked in both orders. With `--promptfoo`, the
command of promptfoo (such as `node …/promptfoo/dist/src/entrypoint.js`), both systems are its
providers, and `select-best` asks the judge once for each item.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
from bill import texts_of
from live import DOLLARS
from one_order import recorded
from recorded_server import JUDGE, USUAL_RATIO
from throughput import make_judge, request_of

import judgeloop
from judgeloop.core.records import Call, Item

IN_FLIGHT = 8
PRICE = ",".join(f"{dollars:g}" for dollars in DOLLARS)
WAYS = "all, one call", "all, both orders", "all, then compare", "live"


class Runs:
    """The ways to compare one pair of systems, at one server."""

    def __init__(self, url: str, pair: tuple[str, str], items: list[dict[str, str]], folder: Path) -> None:
        """`items` hold an id and a prompt each; files are written into `folder`."""
        self.url, self.pair, self.items, self.folder = url, pair, items, folder
        self.outputs: dict[str, list[str]] = {}
        _write(folder / "items.jsonl", items)

    async def _all(self, requests: list[dict[str, Any]]) -> list[str]:
        """Send requests, so many at a time; return the texts."""
        semaphore = asyncio.Semaphore(IN_FLIGHT)
        client = openai.AsyncOpenAI(base_url=self.url, api_key="key", max_retries=0)

        async def one(request: dict[str, Any]) -> str:
            async with semaphore:
                reply = await client.chat.completions.create(**request)
                return reply.choices[0].message.content or ""

        async with client:
            return await asyncio.gather(*map(one, requests))

    def generate(self) -> None:
        """Generate all outputs, and write them."""

        async def both() -> None:
            for name in self.pair:
                asked = [
                    {"model": name, "messages": [{"role": "user", "content": item["prompt"]}]} for item in self.items
                ]
                self.outputs[name] = await self._all(asked)

        asyncio.run(both())
        for name in self.pair:
            rows = zip(self.items, self.outputs[name], strict=True)
            _write(self.folder / f"{name}.jsonl", [{"id": item["id"], "output": text} for item, text in rows])

    def judge_all(self, orders: int) -> None:
        """Ask the judge about every item, in one order or in both."""
        judge = make_judge(self.url)
        requests = []
        for number, order in itertools.product(range(len(self.items)), (1, -1)[:orders]):
            item = self.items[number]
            texts = tuple(self.outputs[name][number] for name in self.pair[::order])
            if len(set(texts)) > 1 and all(text.strip() for text in texts):
                call = Call(Item(item["id"], item["prompt"]), self.pair[::order], texts)
                requests.append(request_of(judge, call) | {"model": JUDGE})
        asyncio.run(self._all(requests))

    def compare(self, *, live: bool) -> None:
        """Compare the files, or the systems as they answer."""
        names = [f"openai/{name}" if live else str(self.folder / f"{name}.jsonl") for name in self.pair]
        options = [f"{name}.{key}" for name in names for key in (f"base-url={self.url}", f"price={PRICE}", "version=1")]
        result = judgeloop.compare(
            *names, items=str(self.folder / "items.jsonl"), judge=f"openai/{JUDGE}", judge_base_url=self.url,
            judge_price=PRICE, budget=None, concurrency=IN_FLIGHT, about="items", system=options if live else (),
            ledger=str(self.folder / f"{live}.sqlite"),
        )  # fmt: skip
        print(f"  {str(result).partition(chr(10))[0]}", file=sys.stderr, flush=True)

    def inspect(self, python: str) -> None:
        """Do it as a task of inspect_ai."""
        task = f"{Path(__file__).with_name('live_inspect.py')}@preferred"
        arguments = [
            "-T",
            f"items={self.folder / 'items.jsonl'}",
            "-T",
            f"first={self.pair[0]}",
            "-T",
            f"second={self.pair[1]}",
        ]
        command = [python, "-m", "inspect_ai", "eval", task, *arguments, "--model", f"openai/{self.pair[0]}",
                   "--max-connections", str(IN_FLIGHT), "--max-samples", str(2 * IN_FLIGHT), "--display", "none",
                   "--log-dir", str(self.folder)]  # fmt: skip
        self._outside(command)

    def promptfoo(self, command: str) -> None:
        """Do it with promptfoo's select-best."""
        at = {"config": {"apiBaseUrl": self.url, "apiKey": "key"}}
        best = {"type": "select-best", "value": "follows the instruction better",
                "provider": {"id": f"openai:chat:{JUDGE}", **at}}  # fmt: skip
        tests = [
            {"vars": {"prompt": f"{{% raw %}}{item['prompt']}{{% endraw %}}"}, "assert": [best]} for item in self.items
        ]
        config = {
            "prompts": ["{{prompt}}"],
            "providers": [{"id": f"openai:chat:{name}", **at} for name in self.pair],
            "tests": tests,
        }
        path = self.folder / "promptfooconfig.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        self._outside([*shlex.split(command), "eval", "-c", str(path), "-j", str(IN_FLIGHT), "--no-cache", "--no-write",
                       "--no-progress-bar", "--no-table"])  # fmt: skip

    def _outside(self, command: list[str]) -> None:
        own = {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "key", "HOME": str(self.folder),
               "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}  # fmt: skip
        done = subprocess.run(
            command, cwd=self.folder, env=os.environ | own, capture_output=True, text=True, check=False, timeout=1200
        )
        print("  " + (done.stdout + done.stderr)[-600:].replace("\n", "\n  "), file=sys.stderr, flush=True)


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@contextmanager
def served(data: Path, pair: tuple[str, str], ratio: float) -> Iterator[str]:
    """Serve a pair of systems; yields the address."""
    command = [sys.executable, str(Path(__file__).with_name("recorded_server.py")), str(data), *pair, str(ratio)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()
        server.wait()


Measured = tuple[float, int, int, float]  # seconds, outputs, calls to the judge, dollars


def measured(runs: Runs, way: Callable[[], None]) -> Measured:
    """Return what a way took, by its clock and by the server's bill."""
    began = time.perf_counter()
    way()
    seconds = time.perf_counter() - began
    bill = httpx.get(runs.url.removesuffix("/v1") + "/bill").json()
    if lost := bill["requests"].pop("lost", 0):
        print(f"  {lost} times the judge could not tell what it is shown", file=sys.stderr)
    calls = bill["requests"].pop(JUDGE, 0)
    return seconds, sum(bill["requests"].values()), calls, sum(bill["usd"].values())


def of_pair(runs: Runs, given: argparse.Namespace) -> dict[str, Measured]:
    """Return what each way took for one pair."""
    generating = measured(runs, runs.generate)
    once, twice = (measured(runs, lambda orders=orders: runs.judge_all(orders)) for orders in (1, 2))
    compared = measured(runs, lambda: runs.compare(live=False))
    whole = [
        (generating[0] + more[0], generating[1], more[2], generating[3] + more[3]) for more in (once, twice, compared)
    ]
    found = dict(zip(WAYS, [*whole, measured(runs, lambda: runs.compare(live=True))], strict=True))
    if given.inspect:
        found["inspect_ai, both orders"] = measured(runs, lambda: runs.inspect(given.inspect))
    if given.promptfoo:
        found["promptfoo, select-best"] = measured(runs, lambda: runs.promptfoo(given.promptfoo))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first pair")
    parser.add_argument("--items", type=int, help="most items of a pair")
    parser.add_argument("--ratio", type=float, default=USUAL_RATIO, help="seconds of judge and output")
    parser.add_argument("--inspect", default="", help="a Python that has inspect_ai")
    parser.add_argument("--promptfoo", default="", help="the command of promptfoo")
    given = parser.parse_args()
    folder = given.data / "alpacaeval"
    prompts, _ = texts_of(folder)
    rows = itertools.islice(
        recorded(folder / "verdicts-gpt4.csv.gz", 0.0, given.first + given.pairs), given.first, None
    )
    found = []
    for one, other, ids, _ in rows:
        items = [{"id": each, "prompt": prompts[each]} for each in ids[: given.items]]
        with tempfile.TemporaryDirectory() as place, served(given.data, (one, other), given.ratio) as url:
            found.append(of_pair(Runs(url, (one, other), items, Path(place)), given))
        print(f"  {one}, {other}: {found[-1]}", file=sys.stderr, flush=True)
    print(
        f"{len(found)} pairs, {IN_FLIGHT} calls in flight, means\n\n| way | outputs | calls | seconds | dollars |\n|---|---|---|---|---|"
    )
    for way in found[0]:
        seconds, outputs, calls, usd = (
            statistics.mean(column) for column in zip(*(each[way] for each in found), strict=True)
        )
        print(f"| {way} | {outputs:,.0f} | {calls:,.0f} | {seconds:,.0f} | ${usd:.2f} |")


if __name__ == "__main__":
    main()
