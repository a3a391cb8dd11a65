"""The copy of what a ledger remembers: it gives what the ledger gives, or is passed over."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from support.past_verdicts import RUNS, told, write

from judgeloop.cli.app import app
from judgeloop.history import copied, remembered, side_by_side
from judgeloop.history.remembered import keep_copy, remembered_verdicts
from judgeloop.ledger.connection import connect
from judgeloop.ledger.inspection import inspect
from judgeloop.ledger.seal import KEY_VARIABLE


@pytest.fixture(autouse=True)
def worth(monkeypatch):
    monkeypatch.setattr(remembered, "WORTH", 10)


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "ledger.sqlite"
    write(place, 1, 100)
    return place


def read(path, run=None, **more):
    return told(remembered_verdicts(path, run, begin=False, **more))


def afresh(path, run=None, **more):
    """What the ledger gives without a copy."""
    alone = path.parent / "alone" / path.name
    alone.parent.mkdir(exist_ok=True)
    shutil.copy(path, alone)
    copied.copy_of(alone).unlink(missing_ok=True)
    return read(alone, run, **more)


def last_read(monkeypatch):
    """Return a list of the numbers after which rows of the ledger are read."""
    after = []
    given = side_by_side.given_verdicts

    def noted(connection, **more):
        after.append(more["after"])
        return given(connection, **more)

    monkeypatch.setattr(side_by_side, "given_verdicts", noted)
    return after


def tamper(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_copy_gives_what_the_ledger_gives_and_only_new_rows_are_read(path, monkeypatch):
    whole = read(path)
    assert len(whole[0]) == 90  # those without ingredients are left out
    assert copied.copy_of(path).stat().st_mode & 0o777 == 0o600
    after = last_read(monkeypatch)
    assert read(path) == whole
    write(path, 100, 104)
    assert read(path) == afresh(path) != whole
    assert after == [99, 99, 0]


def test_many_new_rows_make_a_new_copy(path, monkeypatch):
    read(path)
    write(path, 100, 130)
    more = read(path)
    after = last_read(monkeypatch)
    assert read(path) == more == afresh(path)
    assert after == [129, 0]


@pytest.mark.parametrize("run", [None, RUNS[1]])
@pytest.mark.parametrize("of_runs", [(), (RUNS[0],), (RUNS[1], RUNS[2]), (RUNS[3],)])
def test_a_choice_of_runs_is_the_same_from_a_copy(path, run, of_runs):
    wanted = afresh(path, run, of_runs=of_runs)
    read(path)
    assert read(path, run, of_runs=of_runs) == wanted


def test_a_run_sees_what_it_first_saw_also_from_a_later_copy(path):
    assert len(remembered_verdicts(path, RUNS[3], begin=True)) == 90
    first = read(path, RUNS[3])
    write(path, 100, 160)
    assert len(read(path)[0]) > 90
    assert read(path, RUNS[3]) == first


def test_at_its_end_a_run_copies_what_is_in_no_copy_so_that_the_next_reads_nothing(
    path, incidents, monkeypatch
):
    files = [incidents / "lead.jsonl", incidents / "central.jsonl"]
    judged = ["--items", incidents / "items.jsonl", "--judge", "metric:exact", "--ledger", path]
    done = CliRunner().invoke(app, ["compare", *map(str, [*files, *judged])])
    assert done.exit_code in {0, 3}, done.output
    after = last_read(monkeypatch)
    assert read(path) == afresh(path)
    assert after[0] > 99
    assert after[0] == copied.copied_until(path)
    keep_copy(path)
    assert after == [after[0], 0], "nothing is new"


def test_a_salvaged_ledger_has_its_copy(path, tmp_path):
    to = tmp_path / "new.sqlite"
    named = ["ledger", "salvage", "--ledger", str(path), "--to", str(to)]
    done = CliRunner().invoke(app, named)
    assert done.exit_code == 0, done.output
    assert copied.copied_until(to) == 99
    assert read(to) == afresh(path)


def test_a_damaged_row_or_a_ledger_that_is_not_there_leaves_no_copy_and_no_error(path, tmp_path):
    tamper(path, "UPDATE verdicts SET score = 1.0 WHERE seq = 50")
    keep_copy(path)
    keep_copy(tmp_path / "folder" / "none.sqlite")
    assert not (tmp_path / "folder").exists()
    copied.copy_of(path).write_text("no copy\n")
    assert copied.copied_until(path) == 0


def test_some_runs_alone_make_no_copy(path):
    read(path, of_runs=(RUNS[0],))
    assert not copied.copy_of(path).exists()


def test_a_small_ledger_has_no_copy(path, monkeypatch):
    monkeypatch.setattr(remembered, "WORTH", 1000)
    read(path)
    assert not copied.copy_of(path).exists()


def test_a_row_that_is_damaged_after_the_copy_is_right_in_it_and_found_by_verify(path):
    whole = read(path)
    tamper(path, "UPDATE verdicts SET score = 1.0 WHERE seq = 5")
    assert read(path) == whole
    assert any("row 5 of verdicts" in problem for problem in inspect(path).problems)


def garbled(place):
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 1
    place.write_bytes(content)


def cut(place):
    place.write_bytes(place.read_bytes()[:-50])


def emptied(place):
    place.write_bytes(b"")


def another_file(place):
    place.write_bytes(b"no copy\n" * 100)


def folder(place):
    place.unlink()
    place.mkdir()


def writable(place):
    place.chmod(0o666)


@pytest.mark.parametrize("spoil", [garbled, cut, emptied, another_file, folder, writable])
def test_a_copy_that_cannot_be_believed_is_passed_over(path, spoil, monkeypatch):
    whole = read(path)
    spoil(copied.copy_of(path))
    after = last_read(monkeypatch)
    assert read(path) == whole
    assert after == [0]
    if spoil is not folder:
        assert read(path) == whole
        assert after == [0, 99], "a new copy was made"


def test_the_copy_of_another_ledger_is_passed_over(path, tmp_path, monkeypatch):
    other = tmp_path / "other.sqlite"
    write(other, 1, 120)
    read(other)
    shutil.copy(copied.copy_of(other), copied.copy_of(path))
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
def test_where_rows_are_missing_the_copy_is_passed_over(path, statement):
    read(path)
    tamper(path, statement)
    assert read(path) == afresh(path)


def test_an_earlier_state_of_the_ledger_is_not_read_from_a_later_copy(path, tmp_path):
    earlier = shutil.copy(path, tmp_path / "earlier")
    write(path, 100, 120)
    read(path)
    shutil.copy(earlier, path)
    assert read(path) == afresh(path)


def test_a_signed_ledger_believes_signed_copies_only(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "a key that nobody guesses")
    path = tmp_path / "ledger.sqlite"
    write(path, 1, 100)
    whole = read(path)
    place = copied.copy_of(path)
    content = bytearray(place.read_bytes())
    place.chmod(0o666)
    after = last_read(monkeypatch)
    assert read(path) == whole
    assert after == [99], "signed, so that it does not matter who may write it"
    forged = content[:-20].replace(b'"a"', b'"z"')
    with closing(connect(path)) as connection:
        sealer = connection.sealer
    unsigned = type(sealer)(sealer.ledger).seal_of([bytes(forged)])
    place.write_bytes(forged + unsigned + content[-16:])
    assert read(path) == whole
    assert after == [99, 0]


def test_where_no_copy_can_be_written_the_ledger_is_read(path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(copied.tempfile, "mkstemp", refuse)
    assert read(path) == afresh(path)
    assert not copied.copy_of(path).exists()


def test_a_disk_that_is_full_leaves_nothing_behind(path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(copied, "packed", full)
    read(path)
    assert [entry.name for entry in path.parent.iterdir()] == ["ledger.sqlite"]


def test_the_copy_lies_beside_the_ledger_itself_and_not_beside_a_link(path, tmp_path):
    link = tmp_path / "elsewhere" / "link.sqlite"
    link.parent.mkdir()
    link.symlink_to(path)
    read(link)
    assert copied.copy_of(path).exists()
    assert [entry.name for entry in link.parent.iterdir()] == ["link.sqlite"]


def test_columns_that_name_what_is_not_there_are_refused():
    gatherer = copied.Gatherer(last=3)
    gatherer.columns[0].extend([0] * 7)
    for column in gatherer.columns[1:]:
        column.append(0)
    with pytest.raises(ValueError, match="fit"):
        gatherer.check()
    assert np.dtype(np.int32).itemsize == gatherer.columns[0].itemsize
