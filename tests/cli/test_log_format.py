"""A log may have an object a line."""

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


@pytest.fixture(autouse=True)
def two_systems():
    write_good_and_poor(Path(), 12, reference="good")
    Path("night.toml").write_text(NIGHT)


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
