"""HTTP clients for judges and systems: bounded replies, no redirects, network settings from a snapshot.

All chat models are asked by these clients, the SDKs' own requests included. Imported with the SDK, on the first call.

Their connections notice bytes behind a reply, so that no reply is read as that of the next request. A gateway that
sends a reply twice, or states a Content-Length that is too short, leaves bytes on the connection. The HTTP library
keeps them, and reads them as the reply to the next request on that connection: a verdict would go to another item.
Here the bytes of a reply are kept until it has ended. `ReplyStream.left_over` parses them once more; `BoundedStream`
then refuses the reply and the connection. What arrives later, while the connection is idle, the library notices itself.
"""

from __future__ import annotations

import socket
import ssl
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Iterable
from functools import cache, partial
from typing import Any, final

import h11
import httpcore2
import httpx2

from judgeloop.core.errors import ErrorKind, JudgeError
from judgeloop.providers.endpoint import Endpoint

MOST_BYTES = 4 * 1024 * 1024  # of a reply's body, before and after decompression
MOST_STREAMED_BYTES = 64 * 1024 * 1024  # of a streamed body: an event of some hundred bytes for each token
EVENTS = "text/event-stream"  # the type of a streamed body
POOL = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)  # as the SDKs set it

# As Anthropic's SDK sets them: probes keep a connection open through a gateway that closes idle
# ones, and find out that a server is gone.
KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 60, "TCP_KEEPCNT": 5}.items()
        if hasattr(socket, name)
    ),
]

# Headers that may go to a server that is not the provider's.
PLAIN_HEADERS = {
    "accept", "accept-encoding", "anthropic-version", "authorization", "connection", "content-length", "content-type",
    "host", "user-agent",
}  # fmt: skip
OPENAI_HOST, OF_OPENAI = "api.openai.com", ("openai-organization", "openai-project")
CODING, CODINGS = "gzip", {"gzip", "x-gzip"}  # asked for, and two names for it
CONNECT_S = 5.0  # to connect to a server; as the SDKs and httpx have it
Options = Iterable[httpcore2.SOCKET_OPTION] | None


def http_client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """A client for `endpoint`, with its proxies and certificates.

    The client itself does not read the environment.

    Raises:
        JudgeError: a proxy or the certificates cannot be used.
    """
    network = endpoint.network
    return httpx2.AsyncClient(
        transport=_transport(tls(network.ca_file, network.ca_dir), network.proxy),
        trust_env=False,
        follow_redirects=False,
        timeout=time_limits(endpoint.timeout_s),
        headers={"Accept-Encoding": CODING},
        event_hooks=hooks(endpoint),
    )


def time_limits(seconds: float) -> httpx2.Timeout:
    """The limits in seconds of connecting to a server; reading and writing have none.

    A host that is down often does not refuse a connection: it says nothing.

    The whole request is limited by `engine/pace.py`, which does not count the time in which the
    process was stopped. httpx2 counts it, and would drop a reply that has arrived meanwhile.
    """
    connect = min(seconds, CONNECT_S)
    return httpx2.Timeout(seconds, connect=connect, read=None, write=None)


def _transport(context: ssl.SSLContext, proxy: str | None) -> httpx2.AsyncBaseTransport:
    try:
        transport = httpx2.AsyncHTTPTransport(
            verify=context, trust_env=False, limits=POOL, proxy=proxy, socket_options=KEEP_ALIVE
        )
    except (ImportError, ValueError, httpx2.InvalidURL):
        # The error is not shown, because a proxy's address may contain a password.
        raise JudgeError(
            ErrorKind.REJECTED,
            "a proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: expected "
            "http://HOST:PORT or https://HOST:PORT",
            billed=False,
        ) from None
    # The transport has no parameter for it; a test fails if this no longer does what it should.
    transport._pool._network_backend = ReplyBackend()  # noqa: SLF001
    return transport


@cache
def tls(ca_file: str | None, ca_dir: str | None) -> ssl.SSLContext:
    """The TLS context that all pools share; making a context takes longer than a call.

    `ca_file` and `ca_dir` hold the certificates to trust; None for the system's.

    Raises:
        JudgeError: the certificates cannot be read.
    """
    if ca_file is None and ca_dir is None:
        return httpx2.create_ssl_context(trust_env=False)
    # Not `ssl.create_default_context`, which reads SSLKEYLOGFILE from the environment.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if sys.version_info >= (3, 13):
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    try:
        # A file wins over a folder, as in httpx2.
        context.load_verify_locations(ca_file, None if ca_file else ca_dir)
    except OSError as error:
        raise JudgeError(
            ErrorKind.REJECTED,
            f"the certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be read: {error}",
            billed=False,
        ) from None
    return context


def hooks(endpoint: Endpoint) -> dict[str, list[Any]]:
    """The event hooks; request headers are removed unless the address is the provider's."""
    plain = partial(plain_headers, key=endpoint.api_key)
    request: list[Any] = [of_openai_alone if endpoint.own else plain]
    request += [partial(latest_key, endpoint=endpoint)] if endpoint.printed else []
    return {"request": request, "response": [bound_body]}


