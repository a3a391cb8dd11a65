"""Tables of stakes are kept in the cache folder, and are the same to the last bit when they come from there."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import judgeloop
from judgeloop.methods.stats import hedged
from judgeloop.methods.stats.hedged import Stakes
from judgeloop.runs import kept_tables
from judgeloop.runs.kept_tables import keep_tables_in

ROWS = [{"prompt": f"q{n}", "output": f"a{n}"} for n in range(20)]


@pytest.fixture
def asked(monkeypatch):
    """The arguments of each set of tables that was made, in order; none is remembered by the process."""
    made, make = [], hedged._made
    monkeypatch.setattr(hedged, "_made", lambda *given: (made.append(given), make(*given))[1])
    monkeypatch.setattr(hedged, "keep", hedged.keep)  # as it was, in the end
    for one in (hedged.stakes_of_a_null, hedged.stakes_of_a_zone, hedged.stakes_of_means):
        one.cache_clear()
    return made


@pytest.fixture
def folder(tmp_path):
    keep_tables_in(tmp_path)
    return tmp_path / "stakes"


def tables(risk=0.1):
    hedged.stakes_of_a_null.cache_clear()
    return hedged.stakes_of_a_null(risk, 30, 0.0)


def same(one, other):
    return all(np.array_equal(getattr(one, each.name), getattr(other, each.name)) for each in fields(Stakes))


def test_tables_are_made_once_for_all_processes(asked, folder):
    first = tables()
    second = tables()
    assert len(asked) == len(list(folder.iterdir())) == 1
    assert first is not second
    assert same(first, second)
    tables(0.05)
    assert len(asked) == len(list(folder.iterdir())) == 2


def test_other_stakes_have_other_names(asked, folder, monkeypatch):
    tables()
    monkeypatch.setattr(hedged, "VERSION", hedged.VERSION + 1)
    tables()
    assert len(asked) == len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "other"])
def test_a_damaged_file_is_made_again(damage, asked, folder):
    first = tables()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    middle = len(whole) // 2
    damaged = {
        "empty": b"",
        "cut": whole[:middle],
        "changed": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
        "other": b"not an archive",
    }
    file.write_bytes(damaged[damage])
    assert same(tables(), first)
    assert same(tables(), first)
    assert len(asked) == 2, "and kept"


def test_a_folder_that_cannot_be_written_changes_nothing(asked, tmp_path):
    (tmp_path / "stakes").write_text("a file stands in the way")
    keep_tables_in(tmp_path)
    assert same(tables(), tables())
    assert len(asked) == 2


def test_a_folder_that_can_only_be_read_serves_as_well(asked, folder, monkeypatch):
    first = tables()

    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(Path, "touch", refused)
    assert same(tables(), first)
    assert len(asked) == 1


def test_where_nothing_of_judgeloop_is_nothing_is_left(asked, tmp_path):
    keep_tables_in(tmp_path / ".judgeloop" / "cache")
    tables()
    assert not list(tmp_path.iterdir())
    (tmp_path / ".judgeloop").mkdir()
    tables()
    assert len(list((tmp_path / ".judgeloop" / "cache" / "stakes").iterdir())) == 1


def test_what_was_not_read_for_the_longest_time_goes_first(asked, folder, monkeypatch):
    for day, risk in enumerate((0.1, 0.05, 0.2)):
        before = set(folder.iterdir()) if day else set()
        tables(risk)
        (new,) = set(folder.iterdir()) - before
        os.utime(new, (day, day))
    tables()  # is read, and so is the latest
    sizes = [one.stat().st_size for one in folder.iterdir()]
    monkeypatch.setattr(kept_tables, "MOST_BYTES", sum(sizes))
    tables(0.02)
    made = len(asked)
    assert len(list(folder.iterdir())) == 3
    tables()
    tables(0.2)
    assert len(asked) == made
    tables(0.05)
    assert len(asked) == made + 1


def test_a_run_keeps_them_in_its_cache_folder(asked, tmp_path):
    settings = {"judge": lambda prompt, first, second: 1.0, "version": "1", "controls": "off"}
    settings |= {"risk": 0.0377}  # no other test has it, whose forecasts the process remembers
    for number in range(2):
        hedged.stakes_of_a_null.cache_clear()
        hedged.stakes_of_means.cache_clear()
        judgeloop.compare(ROWS, ROWS[::-1], **settings, cache_dir=tmp_path / "c", ledger=tmp_path / f"{number}.sqlite")
        assert len(asked) == len(list((tmp_path / "c" / "stakes").iterdir())) == 2, (
            "of the question and of its interval"
        )
