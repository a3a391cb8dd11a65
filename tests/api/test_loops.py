"""The functions work with and without an event loop, report progress, and drain when cancelled."""

from __future__ import annotations

import asyncio
import contextvars
import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from support.outputs import write_outputs

import judgeloop
from judgeloop.diagnostics.past_runs import State, past_runs

NAMED = contextvars.ContextVar("named", default="nobody")


def shorter(*, first, second):
    return "A" if len(first) < len(second) else "B" if len(first) > len(second) else "tie"


def brief(*, output):
    return 1 / len(output)


OPTIONS = {"judge": shorter, "version": "1"}


def test_each_question_can_be_awaited(rows):
    async def ask():
        compared = await judgeloop.compare_async(rows["terse"], rows["chatty"], **OPTIONS)
        searched = await judgeloop.select_async(rows, baseline="chatty", **OPTIONS)
        scored = await judgeloop.estimate_async(rows["terse"], judge=brief)
        return compared.winner, searched.winner, scored.mean

    compared, searched, mean = asyncio.run(ask())
    assert (compared, searched) == ("terse", "terse")
    assert 0 < mean < 1


def test_the_plain_call_works_in_a_running_loop_and_gives_the_same(rows):
    async def ask():
        return judgeloop.compare(rows["terse"], rows["chatty"], **OPTIONS)

    inside = asyncio.run(ask())
    outside = judgeloop.compare(rows["terse"], rows["chatty"], **OPTIONS)
    assert inside.labels == outside.labels
    assert inside.spend.attempts > outside.spend.attempts == 0


def test_the_plain_call_in_a_running_loop_keeps_the_context_of_its_caller(rows):
    seen = set()

    async def judge(*, first, second):
        seen.add(NAMED.get())
        return "A"

    async def ask():
        NAMED.set("the caller")
        return judgeloop.compare(rows["terse"], rows["chatty"], judge=judge)

    asyncio.run(ask())
    assert seen == {"the caller"}


def test_a_call_in_another_thread_sets_no_signal_handler(rows):
    found = []

    def work():
        found.append(judgeloop.compare(rows["terse"], rows["chatty"], **OPTIONS).winner)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["terse"]
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_tells_what_takes_no_call_as_it_is_known_or_identical(tmp_path):
    files = [
        write_outputs(tmp_path / f"{name}.jsonl", ["same"] * 10 + [f"{name} {n}" for n in range(30)]) for name in "ab"
    ]
    calls = []

    def judge(*, first, second):
        del second
        calls.append(first)
        return "tie"

    for limit in (20, 40):
        seen, before = [], len(calls)
        judgeloop.compare(*files, judge=judge, version="1", about="items", max_judgments=limit, progress=seen.append)
        assert seen[-1].asked == limit
        assert seen[-1].asked - seen[-1].uncalled == len(calls) - before
        assert all(one.uncalled <= one.asked for one in seen)
    assert seen[-1].uncalled > 20, "the ledger knows those of the first call"


@pytest.mark.parametrize("inside", [False, True], ids=["no loop", "running loop"])
def test_progress_is_reported_to_a_function(rows, inside):
    seen = []

    def plain():
        return judgeloop.compare(rows["terse"], rows["chatty"], **OPTIONS, progress=seen.append)

    async def ask():
        return plain()

    result = asyncio.run(ask()) if inside else plain()
    assert seen[-1].asked == result.asked
    assert [one.asked for one in seen] == sorted(one.asked for one in seen)
    assert seen[-1].estimate.risk == result.risk
    assert seen[-1].spent_usd == 0
    won = max(result.wins.values())
    assert str(seen[-1]) == f"{result.asked} asked, $0.00 spent, leads: {result.winner}, {won} to {result.judged - won}"


def test_an_error_in_the_progress_function_ends_the_run_and_is_raised(rows):
    calls = []

    def judge(*, first, second):
        calls.append(first)
        return "tie"

    def progress(_):
        raise ZeroDivisionError("in the caller's code")

    with pytest.raises(ZeroDivisionError, match="in the caller's code"):
        judgeloop.compare(rows["terse"], rows["chatty"], judge=judge, progress=progress, concurrency=1)
    assert len(calls) < len(rows["terse"])


