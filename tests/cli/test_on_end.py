"""The caller's command at the end gets the summary; a log may have an object a line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop
from support.outputs import write_good_and_poor

COMPARE = ("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge1")
NIGHT = """
[suite]
budget = 1
judge = "metric:rouge1"
[pairs.x]
systems = ["a.jsonl", "b.jsonl"]
"""
KEEP = 'python3 -c \'import sys; open("end.json", "w").write(sys.stdin.read())\''


@pytest.fixture(autouse=True)
def two_systems():
    write_good_and_poor(Path(), 12, reference="good")
    Path("night.toml").write_text(NIGHT)


def ended():
    return json.loads(Path("end.json").read_text())


@pytest.mark.parametrize("command", [COMPARE, ("suite", "night.toml")])
def test_the_callers_command_gets_what_json_prints_after_the_files_are_written(command):
    done = judgeloop(*command, "--json", "-o", "night.xml", "--on-end", KEEP)
    assert done.exit_code == 0, done.output
    assert ended() == json.loads(done.stdout)
    assert Path("night.xml").exists()


@pytest.mark.parametrize("command", [COMPARE, ("suite", "night.toml")])
def test_a_failing_command_is_said_and_no_exit_code_of_a_gate_is_lost(command):
    done = judgeloop(*command, "--on-end", "false")
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (1, "judgeloop: --on-end false failed: exit code 1")
    gated = judgeloop(*command, "--require-winner", "b", "--on-end", "false")
    assert gated.exit_code == 5
    assert "--on-end false failed" in gated.stderr


def test_an_error_is_told_to_the_callers_command_and_a_wrong_one_costs_nothing():
    done = judgeloop("suite", "night.toml", "--budget", "none", "--on-end", KEEP)
    assert done.exit_code == 2
    assert ended()["exit_code"] == 2
    assert ended()["error"].startswith("--budget: expected dollars")
    wrong = judgeloop(*COMPARE, "--on-end", "no-such-command here")
    assert wrong.exit_code == 2
    assert "expected a command that can be run" in wrong.stderr
    assert not Path(".judgeloop/ledger.sqlite").exists()


@pytest.mark.parametrize("file", ["night.toml", "judgeloop.toml"])
def test_a_found_file_names_no_command(file):
    with Path(file).open("a") as settings:
        settings.write("\n[shared]\non-end = 'touch pwned'\n")
    done = judgeloop("suite", "night.toml")
    assert done.exit_code == 2
    assert "on-end: only the caller may set it" in done.stderr
    assert not Path("pwned").exists()


@pytest.mark.parametrize("command", [COMPARE, ("suite", "night.toml")])
def test_a_log_of_json_has_an_object_a_line_and_may_stand_beside_the_result(command):
    done = judgeloop(*command, "--log-format", "json", "--json")
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    kinds = {"start"} | ({"pair"} if command != COMPARE else set())
    assert {one["event"] for one in lines} == kinds
    assert all(one["time"].endswith("+00:00") and one["message"] for one in lines)
    assert json.loads(done.stdout)["exit_code"] == 0
    if command != COMPARE:
        assert (lines[0]["pair"], lines[-1]["name"], lines[-1]["exit_code"]) == ("x", "x", 0)
    assert not judgeloop(*command, "--log-format", "json", "--quiet").stderr


def test_an_error_that_nobody_foresaw_is_told_to_the_callers_command_too(monkeypatch):
    monkeypatch.setattr("judgeloop.cli.suite._write", lambda *_: {}["lost"])
    done = judgeloop("suite", "night.toml", "--on-end", KEEP, "--log-format", "json")
    assert isinstance(done.exception, KeyError)
    assert ended() == {"job": "suite", "exit_code": 1, "error": "'lost'"}
