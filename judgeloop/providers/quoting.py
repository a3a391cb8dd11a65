"""Computes bounds of a chat model's tokens and cost for a call, without its tokenizer.

A byte-level tokenizer makes at most one token per byte, so the number of bytes is an upper bound.
It never joins words, so the number of words is a lower bound. The actual usage is in the reply
(`billing.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from judgeloop.core.money import Price, cost, worst_cost
from judgeloop.core.records import Call, Quote, Usage
from judgeloop.judges.prompt import Template

TOKENS_AROUND_A_MESSAGE = 64
TOKENS_HIDDEN = 2048  # what a provider adds for structured output and does not show
LIKELY_BYTES_PER_TOKEN = 4
LIKELY_OUTPUT_TOKENS = 60
LIKELY_PART_OF_THINKING = 8  # a model probably uses one in so many of its thinking tokens
LONGEST_TOKEN = 128  # characters: the longest tokens, in OpenAI's tokenizers, are 128 spaces


def quote(
    template: Template,
    call: Call,
    max_output_tokens: int,
    price: Price | None,
    *,
    thinking_tokens: int = 0,
) -> Quote:
    """Return the worst case of one attempt at `call`, and its likely cost.

    `thinking_tokens` is how many tokens of thoughts the model may use; a part of them is likely.

    Without a price both costs are zero; the number of tokens is given all the same.
    """
    messages = template.render(call)
    most = most_tokens(template, messages, max_output_tokens)
    tokens = most.input_tokens + most.output_tokens
    if price is None:
        return Quote(0, 0, tokens=tokens)
    size = sum(len(message.encode()) for message in messages)
    written = min(
        LIKELY_OUTPUT_TOKENS + thinking_tokens // LIKELY_PART_OF_THINKING, max_output_tokens
    )
    likely = Usage(size // LIKELY_BYTES_PER_TOKEN, written)
    likely_p = cost(likely, price.likely)
    return Quote(worst_cost(most, price), likely_p, tokens=tokens, price=price.source)


def most_tokens(template: Template, messages: Sequence[str], max_output_tokens: int) -> Usage:
    """Return the most tokens that a request with `messages` can use."""
    size = sum(len(message.encode()) for message in messages)
    around = (
        len(messages) * TOKENS_AROUND_A_MESSAGE + len(json.dumps(template.schema)) + TOKENS_HIDDEN
    )
    return Usage(size + around, max_output_tokens)


def least_tokens(texts: Iterable[str]) -> int:
    """Return the fewest tokens that `texts` can have: a token a word, or the longest tokens."""
    return sum(max(len(text.split()), len(text) // LONGEST_TOKEN) for text in texts)
