"""The part of an Anthropic message that a judge needs, as it comes over the wire.

Checked here, because a proxy may send anything with a status of 200. What the text means is `parsing.py`'s business.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import NonNegativeInt

from judgeloop.core.records import Usage
from judgeloop.judges.replies import Wire, WireReply


class Block(Wire):
    """A piece of content: text, or a tool's input."""

    type: str
    text: str = ""
    input: Any = None


class CacheCreation(Wire):
    """Cache writes by how long they last."""

    ephemeral_1h_input_tokens: NonNegativeInt = 0


class WireUsage(Wire):
    """Input tokens exclude the cached ones; output tokens include thinking."""

    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    cache_creation_input_tokens: NonNegativeInt | None = None
    cache_read_input_tokens: NonNegativeInt | None = None
    cache_creation: CacheCreation | None = None


class Message(WireReply):
    """A reply."""

    content: list[Block]
    stop_reason: str | None
    usage: WireUsage | None = None

    def text(self) -> str:
        """What was said: the text, or the tool's input as JSON."""
        tools = [block.input for block in self.content if block.type == "tool_use"]
        if tools:
            return json.dumps(tools[0]) if len(tools) == 1 else ""
        return "".join(block.text for block in self.content if block.type == "text")

    def tokens(self) -> Usage | None:
        """The usage, with the cached tokens among the input; None if absent, or priced in a way not foreseen."""
        if self.usage is None:
            return None
        if self.usage.cache_creation and self.usage.cache_creation.ephemeral_1h_input_tokens:
            return None
        read = self.usage.cache_read_input_tokens or 0
        written = self.usage.cache_creation_input_tokens or 0
        return Usage(
            self.usage.input_tokens + read + written, self.usage.output_tokens, read, written
        )
