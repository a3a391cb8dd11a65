"""What a model's tokens cost, the bounds of a call before it is made, and what its reply is booked at.

A price comes from the user (typed, or in a file of prices), else from genai-prices. Its price at the tier `flex` is
added if that tier is asked for: a provider serves it with what capacity is left over, later and cheaper, and at times
not at all. A provider without an address (the user's own server) is free unless the user gives a price. There is no
fallback price: a model without a known price has none, and a run with a budget refuses it. Nothing is downloaded: the
prices are those in the installed genai-prices.

The bounds need no tokenizer. A byte-level tokenizer makes at most one token per byte, so the number of bytes is an
upper bound. It never joins words, so the number of words is a lower bound.

The user's price holds for the model that the first reply names: a deployment may have a name of its own, and a price of
its own. A later reply by another model that is listed dearer than that one breaks it.

A reply's usage is a `Claim`. It is checked against what was promised before the call (`Sent`) and against what can be
counted here. Where a claim cannot be true, the worst case is booked. Where it is true and dearer than the quote, it is
booked, and the run stops (`engine/attempts.py`), because reservations no longer bound the bill.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.money import (
    MOST_DOLLARS,
    PICO_PER_DOLLAR,
    PRICE_FILE,
    Price,
    Rate,
    cost,
    halved,
    is_price_file,
    rate_per_mtok,
    show_price,
    show_usd,
    worst_cost,
)
from judgeloop.core.protocols import Judge, System
from judgeloop.core.records import JudgeIdentity, Quote, Usage
from judgeloop.formats.tables import read_text
from judgeloop.providers.endpoint import FLEX, STANDARD, Provider

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

# What a table of a file of prices may have; `flex` is a table within it, of the cheaper tier.
PRICE_FIELDS = {"input_per_mtok", "output_per_mtok", "cache_read_per_mtok", "cache_write_per_mtok", "checked_on"}
Published = Callable[[str], Price | None]


def unpublished(model: str) -> None:
    """None: no price is published at this server, whatever the model."""
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
class Renamed(Protocol):
    """A judge or a system whose server may call its model otherwise."""

    @property
    def price_note(self) -> str:
        """What the server calls the model that has the user's price, in a sentence; empty if it says nothing new."""


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

    def learn_lengths(self, lengths: Sequence[int]) -> bool:
        """Take the numbers of output tokens of earlier replies, cut off or not.

        A judge may send a lower limit of output tokens by them; whether it is lower than before, so that calls reserve
        less.
        """


def model_price(provider: Provider, model: str, url: str, *, given: str | None, tier: str) -> Price | None:
    """The price of `model` at `url`; None if it is not known.

    `given` is what the user typed (`own_price`). The price at flex is added unless `tier` is the
    standard one.

    Raises:
        InputError: the typed price is wrong.
        DataError: the file of prices is wrong.
    """
    own = own_price(given, f"{provider.name}/{model}")
    price = own or (FREE if provider.is_free(url) else published_at(provider, url)(model))
    if price is None or tier == STANDARD:
        return price and replace(price, flex=None)
    return replace(price, flex=_flex_price(provider, model, url, price, own=own is not None))


def own_price(given: str | None, name: str) -> Price | None:
    """The user's price for the judge `name`; None if there is none.

    `given` is IN,OUT, or the path of a file of prices (`read_price`).

    Raises:
        InputError: it is neither.
        DataError: the file is wrong.
    """
    if given is None:
        return None
    return read_price(name, Path(given)) if is_price_file(given) else price_from_text(given)


