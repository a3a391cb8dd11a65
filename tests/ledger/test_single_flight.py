"""Two questions at once pay for one verdict once, and locks belong to the file, not to its link."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter

import pytest
from support.chat_server import ChatServer, goodness, verdict
from support.database import opened
from support.outputs import write_good_and_poor
from support.patience import PATIENCE_S

from judgeloop.core.errors import LedgerError
from judgeloop.core.records import Abstention, Reply, Verdict
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.postgres import PostgresConnection
from judgeloop.ledger.records import End, Reservation
from judgeloop.ledger.sqlite import locks_of

ITEMS = 40


def wanted(**more):
    return Reservation("k", 10, item_id="i", judge="j", note={}, **more)


async def ticket_of(ledger, run, **more):
    return (await ledger.reserve(run, [[wanted(**more)]], None))[0][0]


@pytest.fixture
async def two(anyio_backend, address):
    """One ledger, opened twice, each with a ticket of its own run for the same call."""
    one, other = open_ledger(address), open_ledger(address)
    with one.only_run("one"), other.only_run("other"):
        yield one, await ticket_of(one, "one"), other, await ticket_of(other, "other")
    await one.aclose()
    await other.aclose()


@pytest.mark.anyio
async def test_a_call_that_another_run_makes_is_waited_for_and_its_verdict_taken(two):
    one, first, other, second = two
    assert await one.sending(first) == await one.sending(first)
    assert (await other.sending(second)).busy == "one"
    await one.settle(first, Reply(Verdict(1.0), cost_p=4))
    assert (await other.sending(second)).known == Verdict(1.0)
    assert (await other.spend("other", None)).charged_p == 0
    with pytest.raises(LedgerError, match="not open"):
        await other.sending(second)


@pytest.mark.anyio
@pytest.mark.parametrize("way", ["settle", "release", "abandon"])
async def test_when_the_other_call_brings_no_verdict_this_one_is_sent(two, way):
    one, first, other, second = two
    await one.sending(first)
    told = [Reply(Abstention("refused"), cost_p=4)] if way == "settle" else [End.FAILED, "why"]
    await getattr(one, way)(first, *told)
    cleared = await other.sending(second)
    assert (cleared.known, cleared.busy) == (None, "")


@pytest.mark.anyio
async def test_a_call_of_a_process_that_died_is_not_waited_for(address, monkeypatch):
    monkeypatch.setattr(PostgresConnection, "grace_s", 0.0)
    one, other = open_ledger(address), open_ledger(address)
    await one.sending(await ticket_of(one, "one"))  # without the lock of its run
    assert not (await other.sending(await ticket_of(other, "other"))).busy
    await one.aclose()
    await other.aclose()


def test_locks_follow_the_file_that_a_link_names(tmp_path):
    for name in ("real", "linked"):
        (tmp_path / name).mkdir()
    asyncio.run(open_ledger(tmp_path / "real" / "l.sqlite").aclose())
    (tmp_path / "linked" / "l.sqlite").symlink_to(tmp_path / "real" / "l.sqlite")
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    ledger = open_ledger(tmp_path / "real" / "l.sqlite")
    with ledger.only_run("run"):
        for way in ("linked", "folder"):
            other = open_ledger(tmp_path / way / "l.sqlite")
            with pytest.raises(LedgerError, match="another judgeloop process"), other.only_run("run"):
                pass
            asyncio.run(other.aclose())
    asyncio.run(ledger.aclose())


def test_who_is_refused_a_run_leaves_no_run_behind(address):
    one, other = open_ledger(address), open_ledger(address)
    with one.only_run("night"):
        with pytest.raises(LedgerError, match="night"), other.only_run("night"):
            pass
        with open_reader(address) as reader:
            assert reader.runs() == []
    for ledger in (one, other):
        asyncio.run(ledger.aclose())


@pytest.mark.anyio
@pytest.mark.parametrize("made_again", [False, True])
async def test_a_process_whose_lock_is_removed_sends_nothing_more(two, address, made_again):
    if isinstance(address, str):
        pytest.skip("a server's locks are no files")
    one, first, other, second = two
    lock = locks_of(address) / "one"
    lock.unlink()
    if made_again:
        lock.touch()
    with pytest.raises(LedgerError, match="was removed while it went on"):
        await one.sending(first)
    assert (await other.sending(second)).known is None


@pytest.mark.processes
def test_two_questions_at_once_ask_for_each_verdict_once(tmp_path):
    """Different runs on the same items: what both need is paid for by one of them."""
    write_good_and_poor(tmp_path, ITEMS)

    def respond(request, number):
        time.sleep(0.05)
        return verdict(goodness(request))

    server = ChatServer(respond)
    base = [sys.executable, "-m", "judgeloop", "compare", "a.jsonl", "b.jsonl", "--json"]
    base += ["--judge", "openai/m", "--judge-base-url", server.url, "--judge-price", "10,10"]
    base += ["--concurrency", "8"]
    environment = os.environ | {"OPENAI_API_KEY": "sk-test", "JUDGELOOP_MIN_JUDGMENTS": str(ITEMS)}
    how = {"cwd": tmp_path, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        both = [subprocess.Popen([*base, "--risk", risk], text=True, **how) for risk in ("0.1", "0.2")]
        results = [child.communicate(timeout=PATIENCE_S) for child in both]
    finally:
        server.close()
    judged = [json.loads(out)["judged"] for out, _ in results]
    assert judged == [ITEMS, ITEMS], [err for _, err in results]
    asked = Counter(json.dumps(request["messages"][-1]["content"][-400:]) for request in server.requests)
    assert sum(asked.values()) == 2 * ITEMS, "each item in both orders, once"
    with opened(tmp_path / ".judgeloop" / "ledger.sqlite") as connection:
        paid = connection.execute("SELECT count(*) FROM attempts WHERE charged_p > 0").fetchone()
    assert paid == (2 * ITEMS,)
