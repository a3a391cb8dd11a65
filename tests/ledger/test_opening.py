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

SCHEMES = ["postgresql://host/db", "https://host/l", Path("postgresql://host/db"), "sqlite:///l"]


@pytest.mark.parametrize("address", SCHEMES)
def test_an_address_of_an_unknown_kind_is_refused_and_makes_no_folder(
    tmp_path, monkeypatch, address
):
    monkeypatch.chdir(tmp_path)
    for look in (open_ledger, is_ledger, lambda given: open_reader(given).__enter__()):
        with pytest.raises(InputError, match=r"expected the path of a file, found an address"):
            look(address)
    done = CliRunner().invoke(app, ["ledger", "show", "--ledger", str(address)])
    assert done.exit_code == 2
    assert "found an address with the scheme" in done.stderr
    assert list(tmp_path.iterdir()) == []


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
            reader._connection.execute("DELETE FROM runs")  # type: ignore[attr-defined]


def test_two_ledgers_in_one_folder_do_not_lock_each_others_runs(tmp_path):
    one, other = open_ledger(tmp_path / "a.sqlite"), open_ledger(tmp_path / "b.sqlite")
    with closing(one), closing(other), one.only_run("run"), other.only_run("run") as locked:
        assert locked
