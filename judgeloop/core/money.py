"""Exact money: prices, and the worst-case and actual cost of a call, in integer picodollars.

One picodollar is 1e-12 dollar: a price of $0.0125 per million tokens is 12,500 picodollars per
token. So every published price is a whole number, and no float holds money. `providers/pricing.py`
looks prices up; `ledger/` records what was spent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_CEILING, Decimal
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `--help` must not wait for it
    from judgeloop.core.records import Usage

PRICE_FILE = ".toml"  # what the name of a file of prices ends with
PICO_PER_DOLLAR = 10**12
TOKENS_PER_MTOK = 10**6
# Decimal also reads "1_0", other scripts' digits and "NaN", which no price list or person means.
_AMOUNT = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
MOST_DOLLARS = 1_000_000  # 1e18 picodollars: fits the 64-bit integers of the ledger


@dataclass(frozen=True, slots=True)
class Rate:
    """Picodollars per token: `base_p`, or the rate of the last tier whose start the input exceeds.

    A tier's rate applies to all tokens of a call with more than `start` input tokens, as providers
    bill it.
    """

    base_p: int
    tiers: tuple[tuple[int, int], ...] = ()  # (start, picodollars per token), ascending

    def at(self, input_tokens: int) -> int:
        """The rate for a call with `input_tokens` input tokens, in picodollars per token."""
        rate = self.base_p
        for start, tier_p in self.tiers:
            if input_tokens > start:
                rate = tier_p
        return rate

    def highest(self) -> int:
        """The highest rate of all tiers, in picodollars per token."""
        return max([self.base_p, *(tier_p for _, tier_p in self.tiers)])


@dataclass(frozen=True)
class Price:
    """The rates of a model; `source` says where they come from.

    `checked` is the date on which they were last known to hold; None if unknown. `flex` is
    the price at the cheaper tier `flex`, if that tier is asked for and its price is known. `own` is True for the
    user's price, which holds whatever the server calls the model.
    """

    input: Rate
    output: Rate
    cache_read: Rate
    cache_write: Rate
    source: str
    checked: date | None = None
    flex: Price | None = None
    own: bool = False

    @property
    def likely(self) -> Price:
        """The price at which a call is probably booked: that of `flex`, if it is asked for."""
        return self.flex or self

    @cached_property
    def dearest(self) -> tuple[int, int]:
        """The highest rates of input and of output in all tiers, but for flex, in picodollars per token."""
        return max(rate.highest() for rate in (self.input, self.cache_read, self.cache_write)), self.output.highest()


def cost(usage: Usage, price: Price) -> int:
    """The cost of `usage`, in picodollars.

    `input_tokens` includes cached tokens, which have rates of their own. Reasoning tokens count as
    output tokens. A cost of more than a million dollars is cut to a million, which the ledger's
    integers can hold.

    Raises:
        ValueError: the token counts contradict each other.
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
    """The highest possible cost of a call within `usage`, at any tier, in picodollars."""
    rate_in, rate_out = price.dearest
    worst_p = usage.input_tokens * rate_in + usage.output_tokens * rate_out
    return max(worst_p, worst_cost(usage, price.flex)) if price.flex else worst_p


def halved(price: Price, source: str) -> Price:
    """Half of a price, each rate rounded up to a whole picodollar."""
    rates = (price.input, price.output, price.cache_read, price.cache_write)
    plain, output, read, written = map(_half, rates)
    return Price(plain, output, read, written, source, price.checked)


def _half(rate: Rate) -> Rate:
    tiers = tuple((start, -(-tier_p // 2)) for start, tier_p in rate.tiers)
    return Rate(-(-rate.base_p // 2), tiers)


def rate_per_mtok(dollars: Decimal | str) -> int:
    """Convert dollars per million tokens to picodollars per token, rounded up.

    Raises:
        ValueError: `dollars` is not an amount from 0 to a million dollars.
    """
    return to_pico(dollars, per=TOKENS_PER_MTOK)


def to_pico(dollars: Decimal | str, *, per: int = 1) -> int:
    """Convert dollars to picodollars, divided by `per` and rounded up to a whole number.

    Raises:
        ValueError: `dollars` is not an amount from 0 to a million dollars.
    """
    if isinstance(dollars, str) and not _AMOUNT.fullmatch(dollars.strip()):
        raise ValueError(f"{dollars!r} is not an amount in dollars")
    amount = Decimal(dollars)
    if not amount.is_finite() or not 0 <= amount <= MOST_DOLLARS:
        raise ValueError(f"{dollars!r} is not an amount from 0 to {MOST_DOLLARS:,} dollars")
    return int((amount * PICO_PER_DOLLAR / per).to_integral_value(rounding=ROUND_CEILING))


def to_usd(pico: int) -> Decimal:
    """Convert picodollars to dollars, exactly."""
    return Decimal(pico) / PICO_PER_DOLLAR


def budget_over(pico: int) -> str:
    """A budget of at least `pico`, in dollars: two significant digits, or whole cents.

    >>> budget_over(12_110_000_000), budget_over(5 * PICO_PER_DOLLAR), budget_over(4_211 * 10**9)
    ('0.013', '5.00', '4.22')
    """
    amount = to_usd(pico)
    places = 2 if amount >= 1 else max(2, 1 - amount.adjusted())
    return f"{amount.quantize(Decimal(1).scaleb(-places), ROUND_CEILING)}"


def show_price(price: Price) -> str:
    """Say what a million tokens cost; empty if they cost nothing.

    A rate that grows with the length of a call is shown with its highest value.

    >>> plain = Rate(2_000_000, ((200_000, 4_000_000),))
    >>> show_price(Price(plain, Rate(8_125_000), plain, plain, ""))
    '$2.00 to $4.00 in and $8.125 out for a million tokens'
    >>> show_price(Price(Rate(100_000), Rate(400_000), Rate(25_000), Rate(100_000), ""))
    '$0.10 in and $0.40 out for a million tokens, $0.025 for cached input'
    """
    if not (price.input.highest() or price.output.highest()):
        return ""
    told = f"{_show_rate(price.input)} in and {_show_rate(price.output)} out for a million tokens"
    if price.cache_read != price.input:
        told += f", {_show_rate(price.cache_read)} for cached input"
    return told


def _show_rate(rate: Rate) -> str:
    """A rate in exact dollars for a million tokens."""
    amounts = [to_usd(rate_p * TOKENS_PER_MTOK) for rate_p in (rate.base_p, rate.highest())]
    return " to ".join(map(_show_exactly, dict.fromkeys(amounts)))


def _show_exactly(amount: Decimal) -> str:
    """Dollars with all their decimals, two at least."""
    decimals = f"{amount.normalize():f}".partition(".")[2]
    return f"${amount:.{max(2, len(decimals))}f}"


def show_usd(pico: int, digits: int = 2) -> str:
    """Format an amount for display: whole cents from one dollar up, else so many significant digits.

    >>> show_usd(5 * PICO_PER_DOLLAR), show_usd(4_210_000_000), show_usd(4_210_000_000, 3), show_usd(0)
    ('$5.00', '$0.0042', '$0.00421', '$0.00')
    """
    amount = to_usd(pico)
    if pico == 0 or amount >= 1:
        return f"${amount:.2f}"
    leading_zeros = -amount.adjusted() - 1
    return f"${amount:.{max(2, leading_zeros + digits)}f}"


def is_price_file(given: str) -> bool:
    """Whether a price as typed is the path of a file of prices."""
    return given.endswith(PRICE_FILE)
