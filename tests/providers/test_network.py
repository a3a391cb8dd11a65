"""Proxies and certificates come from the environment that the caller hands on, and from nowhere
else."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Any

import certifi
import httpx2
import pytest
from support.chat_server import ChatServer, Response, completion, goodness, verdict
from support.endings import ends, replied
from support.judges import judge

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Call, Item, Verdict
from judgeloop.providers.endpoint import Endpoint, Network
from judgeloop.providers.http import http_client

CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
SPECS = ["openai/m", "anthropic/m", "vllm/m"]
PROXIES = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"]
NAMES = [*PROXIES, "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"]


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def proxy():
    """A server that answers whatever address it is asked for, and so serves as a proxy."""
    server = ChatServer()
    yield server
    server.close()


def respond(request, number):
    if "choice" in request.get("structured_outputs", {}):
        return completion(request["structured_outputs"]["choice"][0])
    return verdict(goodness(request))


def serve(server, prefix=""):
    server.respond = respond
    server.pages = {f"{prefix}/v1/models": Response(body=b'{"data": [{"id": "m"}]}')}


def make(spec, url, environment):
    url = url.removesuffix("/v1") if spec.startswith("anthropic") else url
    return judge(spec, environment, base_url=url, price="1,10", timeout_s=5.0)


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_a_proxy_that_is_set_beside_or_after_the_snapshot_is_not_asked(spec, later, chat_server, proxy, monkeypatch):
    def change():
        for name in PROXIES:
            monkeypatch.setenv(name, proxy.root)
        monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")

    serve(chat_server)
    snapshot = os.environ if later else dict(os.environ)
    if not later:
        change()
    one = make(spec, chat_server.url, snapshot)
    change()
    try:
        replied(one, CALL)
    except JudgeError:
        assert spec.startswith("anthropic"), "the server speaks Chat Completions"
    assert chat_server.requests
    assert not proxy.requests
    assert not proxy.visits


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("spec", ["openai/m", "vllm/m"])
def test_a_proxy_in_the_callers_environment_is_asked(spec, name, chat_server, proxy):
    serve(proxy, prefix="http://judge.example")
    one = make(spec, "http://judge.example/v1", {name: proxy.root.removeprefix("http://")})
    assert replied(one, CALL).answer == Verdict(1.0, "because")
    assert proxy.paths[-1] == "http://judge.example/v1/chat/completions"
    assert not chat_server.requests


def test_a_server_on_this_machine_is_reached_without_a_proxy(chat_server, proxy):
    serve(chat_server)
    environment = {"HTTP_PROXY": proxy.root, "NO_PROXY": "example.com"}
    assert replied(make("openai/m", chat_server.url, environment), CALL).answer == Verdict(1.0, "because")
    assert not proxy.requests


@pytest.mark.parametrize(
    ("environment", "url", "proxied"),
    [
        ({"HTTPS_PROXY": "p:1"}, "https://a.example/", True),
        ({"HTTPS_PROXY": "p:1"}, "http://a.example/", False),
        ({"HTTPS_PROXY": "p:1", "https_proxy": ""}, "https://a.example/", False),
        ({"ALL_PROXY": "p:1"}, "http://a.example/", True),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "*"}, "http://a.example/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "a.example"}, "http://a.example/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "a.example"}, "http://b.a.example/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "a.example"}, "http://ba.example/", True),
        ({"ALL_PROXY": "p:1", "NO_PROXY": ".a.example"}, "http://b.a.example/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "*.a.example"}, "http://b.a.example/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "localhost,::1"}, "http://[::1]:8000/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "[::1]"}, "http://[::1]:8000/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "fd00::/8"}, "http://[fd00::2]/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3/", False),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "10.0.0.0/8"}, "http://11.1.2.3/", True),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "http://a.example"}, "https://a.example/", True),
        ({"ALL_PROXY": "p:1", "NO_PROXY": "10.0.0.0/99,a b/c"}, "http://10.1.2.3/", True),
    ],
)
def test_the_variables_mean_what_they_mean_to_httpx(environment, url, proxied, monkeypatch):
    assert (Network.of(environment, url).proxy is not None) == proxied
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    theirs = httpx2.AsyncClient()
    assert (theirs._transport_for_url(httpx2.URL(url)) is not theirs._transport) == proxied


def context_of(environment):
    client = http_client(Endpoint("https://x", "key", 1.0, network=Network.of(environment, "https://x")))
    transport: Any = client._transport
    return transport._pool._ssl_context


def test_certificates_and_key_logs_that_are_set_beside_the_snapshot_are_not_used(tmp_path, monkeypatch):
    own = tmp_path / "ca.pem"
    own.write_text(first_certificate())
    usual = context_of({}).cert_store_stats()
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys.log"))
    http_client.__globals__["tls"].cache_clear()
    assert context_of({}).cert_store_stats() == usual
    context = context_of({"SSL_CERT_FILE": str(own)})
    assert context.cert_store_stats()["x509"] == 1
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not (tmp_path / "keys.log").exists()


def first_certificate():
    text = Path(certifi.where()).read_text(encoding="utf-8")
    end = "-----END CERTIFICATE-----"
    return text[text.index("-----BEGIN") : text.index(end) + len(end)] + "\n"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SSL_CERT_FILE": "/nowhere/ca.pem"}, "SSL_CERT_FILE"),
        ({"HTTP_PROXY": "ftp://user:secret@proxy:1"}, "HTTP_PROXY"),
    ],
)
def test_settings_that_cannot_be_used_stop_the_run_and_show_no_password(environment, words, chat_server):
    with ends(ErrorKind.REJECTED, match=words) as caught:
        replied(make("openai/m", "http://judge.example/v1", environment), CALL)
    assert not caught.value.billed
    assert "secret" not in str(caught.value)
    assert not chat_server.requests
