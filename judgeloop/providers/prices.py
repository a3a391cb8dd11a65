"""What a model's tokens cost, by the user or by genai-prices, and how old the prices are.

A price comes from the user (typed, or in a file of prices), else from genai-prices. Its price at
the tier `flex` is added if that tier is asked for: a provider serves it with what capacity is left
over, later and cheaper, and at times not at all. A provider without an address (the user's own
server) is free unless the user gives a price. There is no fallback price: a model without a known
price has none, and a run with a budget refuses it. Nothing is downloaded: the prices are those in
the installed genai-prices. Which tier a reply was billed at, the reply says (`billing.py`).
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from judgeloop.core.errors import InputError, nearest_to
from judgeloop.core.money import PRICE_FILE, Price, Rate, halved, is_price_file, rate_per_mtok, show_price, show_usd
from judgeloop.core.protocols import Judge, System
from judgeloop.core.records import JudgeIdentity
from judgeloop.providers.catalogue import FLEX, STANDARD, chat_class
from judgeloop.providers.endpoint import Provider

LONGEST_AGE_DAYS = 90
MOST_MODELS = 64  # a server may name another model in every reply
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


Published = Callable[[str], Price | None]


def unpublished(model: str) -> None:
    """Return None: no price is published at this server, whatever the model."""
    del model


@runtime_checkable
class Priced(Protocol):
    """A judge or a system that is paid by the token."""

    @property
    def identity(self) -> JudgeIdentity:
        """Who it is."""

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None if that is not known."""


@runtime_checkable
class PaidByTheCall(Protocol):
    """A system that is code; what a call may cost is what its caller says."""

    @property
    def most_p(self) -> int:
        """The most that a call may cost, in picodollars."""


@runtime_checkable
class Metered(Priced, Protocol):
    """A judge that is paid by the token."""

    @property
    def tier_note(self) -> str:
        """The tier asked for and its price, in a sentence; empty for the standard tier."""

    def learn_lengths(self, lengths: Sequence[int]) -> None:
        """Take the numbers of output tokens of earlier replies, cut off or not.

        A judge may send a lower limit of output tokens by them.
        """


def model_price(provider: Provider, model: str, url: str, *, given: str | None, tier: str) -> Price | None:
    """Return the price of `model` at `url`; None if it is not known.

    `given` is what the user typed (`own_price`). The price at flex is added unless `tier` is the
    standard one.

    Raises:
        InputError: the typed price is wrong.
        DataError: the file of prices is wrong.
    """
    own = own_price(given, f"{provider.name}/{model}")
    price = own or (published_at(provider, url)(model) if provider.url else FREE)
    if price is None or tier == STANDARD:
        return price and replace(price, flex=None)
    return replace(price, flex=_flex_price(provider, model, url, price, own=own is not None))


def own_price(given: str | None, name: str) -> Price | None:
    """Return the user's price for the judge `name`; None if there is none.

    `given` is IN,OUT, or the path of a file of prices (`formats/prices.py`).

    Raises:
        InputError: it is neither.
        DataError: the file is wrong.
    """
    if given is None:
        return None
    if not is_price_file(given):
        return price_from_text(given)
    from judgeloop.formats.prices import read_price

    return read_price(name, Path(given))


def _flex_price(provider: Provider, model: str, url: str, price: Price, *, own: bool) -> Price | None:
    """Return the price of `model` at flex; None if it is not known.

    It is the user's (`price.flex`), else the published one, else half of the standard price at the
    host of a provider whose rule that is. Another server may charge the full price for flex. With
    `own`, `price` is the user's, so that the published price at flex would not go with it.
    """
    if price.flex is not None:
        return price.flex
    published = None if own else published_at(provider, url, FLEX)(model)
    if published is None and provider.flex_is_half and provider.owns(url):
        return halved(price, f"half of {price.source}")
    return published


def published_at(provider: Provider, url: str, tier: str | None = None) -> Published:
    """Return a function that looks up the published price of a model at `url`.

    It returns None for a model whose price is not known, and for the user's own server.
    """
    if provider.url is None:
        return unpublished
    where = {"provider": provider.name} if provider.owns(url) else {"base_url": url}
    return lru_cache(maxsize=MOST_MODELS)(partial(published_price, tier=tier, **where))


def likely_model(judge: JudgeIdentity) -> str:
    """Return the model with a published price that was probably meant, as a part of a message.

    Empty if none has a similar name, or if the judge is not asked at its provider's own host: only
    there are the names of models known.
    """
    from genai_prices import data_snapshot

    chat = chat_class(judge.provider)
    if chat is None or not chat.provider.owns(judge.parameters.get("endpoint", "")):
        return ""
    providers = data_snapshot.get_snapshot().providers
    tables = [provider.models for provider in providers if provider.id == judge.provider]
    nearest = nearest_to(judge.model, [model.id for models in tables for model in models])
    if nearest is None or published_price(nearest, provider=judge.provider) is None:
        return ""
    return f" (did you mean {replace(judge, model=nearest).name}?)"


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
            f"`judge_price`: expected IN,OUT in dollars per million tokens, such as 0.15,0.60, "
            f"or a file of prices that ends in {PRICE_FILE}; found {text!r}"
        ) from None
    plain = Rate(rate_in)
    return Price(plain, Rate(rate_out), plain, plain, source=f"`judge_price={text}`")