def read_price(name: str, path: Path) -> Price | None:
    """Read the price of the judge `name` from a TOML file; None if the file has no such table.

    The file has a table for each judge, under the judge's name:

        ["openai/my-model"]
        input_per_mtok = 0.15
        output_per_mtok = 0.60
        checked_on = 2026-11-20

        ["openai/my-model".flex]
        input_per_mtok = 0.075
        output_per_mtok = 0.30

    Amounts are dollars per million tokens. `cache_read_per_mtok`, `cache_write_per_mtok` and `checked_on`, the date on
    which somebody last looked the price up, are optional. So is the table `flex`, the price at the tier `flex`. Cached
    tokens without a price of their own cost as much as other input tokens.

    Raises:
        DataError: the file is not TOML, or the table is wrong.
    """
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise DataError(path, f"this is no TOML: {error}") from None
    table = tables.get(name)
    if table is None:
        return None
    cheaper = table.pop(FLEX, None) if isinstance(table, dict) else None
    price = _price_in(name, table, path)
    return price if cheaper is None else replace(price, flex=_price_in(f"{name}.{FLEX}", cheaper, path))


def _price_in(name: str, table: Any, path: Path) -> Price:
    try:
        if unknown := set(table) - PRICE_FIELDS:
            raise ValueError(f"unknown field {min(unknown)!r}")  # noqa: TRY301 - the handler below adds the context
        checked = table.pop("checked_on", None)
        if checked is not None and type(checked) is not date:
            raise ValueError(f"checked_on is a date such as 2026-11-20, not {checked!r}")  # noqa: TRY301 - the same
        rates = {field: Rate(rate_per_mtok(str(value))) for field, value in table.items()}
        plain = rates["input_per_mtok"]
        return Price(
            input=plain,
            output=rates["output_per_mtok"],
            cache_read=rates.get("cache_read_per_mtok", plain),
            cache_write=rates.get("cache_write_per_mtok", plain),
            source=str(path),
            checked=checked,
            own=True,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(
            path, f"[{name!r}] needs input_per_mtok and output_per_mtok, in dollars per million tokens: {error}"
        ) from None


def _flex_price(provider: Provider, model: str, url: str, price: Price, *, own: bool) -> Price | None:
    """The price of `model` at flex; None if it is not known.

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


@cache
def published_at(provider: Provider, url: str, tier: str | None = None) -> Published:
    """A function that looks up the published price of a model at `url`.

    It returns None for a model whose price is not known, and for the user's own server.
    """
    if provider.is_free(url):
        return unpublished
    where = {"provider": provider.name} if provider.owns(url) else {"base_url": url}
    return lru_cache(maxsize=MOST_MODELS)(partial(published_price, tier=tier, decides=provider.decides, **where))


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
    return Price(plain, Rate(rate_out), plain, plain, source=f"`judge_price={text}`", own=True)


def published_price(
    model: str,
    *,
    provider: str | None = None,
    base_url: str | None = None,
    tier: str | None = None,
    decides: bool = False,
) -> Price | None:
    """The price of `model` in genai-prices, for a provider or for an API's URL.

    None if genai-prices has no price for it, or none of its own at the service tier `tier`. If the
    price depends on the time of day, the highest price counts. A model that also charges for
    something else that a call uses, such as a fee per request, gets None, because a call could then
    cost more than its reservation. A model that `decides` is billed for its input alone, and a price
    with output is that of another model of its name; of any other model a price without output is not whole.
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
    if "input_mtok" not in charged or ("output_mtok" in charged) is decides or charged - TOKEN_PRICES - UNUSED_PRICES:
        return None
    rates = {key: _dearest(by_hour, key) for key in charged & TOKEN_PRICES}
    plain = rates["input_mtok"]
    return Price(
        input=plain,
        output=rates.get("output_mtok", Rate(0)),
        cache_read=rates.get("cache_read_mtok", plain),
        cache_write=rates.get("cache_write_mtok", plain),
        checked=table_date(),
        source=f"genai-prices {version('genai-prices')} for {where.id}/{found.id}{f' at {tier}' if tier else ''}",
    )


@cache
def table_date() -> date | None:
    """The latest date on which a price in genai-prices was checked; None if it names none.

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
    """Whether `pattern` matches the whole host of `base_url`.

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
    """What asking for `tier` means for the price, in a sentence; empty for the standard."""
    if tier == STANDARD:
        return ""
    reserved = "the standard price is reserved, because the reply may name another tier"
    if price is None or price.flex is None:
        return f"{tier}; no lower price is known for it here, so that the full price is booked"
    return f"{tier}, by {price.flex.source}; {reserved}"


def today() -> date:
    """Today's date, in UTC."""
    return datetime.now(UTC).date()


def price_sentence(judges: Sequence[Judge], systems: Sequence[System] = ()) -> str:
    """The price of each judge that costs, and of each system, and where it is from."""
    told = [(one.identity.name, _told_price(one)) for one in judges]
    told += [(one.identity.name, _told_price(one) or "free") for one in systems if one.priced]
    if len(told) == 1:
        return told[0][1]
    return "; ".join(f"{name} {text}" for name, text in told if text)


def _told_price(who: Judge | System) -> str:
    """A price and where it is from; empty for one that costs nothing."""
    if isinstance(who, PaidByTheCall):
        return f"at most {show_usd(who.most_p)} a call" if who.most_p else ""
    price = who.price if isinstance(who, Priced) else None
    text = show_price(price) if price else ""
    note = who.price_note if isinstance(who, Renamed) else ""
    return f"{text}, from {price.source}{f'; {note}' if note else ''}" if price and text else ""


def renamed(model: str, named: str, price: Price | None, published: Published) -> str:
    """What a server calls the model that has the user's price, and its list price if that is higher."""
    if price is None or not price.own or named in {"", model}:
        return ""
    listed, million = published(named), Usage(10**6, 10**6)
    dearer = listed is not None and cost(million, listed) > cost(million, price)
    more = f", which is listed at {show_price(listed)}; your price is booked" if listed and dearer else ""
    return f"the server calls {model} {named}{more}"


def age_of(who: Judge | System, now: date) -> int | None:
    """The age of prices by the token in days; None if they have no date, or it is to come."""
    price = who.price if isinstance(who, Priced) else None
    if price is None or price.checked is None or price.checked > now:
        return None
    return (now - price.checked).days


def age_sentence(judge: Judge, now: date) -> str:
    """A sentence on the age of a judge's prices, with a warning if they are old, or ""."""
    age = age_of(judge, now)
    if age is None:
        return ""
    text = f"the prices were last checked {'today' if age == 0 else f'{age} days ago'}"
    if age <= LONGEST_AGE_DAYS:
        return text
    return f"{text}, and may have changed: update genai-prices, or give `judge_price`"


def old_prices(every: Sequence[Judge | System], now: date) -> dict[str, int]:
    """The judges and systems whose prices are old, with their age in days."""
    ages = [(one.identity.name, age_of(one, now) or 0) for one in every]
    return {name: age for name, age in ages if age > LONGEST_AGE_DAYS}


def quote(
    most: Usage, texts: Sequence[str], price: Price | None, *, thinking: int = 0, likely: int = LIKELY_OUTPUT_TOKENS
) -> Quote:
    """The worst case of an attempt that uses at most `most`, and its likely cost.

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
    """The most tokens that a request with `texts` and a schema can use."""
    around = len(texts) * TOKENS_AROUND_A_MESSAGE + schema_size + TOKENS_HIDDEN
    return Usage(_bytes(texts) + around, max_output_tokens)


def least_tokens(texts: Iterable[str]) -> int:
    """The fewest tokens that `texts` can have: a token a word, or the longest tokens."""
    return sum(max(len(text.split()), len(text) // LONGEST_TOKEN) for text in texts)


def _bytes(texts: Iterable[str]) -> int:
    return len("".join(texts).encode())


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent, and what was promised about its cost.

    - `model`: the model asked for; `price`: its price.
    - `texts`: the texts sent.
    - `most`: the most tokens that the call can use.
    - `published`: looks up the published price of another model at the same server.
    - `named`: the model that the price is of, if it is the user's: the one that the first reply named.
    """

    model: str
    price: Price
    texts: tuple[str, ...]
    most: Usage
    published: Published = unpublished
    named: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a reply says of its cost.

    - `model`: the model that answered, empty if it does not say; `text`: all that it wrote.
    - `usage`: None if it reports none, or an impossible one.
    - `cost_p`: the cost in picodollars that a gateway reports; None if it reports none.
    - `tier`: the service tier or speed that was billed; None if not reported.
    """

    model: str
    text: str
    usage: Usage | None
    cost_p: int | None = None
    tier: str | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """What to book for a reply, in picodollars, and how the reply contradicts the quote.

    `cost_p` is None if the usage is missing or cannot be true; the worst case is booked then.
    `breach` is empty if the quote holds. `saved_p` is what the cache of prompts took off the cost.
    """

    cost_p: int | None
    breach: str = ""
    saved_p: int = 0


def bill(claim: Claim, sent: Sent) -> Bill:
    """What to book for `claim`: the cost of its tokens, or a larger cost that it reports.

    A gateway may send a request to a dearer provider than the one whose price was looked up.
    """
    found, reported_p = _bill_of_tokens(claim, sent), claim.cost_p or 0
    booked_p = worst_cost(sent.most, sent.price) if found.cost_p is None else found.cost_p
    return found if reported_p <= booked_p else replace(found, cost_p=reported_p, saved_p=0)


def _bill_of_tokens(claim: Claim, sent: Sent) -> Bill:
    """What to book by the usage; calls that cost nothing have no quote to contradict."""
    if not worst_cost(sent.most, sent.price):
        return Bill(0)
    usage = claim.usage
    most = max(usage.input_tokens, usage.output_tokens) if usage else 0
    if most > MOST_TOKENS:
        return Bill(None, f"it reports {most:,} tokens, which no call can use")
    # There is a token for every word that was sent and that came back.
    believed = (
        usage is not None
        and usage.input_tokens >= least_tokens(sent.texts)
        and usage.output_tokens >= least_tokens([claim.text])
    )
    dearer = _dearer_model(claim.model, usage if usage and believed else sent.most, sent)
    breaches = _breaches(claim, usage, dearer, sent)
    if not believed and not breaches:
        return Bill(None)
    # Without a word on the tier the full price is booked, whatever was asked for.
    price = dearer or (sent.price.likely if claim.tier == FLEX else sent.price)
    claimed_p = cost(usage, price) if usage else 0
    booked_p = claimed_p if believed else max(claimed_p, worst_cost(sent.most, price))
    times = DEAREST_TIER if _is_dearer(claim.tier) else 1
    saved_p = 0
    if usage and believed:
        uncached = replace(usage, cache_read_tokens=0, cache_write_tokens=0)
        saved_p = cost(uncached, price) - claimed_p
    booked_p = min(times * booked_p, MOST_DOLLARS * PICO_PER_DOLLAR)
    return Bill(booked_p, "; ".join(breaches), saved_p)


def _breaches(claim: Claim, usage: Usage | None, dearer: Price | None, sent: Sent) -> list[str]:
    """A sentence for each way in which `claim` costs more than was quoted."""
    sentences = []
    if dearer is not None:
        sentences.append(f"it answered as {claim.model}, which costs more than {sent.named or sent.model}")
    if _is_dearer(tier := claim.tier):
        sentences.append(f"it answered at the tier {tier!r}, which was not asked for")
    most = sent.most
    if usage and usage.output_tokens > most.output_tokens:
        sentences.append(
            f"it reports {usage.output_tokens:,} output tokens, more than the {most.output_tokens:,} asked for"
        )
    if usage and usage.input_tokens > most.input_tokens:
        sentences.append(
            f"it reports {usage.input_tokens:,} input tokens for a request of at most {most.input_tokens:,}"
        )
    return sentences


def _is_dearer(tier: str | None) -> bool:
    """Whether `tier` may cost more than the standard one; an unknown tier may."""
    return bool(tier) and tier not in PLAIN_TIERS


def _dearer_model(name: str, usage: Usage, sent: Sent) -> Price | None:
    """The price of the model `name` if it costs more than the one that the price is of, else None.

    Published prices are compared with each other: the user's own price may be lower for both.
    """
    of = sent.named or sent.model
    if name in {"", of}:
        return None
    other = sent.published(name)
    if other is None:
        return None
    expected = sent.published(of) or sent.price
    return other if cost(usage, other) > cost(usage, expected) else None
