"""Exact money: prices, and the worst case and the actual cost of a call, in integer picodollars.

One picodollar is 1e-12 dollar: a price of $0.0125 per million tokens is 12,500 picodollars a token, so every
published price is a whole number and no float ever holds money. Where prices come from is not known here
(`judges/prices.py`), nor what was spent (`ledger/`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation

from judgeloop.core.records import Usage

PICO_PER_DOLLAR = 10**12
TOKENS_PER_MTOK = 10**6
MOST_DOLLARS = 1_000_000  # in picodollars well inside the 64 bits of the ledger


@dataclass(frozen=True, slots=True)
class Rate:
    """Picodollars a token: `base_p`, or that of the last tier whose start the input exceeds.

    A tier's rate holds for all tokens of a call with more than `start` input tokens, as providers bill it.
    """

    base_p: int
    tiers: tuple[tuple[int, int], ...] = ()  # (start, picodollars a token), ascending

    def at(self, input_tokens: int) -> int:
        """The rate for a call with so many input tokens."""
        rate = self.base_p
        for start, tier_p in self.tiers:
            if input_tokens > start:
                rate = tier_p
        return rate

    def highest(self) -> int:
        """The highest rate that any call can meet."""
        return max([self.base_p, *(tier_p for _, tier_p in self.tiers)])


@dataclass(frozen=True, slots=True)
class Price:
    """What a model charges, and where that is known from."""

    input: Rate
    output: Rate
    cache_read: Rate
    cache_write: Rate
    source: str


def cost(usage: Usage, price: Price) -> int:
    """What `usage` costs, in picodollars.

    Cached tokens are part of the input tokens and are priced apart; reasoning tokens are output tokens. A provider that
    reports more than a million dollars is taken to mean a million, which the ledger can hold.
    """
    plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    if min(plain, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens) < 0:
        raise ValueError(f"token counts contradict each other: {usage}")
    size = usage.input_tokens
    total = (
        plain * price.input.at(size)
        + usage.cache_read_tokens * price.cache_read.at(size)
        + usage.cache_write_tokens * price.cache_write.at(size)
        + usage.output_tokens * price.output.at(size)
    )
    return min(total, MOST_DOLLARS * PICO_PER_DOLLAR)


def worst_cost(usage: Usage, price: Price) -> int:
    """The most that a call within `usage` can cost: every token at the highest rate it can meet."""
    dearest_input = max(
        rate.highest() for rate in (price.input, price.cache_read, price.cache_write)
    )
    return usage.input_tokens * dearest_input + usage.output_tokens * price.output.highest()


def rate_per_mtok(dollars: Decimal | str) -> int:
    """Picodollars a token for a price in dollars per million tokens, rounded up to a whole one.

    Raises:
        ValueError: not an amount from 0 to a million dollars.
    """
    return to_pico(dollars, per=TOKENS_PER_MTOK)


def to_pico(dollars: Decimal | str, *, per: int = 1) -> int:
    """Dollars as whole picodollars, divided by `per` and rounded up.

    Raises:
        ValueError: not an amount from 0 to a million dollars.
    """
    try:
        amount = Decimal(dollars)
    except InvalidOperation:
        raise ValueError(f"{dollars!r} is not an amount in dollars") from None
    if not amount.is_finite() or not 0 <= amount <= MOST_DOLLARS:
        raise ValueError(f"{dollars!r} is not an amount from 0 to {MOST_DOLLARS:,} dollars")
    return int((amount * PICO_PER_DOLLAR / per).to_integral_value(rounding=ROUND_CEILING))


def to_usd(pico: int) -> Decimal:
    """Picodollars as exact dollars."""
    return Decimal(pico) / PICO_PER_DOLLAR


def show_usd(pico: int) -> str:
    """An amount for people: cents from a dollar up, else two significant digits.

    >>> show_usd(5 * PICO_PER_DOLLAR), show_usd(4_210_000_000), show_usd(0)
    ('$5.00', '$0.0042', '$0.00')
    """
    amount = to_usd(pico)
    if pico == 0 or amount >= 1:
        return f"${amount:.2f}"
    leading_zeros = -amount.adjusted() - 1
    return f"${amount:.{max(2, leading_zeros + 2)}f}"
