"""A ledger of an earlier version is brought to this one in one transaction; a copy is kept."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import stat
from functools import partial

import pytest
from support.database import opened

from judgeloop.core.errors import LedgerError, NoLedgerError
from judgeloop.core.records import Verdict
from judgeloop.ledger.inspection import inspect
from judgeloop.ledger.migration import DDL_1
from judgeloop.ledger.salvage import salvage
from judgeloop.ledger.schema import APPLICATION_ID, DDL_2, VERSION
from judgeloop.ledger.seal import KEY_VARIABLE
from judgeloop.ledger.sqlite import SqliteLedger

ATTEMPTS = (
    (1, "old", "o", "k1", "i1", "j", "{}", "settled", 9, 4, 0, "verdict", None, "m", "r1", "t1", "t2"),
    (2, "old", "o", "k2", "i2", "j", "{}", "reserved", 9, 9, 0, None, None, None, None, "t1", None),
    (3, "new", "o", "k3", "i3", "j", "{}", "settled", 9, 5, 0, "verdict", None, "m", "r3", "t4", "t5"),
)  # fmt: skip
TABLES_2 = "about", "runs", "attempts", "verdicts"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with opened(path) as connection:
        for statement in DDL_1:
            connection.execute(statement)
        runs = [("old", "2026-01-01", 13), ("new", "2026-01-03", 5)]
        connection.executemany("INSERT INTO runs VALUES (?, ?, ?)", runs)
        marks = ", ".join("?" * 17)
        connection.executemany(f"INSERT INTO attempts VALUES ({marks})", ATTEMPTS)
        verdicts = [("k1", 1, 1.0, "why", "2026-01-02"), ("k3", 3, 0.5, "", "2026-01-04")]
        connection.executemany("INSERT INTO verdicts VALUES (?, ?, ?, ?, ?)", verdicts)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    return path


def migrated(path):
    async def story():
        ledger = SqliteLedger(path)
        try:
            return await ledger.verdicts(["k1", "k2", "k3"]), await ledger.spend("old", None)
        finally:
            await ledger.aclose()

    return asyncio.run(story())


def version(path):
    with opened(path) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_every_row_is_there_and_sealed(path):
    held, spend = migrated(path)
    assert held == {"k1": Verdict(1.0, "why"), "k3": Verdict(0.5)}
    assert (spend.charged_p, spend.unconfirmed_p) == (13, 9)
    assert version(path) == VERSION
    assert inspect(path).problems == ()


def test_what_a_run_saw_before_it_began_stays(path):
    migrated(path)
    with opened(path) as connection:
        assert dict(connection.execute("SELECT id, seen FROM runs")) == {"old": 0, "new": 1}
        assert dict(connection.execute("SELECT key, seq FROM verdicts")) == {"k1": 1, "k3": 2}


def test_what_was_open_counts_as_sent(path):
    """Version 1 did not note what was sent, so that it may have been billed."""
    migrated(path)

    async def story():
        ledger = SqliteLedger(path)
        assert await ledger.recover("old") == (0, 9)
        await ledger.aclose()

    asyncio.run(story())


def test_a_copy_is_kept_beside_for_its_owner_alone(path):
    before = path.read_bytes()
    migrated(path)
    copy = path.with_name("ledger.sqlite.v1")
    assert version(copy) == 1
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with opened(copy) as connection:
        assert connection.execute("SELECT count(*) FROM attempts").fetchone() == (3,)
    migrated(path)
    assert sorted(other.name for other in path.parent.glob("ledger.sqlite.v1*")) == [copy.name]
    path.write_bytes(before)
    migrated(path)
    assert path.with_name("ledger.sqlite.v1-2").exists(), "an earlier copy is not overwritten"


def test_with_a_key_its_rows_are_signed(path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "k" * 32)
    migrated(path)
    assert inspect(path).signed


def test_a_version_1_that_somebody_changed_is_refused_and_left_alone(path):
    with opened(path) as connection:
        connection.execute("CREATE TABLE more (x)")
    before = path.read_bytes()
    with pytest.raises(NoLedgerError, match="a strange table more"):
        migrated(path)
    assert path.read_bytes() == before
    assert not path.with_name("ledger.sqlite.v1").exists()


def test_when_no_copy_can_be_kept_nothing_is_changed(path, monkeypatch):
    def refuse(path, version):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("judgeloop.ledger.migration._keep_copy", refuse)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="No space left"):
        migrated(path)
    assert path.read_bytes() == before


def test_when_a_row_cannot_be_copied_nothing_is_changed(path):
    with opened(path) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE attempts SET charged_p = -1 WHERE id = 3")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="CHECK constraint failed"):
        migrated(path)
    assert path.read_bytes() == before


def test_two_processes_at_once_migrate_once(path):
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=migrated, args=(path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert len(list(path.parent.glob("ledger.sqlite.v1*"))) == 1
    assert inspect(path).problems == ()


@pytest.fixture
def second(path):
    """A ledger of version 2, with the file that it kept beside itself."""
    migrated(path)
    path.with_name("ledger.sqlite.v1").unlink()
    with opened(path) as connection:
        connection.execute("DROP TABLE segments")
        connection.execute("PRAGMA user_version = 2")
        found = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master") if sql]
    assert sorted(found) == sorted(DDL_2)
    path.with_name("ledger.sqlite.history").write_bytes(b"columns")
    return path


def test_a_ledger_of_version_2_has_every_row_as_it_was(second):
    with opened(second) as connection:
        before = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES_2]
    held, spend = migrated(second)
    assert held == {"k1": Verdict(1.0, "why"), "k3": Verdict(0.5)}
    assert (spend.charged_p, version(second)) == (13, VERSION)
    with opened(second) as connection:
        assert before == [
            connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES_2
        ]
    assert inspect(second).problems == ()


def test_of_version_2_a_copy_is_kept_and_the_file_beside_it_goes(second):
    migrated(second)
    assert sorted(entry.name for entry in second.parent.iterdir()) == [
        "ledger.sqlite",
        "ledger.sqlite.v2",
    ]
    assert version(second.with_name("ledger.sqlite.v2")) == 2


def test_with_a_link_the_file_beside_the_ledger_itself_goes(second, tmp_path):
    link = tmp_path / "elsewhere" / "link.sqlite"
    link.parent.mkdir()
    link.symlink_to(second)
    migrated(link)
    assert not second.with_name("ledger.sqlite.history").exists()


def test_a_version_2_that_somebody_changed_is_refused_and_left_alone(second):
    with opened(second) as connection:
        connection.execute("CREATE TABLE segments (x)")
    before = second.read_bytes()
    with pytest.raises(NoLedgerError, match="a strange table segments"):
        migrated(second)
    assert second.read_bytes() == before
    assert second.with_name("ledger.sqlite.history").exists()


def test_commands_that_only_look_read_version_2_and_say_so_of_version_1(second, tmp_path):
    before = second.read_bytes()
    found = inspect(second)
    assert (found.problems, found.rows["verdicts"]) == ((), 2)
    salvage(second, tmp_path / "new.sqlite")
    assert inspect(tmp_path / "new.sqlite").rows["attempts"] == 3
    assert second.read_bytes() == before
    with opened(second) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(NoLedgerError, match="expected a ledger of version 3, found version 1; the"):
        inspect(second)


def test_a_version_2_with_a_strange_index_can_be_salvaged(second, tmp_path):
    with opened(second) as connection:
        connection.execute("CREATE INDEX mine ON verdicts (score)")
    with pytest.raises(NoLedgerError, match="judgeloop ledger salvage"):
        migrated(second)
    assert any("strange index mine" in problem for problem in inspect(second).problems)
    assert salvage(second, tmp_path / "new.sqlite").copied["verdicts"] == 2


def test_a_copy_that_could_not_be_finished_is_removed(second, monkeypatch):
    class Full(sqlite3.Connection):
        def backup(self, target, **more):
            target.execute("CREATE TABLE part (x)")
            raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(
        "judgeloop.ledger.migration.sqlite3.connect", partial(sqlite3.connect, factory=Full)
    )
    with pytest.raises(LedgerError, match="disk is full"):
        migrated(second)
    assert sorted(entry.name for entry in second.parent.iterdir()) == [
        "ledger.sqlite",
        "ledger.sqlite.history",
    ]
    assert version(second) == 2
