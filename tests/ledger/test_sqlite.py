"""What only a file can promise: durability, several processes, and refusing what is no ledger."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sqlite3
import stat
import subprocess
import sys

import pytest
from support.commandline import judgeloop
from support.database import opened

from judgeloop.core.errors import LedgerError, NoLedgerError
from judgeloop.core.records import Reply, Verdict
from judgeloop.ledger import sqlite
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation
from judgeloop.ledger.sqlite import SqliteConnection


def wanted(key, cost_p):
    return Reservation(key, cost_p, item_id="i", judge="j", note={})


def spend_all_that_fits(path, name):
    async def story():
        ledger = open_ledger(path)
        bought = 0
        while granted := await ledger.reserve("run", [[wanted(f"{name}-{bought}", 7)]], 1000):
            await ledger.settle(granted[0][0], Reply(Verdict(1.0), cost_p=5))
            bought += 1
        await ledger.aclose()

    asyncio.run(story())


@pytest.mark.smoke
@pytest.mark.anyio
async def test_a_verdict_and_its_cost_are_there_when_the_file_is_opened_again(tmp_path):
    path = tmp_path / "ledger.sqlite"

    ledger = open_ledger(path)
    granted = await ledger.reserve("run", [[wanted("k", 9)]], None)
    await ledger.settle(granted[0][0], Reply(Verdict(0.0, "why"), cost_p=4))
    await ledger.aclose()
    ledger = open_ledger(path)
    held, spend = await ledger.verdicts(["k"]), await ledger.spend("run", None)
    await ledger.aclose()
    assert held == {"k": Verdict(0.0, "why")}
    assert (spend.now_p, spend.run_p, spend.attempts) == (0, 4, 0)


@pytest.mark.processes
def test_several_processes_together_keep_one_budget(tmp_path):
    path = tmp_path / "ledger.sqlite"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=spend_all_that_fits, args=(path, name)) for name in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    with opened(path) as connection:
        total, kept = connection.execute(
            "SELECT (SELECT sum(charged_p) FROM attempts), (SELECT charged_p FROM runs)"
        ).fetchone()
        verdicts = connection.execute("SELECT count(*) FROM verdicts").fetchone()[0]
    assert total == kept == 5 * verdicts
    assert 1000 - 7 < kept <= 1000, "all that fits was spent, and not more"


CHILD = """
import asyncio, sys
from judgeloop.ledger.opening import open_ledger
from judgeloop.ledger.records import Reservation
from judgeloop.core.records import Reply, Verdict

async def story():
    ledger = open_ledger(sys.argv[1])
    for number in range(10_000):
        wanted = Reservation(f"k{number}", 7, item_id="i", judge="j", note={})
        granted = await ledger.reserve("run", [[wanted]], None)
        print("reserved", number, flush=True)
        await ledger.settle(granted[0][0], Reply(Verdict(1.0), cost_p=5))
        print("settled", number, flush=True)

asyncio.run(story())
"""


@pytest.mark.parametrize("after", [1, 2, 7])
def test_a_killed_process_loses_no_verdict_it_had_and_leaves_open_attempts_charged(tmp_path, after):
    path = tmp_path / "ledger.sqlite"
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    lines = [child.stdout.readline() for _ in range(after)]
    os.kill(child.pid, signal.SIGKILL)
    lines += child.stdout.readlines()
    child.stdout.close()
    child.wait()
    settled = {line.split()[1] for line in lines if line.startswith("settled")}

    async def look():
        ledger = open_ledger(path)
        held = await ledger.verdicts([f"k{number}" for number in range(10_000)])
        spend = await ledger.spend("run", None)
        await ledger.aclose()
        return held, spend

    held, spend = asyncio.run(look())
    assert {f"k{number}" for number in settled} <= held.keys()
    assert spend.charged_p >= 5 * len(held)
    assert (spend.charged_p - 5 * len(held)) in {0, 7}, "at most the one in flight, at its worst case"


def test_the_file_and_its_folder_are_for_their_owner_alone(tmp_path):
    path = tmp_path / "own" / "ledger.sqlite"
    asyncio.run(open_ledger(path).aclose())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_text("not a database, and long enough to be looked at " * 40)
    before = path.read_bytes()
    with pytest.raises(NoLedgerError, match="is not a ledger, nor any SQLite database; name another"):
        open_ledger(path)
    assert path.read_bytes() == before


def test_somebody_elses_database_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.sqlite"
    with opened(path) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(NoLedgerError, match="not a judgeloop ledger"):
        open_ledger(path)


def test_a_ledger_of_another_version_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    asyncio.run(open_ledger(path).aclose())
    with opened(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(NoLedgerError, match=r"of a later judgeloop \(version 99\)"):
        open_ledger(path)


def test_a_ledger_of_the_version_before_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with opened(path) as connection:
        connection.execute("CREATE TABLE verdicts (key TEXT)")
        connection.execute(f"PRAGMA application_id = {sqlite.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    before = path.read_bytes()
    with pytest.raises(NoLedgerError, match=r"earlier judgeloop \(version 1\), whose verdicts and spending this one"):
        open_ledger(path)
    done = judgeloop("ledger", "show", "--ledger", path)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be opened"):
        open_ledger(tmp_path / "file" / "ledger.sqlite")


@pytest.mark.smoke
@pytest.mark.anyio
async def test_when_the_disk_refuses_nothing_is_granted(tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger = open_ledger(path)
    await ledger.reserve("run", [[wanted("a", 1)]], None)
    with opened(path) as other:
        other.execute("DROP TABLE attempts")
    with pytest.raises(LedgerError, match="could not be written"):
        await ledger.reserve("run", [[wanted("b", 1)]], None)
    await ledger.aclose()


@pytest.mark.anyio
async def test_an_error_says_why_a_commit_failed(tmp_path, monkeypatch):
    class Full(SqliteConnection):
        full = False

        def raw(self, sql, *given):
            if self.full and sql == "COMMIT":
                super().raw("ROLLBACK")  # as SQLite does by itself where the disk is full
                raise sqlite3.OperationalError("database or disk is full")
            return super().raw(sql, *given)

    monkeypatch.setattr(sqlite, "SqliteConnection", Full)

    ledger = open_ledger(tmp_path / "ledger.sqlite")
    monkeypatch.setattr(Full, "full", True)
    with pytest.raises(LedgerError, match="database or disk is full"):
        await ledger.reserve("run", [[wanted("b", 1)]], None)
    monkeypatch.setattr(Full, "full", False)
    assert await ledger.reserve("run", [[wanted("b", 1)]], None) != []
    await ledger.aclose()
    monkeypatch.setattr(Full, "full", True)
    with pytest.raises(LedgerError, match="database or disk is full"):
        sqlite.connect(tmp_path / "another.sqlite")


@pytest.mark.anyio
async def test_a_reader_waits_while_another_process_writes(tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger = open_ledger(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    waiting = asyncio.create_task(ledger.verdicts(["k"]))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    assert await waiting == {}
    await ledger.aclose()
