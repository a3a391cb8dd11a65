"""The files of a command that has no result: they say so, and nobody else's file is touched."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from support.outputs import write_good_and_poor

from judgeloop.cli.app import app
from judgeloop.cli.files import unfinished
from judgeloop.core.errors import LedgerError
from judgeloop.report.forms import render_ends

OTHERS = ["-o", "result.html", "-o", "result.json", "-o", "result.md"]
FORMS = ["html", "json", "md", "xml"]
COMMAND = ["compare", "a.jsonl", "b.jsonl", "--judge"]


@pytest.fixture(autouse=True)
def two_systems():
    write_good_and_poor(Path(), 12)


def invoked(*arguments):
    return CliRunner().invoke(app, [*arguments, "-o", "result.xml"])


def error():
    """What the file's only test says of itself, with its exit code."""
    (found,) = ET.parse("result.xml").iter("error")
    return found.get("message"), found.get("type")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("compare", "a.jsonl", "nope.jsonl", "--judge", "human"), "nope.jsonl: there is no such"),
        ((*COMMAND, "human", "--risk", "7%5"), "--risk: expected"),
        ((*COMMAND, "human", "--config", "bad.toml"), "bad.toml"),
        ((*COMMAND, "human", "--nope"), "No such option"),
        ((*COMMAND, "human", "c.jsonl"), "Got an argument too many: 'c.jsonl'"),
        (("compare", "a.jsonl", "--judge", "human"), "Missing argument 'B'"),
        (("suite", "--budget", "1"), "Missing argument 'FILE'"),
    ],
)
def test_a_refused_command_is_an_error_in_the_junit_file(arguments, says):
    Path("bad.toml").write_text("[compare]\nno-such-key = 1\n")
    assert invoked(*arguments).exit_code == 2
    message, kind = error()
    assert message.startswith(says)
    assert kind == "exit code 2"


NAMED = "output = ['result.xml']\n"


@pytest.mark.parametrize(
    ("file", "text", "typed"),
    [
        ("gate.toml", f"[compare]\nbugdet = 2\n{NAMED}", ("--config", "gate.toml")),
        ("gate.toml", f"[shared]\n{NAMED}", ("--config=gate.toml", "--budgte", "2")),
        ("judgeloop.toml", f"[nope]\n[shared]\n{NAMED}", ()),
        (".env", "JUDGELOOP_BUGDET=2\nJUDGELOOP_OUTPUT=result.xml\n", ()),
        ("gate.toml", "[compare]\noutput = true\n", ("--config", "gate.toml", "-o", "result.xml")),
        ("bad.toml", "no TOML", ("--config", "bad.toml")),
    ],
)
def test_the_junit_file_that_settings_name_has_what_is_wrong_in_them(file, text, typed, monkeypatch):
    Path(file).write_text(text)
    if file == "bad.toml":
        monkeypatch.setenv("JUDGELOOP_OUTPUT", "result.xml")
    assert CliRunner().invoke(app, [*COMMAND, "human", *typed]).exit_code == 2
    assert error()[1] == "exit code 2"


def test_a_found_settings_file_that_is_wrong_names_no_file_elsewhere():
    Path("judgeloop.toml").write_text("[shared]\noutput = ['../result.xml']\nbugdet = 2\n")
    assert CliRunner().invoke(app, [*COMMAND, "human"]).exit_code == 2
    assert not Path("../result.xml").exists()


@pytest.mark.parametrize("command", [COMMAND, ["suite", "night.toml", "--budget", "1", "--judge"]])
def test_a_ledger_that_cannot_be_written_is_an_error_with_code_1_in_the_junit_file(command):
    Path("night.toml").write_text('[pairs.x]\nsystems = ["a.jsonl", "b.jsonl"]\n')
    write_good_and_poor(Path(), 12, reference="good")
    Path("torn").write_text("no folder")
    done = invoked(*command, "metric:rouge1", "--ledger", "torn/ledger.sqlite")
    assert done.exit_code == 1, done.output
    message, kind = error()
    assert "torn" in message
    assert kind == "exit code 1"


def test_during_a_run_the_files_say_that_there_is_no_result_yet_and_then_the_result():
    Path("seen").mkdir()
    Path("watching.py").write_text(
        "from pathlib import Path\n\n\n"
        "def judge(first, second):\n"
        "    for file in Path().glob('result.*'):\n"
        "        Path('seen', file.name).write_text(file.read_text())\n"
        "    return float('good' in first)\n"
    )
    command = [*COMMAND, "python:watching:judge", "--allow-plugins", *OTHERS]
    for night in ("first", "second"):
        assert invoked(*command, "--ledger", f"{night}.sqlite").exit_code == 0
        assert sorted(file.name for file in Path("seen").iterdir()) == [f"result.{form}" for form in FORMS]
        assert all("no result yet (begun 2" in one.read_text() for one in Path("seen").iterdir())
        assert not any("BROKEN" in one.read_text() for one in Path("seen").iterdir()), "nothing is wrong"
        assert not any("no result yet" in one.read_text() for one in Path().glob("result.*"))


