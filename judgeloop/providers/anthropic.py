"""Anthropic, by its Messages API.

Writes requests and reads replies; `chat.py` sends them. The replies' models have only the fields
that are needed. No sampling parameters are sent, because newer models refuse them.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, final

from judgeloop.core.ends import FULL_CONTEXT, OutputEnd, ended
from judgeloop.core.records import Usage
from judgeloop.providers.chat import (
    REFUSED,
    Chat,
    Count,
    EndedEarlyError,
    Messages,
    OrNone,
    Said,
    TextOrNone,
    Wire,
    WireReply,
)
from judgeloop.providers.endpoint import Provider
from judgeloop.providers.errors import FILTERED, TOO_LONG

# Anthropic bills nothing for a refusal without output.
PROVIDER = Provider(
    "anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    filter_is_free=True,
    length_is_free=True,
    effort_in_tokens=True,
)
TOOL = "verdict"


class Block(Wire):
    """A block of content: text, or the input of a tool."""

    type: str
    text: TextOrNone = ""
    input: Any = None


class CacheCreation(Wire):
    """Number of tokens written to the cache for an hour."""

    ephemeral_1h_input_tokens: Count = 0


class OutputDetails(Wire):
    """Number of output tokens that are thoughts."""

    thinking_tokens: Count | None = None


class MessageUsage(Wire):
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
    stop_reason: Any = None
    usage: Annotated[MessageUsage | None, OrNone] = None

    def text(self) -> str:
        """The text, or the tool's input as JSON; of several tools a list of them."""
        tools = [block.input for block in self.content if block.type == "tool_use"]
        if tools:
            return json.dumps(tools[0] if len(tools) == 1 else tools)
        return "".join(block.text for block in self.content if block.type == "text")

    def tokens(self) -> Usage | None:
        """The usage, with cached tokens included in the input tokens.

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
        return Usage(self.usage.input_tokens + read + written, output, read, written, min(output, thoughts))

    def tier(self) -> str | None:
        """The speed if it is not the standard one, else the service tier."""
        if self.usage is None:
            return None
        speed = self.usage.speed
        return self.usage.service_tier if speed in {None, "standard"} else speed

    def said(self) -> str:
        """All text, with the inputs of all tools."""
        inputs = (json.dumps(block.input) for block in self.content if block.type == "tool_use")
        return " ".join([*(block.text for block in self.content), *inputs])


@final
class AnthropicChat(Chat[Message]):
    """A Claude model."""

    provider: ClassVar[Provider] = PROVIDER
    path = "/v1/messages"
    request_id_header = "request-id"
    reply_name = "message"
    wire = Message
    parameters: ClassVar[Mapping[str, str]] = {
        "temperature": "temperature", "top-p": "top_p", "top-k": "top_k", "stop": "stop_sequences",
        "thinking": "thinking.type",
    }  # fmt: skip

    @classmethod
    def fields(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """As any chat model; thinking has words for on and off."""
        words = {True: "adaptive", False: "disabled"}
        asked = {"thinking": words[given["thinking"]]} if "thinking" in given else {}
        return super().fields({**given, **asked})

    def learn_lengths(self, lengths: Sequence[int]) -> bool:
        """As any chat model. But a number of thinking tokens has to stay under the limit."""
        return not self._effort_in_tokens and super().learn_lengths(lengths)

    def request(self, call: Hashable, messages: Messages) -> dict[str, Any]:
        """The request's body."""
        system = [text for role, text in messages if role == "system"]
        return {
            "model": self.spec.model,
            "max_tokens": self.limit.of(call),
            **({"system": "\n\n".join(system)} if system else {}),
            "messages": [{"role": role, "content": text} for role, text in messages if role != "system"],
            "service_tier": "standard_only",  # the priority tier has other prices
            **self._thoughts(),
            **self._form(),
            **self.spec.parameters,
        }

    def _sdk(self) -> tuple[Any, Any]:
        import anthropic

        return anthropic.AsyncAnthropic, anthropic.APIError

    @property
    def _effort_in_tokens(self) -> bool:
        return self.spec.effort is not None and self.spec.effort.isdecimal()

    def _thoughts(self) -> dict[str, Any]:
        """The request field that says whether to think, and how long at most."""
        effort = self.spec.effort
        if effort is None:
            return {}
        if effort == "none":
            return {"thinking": {"type": "disabled"}}
        if self._effort_in_tokens:
            return {"thinking": {"type": "enabled", "budget_tokens": int(effort)}}
        return {"thinking": {"type": "adaptive"}}

    def _form(self) -> dict[str, Any]:
        form, effort = self.spec.form, self.spec.effort
        named = effort not in {None, "none"} and not self._effort_in_tokens
        how = {"effort": effort} if named else {}
        if form is None:
            return {"output_config": how} if how else {}
        schema = dict(form.schema)
        if form.by == "schema":
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}, **how}}
        tool = {"name": TOOL, "description": "Give the verdict.", "input_schema": schema, "strict": True}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}

    def _whole(self, events: Sequence[Any], *, done: bool) -> Any:
        """The events as one message; a gateway may number its blocks from 1."""
        del done
        found: dict[str, Any] = {}
        blocks: dict[Any, Any] = {}
        for event in events:
            match event.get("type"):
                case "error":
                    return event
                case "message_start":
                    found = event["message"] | {"content": [], "stop_reason": None}
                case "content_block_start":
                    blocks[event.get("index")] = event["content_block"]
                    found["content"] = list(blocks.values())
                case "content_block_delta" if event["delta"].get("type") == "text_delta":
                    block = blocks[event.get("index")]
                    block["text"] = (block.get("text") or "") + event["delta"]["text"]
                case "message_delta":
                    usage = (found.get("usage") or {}) | (event.get("usage") or {})
                    found |= event["delta"] | {"usage": usage}
                case "message_stop":
                    return found
                case _:
                    pass
        raise EndedEarlyError

    def _said(self, message: Message) -> Said:
        end, word = ended(message.stop_reason), str(message.stop_reason or "")
        filtered = REFUSED if word == "refusal" else FILTERED if end is OutputEnd.FILTERED else ""
        return Said(message.text(), None, end, word, filtered or (TOO_LONG if word in FULL_CONTEXT else ""))
