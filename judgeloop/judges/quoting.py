"""Computes an upper bound on a chat model's tokens and cost for a call, without its tokenizer.

A byte-level tokenizer makes at most one token per byte, so the number of bytes is an upper bound.
The actual usage is in the reply (`chat_model.py`).
"""

from __future__ import annotations

import json

from judgeloop.core.money import Price, cost, worst_cost
from judgeloop.core.records import Call, Quote, Usage
from judgeloop.judges.prompt import Template

TOKENS_AROUND_A_MESSAGE = 64
TOKENS_HIDDEN = 2048  # what a provider adds for structured output and does not show
LIKELY_BYTES_PER_TOKEN = 4
LIKELY_OUTPUT_TOKENS = 60


def quote(template: Template, call: Call, max_output_tokens: int, price: Price | None) -> Quote:
    """Return the worst case of one attempt at `call`, and its likely cost.

    Without a price both costs are zero; the number of tokens is given all the same.
    """
    messages = template.render(call)
    size = sum(len(message.encode()) for message in messages)
    around = (
        len(messages) * TOKENS_AROUND_A_MESSAGE + len(json.dumps(template.schema)) + TOKENS_HIDDEN
    )
    most = Usage(size + around, max_output_tokens)
    tokens = most.input_tokens + most.output_tokens
    if price is None:
        return Quote(0, 0, tokens=tokens)
    likely = Usage(size // LIKELY_BYTES_PER_TOKEN, min(LIKELY_OUTPUT_TOKENS, max_output_tokens))
    return Quote(worst_cost(most, price), cost(likely, price), tokens=tokens, price=price.source)