def test_a_refused_command_is_an_error_in_each_file_whether_there_was_one_or_not():
    write_good_and_poor(Path(), 12, reference="good")
    for refused in ("c.jsonl", "--nope"):
        assert invoked(*COMMAND, "metric:rouge1", refused, *OTHERS).exit_code == 2
        said = {file.suffix[1:]: file.read_text() for file in sorted(Path().glob("result.*"))}
        assert list(said) == FORMS
        assert all("better" not in one for one in said.values())
        assert invoked(*COMMAND, "metric:rouge1", *OTHERS).exit_code == 0
    assert "compare has no result: No such option" in said["html"]
    assert "BROKEN: compare has no result: No such option" in said["md"]
    assert said["md"].split("### ")[1].startswith("\N{LARGE PURPLE CIRCLE} "), "a comment has a sign, as of any outcome"
    assert json.loads(said["json"])["error"].startswith("No such option")


NIGHT = """
[suite]
budget = 1
judge = "metric:rouge1"
[pairs.x]
systems = ["a.jsonl", "b.jsonl"]
"""
ENDS = [([], 0), (["--require-winner", "b"], 5), (["--risk", "7%5"], 2), (["--nope"], 2), (["--ledger", "torn/l"], 1)]


@pytest.mark.parametrize(("flags", "code"), ENDS)
@pytest.mark.parametrize("command", [(*COMMAND, "metric:rouge1"), ("suite", "night.toml")], ids=["compare", "suite"])
def test_whatever_comes_next_in_a_shell_reads_how_the_command_ended(command, flags, code):
    write_good_and_poor(Path(), 12, reference="good")
    Path("torn").write_text("no folder")
    Path("night.toml").write_text(NIGHT)
    assert invoked(*command, *flags, "-o", "night.json").exit_code == code
    found = json.loads(Path("night.json").read_text())
    assert found["exit_code"] == code
    assert ("error" in found) == (code in {1, 2} and "pairs" not in found), "the wrong input of a pair is that pair's"


@pytest.mark.parametrize(("thrown", "code"), [(KeyError("lost"), 1), (KeyboardInterrupt(), 130)])
def test_an_error_that_nobody_foresaw_and_an_interruption_are_in_the_file_too(monkeypatch, thrown, code):
    def broken(*_, **__):
        raise thrown

    monkeypatch.setattr("judgeloop.cli.suite._read", broken)
    Path("night.toml").write_text(NIGHT)
    invoked("suite", "night.toml", "-o", "night.json")
    found = json.loads(Path("night.json").read_text())
    assert found["exit_code"] == code
    assert found["error"]


def test_a_command_that_shows_a_result_again_makes_no_file_of_its_error():
    assert CliRunner().invoke(app, ["runs", "show", "--nope", "-o", "again.json"]).exit_code == 2
    assert not Path("again.json").exists()


def test_a_refused_start_leaves_the_result_that_the_running_one_wrote_meanwhile():
    path, theirs = Path("night.xml"), render_ends("suite", [("x", 0, "x is better", (), ())], {})

    def refused():
        with unfinished((path,), "suite"):
            path.write_text(theirs)
            raise LedgerError("the night is being worked on by process 1")

    with pytest.raises(LedgerError):
        refused()
    assert path.read_text() == theirs


@pytest.mark.parametrize("theirs", ["<testsuite name='theirs'/>", "{}", ""])
def test_a_file_of_others_is_left_as_it_is_by_a_command_without_a_result(theirs):
    files = [Path(f"result.{form}") for form in ("xml", "html", "json", "md")]
    for file in files:
        file.write_text(theirs)
    assert invoked("compare", "a.jsonl", "nope.jsonl", "--judge", "human", *OTHERS).exit_code == 2
    assert [file.read_text() for file in files] == [theirs] * 4


def test_tests_of_another_program_are_refused_before_anything_is_spent():
    Path("result.xml").write_text("<testsuite name='theirs'/>")
    done = invoked(*COMMAND, "metric:rouge1")
    assert done.exit_code == 2
    assert "-o result.xml: another program wrote this file" in done.output
    assert Path("result.xml").read_text() == "<testsuite name='theirs'/>"
    assert not Path(".judgeloop/ledger.sqlite").exists()


@pytest.mark.parametrize("place", ["empty", "link"])
def test_an_empty_file_and_a_link_are_replaced(place):
    write_good_and_poor(Path(), 12, reference="good")
    Path("theirs.xml").write_text("<testsuite name='theirs'/>")
    if place == "empty":
        Path("result.xml").touch()
    else:
        Path("result.xml").symlink_to("theirs.xml")
    assert invoked(*COMMAND, "metric:rouge1").exit_code == 0
    assert not list(ET.parse("result.xml").iter("error"))
    assert Path("theirs.xml").read_text() == "<testsuite name='theirs'/>"


def test_a_dry_run_writes_no_junit_file():
    assert invoked(*COMMAND, "human", "--dry-run").exit_code == 0
    assert invoked(*COMMAND, "human", "--dry-run", "--risk", "7%5").exit_code == 2
    assert invoked("compare", "--help").exit_code == 0
    assert not Path("result.xml").exists()
