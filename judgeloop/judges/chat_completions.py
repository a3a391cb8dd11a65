"""The part of a chat completion that a judge needs, as it comes over the wire.

Checked here, because a server of one's own may send anything with a status of 200. What the content means is
`parsing.py`'s business.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, NonNegativeInt

from judgeloop.core.records import Usage
from judgeloop.judges.replies import Wire, WireReply


class Message(Wire):
    """What the model said, or why it would not."""

    content: str | None = None
    refusal: str | None = None


class TokenProbability(Wire):
    """A token that could have stood here, with its natural log-probability."""

    token: str
    logprob: float


class TokenPlace(Wire):
    """A place in the reply, with the likeliest tokens for it."""

    top_logprobs: tuple[TokenProbability, ...] = ()


class Logprobs(Wire):
    """Log-probabilities, place by place."""

    content: list[TokenPlace] | None = None


class Choice(Wire):
    """One answer, and why it ended."""

    message: Message
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class PromptDetails(Wire):
    """How much of the prompt was cached."""

    cached_tokens: NonNegativeInt | None = None
    cache_write_tokens: NonNegativeInt | None = None


class WireUsage(Wire):
    """Prompt tokens include the cached ones, completion tokens the reasoning."""

    prompt_tokens: NonNegativeInt
    completion_tokens: NonNegativeInt
    prompt_tokens_details: PromptDetails | None = None


class ChatCompletion(WireReply):
    """A reply with at least one choice."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: WireUsage | None = None

    def tokens(self) -> Usage | None:
        """The usage; None if it is absent or contradicts itself."""
        if self.usage is None:
            return None
        details = self.usage.prompt_tokens_details or PromptDetails()
        read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
        if read + written > self.usage.prompt_tokens:
            return None
        return Usage(self.usage.prompt_tokens, self.usage.completion_tokens, read, written)
