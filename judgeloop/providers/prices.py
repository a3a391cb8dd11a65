"""Parses a price typed by the user, and looks up published prices in genai-prices.

There is no fallback price: a model without a known price has none, and a run with a budget refuses
it. Nothing is downloaded: the prices are those in the installed genai-prices. `provider.py` decides
which price applies; `formats/prices.py` reads the user's price file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from os import PathLike
from typing import Any, Protocol, runtime_checkable

from judgeloop.core.errors import InputError
from judgeloop.core.money import Price, Rate, rate_per_mtok

FREE = Price(Rate(0), Rate(0), Rate(0), Rate(0), source="free: your own server")
TOKEN_PRICES = {"input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok"}
# Prices of what a judge's call never uses: other media, tools, searches, caching for an hour.
UNUSED_PRICES = {
    "audio_hours", "cache_audio_read_mtok", "cache_image_read_mtok", "cache_write_1h_mtok", "code_executions_kcount",
    "input_audio_hours", "input_audio_mtok", "input_document_kpages", "input_annotated_document_kpages",
    "input_image_mtok", "input_video_mtok", "output_audio_mtok", "output_image_mtok", "output_video_mtok",
    "social_searches_kcount", "storage_searches_kcount", "web_searches_kcount",
}  # fmt: skip
# How the table's comments say when somebody compared a price with the provider's page.
_CHECKED = re.compile(r"\b(?:as of|checked|verified)(?: on)? (\d{4}-\d{2}-\d{2})\b", re.IGNORECASE)


@runtime_checkable
class Metered(Protocol):
    """A judge that is paid by the token."""

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None if that is not known."""
        ...


def price_text(given: object) -> object:
    """Return a pair of numbers, or the path of a file, as text; other values as they are.

    >>> price_text((0.15, 0.6)), price_text("1,4")
    ('0.15,0.6', '1,4')
    """
    if isinstance(given, PathLike):
        return str(given)
    return ",".join(map(str, given)) if isinstance(given, tuple | list) else given


def price_from_text(text: str) -> Price:
    """Parse IN,OUT: dollars per million input tokens and per million output tokens.

    Cached tokens cost as much as other input tokens.

    Raises:
        InputError: `text` is not two amounts in dollars.

    >>> price_from_text("0.15,0.60").output.base_p
    600000
    """
    try:
        dollars_in, dollars_out = text.split(",")
        rate_in, rate_out = rate_per_mtok(dollars_in.strip()), rate_per_mtok(dollars_out.strip())
    except ValueError:
        raise InputError(
            f"`judge_price`: expected IN,OUT in dollars per million tokens, such as 0.15,0.60; found {text!r}"
        ) from None
    plain = Rate(rate_in)
    return Price(plain, Rate(rate_out), plain, plain, source=f"`judge_price={text}`")


def published_price(
    model: str,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    tier: str | None = None,
) -> Price | None:
    """Return the price of `model` in genai-prices, for a provider or for an API's URL.

    None if genai-prices has no price for it, or none of its own at the service tier `tier`. If the
    price depends on the time of day, the highest price counts. A model that also charges for
    something else that a call uses, such as a fee per request, gets None, because a call could then
    cost more than its reservation.
    """
    from genai_prices import data_snapshot

    try:
        where, found = data_snapshot.get_snapshot().find_provider_model(
            model, None, provider, base_url
        )
    except LookupError:
        return None
    if base_url is not None and not _reaches(where.api_pattern, base_url):
        return None
    context = {} if tier is None else {"service_tier": tier}
    if context and all(variant.when != context for variant in found.price_variants or ()):
        return None
    now = datetime.now(UTC)
    by_hour = [
        found.get_prices(now.replace(hour=hour, minute=half), context)
        for hour in range(24)
        for half in (0, 30)
    ]
    charged = {
        key for prices in by_hour for key, amount in prices.__dict__.items() if amount is not None
    }
    if not {"input_mtok", "output_mtok"} <= charged or charged - TOKEN_PRICES - UNUSED_PRICES:
        return None
    plain = _dearest(by_hour, "input_mtok")
    return Price(
        input=plain,
        output=_dearest(by_hour, "output_mtok"),
        cache_read=_dearest(by_hour, "cache_read_mtok") if "cache_read_mtok" in charged else plain,
        cache_write=_dearest(by_hour, "cache_write_mtok")
        if "cache_write_mtok" in charged
        else plain,
        checked=table_date(),
        source=f"genai-prices {version('genai-prices')} for {where.id}/{found.id}"
        f"{f' at {tier}' if tier else ''}",
    )


@cache
def table_date() -> date | None:
    """Return the latest date on which a price in genai-prices was checked; None if it names none.

    The table has no date of its own. Dates from which a price holds are of no use, because prices
    are announced in advance.
    """
    from genai_prices import data_snapshot

    providers = data_snapshot.get_snapshot().providers
    owners: list[Any] = [one for provider in providers for one in (provider, *provider.models)]
    comments = [owner.price_comments for owner in owners if owner.price_comments]
    dates = [_date(found) for comment in comments for found in _CHECKED.findall(comment)]
    return max((found for found in dates if found is not None), default=None)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _reaches(pattern: str, base_url: str) -> bool:
    """Return whether `pattern` matches the whole host of `base_url`.

    The published patterns also match the beginning of a longer host name.
    """
    found = re.match(pattern, base_url)
    if found is None:
        return False
    return found[0].endswith("/") or base_url[found.end() :][:1] in {"", "/", ":", "?"}


def _dearest(by_hour: Sequence[Any], key: str) -> Rate:
    rates = [_rate(amount) for prices in by_hour if (amount := getattr(prices, key)) is not None]
    return max(rates, key=lambda rate: (rate.highest(), rate.base_p))


def _rate(dollars_per_mtok: Any) -> Rate:
    if isinstance(dollars_per_mtok, Decimal):
        return Rate(rate_per_mtok(dollars_per_mtok))
    return Rate(
        rate_per_mtok(dollars_per_mtok.base),
        tuple((tier.start, rate_per_mtok(tier.price)) for tier in dollars_per_mtok.tiers),
    )