async def latest_key(request: httpx2.Request, *, endpoint: Endpoint) -> None:
    """Send the latest key that a command printed, and no other: a token is a bearer's, whatever the server."""
    request.headers.pop("x-api-key", None)
    request.headers["authorization"] = f"Bearer {endpoint.key}"


async def of_openai_alone(request: httpx2.Request) -> None:
    """Remove the names of OpenAI's organisation and project from what goes elsewhere.

    OpenAI's SDK, which also asks other providers, reads them from the environment, whatever the address.
    """
    if not f".{request.url.host}".endswith(f".{OPENAI_HOST}"):
        for name in OF_OPENAI:
            request.headers.pop(name, None)


async def plain_headers(request: httpx2.Request, *, key: str) -> None:
    """Remove every header that is not in `PLAIN_HEADERS`, and send `key` and no other.

    The SDKs read further headers from the provider's environment variables: organisation, project,
    headers for a gateway, with its key in place of the judge's. Another server must not get them.
    """
    for name in list(request.headers):
        if name.lower() not in PLAIN_HEADERS:
            del request.headers[name]
    request.headers["authorization"] = f"Bearer {key}"


class ReplyTooLargeError(httpx2.TransportError):
    """The body is larger than any reply of a judge or a system."""


class LeftOverError(httpx2.TransportError):
    """Bytes stand behind the reply, so that it may be the reply to another request."""


class UnknownEncodingError(httpx2.TransportError):
    """The body is compressed more than once, or in a way that was not asked for."""


def _nothing_left() -> bool:
    return False


async def bound_body(response: httpx2.Response) -> None:
    """Limit the size of the body, so that a reply cannot fill the memory.

    The body is decompressed here, and not by httpx2, which has no limit and accepts up to five
    compressions of compressions.

    Raises:
        UnknownEncodingError: the body is compressed more than once, or not as asked for.
    """
    named = response.headers.get_list("content-encoding", split_commas=True)
    codings = [name for each in named if (name := each.strip().lower()) not in {"", "identity"}]
    if len(codings) > 1 or not CODINGS.issuperset(codings):
        raise UnknownEncodingError("the reply's content encoding was not asked for")
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    streamed = response.request.headers.get("accept") == EVENTS
    connection = response.extensions.get("network_stream")
    response.stream = BoundedStream(
        response.stream,
        partial(connection.left_over, response.request.method.encode())
        if isinstance(connection, ReplyStream)
        else _nothing_left,
        MOST_STREAMED_BYTES if streamed else MOST_BYTES,
        packed=bool(codings),
    )
    if codings:
        del response.headers["content-encoding"]
        response.headers.pop("content-length", None)


@final
class BoundedStream(httpx2.AsyncByteStream):
    """The stream of a body, decompressed; raises an error when the body is too large."""

    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        left_over: Callable[[], bool] = _nothing_left,
        most: int = MOST_BYTES,
        *,
        packed: bool = False,
    ) -> None:
        """`left_over` says at the end whether bytes stand behind the reply; `packed` is gzip's."""
        self._stream = stream
        self._left_over = left_over
        self._decompressor = zlib.decompressobj(zlib.MAX_WBITS | 16) if packed else None
        self._left = most  # of the body as it arrives
        self._decoded_left = self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body, chunk by chunk.

        Raises:
            ReplyTooLargeError: the body is larger than `most` bytes.
            DecodingError: the body cannot be decompressed.
            LeftOverError: bytes stand behind the body.
        """
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise ReplyTooLargeError(f"the reply has more than {self._most >> 20} MiB")
            yield self._decoded(chunk) if self._decompressor else chunk
        if self._left_over():
            raise LeftOverError("bytes stand behind the reply: it may belong to another request")

    def _decoded(self, chunk: bytes) -> bytes:
        """`chunk` decompressed; at most one byte more than the limit is decompressed."""
        assert self._decompressor is not None
        try:
            decoded = self._decompressor.decompress(chunk, self._decoded_left + 1)
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from None
        self._decoded_left -= len(decoded)
        if self._decoded_left < 0:
            raise ReplyTooLargeError(f"the reply has more than {self._most >> 20} MiB, decompressed")
        return decoded

    async def aclose(self) -> None:
        """Close the stream, which returns its connection to the pool."""
        await self._stream.aclose()


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
        """The encrypted stream, which keeps what it reads, too."""
        return ReplyStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """A property; a spoilt connection is readable, at which the library drops it."""
        return (info == "is_readable" and self._spoilt) or self._stream.get_extra_info(info)

    def left_over(self, method: bytes) -> bool:
        """Whether bytes stand behind the reply to a `method` request.

        With bytes behind it the connection is spoilt. An empty line, with which some servers end,
        does not make the reply doubtful.
        """
        read = b"".join(self._read)
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=len(read) + 1)
        parser.send(h11.Request(method=method, target=b"/", headers=[(b"host", b"")]))
        parser.send(h11.EndOfMessage())
        parser.receive_data(read)
        while not isinstance(event := parser.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:  # a body that ends with its connection
                self._spoilt = False
                return False
        behind = parser.trailing_data[0]
        self._spoilt = bool(behind)
        return bool(behind.strip(b"\r\n"))


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
