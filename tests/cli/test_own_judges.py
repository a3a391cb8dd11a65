"""A judge of the user's own, which may print, leave or hang, does not change how a command ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from support.outputs import write_outputs

from judgeloop.cli.app import app

DEADLINE_S = 600


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Returns the arguments of a comparison by a function with this body."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in "ab":
        write_outputs(tmp_path / f"{name}.jsonl", [f"{name} {n}" for n in range(30)])

    def arguments(body, top=""):
        monkeypatch.delitem(sys.modules, "its_judge", raising=False)
        function = f"def judge(prompt, first, second):\n    {body}\n"
        (tmp_path / "its_judge.py").write_text(f"import sys, time\n{top}\n{function}")
        judge = ["--judge", "python:its_judge:judge", "--allow-plugins"]
        return ["compare", "a.jsonl", "b.jsonl", *judge, "--order", "fixed"]

    yield arguments
    sys.modules.pop("its_judge", None)


def test_what_a_function_prints_is_kept_out_of_the_result(compare):
    arguments = compare("print('asked', prompt)\n    return 'A'", "print('imported')")
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["winner"] == "a"
    assert "imported\n" in done.stderr
    assert "asked p" in done.stderr


@pytest.mark.parametrize("body", ["sys.exit(0)", "sys.exit(3)", "raise SystemExit"])
def test_a_function_that_exits_is_a_judge_that_failed(compare, body):
    done = CliRunner().invoke(app, [*compare(body), "--require-winner", "b"])
    assert done.exit_code == 4, done.output
    assert "its_judge:judge raised SystemExit" in done.stderr


def test_a_module_that_exits_when_it_is_imported_is_refused(compare):
    done = CliRunner().invoke(app, compare("return 'A'", "sys.exit(0)"))
    assert done.exit_code == 2, done.output
    assert "SystemExit: 0" in done.stderr


@pytest.mark.processes
def test_a_function_that_hangs_outlives_neither_its_time_limit_nor_the_deadline(compare, monkeypatch):
    monkeypatch.setenv("JUDGELOOP_JUDGE_TIMEOUT", "0.2")
    done = run([*compare("time.sleep(10_000)"), "--deadline", "0.5s"])
    assert done.returncode == 4, done.stderr
    assert "no reply within 0.2 s" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.processes
def test_a_second_signal_ends_a_function_that_hangs(compare, tmp_path):
    arguments = compare("open('began', 'w').close()\n    time.sleep(10_000)")
    process = start(arguments)
    began = time.monotonic()
    while not (tmp_path / "began").exists() and time.monotonic() < began + DEADLINE_S:
        time.sleep(0.01)
    for word in ("stopping: waiting for the calls in flight", "giving up the calls in flight"):
        process.send_signal(signal.SIGTERM)
        while word not in (line := process.stderr.readline()):
            assert line, "it ended without a word of the signal"
    process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130


def start(arguments):
    command = [sys.executable, "-m", "judgeloop", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(arguments):
    process = start(arguments)
    out, err = process.communicate(timeout=DEADLINE_S)
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)
