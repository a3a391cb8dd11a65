"""A ledger's segments: they give what its rows give, or are passed over."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from support.past_verdicts import RUNS, told, write

from judgeloop.cli.app import app
from judgeloop.core.errors import DamagedLedgerError
from judgeloop.history import remembered, segments, side_by_side
from judgeloop.history.gathered import Gatherer
from judgeloop.history.packed import packed
from judgeloop.history.remembered import extend_segments, remembered_verdicts
from judgeloop.ledger.connection import connect
from judgeloop.ledger.inspection import inspect
from judgeloop.ledger.rows import SegmentRow, insert
from judgeloop.ledger.salvage import salvage
from judgeloop.ledger.seal import KEY_VARIABLE, Sealer


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Segments of 10 to 30 verdicts."""
    monkeypatch.setattr(remembered, "WORTH", 10)
    monkeypatch.setattr(segments, "LONGEST", 30)


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "ledger.sqlite"
    write(place, 1, 100)
    return place


def read(path, run=None, **more):
    return told(remembered_verdicts(path, run, begin=False, **more))


def afresh(path, run=None, **more):
    """What the ledger gives without segments."""
    alone = path.parent / "alone" / path.name
    alone.parent.mkdir(exist_ok=True)
    shutil.copy(path, alone)
    tamper(alone, "DELETE FROM segments")
    return read(alone, run, **more)


def ends(path):
    """Return the number of the last verdict of each segment."""
    with closing(sqlite3.connect(path)) as connection:
        return [end for (end,) in connection.execute("SELECT until FROM segments ORDER BY until")]


def last_read(monkeypatch):
    """Return a list of the numbers after which rows of the ledger are read."""
    after = []
    given = vars(side_by_side)["given_verdicts"]

    def noted(connection, **more):
        after.append(more["after"])
        return given(connection, **more)

    monkeypatch.setattr(side_by_side, "given_verdicts", noted)
    return after


def tamper(path, statement, *given):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, given)
        connection.commit()


def test_segments_give_what_the_rows_give_and_only_new_rows_are_read(path, monkeypatch):
    whole = read(path)
    assert len(whole[0]) == 90  # those without ingredients are left out
    after = last_read(monkeypatch)
    assert read(path) == whole
    write(path, 100, 104)
    assert read(path) == afresh(path) != whole
    assert after == [99, 99, 0]


def test_columns_are_the_same_to_the_last_number(path):
    """What is drawn from a history may depend on the order in which its texts are numbered."""
    rows, loaded = Gatherer(), None
    with closing(connect(path)) as connection:
        side_by_side.add_verdicts(connection, rows, until=remembered.EVER)
        segments.append(connection, rows, after=0, known=0)
        loaded = segments.load(connection)
    assert len(ends(path)) == 3
    assert [column.tolist() for column in loaded.columns] == [
        column.tolist() for column in rows.columns
    ]
    for (kind, _), (other, _) in zip(loaded._kinds, rows._kinds, strict=True):
        assert kind.values() == other.values()
    assert loaded.last == rows.last == 99


def test_many_new_rows_make_new_segments_behind_the_others(path, monkeypatch):
    read(path)
    before = ends(path)
    write(path, 100, 130)
    more = read(path)
    assert ends(path)[: len(before)] == before
    after = last_read(monkeypatch)
    assert read(path) == more == afresh(path)
    assert after == [129, 0]


@pytest.mark.parametrize("run", [None, RUNS[1]])
@pytest.mark.parametrize("of_runs", [(), (RUNS[0],), (RUNS[1], RUNS[2]), (RUNS[3],)])
def test_a_choice_of_runs_is_the_same_from_segments(path, run, of_runs):
    wanted = afresh(path, run, of_runs=of_runs)
    read(path)
    assert read(path, run, of_runs=of_runs) == wanted


def test_a_run_sees_what_it_first_saw_also_from_later_segments(path):
    assert len(remembered_verdicts(path, RUNS[3], begin=True)) == 90
    first = read(path, RUNS[3])
    write(path, 100, 160)
    assert len(read(path)[0]) > 90
    assert read(path, RUNS[3]) == first


