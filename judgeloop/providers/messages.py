"""Pydantic models of an Anthropic Messages reply, with only the fields that a judge needs.

They check the shape of the reply, because a proxy may send anything with status 200. `parsing.py`
reads the verdict from the text.
"""

from __future__ import annotations

import json
from typing import Any

from judgeloop.core.records import Usage
from judgeloop.providers.replies import Count, Wire, WireReply


class Block(Wire):
    """A block of content: text, or the input of a tool."""

    type: str
    text: str = ""
    input: Any = None


class CacheCreation(Wire):
    """Number of tokens written to the cache for an hour."""

    ephemeral_1h_input_tokens: Count = 0


class OutputDetails(Wire):
    """Number of output tokens that are thoughts."""

    thinking_tokens: Count | None = None


class WireUsage(Wire):
    """Token counts: input tokens exclude cached tokens, output tokens include thinking."""

    input_tokens: Count
    output_tokens: Count
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    output_tokens_details: OutputDetails | None = None
    service_tier: str | None = None
    speed: str | None = None


class Message(WireReply):
    """A whole reply."""

    content: list[Block]
    stop_reason: str | None
    usage: WireUsage | None = None

    def text(self) -> str:
        """Return the text, or the tool's input as JSON; empty if several tools were called."""
        tools = [block.input for block in self.content if block.type == "tool_use"]
        if tools:
            return json.dumps(tools[0]) if len(tools) == 1 else ""
        return "".join(block.text for block in self.content if block.type == "text")

    def tokens(self) -> Usage | None:
        """Return the usage, with cached tokens included in the input tokens.

        None if the usage is absent, or if tokens were cached for an hour: judgeloop has no price
        for those.
        """
        if self.usage is None:
            return None
        if self.usage.cache_creation and self.usage.cache_creation.ephemeral_1h_input_tokens:
            return None
        read = self.usage.cache_read_input_tokens or 0
        written = self.usage.cache_creation_input_tokens or 0
        details, output = self.usage.output_tokens_details, self.usage.output_tokens
        thoughts = (details.thinking_tokens if details else None) or 0
        return Usage(
            self.usage.input_tokens + read + written, output, read, written, min(output, thoughts)
        )

    def tier(self) -> str | None:
        """Return the speed if it is not the standard one, else the service tier."""
        if self.usage is None:
            return None
        speed = self.usage.speed
        return self.usage.service_tier if speed in {None, "standard"} else speed

    def said(self) -> str:
        """Return all text, with the inputs of all tools."""
        inputs = (json.dumps(block.input) for block in self.content if block.type == "tool_use")
        return " ".join([*(block.text for block in self.content), *inputs])
