"""What limits of output tokens do to a judge that thinks: abstentions, bill and overspend.

    python benchmarks/thinking.py [--items 200] [--most 8000]

A server on loopback thinks 0 to MOST tokens, the same for the same request, before it answers. It
cuts a reply at the limit that the request names, and keeps the true bill. Each row is a run over
all items in both orders, the last one under a budget that does not pay for all. An abstention is an
item without a verdict; overspend is what the true bill exceeds the budget by.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from judgeloop.core.money import PICO_PER_DOLLAR, cost, show_usd, to_pico
from judgeloop.core.outcomes import Finished
from judgeloop.core.records import Item, Pool, Usage
from judgeloop.engine.loop import drive
from judgeloop.engine.session import Limits, Session
from judgeloop.engine.state import Terms
from judgeloop.judges.base import JudgeOptions
from judgeloop.judges.catalogue import judge_from_spec
from judgeloop.judges.prompt import shipped_template
from judgeloop.ledger.opening import open_ledger
from judgeloop.methods.estimators.preferences import Preferences
from judgeloop.methods.selectors.random import Random
from judgeloop.papers.diffuse.rules import TieAware
from judgeloop.providers.pricing import Metered, price_from_text

PRICE = "1.10,4.40"
ANSWER_TOKENS = 60
MODEL = "openai/o4-mini"
# The settings of each row, and its budget.
ROWS: dict[str, tuple[dict[str, Any], str]] = {
    "limit 512, as before": ({"max_output_tokens": 512}, "20"),
    "limit 4,096": ({"max_output_tokens": 4096}, "20"),
    "default": ({}, "20"),
    "default, little money": ({}, "2"),
}


class Thinker:
    """The server; `bill_p` is the true bill in picodollars."""

    def __init__(self, most: int) -> None:
        """Think at most `most` tokens."""
        self._most = most
        self._price = price_from_text(PRICE)
        self._lock = threading.Lock()
        self.bill_p = 0
        self.calls = 0
        thinker = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = json.dumps(thinker.reply(json.loads(body))).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *said: Any) -> None:
                del said

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the chat completion for `request`, and put it on the bill."""
        text = request["messages"][-1]["content"]
        seed = zlib.crc32(text.split("\n", 1)[1].rsplit("\n", 1)[0].encode())
        thoughts = int(np.random.default_rng(seed).integers(0, self._most, endpoint=True))
        limit = request.get("max_completion_tokens") or request["max_tokens"]
        written, cut = min(thoughts + ANSWER_TOKENS, limit), thoughts + ANSWER_TOKENS > limit
        sent = sum(len(message["content"]) for message in request["messages"]) // 4
        with self._lock:
            self.bill_p += cost(Usage(sent, written), self._price)
            self.calls += 1
        said = json.dumps({"reason": "because", "winner": "tie" if seed % 3 == 0 else "A"})
        return {
            "model": "o4-mini",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "length" if cut else "stop",
                    "message": {"role": "assistant", "content": None if cut else said},
                }
            ],
            "usage": {
                "prompt_tokens": sent,
                "completion_tokens": written,
                "total_tokens": sent + written,
                "completion_tokens_details": {"reasoning_tokens": min(thoughts, limit)},
            },
        }


def pool_of(items: range) -> Pool:
    """Return two systems' answers to questions of these numbers."""
    return Pool(
        items=tuple(Item(f"i{n}", f"Question {n}: " + "why is that so? " * 20) for n in items),
        systems=("a", "b"),
        outputs=tuple(tuple(f"Answer {n} of {s}. " * 30 for n in items) for s in "ab"),
    )


async def run(
    thinker: Thinker, items: range, budget: str, *, ledger_file: Path, name: str = "run", **settings: Any
) -> Finished[Any]:
    """Judge all items, or as many as the budget pays for, as the run `name` of the ledger."""
    session = Session(
        selector=Random(),
        estimator=Preferences(),
        rule=TieAware(1e-300),
        items=len(items),
        rng=np.random.default_rng(1),
        limits=Limits(len(items), len(items), max_abstentions=1.0),
    )
    template = shipped_template("pairwise.v1")
    options = JudgeOptions(template=template, base_url=thinker.url, price=PRICE, **settings)
    judge, ledger = judge_from_spec(MODEL, options), open_ledger(ledger_file)
    try:
        if isinstance(judge, Metered):
            judge.learn_lengths(await ledger.reply_lengths(judge.identity))
        terms = Terms(name, budget_p=to_pico(budget), max_item_bytes=None)
        return await drive(session, pool_of(items), judge, ledger, terms)
    finally:
        await judge.aclose()
        await ledger.aclose()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--most", type=int, default=8000)
    given = parser.parse_args()
    print("| setting | items asked | abstentions | thoughts | booked | true bill | budget | overspend |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (settings, budget) in ROWS.items():
        thinker = Thinker(given.most)
        with tempfile.TemporaryDirectory() as folder:
            ledger_file = Path(folder) / "ledger.sqlite"
            items = range(given.items)
            judging = run(thinker, items, budget, ledger_file=ledger_file, **settings)
            finished = asyncio.run(judging)
        thinker.server.shutdown()
        spend, tally = finished.spend, finished.ending.estimate.tally
        over_p = max(0, thinker.bill_p - to_pico(budget))
        print(
            f"| {name} | {finished.ending.asked} | {tally.abstentions} "
            f"({tally.abstentions / max(1, finished.ending.asked):.1%}) | {spend.thought_tokens:,} | "
            f"{show_usd(spend.run_p)} | {show_usd(thinker.bill_p)} | ${int(to_pico(budget)) // PICO_PER_DOLLAR} | "
            f"{show_usd(over_p)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