def test_at_its_end_a_run_extends_the_segments_so_that_the_next_reads_no_rows(
    path, incidents, monkeypatch
):
    files = [incidents / "lead.jsonl", incidents / "central.jsonl"]
    judged = ["--items", incidents / "items.jsonl", "--judge", "metric:exact", "--ledger", path]
    done = CliRunner().invoke(app, ["compare", *map(str, [*files, *judged])])
    assert done.exit_code in {0, 3}, done.output
    after = last_read(monkeypatch)
    assert read(path) == afresh(path)
    assert after[0] > 99
    assert after[0] == ends(path)[-1]
    extend_segments(path)
    assert after == [after[0], 0], "nothing is new"


def test_a_run_that_extends_the_segments_reads_new_rows_only(path, monkeypatch):
    extend_segments(path)
    write(path, 100, 140)
    after = last_read(monkeypatch)
    extend_segments(path)
    assert after == [99]
    assert read(path) == afresh(path)
    assert ends(path)[-1] == 139


def test_verdicts_that_serve_no_history_are_not_read_again(path, monkeypatch):
    whole = read(path)
    monkeypatch.setattr(remembered, "WORTH", 1)
    write(path, 110, 111)
    after = last_read(monkeypatch)
    assert read(path) == whole
    assert read(path) == whole
    assert after == [99, 110]


def test_a_salvaged_ledger_has_its_segments(path, tmp_path):
    to = tmp_path / "new.sqlite"
    named = ["ledger", "salvage", "--ledger", str(path), "--to", str(to)]
    done = CliRunner().invoke(app, named)
    assert done.exit_code == 0, done.output
    assert ends(to)[-1] == 99
    assert read(to) == afresh(path)


def test_a_damaged_row_or_a_ledger_that_is_not_there_leaves_no_segment_and_no_error(path, tmp_path):
    tamper(path, "UPDATE verdicts SET score = 1.0 WHERE seq = 50")
    extend_segments(path)
    assert ends(path) == []
    extend_segments(tmp_path / "folder" / "none.sqlite")
    assert not (tmp_path / "folder").exists()


def test_some_runs_alone_make_no_segment(path):
    read(path, of_runs=(RUNS[0],))
    assert ends(path) == []


def test_a_small_ledger_has_no_segment(path, monkeypatch):
    monkeypatch.setattr(remembered, "WORTH", 1000)
    read(path)
    extend_segments(path)
    assert ends(path) == []


def test_a_row_that_is_damaged_after_its_segment_is_right_in_it_and_found_by_verify(path):
    whole = read(path)
    tamper(path, "UPDATE verdicts SET score = 1.0 WHERE seq = 5")
    assert read(path) == whole
    assert any("row 5 of verdicts" in problem for problem in inspect(path).problems)


def garbled(path, end):
    with closing(sqlite3.connect(path)) as connection:
        (content,) = connection.execute(
            "SELECT content FROM segments WHERE until = ?", (end,)
        ).fetchone()
    content = bytearray(content)
    content[len(content) // 2] ^= 1
    tamper(path, "UPDATE segments SET content = ? WHERE until = ?", bytes(content), end)


def emptied(path, end):
    tamper(path, "UPDATE segments SET content = x'' WHERE until = ?", end)


def moved(path, end):
    tamper(path, "UPDATE segments SET until = until - 1 WHERE until = ?", end)


def missing(path, end):
    tamper(path, "DELETE FROM segments WHERE until = ?", end)


@pytest.mark.parametrize("spoil", [garbled, emptied, moved, missing])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_what_cannot_be_believed_is_read_as_rows_and_written_anew(path, spoil, at, monkeypatch):
    whole = read(path)
    sound = ends(path)
    spoil(path, sound[at])
    if spoil is not missing:
        assert any("of segments was changed" in problem for problem in inspect(path).problems)
    after = last_read(monkeypatch)
    assert read(path) == whole
    assert after == [[0, *sound][at]], "the segments before it are used"
    assert read(path) == whole
    assert after[1:] == [99], "its place is taken by new ones"
    assert ends(path) == sound
    assert not any("segments" in problem for problem in inspect(path).problems)


@pytest.mark.parametrize(
    "head", [{"form": 0}, {"after": 1}, {"rows": 5}, {"seal": "ab"}, {"last": 98}, {"last": None}]
)
def test_a_segment_of_another_form_or_of_other_rows_is_passed_over(path, head, monkeypatch):
    whole = read(path)
    with closing(connect(path)) as connection:
        gatherer = segments.load(connection)
        connection.execute("DELETE FROM segments")
        right = segments._told(connection, 0, gatherer.last)
        content = b"".join(packed(gatherer, **(right | head)))
        insert(connection, SegmentRow(gatherer.last, content))
    after = last_read(monkeypatch)
    assert read(path) == whole
    assert after == [0]


@pytest.mark.parametrize(
    "content", [b"no columns", b"{}\n", b'{"form": 1}\n', b"[]\n", b"[" * 9000 + b"\n"]
)
def test_a_sealed_segment_that_is_none_is_passed_over(path, content, monkeypatch):
    whole = afresh(path)
    with closing(connect(path)) as connection:
        insert(connection, SegmentRow(99, content))
    after = last_read(monkeypatch)
    assert read(path) == whole
    assert after == [0]


def test_the_segments_of_another_signed_ledger_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "a key that nobody guesses")
    path, other = tmp_path / "ledger.sqlite", tmp_path / "other.sqlite"
    for place in (path, other):
        write(place, 1, 100)
    read(other)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ATTACH ? AS other", (str(other),))
        connection.execute("INSERT INTO segments SELECT * FROM other.segments")
        connection.commit()
    after = last_read(monkeypatch)
    assert read(path) == afresh(path)
    assert after[0] == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM verdicts WHERE seq = 50",
        "DELETE FROM verdicts WHERE seq = 99",
        "DELETE FROM verdicts WHERE seq > 40",
    ],
)
def test_where_rows_are_missing_segments_are_passed_over(path, statement):
    read(path)
    tamper(path, statement)
    assert read(path) == afresh(path)


