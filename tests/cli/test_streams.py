"""A command whose reader goes away, or whose terminal is closed, keeps what is paid for and says so
in its exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from support.chat_server import Response, goodness, verdict
from support.database import opened
from support.outputs import write_good_and_poor

pytestmark = pytest.mark.processes

COMMAND = [sys.executable, "-m", "judgeloop"]
ITEMS = 200
DEADLINE_S = 600
FULL = Path("/dev/full")


@pytest.fixture
def compare(chat_server, tmp_path, monkeypatch):
    """A comparison of two systems, of which one is better."""
    monkeypatch.chdir(tmp_path)
    chat_server.respond = lambda request, n: Response(200, verdict(goodness(request)).body, delay_s=0.15)
    write_good_and_poor(tmp_path, ITEMS)
    return [
        *COMMAND, "compare", "a.jsonl", "b.jsonl", "--judge", "openai/m", "--judge-price", "1,10",
        "--judge-base-url", chat_server.url, "--concurrency", "4", "--order", "fixed",
        "-o", "result.json",
    ]  # fmt: skip


@pytest.fixture
def held(compare, chat_server):
    """The same, level, so that it never decides; no reply comes before the event is set."""
    go_on = threading.Event()

    def respond(request, n):
        go_on.wait(DEADLINE_S)
        return Response(200, verdict("tie").body, delay_s=0.15)

    chat_server.respond = respond
    yield compare, go_on
    go_on.set()


@pytest.fixture
def quick(compare, chat_server):
    """The same with a quick server."""
    chat_server.respond = lambda request, n: verdict(goodness(request))
    return compare


def start(command, **more):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **(pipes | more))


def hear_signals():
    """In a child: not as under nohup, with which the tests themselves may have been started."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def wait_for_requests(server, count):
    deadline = time.monotonic() + DEADLINE_S
    while len(server.requests) < count and time.monotonic() < deadline:
        time.sleep(0.01)


def states(folder):
    with opened(folder / ".judgeloop" / "ledger.sqlite") as connection:
        return dict(connection.execute("SELECT state, count(*) FROM attempts GROUP BY state"))


def check_drained(server, folder):
    found = states(folder)
    assert 0 < found.pop("settled") == len(server.requests) < ITEMS
    assert set(found) <= {"released"}, "what had not been sent was given back"
    assert json.loads((folder / "result.json").read_text())["stop_reason"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_drains_what_is_in_flight(number, held, chat_server, tmp_path):
    compare, go_on = held
    process = start(compare, preexec_fn=hear_signals)
    wait_for_requests(chat_server, 4)
    process.send_signal(number)
    said = ""
    while "stopping: waiting for the calls in flight" not in said:
        line = process.stderr.readline()
        assert line, f"it ended without a word of the signal: {said}"
        said += line
    go_on.set()
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, said + err
    assert not out
    assert "- INTERRUPTED, no result: what was paid for is kept" in err
    assert "Rerun the command to resume." in err
    check_drained(chat_server, tmp_path)


def test_a_terminal_that_is_closed_drains_what_is_in_flight(held, chat_server, tmp_path):
    """The session's terminal goes away: SIGHUP, and nothing can be written any more."""
    compare, go_on = held
    pid, terminal = pty.fork()
    if pid == 0:
        hear_signals()
        os.execv(compare[0], compare)
    try:
        wait_for_requests(chat_server, 4)
    finally:
        os.close(terminal)
    go_on.set()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 130, "there was no result to show"
    check_drained(chat_server, tmp_path)


def test_under_nohup_a_closed_terminal_changes_nothing(quick, chat_server):
    chat_server.respond = lambda request, n: Response(200, verdict("A").body, delay_s=0.05)
    process = start(quick, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_requests(chat_server, 4)
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode in {0, 3}, err
    assert "interrupted" not in out


def closed_pipe():
    """The end of a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "w")


@pytest.mark.parametrize(("form", "unbuffered"), [("text", "1"), ("json", "")])
def test_a_result_that_nobody_reads_exits_with_141_and_is_in_its_files(form, unbuffered, quick, tmp_path):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    more = ["--json"] if form == "json" else []
    with closed_pipe() as pipe:
        process = start([*quick, *more], stdout=pipe, env=environment)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, messages(err)) == (141, [])
    assert json.loads((tmp_path / "result.json").read_text())["winner"] == "a"
    with opened(tmp_path / ".judgeloop" / "ledger.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (1,)


def messages(err):
    """Lines on standard error but those of the progress, which a slow machine has time to show."""
    progress = re.compile(r"judgeloop: (ledger: new|compare: a and b,|\d+ of at most)")
    return [line for line in err.splitlines() if not progress.match(line)]


def test_a_process_without_a_standard_output_exits_with_141(quick, tmp_path):
    command = ["sh", "-c", 'exec "$@" >&-', "sh", *quick]
    process = start(command, stdout=None)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, messages(err)) == (141, [])
    assert json.loads((tmp_path / "result.json").read_text())["winner"] == "a"


@pytest.mark.skipif(not FULL.exists(), reason="the system has no full device")
def test_a_result_on_a_full_disk_is_an_error_with_a_sentence(quick, tmp_path):
    with FULL.open("w", encoding="utf-8") as full:
        process = start(quick, stdout=full)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 1
    assert messages(err) == ["judgeloop: standard output could not be written: No space left on device"]
    assert json.loads((tmp_path / "result.json").read_text())["winner"] == "a"


@pytest.mark.parametrize("closed", [True, False])
def test_messages_that_nobody_reads_change_nothing(closed, compare, chat_server, tmp_path):
    """Standard error is closed from the start, or its reader goes away."""
    if closed:
        process = start(["sh", "-c", 'exec "$@" 2>&-', "sh", *compare], stderr=None)
    else:
        with closed_pipe() as pipe:
            process = start(compare, stderr=pipe)
    wait_for_requests(chat_server, 4)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130
    assert not out
    check_drained(chat_server, tmp_path)


@pytest.mark.parametrize("arguments", [["compare", "--help"], ["--version"]])
def test_other_output_that_nobody_reads_exits_with_141_too(arguments, tmp_path):
    with closed_pipe() as pipe:
        process = start([*COMMAND, *arguments], stdout=pipe, cwd=tmp_path)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, messages(err)) == (141, [])
