"""A ledger that two processes make at once is one ledger."""

from __future__ import annotations

import sqlite3

from support.database import opened

from judgeloop.ledger.connection import VERSION, connect, version_of


class Interleaved:
    """A connection; another process makes the ledger after its first statement."""

    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(path)
        self.statements = 0

    def execute(self, sql):
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
    with opened(path) as connection:
        assert version_of(connection, path) == VERSION
