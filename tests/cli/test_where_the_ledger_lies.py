"""Where the ledger lies is the caller's to say; where he says nothing, a repository has one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commandline import judgeloop

PAIRS = [
    ("judgeloop.toml", '[shared]\nledger = "other.sqlite"\n'),
    ("judgeloop.toml", '[compare]\nledger = ".judgeloop/ledger.sqlite"\n'),
    ("judgeloop.toml", '[compare]\nledger = ":memory:"\n'),
    (".env", "JUDGELOOP_LEDGER=other.sqlite\n"),
]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    (tmp_path / "repository" / "evals" / "deep").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "repository")
    for name, texts in {"a": "abcd", "b": "efgh"}.items():
        rows = [f'{{"id": "{number}", "prompt": "p", "output": "{text}"}}' for number, text in enumerate(texts)]
        (tmp_path / "repository" / f"{name}.jsonl").write_text("\n".join(rows))
    return tmp_path / "repository"


def compare(folder):
    return judgeloop("compare", folder / "a.jsonl", folder / "b.jsonl", "--judge", "metric:rouge1")


@pytest.mark.parametrize(("file", "text"), PAIRS)
def test_a_found_file_that_names_a_ledger_is_refused_and_nothing_is_made(repository, file, text):
    judgeloop("budget", "set", "5")
    (repository / file).write_text(text)
    for done in (compare(repository), judgeloop("budget", "show"), judgeloop("ledger", "show")):
        if "compare" in text and not done.exit_code:
            continue
        assert done.exit_code == 2, done.output
        told = " ".join(done.stderr.split())
        assert "only the caller may set it" in told
        assert "on the command line (--ledger), or as JUDGELOOP_LEDGER in the environment" in told
    assert not (repository / "other.sqlite").exists()
    done = judgeloop("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1", "--config", "none")
    assert "only the caller" not in done.stderr


def test_an_env_file_that_names_a_ledger_is_refused_beside_a_file_of_the_caller_too(repository):
    (repository / ".env").write_text("JUDGELOOP_LEDGER=other.sqlite\n")
    (repository / "mine.toml").write_text("[compare]\nrisk = 0.2\n")
    done = judgeloop("budget", "set", "5", "--config", "mine.toml")
    assert (done.exit_code, list(repository.glob("**/*.sqlite"))) == (2, []), done.output
    done = judgeloop("budget", "set", "5", "--config", "mine.toml", JUDGELOOP_LEDGER="own.sqlite")
    assert (done.exit_code, list(repository.glob("**/*.sqlite"))) == (0, [repository / "own.sqlite"]), done.output


def test_a_setting_above_the_tables_is_refused_and_no_ledger_is_made(repository):
    (repository / "judgeloop.toml").write_text('ledger = "other.sqlite"\n')
    done = judgeloop("budget", "set", "5")
    assert done.exit_code == 2, done.output
    assert not list(repository.glob("**/*.sqlite"))


def test_a_refusal_names_a_flag_only_where_there_is_one(repository):
    (repository / "judgeloop.toml").write_text("[shared]\nledger-must-exist = false\n")
    told = " ".join(compare(repository).stderr.split())
    assert "take it out, and set it as JUDGELOOP_LEDGER_MUST_EXIST in the environment, or trust the file" in told


def test_a_repository_has_one_ledger_whatever_the_working_folder(repository, monkeypatch):
    judgeloop("budget", "set", "5")
    assert (repository / ".judgeloop" / "ledger.sqlite").exists()
    monkeypatch.chdir(repository / "evals" / "deep")
    assert judgeloop("budget", "show").stdout.startswith("every run: $5.00 in total")
    done = compare(repository)
    assert "judgeloop: ledger: new" not in done.stderr
    assert not Path(".judgeloop").exists()
    assert judgeloop("runs", "list").stdout.count("\n") >= 1


def test_outside_of_a_repository_it_lies_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "plain"
    folder.mkdir()
    monkeypatch.chdir(folder)
    judgeloop("budget", "set", "5")
    assert (folder / ".judgeloop" / "ledger.sqlite").exists()


def test_a_link_in_the_place_of_the_default_is_refused_from_below_too(repository, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (repository / ".judgeloop").symlink_to(tmp_path / "elsewhere")
    monkeypatch.chdir(repository / "evals" / "deep")
    done = compare(repository)
    assert (done.exit_code, "is a link" in done.stderr) == (2, True), done.output
    assert list((tmp_path / "elsewhere").iterdir()) == []