class Gate:
    """A judge that waits until it is let through; counts the calls that began and ended."""

    def __init__(self):
        self.began, self.open, self.ended = asyncio.Event(), asyncio.Event(), 0

    async def __call__(self, *, first, second):
        self.began.set()
        await self.open.wait()
        self.ended += 1
        return "A" if len(first) < len(second) else "B"


def gated(rows, gate):
    return judgeloop.compare_async(rows["terse"], rows["chatty"], judge=gate, version="1", concurrency=2)


def test_a_cancelled_task_waits_for_the_calls_in_flight_and_keeps_their_verdicts(rows):
    async def ask():
        gate = Gate()
        task = asyncio.create_task(gated(rows, gate))
        await gate.began.wait()
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        gate.open.set()
        with pytest.raises(asyncio.CancelledError, match="the same call goes on"):
            await task
        assert task.cancelled()
        (run,) = past_runs(Path(".judgeloop/ledger.sqlite"))
        assert (run.state, run.recorded.note.exit_code) == (State.ENDED, 130)
        again = Gate()
        again.open.set()
        return gate.ended, await gated(rows, again)

    kept, result = asyncio.run(ask())
    assert 0 < kept < result.spend.attempts + kept
    assert result.spend.remembered == kept


def test_a_task_that_is_cancelled_twice_gives_up_the_calls_in_flight(rows):
    async def ask():
        gate = Gate()
        task = asyncio.create_task(gated(rows, gate))
        await gate.began.wait()
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return gate.ended

    assert asyncio.run(ask()) == 0


def test_a_timeout_around_a_call_is_a_timeout(rows):
    async def ask():
        gate = Gate()
        with suppress(TimeoutError):
            async with asyncio.timeout(None) as limit:
                task = asyncio.ensure_future(gate.began.wait())
                task.add_done_callback(lambda _: limit.reschedule(0))
                task.add_done_callback(lambda _: gate.open.set())
                await gated(rows, gate)
        return limit.expired()

    assert asyncio.run(ask())


INTERRUPTED = """
import asyncio, json, os, signal, sys, threading
import judgeloop

rows = [{"id": f"i{n}", "prompt": f"p{n}", "output": "a" * (n % 4 + 1)} for n in range(60)]
others = [{**row, "output": "aa"} for row in rows]
calls, sent = [], threading.Event()

def judge(*, first, second):
    calls.append(first)
    if len(calls) == 6:
        os.kill(os.getpid(), signal.SIGINT)
        sent.set()
    elif len(calls) > 6:
        sent.wait()
    return "tie"

def ask():
    return judgeloop.compare(rows, others, judge=judge, version="1", concurrency=1)

async def inside():
    return ask()

told = "nothing"
try:
    if sys.argv[1] == "loop":
        # A notebook's kernel has a loop and leaves Ctrl-C to Python, as asyncio.run does not.
        asyncio.new_event_loop().run_until_complete(inside())
    else:
        ask()
except KeyboardInterrupt:
    told = "KeyboardInterrupt"
first = len(calls)
print(json.dumps([told, first, ask().spend.remembered, threading.active_count()]))
"""


@pytest.mark.processes
@pytest.mark.parametrize("where", ["loop", "plain"])
def test_ctrl_c_waits_for_the_calls_in_flight_and_is_raised(where, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(INTERRUPTED, encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "ignore", program, where], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, asked, remembered, _ = json.loads(done.stdout.splitlines()[-1])
    assert told == "KeyboardInterrupt"
    assert 6 <= asked < 120
    assert remembered >= asked - 1


def test_of_what_a_run_paid_for_nothing_took_no_call_where_its_money_ends(tmp_path, chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    files = [write_outputs(tmp_path / f"{name}.jsonl", [f"{name} {n}" for n in range(150)]) for name in "ab"]
    at = {"judge": "openai/mine", "judge_base_url": chat_server.url, "judge_price": "2,8", "budget": 0.1}
    seen = []
    result = judgeloop.compare(*files, **at, min_judgments=150, progress=seen.append)
    assert (result.stop_reason, result.judged > 3) == ("budget", True)
    assert (seen[-1].asked, seen[-1].uncalled) == (result.judged, 0)
