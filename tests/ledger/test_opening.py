"""A ledger is opened by an address, to book or to look; nothing else is made of a mistyped one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.core.errors import InputError
from judgeloop.ledger.opening import is_ledger, open_ledger, open_reader
from judgeloop.ledger.records import KEY_VARIABLE
from judgeloop.ledger.schema import VERSION
from judgeloop.ledger.sqlite import connect, locks_of, version_of

SCHEMES = ["mysql://host/db", "https://host/l", Path("postgresql://host/db"), "sqlite:///l"]


@pytest.mark.parametrize("address", SCHEMES)
def test_an_address_of_an_unknown_kind_is_refused_and_makes_no_folder(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    for look in (open_ledger, is_ledger, lambda given: open_reader(given).__enter__()):
        with pytest.raises(InputError, match=r"expected the path of a file or postgresql://.*, found an address"):
            look(address)
    done = CliRunner().invoke(app, ["ledger", "show", "--ledger", str(address)])
    assert done.exit_code == 2
    assert "found an address with the scheme" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_git_ignores_the_default_folder_and_no_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(".judgeloop/cache").mkdir(parents=True)  # a cache may be there before the ledger
    for address in (".judgeloop/ledger.sqlite", "own/ledger.sqlite"):
        open_ledger(address).close()
    ignored = Path(".judgeloop/.gitignore")
    assert ignored.read_text() == "*\n"
    ignored.write_text("theirs")
    open_ledger(".judgeloop/ledger.sqlite").close()
    assert ignored.read_text() == "theirs"
    assert not Path("own/.gitignore").exists()


@pytest.mark.parametrize("address", ["a b:c.sqlite", "c:/l.sqlite", ".judgeloop/x:/l"])
def test_a_path_with_a_colon_is_a_path(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    open_ledger(address).close()
    assert is_ledger(address)


def test_a_reader_makes_no_ledger_and_writes_none(tmp_path):
    path = tmp_path / "deep" / "ledger.sqlite"
    with pytest.raises(InputError, match="there is no ledger there"), open_reader(path):
        pass
    assert not path.parent.exists()
    path.parent.mkdir()
    path.touch()
    with pytest.raises(InputError, match="there is no ledger there"), open_reader(path):
        pass
    with closing(open_ledger(path)) as ledger:
        ledger.begin("run")
    with open_reader(path) as reader:
        assert [run.id for run in reader.runs()] == ["run"]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._db.execute("DELETE FROM runs")


def test_the_key_of_former_ledgers_is_refused_with_the_reason(tmp_path, monkeypatch):
    path = tmp_path / "l.sqlite"
    open_ledger(path).close()
    monkeypatch.setenv(KEY_VARIABLE, "k" * 32)
    for look in (open_ledger, lambda given: open_reader(given).__enter__()):
        with pytest.raises(InputError, match="ledger that only trusted jobs write"):
            look(path)
    done = CliRunner().invoke(app, ["ledger", "show", "--ledger", str(path)])
    assert (done.exit_code, "a ledger is signed no longer" in done.stderr) == (2, True)


def test_two_ledgers_in_one_folder_do_not_lock_each_others_runs(tmp_path):
    one, other = open_ledger(tmp_path / "a.sqlite"), open_ledger(tmp_path / "b.sqlite")
    with closing(one), closing(other), one.only_run("run"), other.only_run("run"):
        assert locks_of(tmp_path / "a.sqlite") != locks_of(tmp_path / "b.sqlite")


class Interleaved:
    """A connection; another process makes the ledger after its first statement."""

    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(path)
        self.statements = 0

    def raw(self, sql):
        rows = self.connection.execute(sql).fetchall()
        self.statements += 1
        if self.statements == 1:
            connect(self.path).close()
        return Rows(rows)


class Rows(list):
    def fetchone(self):
        return self[0]


def test_a_ledger_that_another_process_makes_meanwhile_is_no_other_programs_file(tmp_path):
    path = tmp_path / "ledger.sqlite"
    interleaved = Interleaved(path)
    assert version_of(interleaved, path) in {0, VERSION}
    assert interleaved.statements >= 1
    interleaved.connection.close()
    with closing(connect(path)) as connection:
        assert version_of(connection, path) == VERSION
