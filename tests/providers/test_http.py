"""Whatever a server compresses, a reply takes no more memory than the limit."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import tracemalloc
from contextlib import ExitStack
from functools import cache

import httpx2
import pytest
from support.chat_server import ChatServer, Response, completion, verdict
from support.endings import ends, replied
from support.judges import judge

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.core.records import Call, Item, Usage, Verdict
from judgeloop.providers import http
from judgeloop.providers.http import MOST_BYTES, bound_body

CALL = Call(Item("i", "Say something."), ("a", "b"), ("a good answer", "an answer"))
MEGABYTE = 1024 * 1024
MOST_MEMORY = 3 * MOST_BYTES


@cache
def in_each_other():
    return gzip.compress(gzip.compress(gzip.compress(bytes(200 * MEGABYTE))))


# By name: how it is said to be compressed, and what makes it.
BOMBS = {
    "gzip": ("gzip", cache(lambda: gzip.compress(bytes(48 * MEGABYTE)))),
    "in each other": ("gzip, gzip, gzip", in_each_other),
    "in each other, under other names": ("GZIP,identity , gzip,,gzip", in_each_other),
}


def ask(server, spec):
    url = server.root if spec.startswith("anthropic") else server.url
    return replied(judge(spec, {}, base_url=url, price="1,10"), CALL)


@pytest.fixture(autouse=True, scope="module")
def _imported():
    """What a call imports is imported before memory is measured."""
    server = ChatServer(lambda request, number: Response(400))
    for spec in ("openai/m", "anthropic/m"):
        with pytest.raises(JudgeError):
            ask(server, spec)
    server.close()


@pytest.mark.parametrize("spec", ["openai/m", "anthropic/m", "vllm/m"])
def test_a_host_that_does_not_answer_a_connection_is_not_there(spec, monkeypatch):
    monkeypatch.setattr(http, "CONNECT_S", 0.2)
    with socket.socket() as deaf, ExitStack() as held:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(4):  # more than wait to be accepted: the system says nothing to others
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with ends(ErrorKind.UNREACHABLE, match=f"^nothing answers at {url}: is the server running"):
            replied(judge(spec, {}, base_url=url, price="1,10"), CALL)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("spec", ["openai/m", "anthropic/m", "vllm/m"])
def test_a_bomb_takes_no_more_memory_than_a_reply_may(spec, bomb, status, chat_server):
    coding, body = BOMBS[bomb]
    response = Response(status, body(), {"Content-Encoding": coding})
    chat_server.pages = {"/v1/models": response}
    chat_server.respond = lambda request, number: response
    tracemalloc.start()
    try:
        with ends(ErrorKind.RETRY, match=r"no (usable )?reply from"):
            ask(chat_server, spec)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY
    finally:
        tracemalloc.stop()


def test_a_reply_that_is_too_large_says_what_the_limit_is(chat_server):
    chat_server.respond = lambda request, number: Response(200, b" " * (MOST_BYTES + 1))
    with ends(ErrorKind.RETRY, match="no usable reply from .*: the reply has more than 4 MiB"):
        ask(chat_server, "openai/m")


@pytest.mark.parametrize(
    ("coding", "pack"),
    [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("identity", bytes), ("Identity, GZip", gzip.compress)],
)
def test_a_reply_that_is_compressed_once_is_read(coding, pack, chat_server):
    body = pack(verdict("A").body)
    chat_server.respond = lambda request, number: Response(200, body, {"Content-Encoding": coding})
    assert ask(chat_server, "openai/m").answer == Verdict(1.0, "because")
    assert {headers["accept-encoding"] for headers in chat_server.headers} == {"gzip"}


@pytest.mark.parametrize("coding", ["br", "zstd", "deflate", "gzip, deflate", "mystery"])
def test_an_encoding_that_was_not_asked_for_is_refused(coding, chat_server):
    body = verdict("A").body
    chat_server.respond = lambda request, number: Response(200, body, {"Content-Encoding": coding})
    with ends(ErrorKind.RETRY, match="UnknownEncodingError") as caught:
        ask(chat_server, "openai/m")
    assert caught.value.billed


def test_a_long_reply_that_is_compressed_well_is_read(chat_server):
    said = json.dumps({"reason": "r" * (MOST_BYTES - 2000), "winner": "A"})
    body = gzip.compress(completion(said).body)
    chat_server.respond = lambda request, number: Response(200, body, {"Content-Encoding": "gzip"})
    assert ask(chat_server, "openai/m").usage == Usage(400, 20)


@pytest.mark.parametrize(("excess", "read"), [(0, True), (1, False)])
@pytest.mark.parametrize("pack", [gzip.compress, None])
@pytest.mark.parametrize("piece", [1000, MOST_BYTES * 2])
def test_the_limit_is_exact_and_counts_what_is_decompressed(excess, read, pack, piece):
    body = bytes(MOST_BYTES + excess)
    sent, headers = (pack(body), {"Content-Encoding": "gzip"}) if pack else (body, {})

    async def chunks():
        for start in range(0, len(sent), piece):
            yield sent[start : start + piece]

    async def story():
        request = httpx2.Request("POST", "http://127.0.0.1")
        response = httpx2.Response(200, headers=headers, content=chunks(), request=request)
        await bound_body(response)
        return await response.aread()

    if read:
        assert asyncio.run(story()) == body
    else:
        with pytest.raises(httpx2.TransportError, match="more than 4 MiB"):
            asyncio.run(story())
