"""Keys in the environment reach their server and nothing else: no output, no log, no file, however
the command ends."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import time
from urllib.parse import quote

import pytest
from support.fault_server import FaultServer, Pause, whole
from support.outputs import two_files

from judgeloop.providers.pricing import price_from_text

pytestmark = pytest.mark.processes

KEYS = {
    "OPENAI_API_KEY": "sk-proj+canary/openai==7d1e5b9a42",
    "ANTHROPIC_API_KEY": "sk-ant+canary/anthropic==c83f06e1d5",
    "JUDGELOOP_JUDGE_API_KEY": "own+canary/judge==92ab47fe60",
}
SHOWN = 12  # of a key's characters that would already say too much
DEADLINE_S = 600
PRICE = price_from_text("1,10")

PLUGIN = """
import os

def crash(**material):
    key = os.environ["OPENAI_API_KEY"]
    raise RuntimeError("out of order")
"""


def good(say):
    return whole(200, say.completion())


def rejected(say):
    return whole(401, say.error("invalid_api_key", "Incorrect API key provided: see your account."))


def broken(say):
    return whole(500, say.error("server_error"))


def slow(say):
    return [Pause(1.0), *good(say)]


@pytest.fixture
def outputs(tmp_path):
    """Two output files of six items."""
    paths = two_files(tmp_path, 6)
    (tmp_path / "plugin_judge.py").write_text(PLUGIN)
    (tmp_path / "bad.jsonl").write_text('{"id": "i0", "prompt": "p0"}\n')
    return paths


def start(*arguments, server=None):
    """The real command, with every key set and every SDK told to log all it does."""
    env = os.environ | KEYS | {"OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug", "PYTHONDONTWRITEBYTECODE": "1"}
    if server is not None:
        env |= {"OPENAI_BASE_URL": server.url("openai"), "ANTHROPIC_BASE_URL": server.url("anthropic")}
    command = [sys.executable, "-m", "judgeloop", "compare", *arguments, "-o", "result.json"]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    stdout, stderr = process.communicate(timeout=DEADLINE_S)
    return process.returncode, stdout, stderr


def forms(key):
    """A key as it may turn up: raw, in base64 at any offset, URL-encoded, or only its beginning."""
    raw = key.encode()
    coded = [base64.b64encode(b"\0" * pad + raw)[4 if pad else 0 : -4] for pad in range(3)]
    return [raw, raw[:SHOWN], quote(key, safe="").encode(), quote(key).encode(), *coded]


def check_no_key(folder, *streams):
    texts = dict(zip(("stdout", "stderr"), streams, strict=True))
    texts |= {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found = [(where, name) for where, text in texts.items() for name, key in KEYS.items()
             for form in forms(key) if form in text]  # fmt: skip
    assert not found


def sent_keys(server):
    return {line.split(": ", 1)[1] for head in server.heads for line in head.split("\r\n")
            if line.lower().startswith(("authorization", "x-api-key"))}  # fmt: skip


@pytest.mark.parametrize(("wire", "reply", "code"), [("openai", good, 0), ("anthropic", rejected, 4)])
def test_a_providers_key_reaches_its_server_and_nothing_else(wire, reply, code, outputs, tmp_path):
    with FaultServer(reply, price=PRICE) as server:
        judge = [*outputs, "--judge", f"{wire}/m", "--judge-price", "1,10", "--order", "fixed"]
        returned, stdout, stderr = finish(start(*judge, server=server))
    assert returned == code
    assert b"HTTP Re" in stderr, "the SDK does log"
    (sent,) = sent_keys(server)
    assert sent.removeprefix("Bearer ") == KEYS[f"{wire.upper()}_API_KEY"]
    check_no_key(tmp_path, stdout, stderr)


def test_a_given_address_gets_the_judges_own_key_and_no_providers(outputs, tmp_path):
    with FaultServer(rejected, price=PRICE) as server:
        judge = ["--judge", "openai/m", "--judge-price", "1,10", "--judge-base-url"]
        _, stdout, stderr = finish(start(*outputs, *judge, server.url("openai")))
    assert sent_keys(server) == {f"Bearer {KEYS['JUDGELOOP_JUDGE_API_KEY']}"}
    check_no_key(tmp_path, stdout, stderr)


def test_a_server_in_trouble_brings_no_key_to_light(outputs, tmp_path):
    with FaultServer(broken, price=PRICE) as server:
        judge = ["--judge", "openai/m", "--judge-price", "1,10", "--budget", "0.02"]
        returned, stdout, stderr = finish(start(*outputs, *judge, server=server))
    assert returned in {3, 4}
    assert server.connections
    check_no_key(tmp_path, stdout, stderr)


def test_a_plugin_that_crashes_brings_no_key_to_light(outputs, tmp_path):
    judge = ["--judge", "python:plugin_judge:crash", "--allow-plugins"]
    returned, stdout, stderr = finish(start(*outputs, *judge))
    assert returned == 4
    assert b"out of order" in stdout + stderr
    check_no_key(tmp_path, stdout, stderr)


def test_a_bad_file_brings_no_key_to_light(outputs, tmp_path):
    process = start(outputs[0], "bad.jsonl", "--judge", "openai/m", "--judge-price", "1,10")
    returned, stdout, stderr = finish(process)
    assert returned == 2
    assert b"bad.jsonl" in stderr
    check_no_key(tmp_path, stdout, stderr)


def test_ctrl_c_brings_no_key_to_light(outputs, tmp_path):
    with FaultServer(slow, price=PRICE) as server:
        process = start(*outputs, "--judge", "anthropic/m", "--judge-price", "1,10", server=server)
        deadline = time.monotonic() + DEADLINE_S
        while not server.bodies and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        returned, stdout, stderr = finish(process)
    assert returned == 130
    assert b"stopping" in stderr
    check_no_key(tmp_path, stdout, stderr)
