"""Settings from a file that the caller names, and the judges in JUDGELOOP_JUDGE.

What a file may set that was merely found is in `test_trust.py`.
"""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.core.errors import DataError
from judgeloop.settings.sources import SETTINGS_FILE, Commanded, read_settings

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
COMMANDS = {"ask": ASKS, "look": LOOKS}


def read(content=None, invoked="ask", *, table=None):
    path = Path(SETTINGS_FILE)
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    asked = Commanded(
        COMMANDS[invoked],
        table or (invoked,),
        ("ask", "look", "ledger"),
        click.Group(commands=COMMANDS),
    )
    return read_settings(asked, path if content is not None else None, skip=False)


def test_without_a_file_nothing_is_set():
    found = read()
    assert (found.defaults, found.files, found.sentence) == ({}, {}, None)


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
    found = read(content)
    assert found.defaults == {
        "judge": ["a", "b"],
        "max_judgments": 7,
        "as_json": True,
        "draw": False,
    }
    assert found.sentence == "judgeloop.toml sets judge, max-judgments, as-json, draw"
    assert read(content, "look").defaults == {"seed": 3}


def test_a_subcommand_has_a_table_within_its_commands():
    content = "[ledger.look]\nseed = 3\n"
    assert read(content, "look", table=("ledger", "look")).defaults == {"seed": 3}


def test_one_judge_need_not_be_a_list():
    assert read('[ask]\njudge = "one judge"\n').defaults == {"judge": ["one judge"]}


def test_judges_in_the_environment_stand_a_line_each_and_win_over_the_file(monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE", "replay:my verdicts.csv\nhuman")
    found = read('[ask]\njudge = "another"\n')
    assert found.defaults["judge"] == ["replay:my verdicts.csv", "human"]


def test_a_command_without_judges_is_given_none(monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE", "human")
    assert read(invoked="look").defaults == {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[ask\n", "judgeloop.toml: this is no TOML"),
        (b'[ask]\njudge = "\xff"\n', "judgeloop.toml: this is no TOML"),
        (
            "[tell]\n",
            r"judgeloop.toml: expected the tables \[ask\], \[look\], \[ledger\], \[shared\], found",
        ),
        ("ask = 1\n", r"judgeloop.toml: expected the table \[ask\], found a single value"),
        ("[ask]\nbugdet = 1\n", r"judgeloop.toml: \[ask\] has no flag 'bugdet'"),
        ("[ask]\nmax_judgments = 1\n", r"judgeloop.toml: \[ask\] has no flag 'max_judgments'"),
        ("[ask]\noutputs = 1\n", r"judgeloop.toml: \[ask\] has no flag 'outputs'"),
    ],
)
def test_what_the_file_should_not_hold_is_named(content, said):
    with pytest.raises(DataError, match=f"^{said}"):
        read(content)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("output = 5", "a path, or a list of paths"),
        ("output = [5]", "a path, or a list of paths"),
        ('output = [["r.json"]]', "a path, or a list of paths"),
        ('output = {to = "r.json"}', "a path, or a list of paths"),
        ("json = 3", "true or false"),
        ("dry-run = [true]", "true or false"),
        ("allow-partial = 1.5", "true or false"),
    ],
)
def test_a_value_of_another_type_is_one_line_that_says_what_was_expected(line, expected):
    Path(SETTINGS_FILE).write_text(f"[compare]\n{line}\n")
    result = CliRunner().invoke(app, ["compare", "a", "b"])
    assert result.exit_code == 2
    key = line.partition(" ")[0]
    said = f"judgeloop: judgeloop.toml: [compare] {key}: expected {expected}, found"
    assert result.stderr.startswith(said)
    assert len(result.stderr.splitlines()) == 1


def test_the_environment_is_a_copy_with_the_keys_of_the_env_file(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "own")
    Path(".env").write_text("OPENAI_API_KEY=found\nANTHROPIC_API_KEY=found\nOTHER=found\n")
    found = read()
    assert found.environment["OPENAI_API_KEY"] == "own"
    assert found.environment["ANTHROPIC_API_KEY"] == "found"
    assert "OTHER" not in found.environment
    assert found.sentence == ".env sets ANTHROPIC_API_KEY"
