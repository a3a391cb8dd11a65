"""Reservations of processes that died: what was never sent is free, what was sent stays charged."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.chat_server import ChatServer, goodness, verdict
from support.database import opened
from support.outputs import write_good_and_poor
from support.patience import PATIENCE_S

from judgeloop.core.errors import LedgerError
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger.merging import merge
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation
from judgeloop.ledger.upkeep import verify

ITEMS = 40
KILLS = 2
IN_FLIGHT = 4


def wanted(key, cost_p=10, **more):
    return Reservation(key, cost_p, item_id="i", judge="j", note={}, **more)


def states(path):
    with opened(path) as connection:
        return dict(connection.execute("SELECT key, state FROM attempts"))


@pytest.fixture
def died(address):
    """A ledger whose owner died with one call never sent, one sent, and one answered."""
    path = address

    async def story():
        ledger = open_ledger(path)
        groups = [[wanted(key)] for key in ("never", "sent", "answered")]
        (_,), (sent,), (answered,) = await ledger.reserve("run", groups, None)
        for ticket in (sent, answered):
            assert not (await ledger.sending(ticket)).busy
        await ledger.settle(answered, Reply(Verdict(1.0), cost_p=3))
        await ledger.aclose()

    asyncio.run(story())
    assert states(path) == {"never": "reserved", "sent": "sent", "answered": "settled"}
    return path


HALF = """
import os, signal, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("PRAGMA cache_size = 2")
file.execute("BEGIN")
file.execute("UPDATE runs SET charged_p = 7")
file.executemany("INSERT INTO judged (digest, text) VALUES (?, ?)", ((f"{n:064x}", "x" * 500) for n in range(3000)))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_half_written_is_taken_back_by_those_who_cannot_write(died, tmp_path):
    if "://" in str(died):
        pytest.skip("a server does this itself")
    for look in (lambda: verify(died), lambda: merge(tmp_path / "all.sqlite", [died])):
        subprocess.run([sys.executable, "-c", HALF, died], check=False)
        assert Path(f"{died}-journal").exists(), "the transaction was half in the file"
        look()
        assert verify(died).problems == ()
    assert states(tmp_path / "all.sqlite") == {"answered": "settled"}


@pytest.mark.anyio
async def test_what_a_dead_owner_never_sent_is_free_and_what_it_sent_is_charged(died):
    ledger = open_ledger(died)
    with ledger.only_run("run"):
        assert await ledger.recover("run") == (10, 10)
        assert await ledger.recover("run") == (0, 0)
    spend = await ledger.spend("run", None)
    await ledger.aclose()
    assert states(died) == {"sent": "abandoned", "answered": "settled"}
    assert (spend.charged_p, spend.unconfirmed_p) == (13, 10)


@pytest.mark.anyio
async def test_other_runs_and_own_reservations_are_left_alone(died):
    ledger = open_ledger(died)
    await ledger.reserve("run", [[wanted("own")]], None)
    assert await ledger.recover("another run") == (0, 0)
    await ledger.recover("run")
    await ledger.aclose()
    assert states(died)["own"] == "reserved"


@pytest.mark.anyio
async def test_a_reservation_that_was_taken_away_is_not_sent(died):
    """Were an owner wrongly taken for dead, it may not send what is no longer reserved, nor by another's number."""
    ledger, other = open_ledger(died), open_ledger(died)
    (ticket,) = (await ledger.reserve("run", [[wanted("late")]], None))[0]
    await other.recover("run")
    await other.reserve("run", [[wanted("next")]], None)
    with pytest.raises(LedgerError, match="not open"):
        await ledger.sending(ticket)
    await ledger.aclose()
    await other.aclose()


