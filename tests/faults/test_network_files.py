"""A file in the working folder cannot put a proxy or certificates between a key and its server;
the process's own environment can."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.fault_server import USED, FaultServer, whole
from support.outputs import two_files
from support.patience import PATIENCE_S

from judgeloop.providers.pricing import price_from_text

pytestmark = pytest.mark.processes

KEY = "sk-canary-0d41c6"
PRICE = price_from_text("1,10")
NAMES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]


def good(say):
    return whole(200, say.completion())


def compare(folder, address, **environment):
    command = [sys.executable, "-m", "judgeloop", "compare", *two_files(folder, 6)]
    command += ["--judge", "openai/m", "--judge-price", "1,10", "--order", "fixed"]
    usual = {name: value for name, value in os.environ.items() if "_proxy" not in name.lower()}
    return subprocess.run(
        command, cwd=folder, env=usual | {"OPENAI_API_KEY": KEY} | address | environment, check=False, capture_output=True,
        text=True, timeout=PATIENCE_S,
    )  # fmt: skip


@pytest.mark.parametrize("where", [".", ".."])
def test_a_proxy_in_an_env_file_is_never_asked(where, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    with FaultServer(good, price=PRICE, used=USED) as proxy, FaultServer(good, price=PRICE, used=USED) as server:
        lines = [*(f"{name}={proxy.address}" for name in NAMES), f"SSL_CERT_FILE={folder}/ca.pem"]
        (folder / where / ".env").write_text("\n".join(lines) + "\n")
        done = compare(folder, {"OPENAI_BASE_URL": server.url("openai")})
    assert proxy.connections == 0
    if done.returncode == 0:
        assert server.connections > 0
    else:
        assert done.returncode == 2, done.stderr
        assert server.connections == 0


def test_a_proxy_in_the_processs_own_environment_is_asked(tmp_path):
    with FaultServer(good, price=PRICE, used=USED) as proxy:
        # A server that is not on this machine: what runs here is never reached through a proxy.
        address = {"OPENAI_BASE_URL": "https://judge.invalid/v1"}
        done = compare(tmp_path, address, HTTPS_PROXY=proxy.address)
    assert done.returncode != 0
    assert proxy.connections > 0
