"""The night of a run: a part of its seed, and the time from which outputs of live systems count."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from support.chat_server import ChatServer
from support.commandline import judged_by, result_of
from support.live import generated, of_both, system_flags, write_items, write_outputs

from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Clearance, Reservation
from judgeloop.settings.values import night_began

LIVE, ITEMS = "openai/better", 12
NIGHT = date(2026, 1, 3)


@pytest.fixture
def server():
    server = ChatServer(of_both)
    yield server
    server.close()


def asked(server, night, version):
    """How many outputs a comparison of one night asks for, and its run."""
    before = len(generated(server))
    files = ["old.jsonl", LIVE, "--items", "items.jsonl", *judged_by(server)]
    flags = system_flags(server, LIVE, version=version)
    result = result_of("compare", *files, *flags, JUDGELOOP_NIGHT=str(night))
    return len(generated(server)) - before, result


@pytest.mark.parametrize("version", ["1", ""])
def test_a_night_asks_a_live_system_once_and_the_next_anew(server, version):
    """Also where only a name says what is behind it: elsewhere a finished run begins anew."""
    write_items(Path("items.jsonl"), ITEMS)
    write_outputs(Path("old.jsonl"), items=ITEMS)
    first, one = asked(server, NIGHT, version)
    again, same = asked(server, NIGHT, version)
    before, other = asked(server, NIGHT - timedelta(days=1), version)
    assert first > 0
    assert (again, same["run"]) == (0, one["run"])
    assert other["run"] != one["run"]
    assert other["seed"] != one["seed"] == int(f"{NIGHT:%Y%m%d}")
    assert before < first if version else before > 0  # outputs made after both nights began are of both


def test_a_night_begins_at_local_midnight():
    began = datetime.fromisoformat(night_began("2026-11-24"))
    assert began.tzinfo is UTC or began.utcoffset() == timedelta(0)
    assert began.astimezone().date() == date(2026, 11, 24)
    assert (began.astimezone().hour, began.astimezone().minute) == (0, 0)


def test_runs_of_one_process_do_not_make_the_same_call_at_once(tmp_path):
    """The pairs of a suite share one open ledger: the second waits for the answer of the first."""

    async def story():
        ledger = open_ledger(tmp_path / "ledger.sqlite")
        call = [[Reservation("same", 10, "item", "judge", {})]]
        with ledger.only_run("a"), ledger.only_run("b"):
            (((first,),), ((second,),)) = [await ledger.reserve(run, call, 100) for run in "ab"]
            assert await ledger.sending(first) == Clearance()
            assert (await ledger.sending(second)).busy == "a"
            await ledger.settle(first, Reply(Verdict(1.0), cost_p=4))
            assert (await ledger.sending(second)).known == Verdict(1.0)
        await ledger.aclose()

    asyncio.run(story())
