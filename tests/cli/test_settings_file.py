"""Settings that are found in the working folder: `.env`, `judgeloop.toml`, and the judges in
JUDGELOOP_JUDGE."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest

from judgeloop.cli.settings_file import SETTINGS_FILE, defaults_for, load_env_file
from judgeloop.core.errors import DataError

ASKS = click.Command(
    "ask",
    params=[
        click.Option(["--judge"], multiple=True),
        click.Option(["-n", "--max-judgments"]),
        click.Option(["--json", "as_json"], is_flag=True),
        click.Option(["--draw/--no-draw"]),
        click.Argument(["outputs"]),
    ],
)
LOOKS = click.Command("look", params=[click.Option(["--seed"])])
GROUP = click.Group("judgeloop", commands={"ask": ASKS, "look": LOOKS})


def defaults(content=None, invoked="ask"):
    if content is not None:
        Path(SETTINGS_FILE).write_bytes(content if isinstance(content, bytes) else content.encode())
    return defaults_for(GROUP, click.Context(GROUP), invoked)


@pytest.fixture
def unset(monkeypatch):
    """Two variables that are not set, whatever the test sets them to."""
    names = ("JUDGELOOP_SEED", "JUDGELOOP_RISK")
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return names


def env_file(folder, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".env").write_text(text)


def test_without_a_file_nothing_is_set():
    assert defaults() == {"ask": {}}
    assert defaults(invoked=None) == {}


def test_a_table_a_command_gives_values_by_the_names_of_parameters():
    content = """
    [ask]
    judge = ["a", "b"]
    max-judgments = 7
    json = true
    draw = false
    [look]
    seed = 3
    """
    assert defaults(content) == {
        "ask": {"judge": ["a", "b"], "max_judgments": 7, "as_json": True, "draw": False},
        "look": {"seed": 3},
    }


def test_one_judge_need_not_be_a_list():
    assert defaults('[ask]\njudge = "one judge"\n')["ask"] == {"judge": ["one judge"]}


def test_judges_in_the_environment_stand_a_line_each_and_win_over_the_file(monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE", "replay:my verdicts.csv\nhuman")
    found = defaults('[ask]\njudge = "another"\n')
    assert found["ask"]["judge"] == ["replay:my verdicts.csv", "human"]


def test_a_command_without_judges_is_given_none(monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE", "human")
    assert defaults(invoked="look") == {"look": {}}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[ask\n", "judgeloop.toml: this is no TOML"),
        (b'[ask]\njudge = "\xff"\n', "judgeloop.toml: this is no TOML"),
        ("[tell]\n", r"judgeloop.toml: expected the tables \[ask\], \[look\], found 'tell'"),
        ("ask = 1\n", r"judgeloop.toml: expected the tables \[ask\], \[look\], found 'ask'"),
        ("[ask]\nbugdet = 1\n", r"judgeloop.toml: \[ask\] has no flag 'bugdet'"),
        ("[ask]\nmax_judgments = 1\n", r"judgeloop.toml: \[ask\] has no flag 'max_judgments'"),
        ("[ask]\noutputs = 1\n", r"judgeloop.toml: \[ask\] has no flag 'outputs'"),
        ("[look]\nbugdet = 1\n", r"judgeloop.toml: \[look\] has no flag 'bugdet'"),
    ],
)
def test_what_the_file_should_not_hold_is_named(content, said):
    with pytest.raises(DataError, match=f"^{said}"):
        defaults(content)


def test_the_nearest_env_file_is_read_and_none_above_it(monkeypatch, tmp_path, unset):
    seed, risk = unset
    env_file(tmp_path, f"{seed}=1\n{risk}=0.5\n")
    env_file(tmp_path / "a", f"{seed}=2\n")
    (tmp_path / "a" / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a" / "b")
    load_env_file()
    assert (os.environ.get(seed), os.environ.get(risk)) == ("2", None)


def test_what_the_environment_has_already_stays(monkeypatch, tmp_path, unset):
    seed, risk = unset
    env_file(tmp_path, f"{seed}=1\n{risk}=0.5\n")
    monkeypatch.setenv(seed, "9")
    load_env_file()
    assert (os.environ[seed], os.environ[risk]) == ("9", "0.5")
