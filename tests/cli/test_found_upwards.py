"""A judgeloop.toml above the working folder: where it is looked for, and what it cannot do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.commandline import judgeloop, result_of
from support.outputs import write_outputs

from judgeloop.core.errors import DataError
from judgeloop.formats.own_files import searched
from judgeloop.settings.sources import found_settings_file

STRANGER = 4321  # a user id


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository, and a folder deep in it that has the outputs of two systems."""
    top = tmp_path / "repository"
    deep = top / "evals" / "today"
    deep.mkdir(parents=True)
    (top / ".git").mkdir()
    monkeypatch.chdir(deep)
    for name in ("a", "b"):
        write_outputs(deep / f"{name}.jsonl", [f"{name} good"] * 6, reference="a good")
    return top


PAIR = ["compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1"]


def compared(*more):
    return result_of(*PAIR, *more)


def test_the_nearest_file_up_to_the_root_of_the_repository_wins(repository):
    (repository / "judgeloop.toml").write_text("[compare]\nseed = 1\n")
    assert compared()["settings_files"] == {"../../judgeloop.toml": ["seed"]}
    (repository / "evals" / "judgeloop.toml").write_text("[compare]\nrisk = 0.3\n")
    assert compared()["settings_files"] == {"../judgeloop.toml": ["risk"]}
    Path("judgeloop.toml").write_text("")
    assert compared()["settings_files"] == {"judgeloop.toml": []}


def test_a_result_and_a_dry_run_say_which_file_was_read(repository):
    (repository / "judgeloop.toml").write_text("[compare]\nseed = 1\n")
    said = "../../judgeloop.toml sets seed"
    assert said in judgeloop(*PAIR, "--dry-run").stdout  # before there is a result to show
    assert said in judgeloop(*PAIR).stdout
    assert said in judgeloop(*PAIR, "--dry-run").stdout
    shown = json.loads(judgeloop(*PAIR, "--dry-run", "--json").stdout)
    assert shown["settings_files"] == {"../../judgeloop.toml": ["seed"]}


def test_a_file_above_the_repository_is_not_read(repository):
    (repository.parent / "judgeloop.toml").write_text("this is no TOML")
    assert compared()["settings_files"] == {}


def test_without_a_repository_the_search_does_not_leave_the_working_folder(repository):
    (repository / ".git").rmdir()
    (repository / "judgeloop.toml").write_text("this is no TOML")
    assert compared()["settings_files"] == {}


def test_a_checkout_whose_git_is_a_file_is_a_repository(repository):
    (repository / "evals" / ".git").write_text("gitdir: elsewhere\n")
    (repository / "judgeloop.toml").write_text("this is no TOML")
    assert searched(Path.cwd()) == [Path.cwd(), repository / "evals"]


def test_the_search_ends_at_the_home_folder(repository, monkeypatch):
    home = repository / "evals"
    monkeypatch.setenv("HOME", str(home))
    (repository / "judgeloop.toml").write_text("this is no TOML")
    assert searched(Path.cwd()) == [Path.cwd()]
    (home / ".git").mkdir()
    assert searched(Path.cwd()) == [Path.cwd(), home]


def test_a_folder_above_the_home_folder_is_not_searched_from_beside_it(repository, monkeypatch):
    monkeypatch.setenv("HOME", str(repository / "home" / "somebody"))
    assert searched(Path.cwd()) == [Path.cwd()]


def test_paths_are_relative_to_the_file_and_lead_to_the_same_run(repository):
    verdicts = "item_id,model_a,model_b,score\n" + "".join(f"i{n},a,b,1\n" for n in range(6))
    (repository / "verdicts.csv").write_text(verdicts)
    (repository / "out").mkdir()
    (repository / "judgeloop.toml").write_text(
        '[compare]\njudge = "replay:verdicts.csv"\noutput = ["out/r.json", "out/r.csv"]\n'
    )
    result = judgeloop(*PAIR[:3], "--json")
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["winner"] == "a"
    assert (repository / ".judgeloop" / "ledger.sqlite").exists()
    assert json.loads((repository / "out" / "r.json").read_text())["winner"] == "a"
    assert (repository / "out" / "r.csv").exists()
    assert not Path(".judgeloop").exists()
    typed = judgeloop(*PAIR[:3], "--judge", "replay:../../verdicts.csv", "--config", "none", "--json")
    assert json.loads(typed.stdout)["run"] == values["run"]


