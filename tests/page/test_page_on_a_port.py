"""What another site, another program and a forged request get from the page on its port, as a process of its own."""

from __future__ import annotations

import json
import socket

import httpx2
import pytest
from support.page_runs import page_run, write_outputs

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    write_outputs(folder)
    with page_run(folder, "--people", "anna,ben") as one:
        yield one


def port_of(run):
    return int(run.url.rpartition(":")[2])


@pytest.mark.parametrize(
    ("path", "sent", "status"),
    [
        ("/api/next", {}, 401),
        ("/", {"host": "evil.example"}, 421),
        ("/", {"host": "evil.example:{port}"}, 421),
        ("/api/next", {"sec-fetch-site": "cross-site"}, 421),
        ("/api/next", {"cookie": "session=x"}, 401),
    ],
)
def test_what_a_stranger_reads(run, path, sent, status):
    headers = {name: value.format(port=port_of(run)) for name, value in sent.items()}
    assert httpx2.get(run.url + path, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"json": {"token": "{token}"}, "headers": {"origin": "http://evil.example"}}, 421),
        ({"json": {"token": "{token}"}, "headers": {"origin": "null"}}, 421),
        ({"data": {"token": "{token}"}}, 415),
        ({"content": '{"token": "{token}"}', "headers": {"content-type": "text/plain"}}, 415),
        ({"json": {"token": "x"}}, 403),
        ({"json": {"token": "x" * 20_000}}, 413),
    ],
)
def test_what_does_not_enter_though_the_token_is_right(run, sent, status):
    body = json.loads(json.dumps(sent).replace("{token}", run.tokens[0]))
    assert httpx2.post(f"{run.url}/api/enter", **body).status_code == status


def test_a_header_that_does_not_end_is_refused(run):
    with socket.create_connection(("127.0.0.1", port_of(run)), timeout=10) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 40_000)
        assert b" 400 " in one.recv(200)


def entered(run, at):
    reply = httpx2.post(f"{run.url}/api/enter", json={"token": run.tokens[at]}, headers={"origin": run.url})
    assert reply.status_code == 200
    assert "set-cookie" not in reply.headers
    return httpx2.Client(base_url=run.url, headers={"authorization": f"Bearer {reply.json()['session']}"}, timeout=40)


def test_two_people_and_two_windows(run):
    with entered(run, 0) as anna, entered(run, 1) as ben:
        hers, his = (one.get("/api/next").json()["pair"] for one in (anna, ben))
        assert "secret" not in json.dumps([hers, his])
        assert hers["prompt"] != his["prompt"]
        said = {"id": hers["id"], "key": "a", "seconds": 3}
        assert ben.post("/api/answer", json=said).status_code == 409
        assert anna.post("/api/answer", json=said | {"key": "q"}).status_code == 400
        assert [anna.post("/api/answer", json=said).status_code for _ in range(2)] == [200, 200], "sent again"
        anna.get("/api/next")
        assert anna.post("/api/undo", json={}).status_code == 200
        assert anna.get("/api/next").json()["pair"]["prompt"] == hers["prompt"]
        with entered(run, 0) as other:
            assert anna.get("/api/next").status_code == 401
            assert other.get("/api/next").json()["pair"]["prompt"] == hers["prompt"]
