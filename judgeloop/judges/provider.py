"""Resolves the options of a judge behind an API into its address, key and price.

A price comes from the option `price`, else from the user's price file, else from genai-prices. A
provider without an address (the user's own server) is free unless the user gives a price.
"""

from __future__ import annotations

from functools import lru_cache

from judgeloop.core.money import Price
from judgeloop.formats.prices import read_price
from judgeloop.judges.billing import Published, unpublished
from judgeloop.judges.credentials import Provider, endpoint_for, is_official
from judgeloop.judges.options import JudgeOptions
from judgeloop.judges.prices import FREE, price_from_text, published_price
from judgeloop.judges.wire import Endpoint

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
    return endpoint, given or _price(provider, model, endpoint, options)


def _price(
    provider: Provider, model: str, endpoint: Endpoint, options: JudgeOptions
) -> Price | None:
    own = read_price(f"{provider.name}/{model}", options.prices) if options.prices else None
    if own is not None:
        return own
    if provider.url is None:
        return FREE  # the user's own server
    return published_at(provider, endpoint)(model)


def published_at(provider: Provider, endpoint: Endpoint) -> Published:
    """Return a function that looks up the published price of a model at `endpoint`.

    It returns None for a model whose price is not known, and for the user's own server.
    """
    if provider.url is None:
        return unpublished

    @lru_cache(maxsize=MOST_MODELS)
    def find(model: str) -> Price | None:
        if is_official(provider, endpoint.base_url):
            return published_price(model, provider=provider.name)
        return published_price(model, base_url=endpoint.base_url)

    return find
