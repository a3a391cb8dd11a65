"""Pydantic models of a Chat Completions reply, with only the fields that a judge needs.

They check the shape of the reply, because an OpenAI-compatible server may send anything with status
200. `parsing.py` reads the verdict from the content.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from judgeloop.core.records import Usage
from judgeloop.judges.replies import Count, Wire, WireReply


class Message(Wire):
    """The text of the reply, or the refusal."""

    content: str | None = None
    refusal: str | None = None


class TokenProbability(Wire):
    """A candidate token and its natural log-probability."""

    token: str
    logprob: float


class TokenPlace(Wire):
    """A position in the reply, with the most likely tokens there."""

    top_logprobs: tuple[TokenProbability, ...] = ()


class Logprobs(Wire):
    """Log-probabilities for each position of the reply."""

    content: list[TokenPlace] | None = None


class Choice(Wire):
    """A generated message, and why generation ended."""

    message: Message
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class PromptDetails(Wire):
    """Numbers of prompt tokens read from the cache and written to it."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class CompletionDetails(Wire):
    """Number of completion tokens that are reasoning."""

    reasoning_tokens: Count | None = None


class WireUsage(Wire):
    """Token counts: prompt tokens include cached tokens, completion tokens include reasoning."""

    prompt_tokens: Count
    completion_tokens: Count
    total_tokens: Count | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None

    def output_tokens(self) -> int:
        """Return the completion tokens, with the reasoning tokens that some servers leave out.

        Those servers count reasoning apart, or in the total alone. The largest number counts.
        """
        written, details = self.completion_tokens, self.completion_tokens_details
        reasoning = (details.reasoning_tokens if details else None) or 0
        apart = written + reasoning if reasoning > written else written
        return max(apart, (self.total_tokens or 0) - self.prompt_tokens)


class ChatCompletion(WireReply):
    """A whole reply, with at least one choice."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: WireUsage | None = None
    service_tier: str | None = None

    def tokens(self) -> Usage | None:
        """Return the usage; None if it is absent or its counts contradict each other."""
        if self.usage is None:
            return None
        details = self.usage.prompt_tokens_details or PromptDetails()
        read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
        if read + written > self.usage.prompt_tokens:
            return None
        return Usage(self.usage.prompt_tokens, self.usage.output_tokens(), read, written)

    def tier(self) -> str | None:
        """Return the service tier; None if not reported."""
        return self.service_tier

    def said(self) -> str:
        """Return the text and the refusal of every choice."""
        messages = [choice.message for choice in self.choices]
        return " ".join(text for said in messages for text in (said.content, said.refusal) if text)
