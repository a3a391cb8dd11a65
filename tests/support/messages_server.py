"""Replies in the form of Anthropic's Messages API, for the server in `chat_server.py`."""

from __future__ import annotations

import json
from typing import Any

from support.chat_server import Response

USAGE = {"input_tokens": 400, "output_tokens": 20}


def message(*content: dict[str, Any], stop: str | None = "end_turn", usage: Any = USAGE, **more: Any) -> Response:
    """A message with these blocks of content."""
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-judge-2026",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }
    return Response(body=json.dumps(body).encode(), headers={"request-id": "req_1"})


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def tool(**fields: Any) -> dict[str, Any]:
    """A block that uses the verdict's tool."""
    return {"type": "tool_use", "id": "toolu_1", "name": "verdict", "input": fields}


def failure(status: int, kind: str | None, words: str = "no", **details: Any) -> Response:
    """An error in Anthropic's form."""
    inner = {"type": kind, "message": words} | ({"details": details} if details else {})
    body = {"type": "error", "error": inner, "request_id": "req_1"}
    return Response(status, json.dumps(body).encode(), {"request-id": "req_1"})
