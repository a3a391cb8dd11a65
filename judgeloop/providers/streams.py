"""Replies that arrive as server-sent events: parted into events, which a provider puts together again.

A long reply is streamed: a connection on which nothing moves for minutes is closed on the way. The whole
body is read before anything of it counts. A stream that ends early is no reply.
"""

from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

STREAMED_FROM = 16_000  # tokens of a limit, above which a reply is streamed
MOST_BYTES = 64 * 1024 * 1024  # of a streamed body: an event of some hundred bytes for each token
EVENTS = "text/event-stream"
DONE = b"[DONE]"  # ends a stream of Chat Completions


class EndedEarlyError(Exception):
    """A stream that ended before its last event."""


def is_stream(body: bytes) -> bool:
    """Return whether a body is no JSON object, as a server sends that does not stream."""
    return not body.lstrip().startswith(b"{")


def events_of(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream.

    Raises:
        ValueError: an event is no JSON object.
    """
    for line in body.splitlines():
        name, _, data = line.partition(b":")
        if name != b"data" or data.strip() in {b"", DONE}:
            continue
        event = from_json(data)
        if not isinstance(event, dict):
            raise ValueError("an event is no object")  # noqa: TRY004 - as what is no JSON
        yield event
