"""Pydantic models of a Chat Completions reply, with only the fields that a judge needs.

They check the shape of the reply, because an OpenAI-compatible server may send anything with status
200. `parsing.py` reads the verdict from the content.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field

from judgeloop.core.money import MOST_DOLLARS, PICO_PER_DOLLAR
from judgeloop.core.records import Usage
from judgeloop.providers.replies import Count, Wire, WireReply

# Google's reasons for which a filter ends a reply.
FILTERS = {"blocklist", "language", "prohibited_content", "recitation", "safety", "spii"}


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

    message: Message = Message()  # Google leaves it out of a reply that its filter blocks
    finish_reason: str | None = None
    logprobs: Logprobs | None = None

    @property
    def is_filtered(self) -> bool:
        """Whether a filter ended the reply, in OpenAI's word or in one of Google's."""
        why = (self.finish_reason or "").lower()
        return why.startswith("content_filter") or why in FILTERS


class PromptDetails(Wire):
    """Numbers of prompt tokens read from the cache and written to it."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class CompletionDetails(Wire):
    """Number of completion tokens that are reasoning."""

    reasoning_tokens: Count | None = None


class WireUsage(Wire):
    """Token counts: prompt tokens include cached tokens, completion tokens include reasoning.

    Google leaves counts of zero out. `cost` is OpenRouter's, in dollars.
    """

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    total_tokens: Count | None = None
    cost: Any = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None

    def output_tokens(self) -> int:
        """Return the completion tokens, with the reasoning tokens that some servers leave out.

        Those servers count reasoning apart, or in the total alone. The largest number counts.
        """
        written, reasoning = self.completion_tokens or 0, self.thoughts
        apart = written + reasoning if reasoning > written else written
        return max(apart, (self.total_tokens or 0) - (self.prompt_tokens or 0))

    @property
    def thoughts(self) -> int:
        """The reasoning tokens; 0 if they are not reported."""
        details = self.completion_tokens_details
        return (details.reasoning_tokens if details else None) or 0

    @property
    def cost_p(self) -> int | None:
        """The cost in picodollars; None if there is none that can be true."""
        cost = self.cost
        if isinstance(cost, bool) or not isinstance(cost, int | float):
            return None
        # A cost that cannot be stored is no cost of a call.
        return math.ceil(cost * PICO_PER_DOLLAR) if 0 <= cost <= MOST_DOLLARS else None


class ChatCompletion(WireReply):
    """A whole reply, with at least one choice."""

    choices: Annotated[list[Choice], Field(min_length=1)]
    usage: WireUsage | None = None
    service_tier: str | None = None

    def tokens(self) -> Usage | None:
        """Return the usage; None if it is absent or its counts contradict each other."""
        if self.usage is None or self.usage.completion_tokens is None:
            return None
        details, prompt = (
            self.usage.prompt_tokens_details or PromptDetails(),
            self.usage.prompt_tokens,
        )
        read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
        if prompt is None or read + written > prompt:
            return None
        output = self.usage.output_tokens()
        return Usage(prompt, output, read, written, min(output, self.usage.thoughts))

    def cost_p(self) -> int | None:
        """Return the reported cost in picodollars."""
        return None if self.usage is None else self.usage.cost_p

    def tier(self) -> str | None:
        """Return the service tier; None if not reported."""
        return self.service_tier

    def said(self) -> str:
        """Return the text and the refusal of every choice."""
        messages = [choice.message for choice in self.choices]
        return " ".join(text for said in messages for text in (said.content, said.refusal) if text)
