"""A process that is killed while systems answer pays at most what was in flight once more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.commandline import judged_by
from support.live import generated, of_both, system_flags, write_items, write_outputs
from support.patience import PATIENCE_S

pytestmark = pytest.mark.processes

LIVE, IN_FLIGHT = "openai/better", 4


@pytest.fixture
def server(chat_server):
    chat_server.respond = lambda request, n: replace(of_both(request), delay_s=0.1)
    return chat_server


def killed_at_six(server, typed):
    with subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE_S
        while len(generated(server)) < 6 and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)


def test_a_killed_run_pays_at_most_for_what_was_in_flight_once_more(server, monkeypatch):
    flags = ["--concurrency", str(IN_FLIGHT), "--json"]
    items = ["--items", write_items(Path("items.jsonl"))]
    systems = [write_outputs(Path("old.jsonl")), LIVE, *system_flags(server, LIVE)]
    command = [sys.executable, "-m", "judgeloop", "compare", *systems, *items, *judged_by(server)]
    typed = [*map(str, command), *flags]
    monkeypatch.setenv("JUDGELOOP_MIN_JUDGMENTS", "20")
    killed_at_six(server, typed)
    before = len(generated(server))
    assert before >= 6
    done = subprocess.run(typed, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    texts = [request["messages"][-1]["content"] for request in generated(server)]
    assert len(texts) - len(set(texts)) <= IN_FLIGHT
    (one,) = result["generated"]
    assert one["remembered"] >= before - IN_FLIGHT
    assert result["winner"] == LIVE


def test_generating_that_is_killed_pays_at_most_for_what_was_in_flight_once_more(server):
    flags = ["--items", write_items(Path("items.jsonl")), "-o", "out.jsonl"]
    typed = [sys.executable, "-m", "judgeloop", "generate", LIVE, *system_flags(server, LIVE)]
    command = [*map(str, [*typed, *flags]), "--concurrency", str(IN_FLIGHT)]
    killed_at_six(server, command)
    assert not Path("out.jsonl").exists()
    done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    texts = [request["messages"][-1]["content"] for request in generated(server)]
    assert len(texts) - len(set(texts)) <= IN_FLIGHT
    assert len(set(texts)) == len(Path("out.jsonl").read_text().splitlines())
