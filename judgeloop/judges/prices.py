"""What a model charges: the user's price first, then genai-prices, or nothing.

There is no fallback price: a model that nobody priced stays unpriced, and a budget refuses it. Nothing is fetched.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import Any

from judgeloop.errors import InputError
from judgeloop.money import Price, Rate, rate_per_mtok

FREE = Price(Rate(0), Rate(0), Rate(0), Rate(0), source="free")


def price_from_text(text: str) -> Price:
    """A price as typed: dollars per million input tokens, a comma, dollars per million output tokens.

    >>> price_from_text("0.15,0.60").output.base_p
    600000
    """
    try:
        dollars_in, dollars_out = text.split(",")
        rate_in, rate_out = rate_per_mtok(dollars_in.strip()), rate_per_mtok(dollars_out.strip())
    except ValueError:
        raise InputError(
            f"--judge-price: expected IN,OUT in dollars per million tokens, such as 0.15,0.60; found {text!r}"
        ) from None
    plain = Rate(rate_in)
    return Price(plain, Rate(rate_out), plain, plain, source=f"--judge-price {text}")


def published_price(model: str, *, provider: str | None = None, base_url: str | None = None) -> Price | None:
    """The price that genai-prices knows for `model` at a provider or behind an API's URL; None if it knows none."""
    from genai_prices import data_snapshot

    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(model, None, provider, base_url)
    except LookupError:
        return None
    prices = found.get_prices(datetime.now(UTC))
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    plain = _rate(prices.input_mtok)
    return Price(
        input=plain,
        output=_rate(prices.output_mtok),
        cache_read=plain if prices.cache_read_mtok is None else _rate(prices.cache_read_mtok),
        cache_write=plain if prices.cache_write_mtok is None else _rate(prices.cache_write_mtok),
        source=f"genai-prices {version('genai-prices')} for {found.id}",
    )


def _rate(dollars_per_mtok: Any) -> Rate:
    if isinstance(dollars_per_mtok, Decimal):
        return Rate(rate_per_mtok(dollars_per_mtok))
    return Rate(
        rate_per_mtok(dollars_per_mtok.base),
        tuple((tier.start, rate_per_mtok(tier.price)) for tier in dollars_per_mtok.tiers),
    )
