"""Bounds the cost of a call before it is made, and decides what its reply is booked at. Pure.

The bounds need no tokenizer. A byte-level tokenizer makes at most one token per byte, so the number
of bytes is an upper bound. It never joins words, so the number of words is a lower bound.

A reply's usage is a claim. It is checked against what was promised before the call (`Asked`) and
against what can be counted here. Where a claim cannot be true, the worst case is booked. Where it
is true and dearer than the quote, it is booked, and the run stops (`engine/attempts.py`), because
reservations no longer bound the bill.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from judgeloop.core.money import MOST_DOLLARS, PICO_PER_DOLLAR, Price, cost, worst_cost
from judgeloop.core.records import Quote, Usage
from judgeloop.providers.catalogue import FLEX
from judgeloop.providers.prices import Published, unpublished
from judgeloop.providers.replies import WireReply

TOKENS_AROUND_A_MESSAGE = 64
TOKENS_HIDDEN = 2048  # what a provider adds for structured output and does not show
LIKELY_BYTES_PER_TOKEN = 4
LIKELY_OUTPUT_TOKENS = 60
LIKELY_PART_OF_THINKING = 8  # a model probably uses one in so many of its thinking tokens
LONGEST_TOKEN = 128  # characters: the longest tokens, in OpenAI's tokenizers, are 128 spaces
# No model reads or writes as many tokens in a call. A larger count is an error of the server, and
# its cost might not fit in the integers of the ledger.
MOST_TOKENS = 100_000_000
# Tiers that cost no more than the one that was asked for, under the names of several providers.
PLAIN_TIERS = {"auto", "batch", "default", "flex", "on_demand", "scale", "standard"}
# The published prices of dearer tiers are at most 3.6 times the standard ones (genai-prices 0.2.3).
DEAREST_TIER = 4


def quote(
    most: Usage, texts: Sequence[str], price: Price | None, *, thinking: int = 0, likely: int = LIKELY_OUTPUT_TOKENS
) -> Quote:
    """Return the worst case of an attempt that uses at most `most`, and its likely cost.

    `likely` is how many tokens an answer probably has. `thinking` is how many tokens of thoughts
    the model may use; a part of them is likely. Without a
    price both costs are zero; the number of tokens is given all the same.
    """
    tokens = most.input_tokens + most.output_tokens
    if price is None:
        return Quote(0, 0, tokens=tokens)
    written = min(likely + thinking // LIKELY_PART_OF_THINKING, most.output_tokens)
    usual = Usage(_bytes(texts) // LIKELY_BYTES_PER_TOKEN, written)
    likely_p = cost(usual, price.likely)
    return Quote(worst_cost(most, price), likely_p, tokens=tokens, price=price.source)


def most_tokens(texts: Sequence[str], schema_size: int, max_output_tokens: int) -> Usage:
    """Return the most tokens that a request with `texts` and a schema can use."""
    around = len(texts) * TOKENS_AROUND_A_MESSAGE + schema_size + TOKENS_HIDDEN
    return Usage(_bytes(texts) + around, max_output_tokens)


def least_tokens(texts: Iterable[str]) -> int:
    """Return the fewest tokens that `texts` can have: a token a word, or the longest tokens."""
    return sum(max(len(text.split()), len(text) // LONGEST_TOKEN) for text in texts)


def _bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode()) for text in texts)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was sent, and what was promised about its cost.

    - `model`: the model asked for; `price`: its price.
    - `texts`: the texts sent.
    - `most`: the most tokens that the call can use.
    - `published`: looks up the published price of another model at the same server.
    """

    model: str
    price: Price
    texts: tuple[str, ...]
    most: Usage
    published: Published = unpublished


@dataclass(frozen=True, slots=True)
class Bill:
    """What to book for a reply, in picodollars, and how the reply contradicts the quote.

    `cost_p` is None if the usage is missing or cannot be true; the worst case is booked then.
    `breach` is empty if the quote holds. `saved_p` is what the cache of prompts took off the cost.
    """

    cost_p: int | None
    breach: str = ""
    saved_p: int = 0


