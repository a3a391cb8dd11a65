"""A real HTTP server on loopback that speaks the Chat Completions wire and keeps the true bill.

`respond` decides each answer from the request; the default judges honestly by a rule that tests can
know: the answer
that mentions more of the word "good" is better.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Response:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    close_early: bool = False


def candidates(request: dict[str, Any]) -> dict[str, Any]:
    """The material in the user message of a judge's request."""
    marker, _, rest = request["messages"][-1]["content"].partition("\n")
    material, _, closing = rest.rpartition("\n")
    assert marker == closing, "the material stands between two markers"
    found: dict[str, Any] = json.loads(material)
    return found


def goodness(request: dict[str, Any]) -> str:
    """The honest verdict."""
    material = candidates(request)
    first, second = (material[name].count("good") for name in ("answer_A", "answer_B"))
    return "tie" if first == second else ("A" if first > second else "B")


def completion(content: str | None, *, finish: str = "stop", usage: Any = ..., **message: Any) -> Response:
    """A chat completion with this content."""
    if usage is ...:
        usage = {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "judge-2026-01-01",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
        ],
        "usage": usage,
    }
    return Response(body=json.dumps(body).encode())


def verdict(winner: str, reason: str = "because", *, usage: Any = ...) -> Response:
    """A well-formed verdict."""
    return completion(json.dumps({"reason": reason, "winner": winner}), usage=usage)


def used(request: dict[str, Any]) -> dict[str, int]:
    """A usage that a real model could have: at least a token for every word of the request."""
    words = sum(len(message["content"].split()) for message in request["messages"])
    sent = max(400, words)
    return {"prompt_tokens": sent, "completion_tokens": 20, "total_tokens": sent + 20}


def error(status: int, code: str | None = None, **headers: str) -> Response:
    """An error in OpenAI's form."""
    body = {"error": {"message": f"no: {code}", "type": code, "code": code, "param": None}}
    return Response(status, json.dumps(body).encode(), {k.replace("_", "-"): v for k, v in headers.items()})


RUNNING: dict[int, ChatServer] = {}  # by port


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # connections made at once must not be refused on a busy machine


class ChatServer:
    """Serves until closed; `requests` are the JSON bodies in the order of arrival."""

    def __init__(self, respond: Callable[[dict[str, Any], int], Response] | None = None) -> None:
        self.respond = respond or (lambda request, n: verdict(goodness(request), usage=used(request)))
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.pages: dict[str, Response] = {}  # what a GET of a path brings; anything else is 404
        self.visits: list[str] = []
        self.most_in_flight = 0
        self._in_flight = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._over = False
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self._kept: dict[str, Response] = {}
        RUNNING[self._server.server_address[1]] = self

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def _serve(self) -> None:
        while not self._over:
            self._server.handle_request()

    def close(self) -> None:
        if self._over:
            return
        RUNNING.pop(self._server.server_address[1], None)
        self._over = True
        socket.create_connection(self._server.server_address).close()  # `shutdown` would wait for its next look
        self._thread.join()
        self._server.server_close()

    @contextmanager
    def at(self, path: str, request: dict[str, Any], headers: dict[str, str]) -> Iterator[Response]:
        """The answer to a request, which is in flight until the context is left."""
        with self._lock:
            self.paths.append(path)
            self.requests.append(request)
            self.headers.append(headers)
            number = len(self.requests) - 1
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            yield self.respond(request, number)
        finally:
            with self._lock:
                self._in_flight -= 1

    def kept(self, response: Response) -> str:
        """A query that is answered with `response`, and not noted."""
        query = f"kept={len(self._kept)}"
        self._kept[query] = response
        return query


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body in two packets would wait for each other

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            path, _, query = self.path.partition("?")
            kept = server._kept.get(query)
            headers = {name.lower(): value for name, value in self.headers.items()}
            with nullcontext(kept) if kept else server.at(path, json.loads(body), headers) as response:
                time.sleep(0 if kept else response.delay_s)
            try:
                self._send(response)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def do_GET(self) -> None:
            server.visits.append(self.path)
            self._send(server.pages.get(self.path, Response(404)))

        def _send(self, response: Response) -> None:
            self.send_response(response.status)
            headers = {"Content-Type": "application/json"} | response.headers
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            if response.close_early:
                self.wfile.write(response.body[: len(response.body) // 2])
                self.wfile.flush()
                self.close_connection = True
                return
            self.wfile.write(response.body)

        def log_message(self, *_: object) -> None:
            """Keep the tests' output clean."""

    return Handler


def respond_with(server: ChatServer, response: Response) -> None:
    """Answer every request with `response`."""
    server.respond = lambda request, number: response
