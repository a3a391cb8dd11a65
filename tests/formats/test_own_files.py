"""Files of judgeloop's own are written whole or not at all, and never through a link."""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.outputs import write_good_and_poor

from judgeloop.cli.app import app
from judgeloop.core.errors import JudgeloopError
from judgeloop.formats.own_files import check_place, read_own, write_whole

COMPARE = ["compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1"]


@pytest.mark.parametrize(
    ("name", "text"), [("folder", "text"), ("missing/result.json", "text"), ("result.json", "\ud800")]
)
def test_a_file_that_cannot_be_written_leaves_no_draft(tmp_path, name, text):
    (tmp_path / "folder").mkdir()  # which a file cannot replace
    path, before = tmp_path / name, [tmp_path / "folder"]
    with pytest.raises(JudgeloopError, match="^" + re.escape(f"{path} cannot be written: ")):
        write_whole(path, text)
    assert list(tmp_path.iterdir()) == before


def test_a_file_replaces_a_link_in_its_place_and_leaves_the_target(tmp_path):
    target, path = tmp_path / "theirs", tmp_path / "result.txt"
    target.write_text("before")
    path.symlink_to(target)
    write_whole(path, "after")
    assert (target.read_text(), path.read_text()) == ("before", "after")


def test_a_draft_is_written_through_no_link_whatever_its_name(tmp_path, monkeypatch):
    target = tmp_path / "theirs"
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / f".result.txt.{bytes(8).hex()}").symlink_to(target)
    with pytest.raises(JudgeloopError, match="cannot be written"):
        write_whole(tmp_path / "result.txt", "text")
    assert not target.exists()


def test_a_name_as_long_as_the_system_allows_has_a_draft(tmp_path):
    path = tmp_path / ("n" * 251 + ".txt")
    write_whole(path, "text")
    assert path.read_text() == "text"


def test_a_file_of_ones_own_is_no_link_no_pipe_and_no_folder(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ""):
        with pytest.raises(OSError, match=r".+"):
            read_own(tmp_path / name)


@pytest.mark.parametrize("link", [".judgeloop", ".judgeloop/cache", ".judgeloop/ledger.sqlite"])
@pytest.mark.parametrize("there", [True, False], ids=["target", "dangling"])
def test_a_checked_in_link_leads_no_run_outside_the_repository(tmp_path, monkeypatch, link, there):
    outside, repository = tmp_path / "outside", tmp_path / "repository"
    repository.mkdir()
    monkeypatch.chdir(repository)
    write_good_and_poor(Path(), 20, reference="good")
    if there:
        outside.mkdir()
    Path(link).parent.mkdir(exist_ok=True)
    Path(link).symlink_to(outside)
    result = CliRunner().invoke(app, COMPARE)
    assert result.exit_code == 2
    assert f"{link} is a link, to {outside}" in result.stderr
    assert not there or not list(outside.iterdir())


def test_a_place_that_the_caller_names_may_be_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    check_place(tmp_path / "link" / "ledger.sqlite")
