"""Settings from a file that the caller names, and the judges in JUDGELOOP_JUDGE.

What a file may set that was merely found is in `test_trust.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from support.commandline import judgeloop

from judgeloop.core.errors import DataError
from judgeloop.settings.setting import Declared, Part, Setting, Source
from judgeloop.settings.sources import read_settings
from judgeloop.settings.trust import SETTINGS_FILE


def one(name, kind=str, **more):
    found = Setting(f"The {name}.", "Items", Part.RUN, Source.FOUND, **more)
    return {name.replace("_", "-"): Declared(name, Annotated[kind, found], None)}


ASKS = one("judge", tuple[str, ...], many=True) | one("max_judgments", int) | one("json", bool)
LOOKS = one("seed", int)
COMMANDS = {("ask",): ASKS, ("look",): LOOKS, ("ledger", "look"): LOOKS}


def read(content=None, *table):
    path = Path(SETTINGS_FILE)
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_settings(COMMANDS, table or ("ask",), path if content is not None else None)


def test_without_a_file_nothing_is_set():
    found = read()
    assert (found.values, found.files, found.sentence()) == ({}, {}, None)


def test_a_table_a_command_gives_values_by_the_names_of_parameters():
    content = """
    [ask]
    judge = ["a", "b"]
    max-judgments = 7
    json = true
    [look]
    seed = 3
    """
    found = read(content)
    assert found.values == {
        "judge": ["a", "b"],
        "max_judgments": 7,
        "json": True,
    }
    assert found.sentence() == "judgeloop.toml sets judge, max-judgments, json"
    assert found.sentence({"max-judgments"}) == "judgeloop.toml sets judge, json"
    assert read(content, "look").values == {"seed": 3}


def test_a_subcommand_has_a_table_within_its_commands():
    content = "[ledger.look]\nseed = 3\n"
    assert read(content, "ledger", "look").values == {"seed": 3}


def test_judges_in_the_environment_stand_a_line_each_and_win_over_the_file(monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE", "replay:my verdicts.csv\nhuman")
    found = read('[ask]\njudge = "another"\n')
    assert found.values["judge"] == ["replay:my verdicts.csv", "human"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[ask\n", "judgeloop.toml: this is no TOML"),
        (b'[ask]\njudge = "\xff"\n', "judgeloop.toml: this is no TOML"),
        (
            "[tell]\n",
            r"judgeloop.toml: expected the tables \[ask\], \[look\], \[ledger\], \[shared\], \[systems\], \[pairs\], found",
        ),
        ("ask = 1\n", r"judgeloop.toml: expected the table \[ask\], found a single value"),
        ("[ask]\nbugdet = 1\n", r"judgeloop.toml: \[ask\] has no setting 'bugdet'"),
        ("[ask]\nmax_judgments = 1\n", r"judgeloop.toml: \[ask\] has no setting 'max_judgments'"),
        ("[ask]\noutputs = 1\n", r"judgeloop.toml: \[ask\] has no setting 'outputs'"),
    ],
)
def test_what_the_file_should_not_hold_is_named(content, said):
    with pytest.raises(DataError, match=f"^{said}"):
        read(content)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("output = [5]", "--output: expected the path of a file, found 5"),
        ("json = 3", "--json: "),
        ("dry-run = [true]", "--dry-run: "),
        ("allow-partial = 1.5", "--allow-partial: "),
    ],
)
def test_a_value_of_another_type_is_one_line_that_says_what_was_expected(line, said):
    Path(SETTINGS_FILE).write_text(f"[compare]\n{line}\n")
    result = judgeloop("compare", "a", "b", "--judge", "human")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"judgeloop: {said}")
    assert len(result.stderr.splitlines()) == 1
