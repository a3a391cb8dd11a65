"""Connections that notice bytes behind a reply, so that no reply is read as that of the next request.

A gateway that sends a reply twice, or states a Content-Length that is too short, leaves bytes on the
connection. The HTTP library keeps them, and reads them as the reply to the next request on that
connection: a verdict would go to another item. Here the bytes of a reply are kept until it has
ended. `left_over` parses them once more; the client then refuses the reply and the connection
(`http_client.py`). What arrives later, while the connection is idle, the library notices itself.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Any, final

import h11
import httpcore2

Options = Iterable[httpcore2.SOCKET_OPTION] | None


@final
class ReplyStream(httpcore2.AsyncNetworkStream):
    """A connection's stream that keeps the bytes read since the last request."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._read: list[bytes] = []
        self._spoilt = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read, and keep what was read."""
        found = await self._stream.read(max_bytes, timeout)
        self._read.append(found)
        return found

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write a part of a request; what was read before belongs to an earlier reply."""
        self._read.clear()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> ReplyStream:
        """Return the encrypted stream, which keeps what it reads, too."""
        return ReplyStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """Return a property; a spoilt connection is readable, at which the library drops it."""
        return (info == "is_readable" and self._spoilt) or self._stream.get_extra_info(info)

    def left_over(self, method: bytes) -> bool:
        """Return whether bytes stand behind the reply to a `method` request.

        With bytes behind it the connection is spoilt. An empty line, with which some servers end,
        does not make the reply doubtful.
        """
        behind = _behind(b"".join(self._read), method)
        self._spoilt = bool(behind)
        return bool(behind.strip(b"\r\n"))


def _behind(read: bytes, method: bytes) -> bytes:
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=len(read) + 1)
    parser.send(h11.Request(method=method, target=b"/", headers=[(b"host", b"")]))
    parser.send(h11.EndOfMessage())
    parser.receive_data(read)
    while not isinstance(event := parser.next_event(), h11.EndOfMessage):
        if event is h11.NEED_DATA:
            return b""  # a body that ends with its connection
    return parser.trailing_data[0]


@final
class ReplyBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections whose streams are `ReplyStream`s."""

    def __init__(self) -> None:
        self._backend = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Options = None,
    ) -> ReplyStream:
        """Connect to a host."""
        return ReplyStream(await self._backend.connect_tcp(host, port, timeout, local_address, socket_options))

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Options = None
    ) -> ReplyStream:
        """Connect to a socket file."""
        return ReplyStream(await self._backend.connect_unix_socket(path, timeout, socket_options))

    async def sleep(self, seconds: float) -> None:
        """Wait between attempts to connect."""
        await self._backend.sleep(seconds)