@pytest.mark.parametrize("key", ["", "a key that nobody guesses"])
@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM verdicts WHERE seq BETWEEN 40 AND 60", "DELETE FROM verdicts WHERE seq > 80"],
)
def test_segments_of_rows_that_are_gone_do_not_come_true_by_later_ones(
    tmp_path, statement, key, monkeypatch
):
    """A run that extends them does not look at the older ones; the next reading does."""
    monkeypatch.setenv(KEY_VARIABLE, key)
    path = tmp_path / "ledger.sqlite"
    write(path, 1, 100)
    read(path)
    tamper(path, statement)
    with closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute("SELECT max(seq) FROM verdicts").fetchone()
    tamper(path, "DELETE FROM attempts WHERE id > ?", last)
    write(path, last + 1, last + 61)
    extend_segments(path)
    assert read(path) == afresh(path)
    assert read(path) == afresh(path)


@pytest.mark.parametrize("until", [-(2**63), 0, 2**40, 2**63 - 1])
@pytest.mark.parametrize("at", [0, 2])
def test_a_segment_whose_number_no_verdict_has_goes(path, until, at, monkeypatch):
    whole = read(path)
    sound = ends(path)
    tamper(path, "UPDATE segments SET until = ? WHERE until = ?", until, sound[at])
    assert read(path) == whole
    assert ends(path) == sound
    write(path, 100, 130)
    extend_segments(path)
    assert ends(path)[-1] == 129


def pages_of_segments(path):
    """Return the file's bytes, the size of a page, and the numbers of the segments' tree pages."""
    with closing(sqlite3.connect(path)) as connection:
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'segments'"
        ).fetchone()
    return bytearray(path.read_bytes()), size, root


@pytest.mark.parametrize("damage", range(40))
def test_damage_in_the_pages_of_segments_costs_no_row(path, damage, monkeypatch):
    """A pointer that leads to another page must not free that page."""
    whole = read(path)
    content, size, root = pages_of_segments(path)
    place = (root - 1) * size
    cell = place + int.from_bytes(content[place + 8 : place + 10], "big")
    spots = [*range(place, place + 12), *range(cell, cell + 12)]
    at = spots[damage % len(spots)]
    content[at] ^= 1 << (damage % 7)
    path.write_bytes(content)
    for _ in range(2):
        assert read(path) == whole
    extend_segments(path)
    alone = path.parent / "salvaged.sqlite"
    salvage(path, alone)
    assert read(alone) == whole