def bill(reply: WireReply, asked: Asked) -> Bill:
    """Return what to book for `reply`: the cost of its tokens, or a larger cost that it reports.

    A gateway may send a request to a dearer provider than the one whose price was looked up.
    """
    found, reported_p = _bill_of_tokens(reply, asked), reply.cost_p() or 0
    booked_p = worst_cost(asked.most, asked.price) if found.cost_p is None else found.cost_p
    return found if reported_p <= booked_p else replace(found, cost_p=reported_p, saved_p=0)


def _bill_of_tokens(reply: WireReply, asked: Asked) -> Bill:
    """Return what to book by the usage; calls that cost nothing have no quote to contradict."""
    if not worst_cost(asked.most, asked.price):
        return Bill(0)
    usage = reply.tokens()
    most = max(usage.input_tokens, usage.output_tokens) if usage else 0
    if most > MOST_TOKENS:
        return Bill(None, f"it reports {most:,} tokens, which no call can use")
    believed = usage is not None and _is_possible(usage, reply, asked)
    dearer = _dearer_model(reply.model, usage if usage and believed else asked.most, asked)
    breaches = _breaches(reply, usage, dearer, asked)
    if not believed and not breaches:
        return Bill(None)
    # Without a word on the tier the full price is booked, whatever was asked for.
    price = dearer or (asked.price.likely if reply.tier() == FLEX else asked.price)
    claimed_p = cost(usage, price) if usage else 0
    booked_p = claimed_p if believed else max(claimed_p, worst_cost(asked.most, price))
    times = DEAREST_TIER if _is_dearer(reply.tier()) else 1
    saved_p = 0
    if usage and believed:
        uncached = replace(usage, cache_read_tokens=0, cache_write_tokens=0)
        saved_p = cost(uncached, price) - claimed_p
    booked_p = min(times * booked_p, MOST_DOLLARS * PICO_PER_DOLLAR)
    return Bill(booked_p, "; ".join(breaches), saved_p)


def _breaches(reply: WireReply, usage: Usage | None, dearer: Price | None, asked: Asked) -> list[str]:
    """Return a sentence for each way in which `reply` costs more than was quoted."""
    sentences = []
    if dearer is not None:
        sentences.append(f"it answered as {reply.model}, which costs more than {asked.model}")
    if _is_dearer(tier := reply.tier()):
        sentences.append(f"it answered at the tier {tier!r}, which was not asked for")
    most = asked.most
    if usage and usage.output_tokens > most.output_tokens:
        sentences.append(
            f"it reports {usage.output_tokens:,} output tokens, more than the {most.output_tokens:,} asked for"
        )
    if usage and usage.input_tokens > most.input_tokens:
        sentences.append(
            f"it reports {usage.input_tokens:,} input tokens for a request of at most {most.input_tokens:,}"
        )
    return sentences


def _is_possible(usage: Usage, reply: WireReply, asked: Asked) -> bool:
    """Return whether `usage` has a token for every word that was sent and that came back."""
    return usage.input_tokens >= least_tokens(asked.texts) and usage.output_tokens >= least_tokens([reply.said()])


def _is_dearer(tier: str | None) -> bool:
    """Return whether `tier` may cost more than the standard one; an unknown tier may."""
    return bool(tier) and tier not in PLAIN_TIERS


def _dearer_model(name: str, usage: Usage, asked: Asked) -> Price | None:
    """Return the price of the model `name` if it costs more than the model asked for, else None.

    Published prices are compared with each other: the user's own price may be lower for both.
    """
    if name in {"", asked.model}:
        return None
    other = asked.published(name)
    if other is None:
        return None
    expected = asked.published(asked.model) or asked.price
    return other if cost(usage, other) > cost(usage, expected) else None
