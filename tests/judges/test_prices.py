from __future__ import annotations

import re

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.errors import InputError
from judgeloop.judges.prices import FREE, price_from_text, published_price
from judgeloop.money import PICO_PER_DOLLAR, cost, worst_cost
from judgeloop.records import Usage

TIERED = "gpt-5.4"


@st.composite
def usages(draw, largest=2_000_000):
    read = draw(st.integers(0, largest))
    return Usage(
        input_tokens=draw(st.integers(read, largest)),
        output_tokens=draw(st.integers(0, largest)),
        cache_read_tokens=read,
    )


def charged(model, usage):
    """Picodollars by genai-prices' own arithmetic."""
    theirs = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
    )
    return genai_prices.calc_price(theirs, model, provider_id="openai").total_price * PICO_PER_DOLLAR


@pytest.mark.parametrize(
    ("text", "rate_in", "rate_out"),
    [
        ("0.15,0.60", 150_000, 600_000),
        (" 1 , 2 ", 1_000_000, 2_000_000),
        ("0,0", 0, 0),
        ("1e-3,0.0000001", 1_000, 1),  # a tenth of a picodollar is rounded up, never down to nothing
    ],
)
def test_a_typed_price_holds_for_input_output_and_cached_tokens(text, rate_in, rate_out):
    price = price_from_text(text)
    assert cost(Usage(10, 1, 2, 3), price) == 10 * rate_in + rate_out
    assert price.source == f"--judge-price {text}"


@pytest.mark.parametrize(
    "text",
    ["", "1", ",", "1,", ",1", "1,2,3", "1;2", "a,b", "$1,$2", "-1,1", "1,-0.5", "nan,1", "1,inf", "1,sNaN"],
)
def test_a_typed_price_that_is_none_is_refused_with_an_example(text):
    message = (
        f"--judge-price: expected IN,OUT in dollars per million tokens, such as 0.15,0.60; found {text!r}"
    )
    with pytest.raises(InputError, match="^" + re.escape(message) + "$"):
        price_from_text(text)


@given(usage=usages())
def test_the_published_price_of_gpt_4_1_charges_what_genai_prices_charges(usage):
    assert cost(usage, published_price("gpt-4.1", provider="openai")) == charged("gpt-4.1", usage)


@given(usage=usages())
def test_a_tiered_price_charges_what_genai_prices_charges(usage):
    assert cost(usage, published_price(TIERED, provider="openai")) == charged(TIERED, usage)


@given(usage=usages())
def test_cached_tokens_without_a_price_of_their_own_are_charged_as_input(usage):
    price = published_price("gpt-4", provider="openai")
    assert cost(usage, price) == cost(Usage(usage.input_tokens, usage.output_tokens), price)
    assert cost(usage, price) == charged("gpt-4", usage)


def test_one_token_past_a_threshold_puts_the_whole_call_in_the_dearer_tier():
    price = published_price(TIERED, provider="openai")
    ((start, dearer_p),) = price.input.tiers
    assert dearer_p > price.input.base_p
    for tokens in (start, start + 1):
        usage = Usage(tokens, 1000, 100)
        assert cost(usage, price) == charged(TIERED, usage)
    assert cost(Usage(start, 0), price) == start * price.input.base_p
    assert cost(Usage(start + 1, 0), price) == (start + 1) * dearer_p


def test_the_worst_case_of_a_tiered_price_is_that_of_its_dearest_tier():
    price = published_price(TIERED, provider="openai")
    rate_in, rate_out = price.input.tiers[-1][1], price.output.tiers[-1][1]
    assert worst_cost(Usage(10, 5), price) == 10 * rate_in + 5 * rate_out


def test_a_dated_model_name_has_the_price_of_its_model():
    dated, plain = (published_price(name, provider="openai") for name in ("gpt-4.1-2025-04-14", "gpt-4.1"))
    assert dated == plain is not None


def test_a_price_says_where_it_comes_from():
    assert re.fullmatch(
        r"genai-prices [\d.]+ for gpt-4\.1", published_price("gpt-4.1", provider="openai").source
    )


def test_a_price_is_found_by_the_address_of_the_api():
    by_address = published_price("gpt-4.1", base_url="https://api.openai.com/v1")
    assert by_address == published_price("gpt-4.1", provider="openai") is not None


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("no-such-model", {"provider": "openai"}),
        ("gpt-4.1", {"provider": "no-such-provider"}),
        ("gpt-4.1", {"base_url": "http://localhost:8000/v1"}),
        ("text-embedding-3-small", {"provider": "openai"}),
    ],
)
def test_what_nobody_priced_has_no_price(model, where):
    assert published_price(model, **where) is None


def test_free_is_free():
    assert cost(Usage(10**9, 10**9, 10**8, 10**8), FREE) == 0
