"""Settings from a file that the caller names, and the judges in JUDGELOOP_JUDGE.

What a file may set that was merely found is in `test_trust.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from support.commandline import judgeloop

from judgeloop.core.errors import DataError
from judgeloop.settings.setting import SETTINGS_FILE, Declared, Role, Setting, anybody
from judgeloop.settings.sources import read_settings


def one(name, kind=str, **more):
    found = Setting(f"The {name}.", "Items", Role.RUN, anybody, **more)
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
    assert (found.values, found.files, found.sentence) == ({}, {}, None)


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
    assert found.values == {"judge": ["a", "b"], "max_judgments": 7, "json": True}
    assert found.sentence == "judgeloop.toml sets judge, max-judgments, json"
    typed = read_settings(COMMANDS, ("ask",), Path(SETTINGS_FILE), {"max_judgments": "9"})
    assert typed.values["max_judgments"] == "9"
    assert typed.sentence == "judgeloop.toml sets judge, json"
    assert read(content, "look").values == {"seed": 3}


def test_a_subcommand_has_a_table_within_its_commands():
    content = "[ledger.look]\nseed = 3\n"
    assert read(content, "ledger", "look").values == {"seed": 3}


def test_judges_in_the_environment_stand_a_line_each_and_win_over_the_file(monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE", "replay:my verdicts.csv\nhuman")
    found = read('[ask]\njudge = "another"\nmax-judgments = 7\n')
    assert found.values["judge"] == ["replay:my verdicts.csv", "human"]
    assert found.sentence == "judgeloop.toml sets max-judgments"


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
        ('ledger = "other.db"\n[ask]\n', r"judgeloop.toml: expected the table \[ledger\], found a single value"),
        ("pairs = 1\n[ask]\n", r"judgeloop.toml: expected the table \[pairs\], found a single value"),
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
        ("output = [5]", "output in judgeloop.toml: expected the path of a file, found 5"),
        ("json = 3", "json in judgeloop.toml: "),
        ("dry-run = [true]", "dry-run in judgeloop.toml: "),
        ("allow-partial = 1.5", "allow-partial in judgeloop.toml: "),
    ],
)
def test_a_value_of_another_type_is_one_line_that_says_what_was_expected(line, said):
    Path(SETTINGS_FILE).write_text(f"[compare]\n{line}\n")
    result = judgeloop("compare", "a", "b", "--judge", "human")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"judgeloop: {said}")
    assert len(result.stderr.splitlines()) == 1


def refused(monkeypatch, content, *typed, **variables):
    """What a comparison says that is refused, with a settings file that is named."""
    for name in "ab":
        rows = [f'{{"id": {n}, "prompt": "p{n}", "output": "{name}{n}"}}\n' for n in range(9)]
        Path(f"{name}.jsonl").write_text("".join(rows))
    Path("gate.toml").write_text(
        f'[compare]\njudge = "openai/gpt-4.1"\norder = "random"\ncontrols = "off"\n{content}\n'
    )
    for name, value in variables.items():
        monkeypatch.setenv(f"JUDGELOOP_{name}", value)
    done = judgeloop("compare", "a.jsonl", "b.jsonl", "--config", "gate.toml", "--dry-run", *typed)
    assert done.exit_code == 2
    return done.stderr.removeprefix("judgeloop: ")


def test_a_message_names_a_setting_as_it_was_given(monkeypatch):
    for content, typed, variables, named in [
        ("max-flips = 0.2", [], {}, "max-flips=0.2 in gate.toml needs"),
        ("risk = 5", [], {}, "risk in gate.toml: expected"),
        ("risk = 5", ["--risk", "6"], {}, "--risk: expected"),
        ("risk = 5", [], {"RISK": "7"}, "JUDGELOOP_RISK: expected"),
    ]:
        with monkeypatch.context() as context:
            assert refused(context, content, *typed, **variables).startswith(named)


def test_a_missing_file_that_a_settings_file_names_is_told_with_the_folder(monkeypatch):
    said = refused(monkeypatch, 'items = "questions.jsonl"')
    named = f"items in gate.toml names it, and it was looked for in {Path.cwd()}\n"
    assert said == f"questions.jsonl: there is no such file; {named}"
    said = refused(monkeypatch, "", "--items", "questions.jsonl")
    assert said == "questions.jsonl: there is no such file\n"