def test_a_rubric_is_a_file_beside_the_settings_or_a_text(repository):
    (repository / "rubric.txt").write_text("Which answer is shorter?")
    runs = set()
    for rubric in ("rubric.txt", "Which answer is shorter?"):
        (repository / "judgeloop.toml").write_text(f'[compare]\njudge = "human"\nrubric = "{rubric}"\n')
        planned = json.loads(judgeloop(*PAIR[:3], "--dry-run", "--json").stdout)
        assert planned["settings_files"] == {"../../judgeloop.toml": ["judge", "rubric"]}
        runs.add(planned["run"])
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('output = "../r.json"', "outside"),
        ('ledger = "ledger.sqlite"', "only the caller"),
        ('judge = "replay:../verdicts.csv"', "outside"),
        ('judge-price = "0,0"', "only the caller"),
        ('rubric = "a.jsonl"', "is in the working folder, not in the folder of this file"),
    ],
)
def test_a_file_above_cannot_set_what_harms(line, said, repository):
    (repository / "judgeloop.toml").write_text(f"[shared]\n{line}\n")
    result = judgeloop(*PAIR)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "found above the working folder" in result.stderr
    assert "--config ../../judgeloop.toml" in result.stderr
    assert not Path(".judgeloop").exists()
    assert not (repository / ".judgeloop").exists()


def test_a_text_does_not_lead_outside_by_way_of_a_link_in_the_working_folder(repository, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    Path("link").symlink_to(tmp_path / "inner")
    (repository / "judgeloop.toml").write_text('[compare]\nrubric = "link/../secret.txt"\n')
    assert Path("link/../secret.txt").read_text() == "secret"
    assert judgeloop(*PAIR).exit_code == 2


def test_a_link_in_the_files_folder_that_leads_outside_is_outside(repository, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (repository / "rubric.txt").symlink_to(tmp_path / "secret.txt")
    (repository / "judgeloop.toml").write_text('[compare]\nrubric = "rubric.txt"\n')
    assert "outside" in judgeloop(*PAIR).stderr


as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")


@as_root
@pytest.mark.parametrize("foreign", ["file", "folder", "target of a link"])
def test_a_file_above_that_belongs_to_another_user_is_not_read(foreign, repository, tmp_path):
    file = repository / "judgeloop.toml"
    target = tmp_path / "target.toml"
    target.write_text("[compare]\nseed = 1\n")
    if foreign == "target of a link":
        file.symlink_to(target)
    else:
        file.write_text("[compare]\nseed = 1\n")
    assert compared()["settings_files"] == {"../../judgeloop.toml": ["seed"]}
    given = {"file": file, "folder": repository, "target of a link": target}[foreign]
    os.chown(given, STRANGER, STRANGER)
    result = judgeloop(*PAIR)
    assert result.exit_code == 2
    assert "../../judgeloop.toml: it was found above the working folder" in result.stderr
    assert "belongs to another user" in result.stderr
    assert compared("--config", "none")["settings_files"] == {}
    named = compared("--config", "../../judgeloop.toml")
    assert named["settings_files"] == {"../../judgeloop.toml": ["seed"]}


@as_root
def test_a_stranger_cannot_make_a_repository_of_a_folder_that_all_may_write_to(tmp_path, monkeypatch):
    """As in /tmp: the folder is root's, and the stranger puts a file and `.git` into it."""
    mine = tmp_path / "everybodys" / "mine"
    mine.mkdir(parents=True)
    everybodys = mine.parent
    everybodys.chmod(0o1777)
    (everybodys / ".git").mkdir()
    file = everybodys / "judgeloop.toml"
    file.write_text("[compare]\nseed = 1\n")
    for path in (everybodys / ".git", file):
        os.chown(path, STRANGER, STRANGER)
    monkeypatch.chdir(mine)
    with pytest.raises(DataError, match="belongs to another user"):
        found_settings_file(mine)


def test_a_file_of_a_common_folder_above_without_a_repository_is_not_read(tmp_path, monkeypatch):
    """As a judgeloop.toml in /tmp, above a folder of one's own."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (tmp_path / "judgeloop.toml").write_text("[compare]\nseed = 1\n")
    monkeypatch.chdir(mine)
    assert found_settings_file(mine) is None
