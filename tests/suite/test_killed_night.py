"""A night that is killed goes on where it was; while it runs, a second start is turned away."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from support.chat_server import ChatServer
from support.commandline import judged_by, judgeloop
from support.live import of_both, system_flags, write_items, write_outputs
from support.patience import PATIENCE_S

pytestmark = pytest.mark.processes

LIVE, IN_FLIGHT, HELD = "openai/better", 4, 12
NIGHT = ("--night", "2026-01-02")  # a process has the real clock
SUITE = f"""
[suite]
budget = 2.00
items = "items.jsonl"
max-judgments = 12
require-winner = "{LIVE}"
controls = "off"

[pairs.first]
systems = ["one.jsonl", "{LIVE}"]

[pairs.second]
systems = ["two.jsonl", "{LIVE}"]
"""


@pytest.fixture
def killed():
    """Set once the first process is killed: from the twelfth request on, replies wait for it."""
    return threading.Event()


@pytest.fixture
def server(killed):
    """Judge and system at once."""

    def respond(request, number):
        if number >= HELD:
            killed.wait(PATIENCE_S)
        return of_both(request)

    server = ChatServer(respond)
    yield server
    server.close()


def write_night():
    write_items(Path("items.jsonl"))
    write_outputs(Path("one.jsonl"))
    write_outputs(Path("two.jsonl"), "dull")
    Path("night.toml").write_text(SUITE)


def states():
    """How many runs are in each state, as `judgeloop runs` has it."""
    done = judgeloop("runs", "--json")
    return Counter(one["state"] for one in json.loads(done.stdout or "[]"))


def test_a_pair_that_has_ended_keeps_its_result_though_the_night_is_killed(server, killed):
    write_night()
    server.respond = lambda request, _: (
        (killed.wait(PATIENCE_S) if "dull" in str(request) else None) or of_both(request)
    )
    flags = [*judged_by(server), *system_flags(server, LIVE), *NIGHT, "-o", "night.xml"]
    typed = [sys.executable, "-m", "judgeloop", "suite", "night.toml", *map(str, flags)]
    with subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE_S
        while not states()["ended"] and process.poll() is None and time.monotonic() < until:
            time.sleep(0.1)
        during = states()
        unfinished = Path("night.xml").read_text()
        again = [*typed[:-1], "second.xml"]
        second = subprocess.run(again, capture_output=True, text=True, check=False)
        process.send_signal(signal.SIGKILL)
    killed.set()
    assert during == {"ended": 1, "running": 1}
    assert states() == {"ended": 1, "lost": 1}
    assert f"{LIVE} is better" in judgeloop("runs", "show").stdout
    assert second.returncode == 1
    assert "no result yet (begun " in unfinished
    assert Path("night.xml").read_text() == unfinished
    assert 'type="exit code 1"' in Path("second.xml").read_text()
    assert "is being worked on by process" in Path("second.xml").read_text()


def test_a_killed_night_goes_on_and_a_second_start_is_turned_away(server, killed):
    write_night()
    flags = [*judged_by(server), *system_flags(server, LIVE), *NIGHT, "--concurrency", IN_FLIGHT]
    typed = [sys.executable, "-m", "judgeloop", "suite", "night.toml", "--json", *map(str, flags)]
    with subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE_S
        while len(server.requests) < HELD and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        second = subprocess.run(typed, capture_output=True, text=True, check=False)
        process.send_signal(signal.SIGKILL)
    killed.set()
    assert second.returncode == 1, second.stdout
    assert f"is being worked on by process {process.pid}" in second.stderr
    done = subprocess.run(typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    night = json.loads(done.stdout)
    assert [one["winner"] for one in night["pairs"]] == [LIVE, LIVE]
    bodies = [json.dumps(one, sort_keys=True) for one in server.requests]
    assert len(bodies) - len(set(bodies)) <= IN_FLIGHT
    asked = len(server.requests)
    again = subprocess.run(typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert json.loads(again.stdout)["charged_usd"] == night["charged_usd"] <= 2
    assert len(server.requests) == asked
