"""The most that a chat model's call can use, known offline and without its tokenizer.

A byte-level tokenizer makes at most one token of a byte, so bytes bound tokens. What a call really uses is in its reply.
"""

from __future__ import annotations

import json

from judgeloop.core.money import Price, cost, worst_cost
from judgeloop.core.records import Call, Quote, Usage
from judgeloop.judges.prompt import Template

TOKENS_AROUND_A_MESSAGE = 64
TOKENS_HIDDEN = 2048  # what a provider adds for structured output, and does not show
LIKELY_BYTES_PER_TOKEN = 4
LIKELY_OUTPUT_TOKENS = 60


def quote(template: Template, call: Call, max_output_tokens: int, price: Price | None) -> Quote:
    """The worst case of one attempt at `call`, and what it will likely cost; zero cost without a price."""
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