def test_a_bad_pointer_to_a_page_of_rows_frees_nothing(path, monkeypatch):
    whole = read(path)
    content, size, root = pages_of_segments(path)
    with closing(sqlite3.connect(path)) as connection:
        (rows,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'attempts'"
        ).fetchone()
    place = (root - 1) * size
    if content[place] == 5:  # an inner page, whose first cell begins with the number of a leaf
        cell = place + int.from_bytes(content[place + 12 : place + 14], "big")
        place = (int.from_bytes(content[cell : cell + 4], "big") - 1) * size
    with closing(sqlite3.connect(path)) as connection:
        lengths = connection.execute("SELECT length(content) FROM segments").fetchall()
    assert all(length > size for (length,) in lengths), "each has pages of its own"
    # The pointer to the first of them is the last four bytes of a cell.
    last = place + size
    pointer = last - 4
    assert 1 < int.from_bytes(content[pointer:last], "big") * size <= len(content)
    content[pointer:last] = rows.to_bytes(4, "big")
    path.write_bytes(content)
    assert read(path) == whole
    assert read(path) == whole
    alone = path.parent / "salvaged.sqlite"
    assert salvage(path, alone).left == {"runs": 0, "attempts": 0, "verdicts": 0}
    assert read(alone) == whole
    assert any("SQLite" in problem for problem in inspect(path).problems)


def test_a_damaged_row_of_another_run_does_not_cost_a_run_its_result(path, incidents):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        strict = "SELECT sql FROM sqlite_master WHERE name = 'attempts'"
        (sql,) = connection.execute(strict).fetchone()
        loose = sql.replace(") STRICT", ")").replace("note        TEXT NOT NULL", "note")
        change = "UPDATE sqlite_master SET sql = ? WHERE name = 'attempts'"
        connection.execute(change, (loose,))
        connection.commit()
        version = connection.execute("PRAGMA schema_version").fetchone()[0]
        connection.execute(f"PRAGMA schema_version = {version + 1}")
    tamper(path, "UPDATE attempts SET note = 5 WHERE id = 50")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(change, (sql,))
        connection.commit()
        connection.execute(f"PRAGMA schema_version = {version + 2}")
    files = [incidents / "lead.jsonl", incidents / "central.jsonl"]
    judged = ["--items", incidents / "items.jsonl", "--judge", "metric:exact", "--ledger", path]
    done = CliRunner().invoke(app, ["compare", *map(str, [*files, *judged])])
    assert done.exit_code in {0, 3}, done.output
    with pytest.raises(DamagedLedgerError, match="row 50 of the table attempts"):
        read(path)


def test_a_signed_ledger_believes_signed_segments_only(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "a key that nobody guesses")
    path = tmp_path / "ledger.sqlite"
    write(path, 1, 100)
    whole = read(path)
    last = ends(path)[-1]
    with closing(connect(path)) as connection:
        (content, seal) = connection.execute(
            "SELECT content, seal FROM segments WHERE until = ?", (last,)
        ).fetchone()
        unsigned = Sealer(connection.sealer.ledger)
    forged = content.replace(b'"a"', b'"z"')
    assert forged != content
    crc = unsigned.seal("segments", (last, forged))
    statement = "UPDATE segments SET content = ?, seal = ? WHERE until = ?"
    for forged_seal in (crc, crc + seal[-16:]):
        tamper(path, statement, forged, forged_seal, last)
        assert any("row 99 of segments" in problem for problem in inspect(path).problems)
        after = last_read(monkeypatch)
        assert read(path) == whole
        assert after == [ends(path)[-2]]


def test_a_ledger_that_cannot_be_written_is_read(path, monkeypatch):
    whole = afresh(path)

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(segments, "insert", full)
    assert read(path) == whole
    extend_segments(path)
    assert ends(path) == []


def test_what_another_process_has_appended_meanwhile_stays(path):
    read(path)
    with closing(connect(path)) as connection:
        loaded, known = segments.load(connection), segments.last_in_segments(connection)
        write(path, 100, 140)
        extend_segments(path)
        sound = ends(path)
        segments.append(connection, loaded, after=0, known=known)
    assert ends(path) == sound
    assert read(path) == afresh(path)


def test_columns_that_name_what_is_not_there_are_refused():
    gatherer = Gatherer(last=3)
    gatherer.columns[0].extend([0] * 7)
    for column in gatherer.columns[1:]:
        column.append(0)
    with pytest.raises(ValueError, match="fit"):
        gatherer.check()
    assert np.dtype(np.int32).itemsize == gatherer.columns[0].itemsize
