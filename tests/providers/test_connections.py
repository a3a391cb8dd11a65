"""Bytes behind a reply are never read as the reply to the next request."""

import asyncio
import contextlib

import httpx2
import pytest

from judgeloop.providers.endpoint import Endpoint
from judgeloop.providers.http import LeftOverError, http_client

CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s"


def sized(body, stated=0):
    return SIZED % (len(body) + stated, body)


# How a server answers the request that it answers wrongly.
WRONG = {
    "twice": lambda body: sized(body) * 2,
    "chunked-twice": lambda body: CHUNKED % (len(body), body) * 2,
    "too-short": lambda body: sized(body, stated=-1),
    "another-behind": lambda body: sized(body) + sized(b"7"),
}


@contextlib.asynccontextmanager
async def echo(answer, *, closing=False):
    """A server that answers each request with its own body, by `answer`; yields its address."""
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                size = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
                writer.write(answer(await reader.readexactly(size)))
                await writer.drain()
                if closing:
                    writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        for writer in connections:
            writer.close()
        server.close()
        await server.wait_closed()


async def asked(client, address, number):
    """Whether the reply is that of its own request; None if it was refused."""
    try:
        reply = await client.post(address, content=b"%d" % number)
    except LeftOverError:
        return None
    return reply.content == b"%d" % number


async def answers(answer, calls, at_once, *, closing=False):
    async with echo(answer, closing=closing) as address:
        client = http_client(Endpoint(address, "key", 5.0))
        found = []
        for start in range(0, calls, at_once):
            group = range(100 + start, 100 + start + at_once)
            found += await asyncio.gather(*(asked(client, address, number) for number in group))
        await client.aclose()
        return found


@pytest.mark.parametrize("at_once", [1, 64])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_reply_with_bytes_behind_it_is_refused_and_no_other(wrong, at_once):
    def answer(body):
        return WRONG[wrong](body) if int(body) % 10 == 3 else sized(body)

    found = asyncio.run(answers(answer, 64, at_once))
    assert found == [None if number % 10 == 3 else True for number in range(100, 164)]


@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_a_sound_reply_is_read_also_with_an_empty_line_behind_it(end):
    found = asyncio.run(answers(lambda body: sized(body) + end, 8, 1))
    assert found == [True] * 8


def test_a_body_that_ends_with_its_connection_is_read():
    found = asyncio.run(answers(lambda body: b"HTTP/1.0 200 OK\r\n\r\n" + body, 3, 1, closing=True))
    assert found == [True] * 3


def test_the_library_alone_reads_them_as_the_next_reply():
    """Why this is needed; when it fails, the library may have mended it."""

    async def shifted():
        async with echo(lambda body: sized(body) * 2) as address, httpx2.AsyncClient(trust_env=False) as client:
            return [(await client.post(address, content=b"%d" % n)).content for n in range(4)]

    assert asyncio.run(shifted()) != [b"0", b"1", b"2", b"3"]
