"""Hooks for the HTTP client that the SDKs use: what may go out, and how much may come in.

Imported with the SDK, on the first call. What a reply means is not known here.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, final

import httpx2

MOST_BYTES = 4 * 1024 * 1024
MOST_COMPRESSED_BYTES = 64 * 1024  # they may grow a thousandfold


PLAIN_HEADERS = {
    "accept", "accept-encoding", "anthropic-version", "authorization", "connection", "content-length", "content-type",
    "host", "user-agent",
}  # fmt: skip


def hooks(*, own: bool) -> dict[str, list[Any]]:
    """The hooks for an address of the provider's `own`, or for another's."""
    return {"request": [] if own else [plain_headers], "response": [bound_body]}


@cache
def tls() -> ssl.SSLContext:
    """One TLS context for all pools: making one takes longer than a call."""
    return httpx2.create_ssl_context()


async def plain_headers(request: httpx2.Request) -> None:
    """Take out what an SDK adds from the provider's variables: organisation, project, headers for a gateway."""
    for name in list(request.headers):
        if name.lower() not in PLAIN_HEADERS:
            del request.headers[name]


class ReplyTooLargeError(httpx2.TransportError):
    """A body beyond any reply that a judge gives."""


async def bound_body(response: httpx2.Response) -> None:
    """Keep a reply from filling the memory: an event hook for the client."""
    compressed = response.headers.get("content-encoding", "identity").lower() != "identity"
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = BoundedStream(
        response.stream, MOST_COMPRESSED_BYTES if compressed else MOST_BYTES
    )


@final
class BoundedStream(httpx2.AsyncByteStream):
    """A body's stream that ends with an error where it goes on too long."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        """`most` is in bytes as they come over the wire."""
        self._stream = stream
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Pass the body on, chunk by chunk."""
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise ReplyTooLargeError("the reply is too large")
            yield chunk

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._stream.aclose()
