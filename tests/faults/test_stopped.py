"""A process that stands still keeps the replies that came meanwhile; an SDK may start slowly."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support.chat_judges import chat_judge
from support.database import opened
from support.fault_server import USED, FaultServer, Pause, whole
from support.outputs import two_files
from support.patience import PATIENCE_S
from support.pools import make_pool, make_session

from judgeloop.core.records import Order, Verdict
from judgeloop.engine.loop import drive
from judgeloop.engine.pace import RetryPolicy
from judgeloop.engine.session import Limits
from judgeloop.engine.state import Terms
from judgeloop.ledger.opening import open_ledger
from judgeloop.providers.chat import CALLS_A_POOL
from judgeloop.providers.openai import OpenAIChat
from judgeloop.providers.pricing import price_from_text

pytestmark = pytest.mark.processes

PRICE = price_from_text("1,10")
ITEMS = 8
# As in the attack (8 s, with a time-out of 5 s), in a quarter of the time.
STOPPED_S, TIMEOUT_S, REPLY_S = 2.6, 1.6, 0.6
LIMIT_S = 2.0  # enough for a call on a busy machine, and less than the slow import takes


def start(server, folder):
    environment = os.environ | {
        "JUDGELOOP_JUDGE_TIMEOUT": str(TIMEOUT_S),
        "JUDGELOOP_MIN_JUDGMENTS": str(ITEMS),
        "ANTHROPIC_API_KEY": "key-for-the-test",
        "ANTHROPIC_BASE_URL": server.url("anthropic"),
    }
    command = [sys.executable, "-m", "judgeloop", "compare", *two_files(folder, ITEMS)]
    command += ["--judge", "anthropic/m", "--judge-price", "1,10", "--order", "fixed", "--json"]
    command += ["--concurrency", str(ITEMS)]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system cannot stop a process")
def test_a_process_that_is_stopped_keeps_the_replies_that_came_meanwhile(tmp_path):
    def reply(say):
        return [Pause(REPLY_S), *whole(200, say.completion())]

    with FaultServer(reply, price=PRICE, used=USED) as server:
        process = start(server, tmp_path)
        deadline = time.monotonic() + 60
        while not server.bodies and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(process.pid, signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=PATIENCE_S)
        asked, bill_p = server.connections, server.bill_p
    assert process.returncode == 0, stderr
    result = json.loads(stdout)
    assert asked == ITEMS, "no call was made twice"
    assert round(float(result["run_spent_usd"]) * 10**12) == bill_p


def test_the_time_limit_does_not_include_the_import_of_an_sdk(tmp_path, monkeypatch):
    import openai

    slow = iter([1.5 * LIMIT_S])

    def sdk(self):
        time.sleep(next(slow, 0.0))
        return openai.AsyncOpenAI, openai.APIError

    monkeypatch.setattr(OpenAIChat, "_sdk", sdk)

    async def story(server):
        judge = chat_judge("openai", server.url("openai"), timeout_s=LIMIT_S)
        ledger = open_ledger(tmp_path / "l.sqlite")
        terms = Terms("run", order=Order.FIXED, policy=RetryPolicy(attempts=1), timeout_s=LIMIT_S, budget_p=10**14)
        limits = Limits(min_judgments=4, max_judgments=4, max_abstentions=1.0)
        try:
            return await drive(make_session(4, limits=limits), make_pool(4), judge, ledger, terms)
        finally:
            await judge.aclose()
            await ledger.aclose()

    with FaultServer(lambda say: whole(200, say.completion()), price=PRICE, used=USED) as server:
        finished = asyncio.run(story(server))
    assert [label.answer for label in finished.ending.labels] == [Verdict(1.0, "because")] * 4
    assert finished.spend.charged_p == server.bill_p


@pytest.mark.parametrize("concurrency", [4, 40])
def test_nothing_is_noted_as_sent_before_the_clients_are_made(tmp_path, monkeypatch, concurrency):
    """A process that is killed while it imports an SDK is charged nothing: nobody was asked."""
    path, noted, made = tmp_path / "l.sqlite", [], OpenAIChat._make_client

    def make(self):
        with opened(path) as connection:
            noted.append(connection.execute("SELECT count(*) FROM attempts WHERE state = 'sent'").fetchone()[0])
        return made(self)

    monkeypatch.setattr(OpenAIChat, "_make_client", make)

    async def story(server):
        judge = chat_judge("openai", server.url("openai"))
        ledger = open_ledger(path)
        terms = Terms("run", order=Order.FIXED, budget_p=10**14, concurrency=concurrency)
        limits = Limits(min_judgments=40, max_judgments=40, max_abstentions=1.0)
        try:
            return await drive(make_session(40, limits=limits), make_pool(40), judge, ledger, terms)
        finally:
            await judge.aclose()
            await ledger.aclose()

    with FaultServer(lambda say: whole(200, say.completion()), price=PRICE, used=USED) as server:
        asyncio.run(story(server))
    assert len(noted) == -(-concurrency // CALLS_A_POOL)
    assert all(sent <= clients * CALLS_A_POOL for clients, sent in enumerate(noted)), "none before its client"
