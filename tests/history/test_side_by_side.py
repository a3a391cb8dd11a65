"""Reading a ledger in several processes gives what reading it in one gives, or the same error."""

from __future__ import annotations

import sys
from contextlib import closing, suppress
from subprocess import Popen

import pytest
from support.past_verdicts import RUNS, told, write

from judgeloop.core.errors import DamagedLedgerError
from judgeloop.history import side_by_side
from judgeloop.history.gathered import Gatherer
from judgeloop.ledger.connection import connect
from judgeloop.ledger.seal import KEY_VARIABLE

EVER = 2**62
VERDICTS = 99
ANOTHER_LEDGER = (
    "from judgeloop.history.packed import *; import sys; "
    "sys.stdout.buffer.writelines(packed(Gatherer(), ledger='another', looked_at=0))"
)


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "ledger.sqlite"
    write(place, 1, VERDICTS + 1)
    return place


@pytest.fixture
def three(monkeypatch):
    """Three processes; what is read in this one, as parts."""
    monkeypatch.setattr(side_by_side, "LEAST", 10)
    monkeypatch.setattr(side_by_side, "_processors", lambda: 3)
    own, add = [], side_by_side._add

    def noted(connection, gatherer, part, of_runs):
        own.append(part)
        return add(connection, gatherer, part, of_runs)

    monkeypatch.setattr(side_by_side, "_add", noted)
    return own


def read(path, *, after=0, until=EVER, of_runs=()):
    """Return the verdicts as columns and texts, and how many were looked at."""
    gatherer = Gatherer(last=after)
    with closing(connect(path)) as connection:
        looked_at = side_by_side.add_verdicts(connection, gatherer, until=until, of_runs=of_runs)
    columns = [column.tolist() for column in gatherer.columns]
    kinds = [kind.values() for kind, _ in gatherer._kinds]
    return told(gatherer.gathered(EVER, None, ())), columns, kinds, gatherer.last, looked_at


@pytest.mark.parametrize(
    "part", [{}, {"after": 7, "until": 80}, {"of_runs": (RUNS[1],)}], ids=["all", "some", "a run"]
)
def test_three_processes_find_what_one_finds_in_the_same_order(path, part, three, monkeypatch):
    found = read(path, **part)
    assert len(three) == 1  # the other two parts were read elsewhere
    monkeypatch.setattr(side_by_side, "MOST", 1)
    assert found == read(path, **part)
    assert len(found[1][1]) > 20


def test_a_part_whose_verdicts_were_deleted_changes_nothing(path, three, monkeypatch):
    with closing(connect(path)) as connection:
        connection.execute("DELETE FROM verdicts WHERE seq BETWEEN 20 AND 80")
    some = {"until": 60}
    found = read(path, **some)
    assert len(three) == 1
    assert found[-2:] == (19, 19)
    monkeypatch.setattr(side_by_side, "MOST", 1)
    assert found == read(path, **some)


def test_a_ledger_that_is_gone_is_not_made_anew(tmp_path):
    with pytest.raises(FileNotFoundError):
        side_by_side.answer(str(tmp_path / "gone.sqlite"), (0, 9), [])
    assert not list(tmp_path.iterdir())


def test_a_signed_ledger_is_read_with_the_key_of_the_environment(tmp_path, three, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, "a key that nobody guesses")
    write(tmp_path / "ledger.sqlite", 1, VERDICTS + 1)
    assert read(tmp_path / "ledger.sqlite")[-1] == VERDICTS
    assert len(three) == 1


@pytest.mark.parametrize(
    "code",
    [
        "raise SystemExit(1)",
        "",
        "print('x')",
        "print('[1]')",
        "import sys; sys.stdout.buffer.write(b'{}')",
        ANOTHER_LEDGER,
    ],
    ids=["fails", "silent", "text", "list", "cut", "another ledger"],
)
def test_the_part_of_a_process_that_fails_is_read_here(path, code, three, monkeypatch):
    monkeypatch.setattr(side_by_side, "CODE", code)
    found = read(path)
    assert len(three) == 3
    monkeypatch.setattr(side_by_side, "MOST", 1)
    assert found == read(path)


def test_where_no_process_can_be_started_all_is_read_here(path, three, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "no further processes")

    monkeypatch.setattr(side_by_side, "Popen", refused)
    assert read(path)[-1] == VERDICTS
    assert len(three) == 3


@pytest.mark.parametrize("number", [3, 50, 90])
def test_a_damaged_row_is_the_same_error_in_every_part(path, number, three):
    with closing(connect(path)) as connection:
        connection.execute("UPDATE verdicts SET score = 1.0 WHERE seq = ?", (number,))
    with pytest.raises(DamagedLedgerError, match=f"row {number} of the table verdicts"):
        read(path)


def test_a_module_in_the_working_folder_is_not_run(path, tmp_path, three, monkeypatch):
    folder = tmp_path / "checkout"
    (folder / "judgeloop").mkdir(parents=True)
    for name in ("judgeloop/__init__.py", "json.py", "numpy.py"):
        (folder / name).write_text("open('was-run', 'w')\n")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    assert read(path)[-1] == VERDICTS
    assert len(three) == 1
    assert not (folder / "was-run").exists()


def test_an_interruption_ends_the_other_processes(path, three, monkeypatch):
    begun = []

    def noted(*given, **more):
        begun.append(Popen(*given, **more))
        return begun[-1]

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(side_by_side, "Popen", noted)
    monkeypatch.setattr(side_by_side, "_add", interrupted)
    with suppress(KeyboardInterrupt):
        read(path)
    assert len(begun) == 2
    assert all(process.returncode is not None for process in begun)


@pytest.mark.parametrize("program", ["", None, "/usr/sbin/uwsgi"])
def test_within_another_program_no_process_is_started(program, monkeypatch):
    assert side_by_side._processors() >= 1
    monkeypatch.setattr(sys, "executable", program)
    assert side_by_side._processors() == 1


def test_few_verdicts_are_read_in_one_process(path, monkeypatch):
    monkeypatch.setattr(side_by_side, "Popen", None)
    assert read(path)[-1] == VERDICTS
    assert read(path, after=VERDICTS)[-1] == 0
    assert read(path, after=VERDICTS + 50)[-2:] == (VERDICTS + 50, 0)
