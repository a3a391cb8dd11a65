from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import genai_prices
import pytest
from genai_prices import data_snapshot
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.errors import InputError
from judgeloop.core.money import PICO_PER_DOLLAR, Rate, cost, rate_per_mtok, worst_cost
from judgeloop.core.records import Usage
from judgeloop.providers.pricing import price_from_text, published_price

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
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, cache_read_tokens=usage.cache_read_tokens
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
    assert price.source == f"`judge_price={text}`"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        ",",
        "1,",
        ",1",
        "1,2,3",
        "1;2",
        "a,b",
        "$1,$2",
        "-1,1",
        "1,-0.5",
        "nan,1",
        "1,inf",
        "1,sNaN",
        "1e999999,1",
        "1,1000001",
    ],
)
def test_a_typed_price_that_is_none_is_refused_with_an_example(text):
    message = f"`judge_price`: expected IN,OUT in dollars per million tokens, such as 0.15,0.60, or a file of prices that ends in .toml; found {text!r}"
    with pytest.raises(InputError, match="^" + re.escape(message) + "$"):
        price_from_text(text)


@given(usage=usages(), model=st.sampled_from(["gpt-4.1", TIERED, "gpt-4"]))
def test_a_published_price_charges_what_genai_prices_charges(usage, model):
    price = published_price(model, provider="openai")
    assert cost(usage, price) == charged(model, usage)
    if model == "gpt-4":  # which has no price for cached tokens
        assert cost(usage, price) == cost(Usage(usage.input_tokens, usage.output_tokens), price)


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


def test_a_price_says_where_it_comes_from():
    assert re.fullmatch(
        r"genai-prices [\d.]+ for openai/gpt-4\.1", published_price("gpt-4.1", provider="openai").source
    )


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("no-such-model", {"provider": "openai"}),
        ("gpt-4.1", {"provider": "no-such-provider"}),
        ("gpt-4.1", {"base_url": "http://localhost:8000/v1"}),
        ("text-embedding-3-small", {"provider": "openai"}),
        *(
            ("gpt-4.1", {"base_url": address})  # which only looks like OpenAI's
            for address in (
                "https://api.openai.com.example/v1",
                "https://api.openai.community/v1",
                "https://api.openai.com-example.net",
                "https://example.net/https://api.openai.com/v1",
            )
        ),
    ],
)
def test_what_nobody_priced_has_no_price(model, where):
    assert published_price(model, **where) is None


def test_a_model_that_charges_for_requests_too_has_no_price():
    sonar = next(
        model
        for provider in data_snapshot.get_snapshot().providers
        for model in provider.models
        if (provider.id, model.id) == ("perplexity", "sonar")
    )
    assert sonar.get_prices(datetime.now(UTC)).requests_kcount > 0
    assert published_price("sonar", base_url="https://api.perplexity.ai") is None


@pytest.mark.parametrize(
    ("model", "where"),
    [
        ("gpt-4.1-2025-04-14", {"provider": "openai"}),
        *(("gpt-4.1", {"base_url": f"https://api.openai.com{rest}"}) for rest in ("", "/v1", ":443/v1/")),
    ],
)
def test_a_price_is_found_by_a_dated_name_or_by_the_address_of_the_api(model, where):
    assert published_price(model, **where) == published_price("gpt-4.1", provider="openai") is not None


def test_a_price_that_changes_by_the_hour_counts_at_its_dearest():
    model, midnight = "deepseek-chat", datetime.now(UTC).replace(hour=0, minute=10)
    _, theirs = data_snapshot.get_snapshot().find_provider_model(model, None, "deepseek", None)
    by_hour = [theirs.get_prices(midnight + timedelta(hours=hour)) for hour in range(24)]
    price = published_price(model, base_url="https://api.deepseek.com")
    for rate, key in ((price.input, "input_mtok"), (price.output, "output_mtok")):
        cheapest, dearest = (pick(getattr(prices, key) for prices in by_hour) for pick in (min, max))
        assert cheapest < dearest
        assert rate == Rate(rate_per_mtok(dearest))