@pytest.mark.anyio
async def test_a_reply_to_who_was_taken_for_dead_is_kept_booked_and_said(died):
    ledger, other = open_ledger(died), open_ledger(died)
    (ticket,) = (await ledger.reserve("run", [[wanted("late")]], None))[0]
    await ledger.sending(ticket)
    await other.recover("run")
    assert await ledger.settle(ticket, Reply(Verdict(0.0), cost_p=4)) == Verdict(0.0)
    await ledger.aclose()
    await other.aclose()
    with opened(died) as connection:
        found = connection.execute("SELECT state, charged_p, outcome FROM attempts WHERE key='late'")
        state, charged_p, outcome = found.fetchone()
    assert (state, charged_p) == ("settled", 4)
    assert "after another process had closed the attempt" in outcome


@pytest.mark.parametrize("more", [{"cost_p": 0}, {"rehearsed": True}])
@pytest.mark.anyio
async def test_a_call_that_costs_nothing_needs_no_note(tmp_path, more):
    ledger = open_ledger(tmp_path / "l.sqlite")
    (ticket,) = (await ledger.reserve("run", [[wanted("k", **more)]], None))[0]
    await ledger.sending(ticket)
    await ledger.aclose()
    assert states(tmp_path / "l.sqlite") == {"k": "reserved"}


@pytest.fixture
def folder(tmp_path):
    write_good_and_poor(tmp_path, ITEMS)
    return tmp_path


def command(folder, server, *more):
    arguments = [sys.executable, "-m", "judgeloop", "compare", "a.jsonl", "b.jsonl", "--json"]
    arguments += ["--judge", "openai/m", "--judge-base-url", server.url, "--judge-price", "10,10"]
    arguments += ["--concurrency", str(IN_FLIGHT), *more]
    environment = os.environ | {"OPENAI_API_KEY": "sk-test", "JUDGELOOP_MIN_JUDGMENTS": str(ITEMS)}
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True)


def kill_when(child, server, requests):
    while len(server.requests) < requests and child.poll() is None:
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()


@pytest.mark.processes
def test_kills_do_not_use_up_the_budget_with_calls_that_never_left(folder):
    """Two kills, each with 4 calls in flight and more that wait: those that wait are free.

    A call is noted before its first byte leaves. A kill in between leaves a charge for a request
    that the server never saw, at most one for each call in flight.
    """
    server = ChatServer()
    server.respond = lambda request, number: verdict(goodness(request))
    try:
        for _ in range(KILLS):
            before = len(server.requests)

            def slow(request, number, before=before):
                reply = verdict(goodness(request))
                if number >= before + IN_FLIGHT:
                    time.sleep(1.0)
                return reply

            server.respond = slow
            kill_when(command(folder, server), server, before + 8)
        server.respond = lambda request, number: verdict(goodness(request))
        last = command(folder, server)
        out, err = last.communicate(timeout=PATIENCE_S)
    finally:
        server.close()
    result = json.loads(out)
    assert result["judged"] == ITEMS, err
    with opened(folder / ".judgeloop" / "ledger.sqlite") as connection:
        counts = dict(connection.execute("SELECT state, count(*) FROM attempts GROUP BY state"))
        charged, total = connection.execute(
            "SELECT (SELECT charged_p FROM runs), (SELECT sum(charged_p) FROM attempts)"
        ).fetchone()
    assert charged == total
    billed, paid = len(server.requests), counts["settled"] + counts["abandoned"]
    assert billed <= paid <= billed + KILLS * IN_FLIGHT, "every request is charged"
    assert set(counts) == {"settled", "abandoned"}, "what waited was never sent, and is not kept"


@pytest.mark.processes
def test_a_request_is_noted_before_its_first_byte_leaves(folder):
    noted = []

    def respond(request, number):
        with opened(folder / ".judgeloop" / "ledger.sqlite") as connection:
            found = connection.execute("SELECT count(*) FROM attempts WHERE state <> 'reserved'")
            noted.append(found.fetchone()[0] > number)
        return verdict(goodness(request))

    server = ChatServer(respond)
    try:
        _, err = command(folder, server, "--max-judgments", str(ITEMS)).communicate(timeout=PATIENCE_S)
    finally:
        server.close()
    assert len(noted) >= ITEMS, err
    assert all(noted)
