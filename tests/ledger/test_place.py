"""Where a ledger lies: who may write it, and on what file system."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from judgeloop.core.errors import LedgerError
from judgeloop.ledger import place
from judgeloop.ledger.opening import open_ledger, open_reader
from judgeloop.ledger.sqlite import connect

MOUNTS = """22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
23 22 0:40 / /home/me/my\\040share rw shared:2 master:1 - nfs4 server:/export rw
24 22 0:41 / /home/me rw - tmpfs tmpfs rw
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "home" / "ledger.sqlite"
    asyncio.run(open_ledger(path).aclose())
    return path


def test_a_ledger_that_anybody_may_write_is_refused(path, monkeypatch):
    path.chmod(0o666)
    with pytest.raises(LedgerError, match="can be written by every user of this machine"):
        open_ledger(path)


def test_a_ledger_of_its_own_has_no_warning(path):
    assert place.warnings_about(path) == []


def test_a_folder_that_everybody_may_write_is_warned_of(path):
    path.parent.chmod(0o777)
    assert "can be changed by every user of this machine" in place.warnings_about(path)[0]
    path.parent.chmod(0o1777)
    assert place.warnings_about(path) == [], "nobody replaces files of others in a sticky folder"


def test_a_file_that_a_group_may_write_is_warned_of(path, monkeypatch):
    path.chmod(0o660)
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_gid + 1)
    assert "can be changed by the other users of its group" in place.warnings_about(path)[0]
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_gid)
    assert all("group" not in said for said in place.warnings_about(path)), "a group of one's own"


@pytest.mark.parametrize(
    ("at", "kind"),
    [
        ("/var/x/l.sqlite", "ext4"),
        ("/home/me/l.sqlite", "tmpfs"),
        ("/home/me/my share/deep/l.sqlite", "nfs4"),
        ("/home/me/my share2/l.sqlite", "tmpfs"),
    ],
)
def test_the_file_system_is_that_of_the_longest_mount_point(tmp_path, monkeypatch, at, kind):
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mounts")
    assert place.file_system_of(Path(at)) == kind


def test_nothing_is_booked_on_a_network_file_system(tmp_path, monkeypatch):
    (tmp_path / "mounts").write_text(MOUNTS.replace("/home/me/my\\040share ", f"{tmp_path} "))
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mounts")
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\).*judgeloop ledger merge"):
        open_ledger(tmp_path / "l.sqlite")
    assert not (tmp_path / "l.sqlite").exists()


def test_a_file_system_of_the_host_is_warned_of(path, tmp_path, monkeypatch):
    (tmp_path / "mounts").write_text("22 1 8:1 / / rw,relatime - virtiofs share rw\n")
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "mounts")
    assert "file system of the host (virtiofs)" in place.warnings_about(path)[-1]
    open_ledger(path).close()


def test_an_unknown_file_system_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "none")
    assert place.file_system_of(tmp_path) is None


def test_a_ledger_keeps_its_id(path):
    ids = set()
    for _ in range(2):
        with open_reader(path) as reader:
            ids.add(reader.id)
    assert len(ids) == 1


def test_another_connection_of_this_process_does_not_drop_the_lock_of_a_transaction(path):
    """POSIX drops all locks of a process on a file once it closes the file."""
    other = (
        "import sqlite3, sys\nsqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute('BEGIN IMMEDIATE')"
    )
    with closing(connect(path)) as connection:
        connection.raw("BEGIN IMMEDIATE")
        connect(path).close()
        done = subprocess.run([sys.executable, "-c", other, str(path)], check=False, capture_output=True)
        assert b"database is locked" in done.stderr
        connection.raw("ROLLBACK")


def test_a_link_to_a_ledger_that_is_not_there_yet_makes_it_where_the_link_leads(tmp_path):
    link = tmp_path / "link.sqlite"
    link.symlink_to(tmp_path / "real.sqlite")
    connect(link).close()
    assert (tmp_path / "real.sqlite").stat().st_mode & 0o777 == 0o600
