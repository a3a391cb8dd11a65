"""Resolves the options of a judge behind an API into its address, key and price.

A price comes from the option `price`, else from the user's price file, else from genai-prices. Its
price at a cheaper tier is added if that tier is asked for (`tiers.py`). A
provider without an address (the user's own server) is free unless the user gives a price.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from judgeloop.core.money import Price, halved
from judgeloop.formats.prices import read_price
from judgeloop.judges.options import JudgeOptions
from judgeloop.providers.billing import Published, unpublished
from judgeloop.providers.credentials import Provider, endpoint_for, is_official
from judgeloop.providers.prices import FREE, price_from_text, published_price
from judgeloop.providers.tiers import FLEX, STANDARD
from judgeloop.providers.wire import Endpoint

# The provider whose rule it is that flex costs half where no price is published.
HALVES = "openai"
MOST_MODELS = 64  # a server may name another model in every reply


def reach(provider: Provider, model: str, options: JudgeOptions) -> tuple[Endpoint, Price | None]:
    """Return the endpoint of `model` and its price; None if no price is known.

    Raises:
        InputError: the address, the key or the typed price is missing or wrong.
        DataError: the price file is wrong.
    """
    given = None if options.price is None else price_from_text(options.price)
    endpoint = endpoint_for(
        provider,
        options.environment,
        base_url=options.base_url,
        timeout_s=options.timeout_s,
        offline=options.offline,
        name=options.name,
    )
    own = given or _own_price(f"{provider.name}/{model}", options)
    price = own or _price(provider, model, endpoint)
    if price is None:
        return endpoint, None
    flex = (
        None
        if options.tier == STANDARD
        else _flex_price(provider, model, endpoint, price, own=own is not None)
    )
    return endpoint, replace(price, flex=flex)


def _own_price(name: str, options: JudgeOptions) -> Price | None:
    return read_price(name, options.prices) if options.prices else None


def _price(provider: Provider, model: str, endpoint: Endpoint) -> Price | None:
    if provider.url is None:
        return FREE  # the user's own server
    return published_at(provider, endpoint)(model)


def _flex_price(
    provider: Provider, model: str, endpoint: Endpoint, price: Price, *, own: bool
) -> Price | None:
    """Return the price of `model` at flex; None if it is not known.

    It is the user's (`price.flex`), else the published one, else half of the standard price at
    OpenAI's own host. Another server may charge the full price for flex. With `own`, `price` is
    the user's, so that the published price at flex would not go with it.
    """
    if price.flex is not None:
        return price.flex
    official = is_official(provider, endpoint.base_url)
    published = None if own else published_at(provider, endpoint, FLEX)(model)
    if published is None and official and provider.name == HALVES:
        return halved(price, f"half of {price.source}")
    return published


def published_at(provider: Provider, endpoint: Endpoint, tier: str | None = None) -> Published:
    """Return a function that looks up the published price of a model at `endpoint`.

    It returns None for a model whose price is not known, and for the user's own server.
    """
    if provider.url is None:
        return unpublished

    @lru_cache(maxsize=MOST_MODELS)
    def find(model: str) -> Price | None:
        if is_official(provider, endpoint.base_url):
            return published_price(model, provider=provider.name, tier=tier)
        return published_price(model, base_url=endpoint.base_url, tier=tier)

    return find
