"""A server on plain sockets that answers a judge in any way at all, byte by byte, and keeps the
true bill.

It speaks Chat Completions (`/v1/chat/completions`) and Messages (`/v1/messages`). A reply is a list
of pieces: bytes to
send, a `Pause`, or `RESET`, which tears the connection down. The connection ends with the reply.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

from judgeloop.core.money import Price, cost
from judgeloop.core.records import Usage

USED = Usage(400, 20)  # what a completion uses, unless told otherwise
GOOD = '{"reason": "because", "winner": "A"}'
FINISHES = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


@dataclass(frozen=True)
class Pause:
    """Say nothing for so long, or until the server closes."""

    seconds: float


RESET = "reset"
BEFORE_READING = "before reading"  # first of a reply's pieces: the request is not even read
Piece = bytes | Pause | Literal["reset", "before reading"]


@dataclass(frozen=True)
class Say:
    """How one of the two wires says things; `elsewhere` is the address of a server that must not be
    asked."""

    wire: Literal["openai", "anthropic"]
    elsewhere: str = ""

    def completion(
        self, content: Any = GOOD, *, finish: str = "stop", usage: Any = ..., message: Any = ..., **more: Any
    ) -> bytes:
        """A completion's body; `message` replaces what was said, whole, and `more` any field beside
        it."""
        body: dict[str, Any] = {"id": "x", "model": "judge-1", **more}
        if self.wire == "openai":
            said = {"role": "assistant", "content": content} if message is ... else message
            body |= {"object": "chat.completion", "created": 1_700_000_000}
            body |= {"choices": [{"index": 0, "finish_reason": finish, "message": said}]}
            names = ("prompt_tokens", "completion_tokens")
        else:
            said = [{"type": "text", "text": content}] if message is ... else message
            body |= {"type": "message", "role": "assistant", "content": said}
            body |= {"stop_reason": FINISHES.get(finish, finish), "stop_sequence": None}
            names = ("input_tokens", "output_tokens")
        counts = (USED.input_tokens, USED.output_tokens) if usage is ... else usage
        if isinstance(counts, tuple):
            counts = dict(zip(names, counts, strict=True))
        return json.dumps(body | {"usage": counts} if counts is not None else body).encode()

    def error(self, code: str | None = None, message: str = "no", **details: Any) -> bytes:
        """An error's body."""
        inner = {"type": code, "message": message}
        if self.wire == "openai":
            return json.dumps({"error": inner | {"code": code, "param": None} | details}).encode()
        return json.dumps({"type": "error", "error": inner | details}).encode()


Reply = Callable[[Say], Iterable[Piece]]


def head(status: int, length: int | None, headers: Iterable[str] = ()) -> bytes:
    """A status line and headers; `length` None leaves Content-Length out."""
    lines = [f"HTTP/1.1 {status} x", "Content-Type: application/json", "Connection: close"]
    lines += [] if length is None else [f"Content-Length: {length}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1")


def whole(status: int, body: bytes, *headers: str) -> list[Piece]:
    """A plain, well-formed response."""
    return [head(status, len(body), headers) + body]


class FaultServer:
    """Gives `reply` to every request, or to the first so many (`faults`), and a good verdict to the
    rest.

    `bill_p` is what a provider that charges `used` for each faulty reply has charged so far; a good
    verdict uses `USED`.
    """

    def __init__(
        self, reply: Reply, *, price: Price, used: Usage | None = None, faults: int | None = None, elsewhere: str = ""
    ) -> None:
        self._reply, self._price, self._used, self._faults = reply, price, used, faults
        self._elsewhere = elsewhere
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.bill_p = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def url(self, wire: str) -> str:
        """The base URL for an SDK: Anthropic's adds `/v1` itself."""
        return self.address if wire == "anthropic" else f"{self.address}/v1"

    def close(self) -> None:
        self._over.set()
        socket.create_connection(self._listener.getsockname()).close()  # it waits in `accept`
        self._acceptor.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._over.is_set():
                connection.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(10)
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                number, self.connections = self.connections, self.connections + 1
            faulty = self._faults is None or number < self._faults
            if faulty and next(iter(self._reply(Say("openai"))), None) == BEFORE_READING:
                _reset(connection)  # unread, and so unbilled; a slow client may not even have sent it
                return
            path = self._read(connection)
            say = Say("anthropic" if path.endswith("/messages") else "openai", self._elsewhere)
            self._charge(self._used if faulty else USED)
            self._send(connection, self._reply(say) if faulty else whole(200, say.completion()))

    def _read(self, connection: socket.socket) -> str:
        """Read one request and note it; its path."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += _received(connection)
        lines, _, body = data.partition(b"\r\n\r\n")
        text = lines.decode("latin-1")
        fields = dict(line.lower().split(": ", 1) for line in text.split("\r\n")[1:])
        while len(body) < int(fields.get("content-length", 0)):
            body += _received(connection)
        with self._lock:
            self.heads.append(text)
            self.bodies.append(body)
        return text.split(" ", 2)[1]

    def _charge(self, used: Usage | None) -> None:
        with self._lock:
            self.bill_p += 0 if used is None else cost(used, self._price)

    def _send(self, connection: socket.socket, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            if isinstance(piece, bytes):
                connection.sendall(piece)
            elif isinstance(piece, Pause):
                self._over.wait(piece.seconds)
            else:
                _reset(connection)
                return
            if self._over.is_set():
                return


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


def _reset(connection: socket.socket) -> None:
    """Close with a reset in place of an orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
