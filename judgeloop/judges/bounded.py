"""Event hooks for the SDKs' HTTP client: remove request headers, limit the size of a reply.

Imported with the SDK, on the first call. Does not read the content of replies.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, final

import httpx2

MOST_BYTES = 4 * 1024 * 1024
MOST_COMPRESSED_BYTES = 64 * 1024  # decompression can make a body a thousand times larger

# Headers that may go to a server that is not the provider's.
PLAIN_HEADERS = {
    "accept", "accept-encoding", "anthropic-version", "authorization", "connection", "content-length", "content-type",
    "host", "user-agent",
}  # fmt: skip


def hooks(*, own: bool) -> dict[str, list[Any]]:
    """Return the event hooks; request headers are removed unless `own` (`Endpoint.own`)."""
    return {"request": [] if own else [plain_headers], "response": [bound_body]}


@cache
def tls() -> ssl.SSLContext:
    """Return the TLS context that all pools share; making a context takes longer than a call."""
    return httpx2.create_ssl_context()


async def plain_headers(request: httpx2.Request) -> None:
    """Remove every header that is not in `PLAIN_HEADERS`.

    The SDKs read further headers from the provider's environment variables: organisation, project,
    headers for a gateway. Another server must not get them.
    """
    for name in list(request.headers):
        if name.lower() not in PLAIN_HEADERS:
            del request.headers[name]


class ReplyTooLargeError(httpx2.TransportError):
    """The body is larger than any reply of a judge."""


async def bound_body(response: httpx2.Response) -> None:
    """Limit the size of the body, so that a reply cannot fill the memory."""
    compressed = response.headers.get("content-encoding", "identity").lower() != "identity"
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = BoundedStream(
        response.stream, MOST_COMPRESSED_BYTES if compressed else MOST_BYTES
    )


@final
class BoundedStream(httpx2.AsyncByteStream):
    """The stream of a body; raises an error when the body is larger than the limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        """`most` is the limit in bytes, counted before decompression."""
        self._stream = stream
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body, chunk by chunk.

        Raises:
            ReplyTooLargeError: the body is larger than the limit.
        """
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise ReplyTooLargeError("the reply is too large")
            yield chunk

    async def aclose(self) -> None:
        """Close the stream, which returns its connection to the pool."""
        await self._stream.aclose()