def published_price(
    model: str, *, provider: str | None = None, base_url: str | None = None, tier: str | None = None
) -> Price | None:
    """Return the price of `model` in genai-prices, for a provider or for an API's URL.

    None if genai-prices has no price for it, or none of its own at the service tier `tier`. If the
    price depends on the time of day, the highest price counts. A model that also charges for
    something else that a call uses, such as a fee per request, gets None, because a call could then
    cost more than its reservation.
    """
    from genai_prices import data_snapshot

    try:
        where, found = data_snapshot.get_snapshot().find_provider_model(model, None, provider, base_url)
    except LookupError:
        return None
    if base_url is not None and not _reaches(where.api_pattern, base_url):
        return None
    context = {} if tier is None else {"service_tier": tier}
    if context and all(variant.when != context for variant in found.price_variants or ()):
        return None
    now = datetime.now(UTC)
    by_hour = [found.get_prices(now.replace(hour=hour, minute=half), context) for hour in range(24) for half in (0, 30)]
    charged = {key for prices in by_hour for key, amount in prices.__dict__.items() if amount is not None}
    if not {"input_mtok", "output_mtok"} <= charged or charged - TOKEN_PRICES - UNUSED_PRICES:
        return None
    rates = {key: _dearest(by_hour, key) for key in charged & TOKEN_PRICES}
    plain = rates["input_mtok"]
    return Price(
        input=plain,
        output=rates["output_mtok"],
        cache_read=rates.get("cache_read_mtok", plain),
        cache_write=rates.get("cache_write_mtok", plain),
        checked=table_date(),
        source=f"genai-prices {version('genai-prices')} for {where.id}/{found.id}{f' at {tier}' if tier else ''}",
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
    dates = []
    for owner in owners:
        for text in _CHECKED.findall(owner.price_comments or ""):
            with suppress(ValueError):
                dates.append(date.fromisoformat(text))
    return max(dates, default=None)


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


def note(tier: str, price: Price | None) -> str:
    """Return what asking for `tier` means for the price, in a sentence; empty for the standard."""
    if tier == STANDARD:
        return ""
    reserved = "the standard price is reserved, because the reply may name another tier"
    if price is None or price.flex is None:
        return f"{tier}; no lower price is known for it here, so that the full price is booked"
    return f"{tier}, by {price.flex.source}; {reserved}"


def today() -> date:
    """Return today's date, in UTC."""
    return datetime.now(UTC).date()


def price_sentence(judges: Sequence[Judge], systems: Sequence[System] = ()) -> str:
    """Return the price of each judge that costs, and of each system, and where it is from."""
    told = [(one.identity.name, _told_price(one)) for one in judges]
    told += [(one.identity.name, _told_price(one) or "free") for one in systems if one.priced]
    if len(told) == 1:
        return told[0][1]
    return "; ".join(f"{name} {text}" for name, text in told if text)


def _told_price(asked: Judge | System) -> str:
    """Return a price and where it is from; empty for one that costs nothing."""
    if isinstance(asked, PaidByTheCall):
        return f"at most {show_usd(asked.most_p)} a call" if asked.most_p else ""
    price = asked.price if isinstance(asked, Priced) else None
    text = show_price(price) if price else ""
    return f"{text}, from {price.source}" if price and text else ""


def age_of(asked: Judge | System, now: date) -> int | None:
    """Return the age of prices by the token in days; None if they have no date, or it is to come."""
    price = asked.price if isinstance(asked, Priced) else None
    if price is None or price.checked is None or price.checked > now:
        return None
    return (now - price.checked).days


def age_sentence(judge: Judge, now: date) -> str:
    """Return a sentence on the age of a judge's prices, with a warning if they are old, or ""."""
    age = age_of(judge, now)
    if age is None:
        return ""
    text = f"the prices were last checked {'today' if age == 0 else f'{age} days ago'}"
    if age <= LONGEST_AGE_DAYS:
        return text
    return f"{text}, and may have changed: update genai-prices, or give `judge_price`"


def old_prices(asked: Sequence[Judge | System], now: date) -> dict[str, int]:
    """Return the judges and systems whose prices are old, with their age in days."""
    ages = [(one.identity.name, age_of(one, now) or 0) for one in asked]
    return {name: age for name, age in ages if age > LONGEST_AGE_DAYS}
