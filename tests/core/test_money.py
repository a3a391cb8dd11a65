from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgeloop.core.money import (
    MOST_DOLLARS,
    PICO_PER_DOLLAR,
    Price,
    Rate,
    cost,
    rate_per_mtok,
    show_usd,
    to_pico,
    to_usd,
    worst_cost,
)
from judgeloop.core.records import Usage

pytestmark = pytest.mark.smoke

TOKENS = st.integers(0, 10_000)
RATES = st.builds(
    Rate,
    st.integers(0, 10**9),
    st.dictionaries(st.integers(0, 10_000), st.integers(0, 10**9), max_size=3).map(lambda t: tuple(sorted(t.items()))),
)
PRICES = st.builds(Price, RATES, RATES, RATES, RATES, source=st.just("drawn"))


@st.composite
def usages_within(draw, worst):
    size = draw(st.integers(0, worst.input_tokens))
    read = draw(st.integers(0, size))
    return Usage(size, draw(st.integers(0, worst.output_tokens)), read, draw(st.integers(0, size - read)))


@given(price=PRICES, data=st.data())
def test_no_call_costs_more_than_its_worst_case(price, data):
    worst = data.draw(st.builds(Usage, TOKENS, TOKENS))
    assert 0 <= cost(data.draw(usages_within(worst)), price) <= worst_cost(worst, price)


@given(rates=st.lists(st.decimals(0, 100, places=6), min_size=4, max_size=4), data=st.data())
def test_a_cost_is_exact_to_the_picodollar(rates, data):
    usage = data.draw(usages_within(Usage(10_000, 10_000)))
    price = Price(*(Rate(rate_per_mtok(rate)) for rate in rates), source="drawn")
    plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    counts = (plain, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    dollars = sum(count * rate for count, rate in zip(counts, rates, strict=True)) / 10**6
    assert to_usd(cost(usage, price)) == dollars


def test_each_kind_of_token_has_its_own_rate():
    price = Price(Rate(2), Rate(30), Rate(500), Rate(7000), source="")
    # 10 tokens in, of which 3 are read from the cache and 2 written to it, and 4 out.
    assert cost(Usage(10, 4, 3, 2), price) == 5 * 2 + 4 * 30 + 3 * 500 + 2 * 7000


@pytest.mark.parametrize(("tokens", "rate"), [(0, 1), (100, 1), (101, 5), (200, 5), (201, 3)])
def test_a_tier_begins_past_its_start(tokens, rate):
    assert Rate(1, ((100, 5), (200, 3))).at(tokens) == rate


def test_the_dearest_tier_need_not_be_the_last():
    assert Rate(1, ((100, 5), (200, 3))).highest() == 5


@pytest.mark.parametrize("usage", [Usage(1, 1, 2), Usage(3, 1, 2, 2), Usage(1, -1), Usage(1, 1, -1)])
def test_token_counts_that_contradict_each_other_are_refused(usage):
    with pytest.raises(ValueError, match="contradict"):
        cost(usage, Price(Rate(1), Rate(1), Rate(1), Rate(1), source=""))


@given(pico=st.integers(0, MOST_DOLLARS * PICO_PER_DOLLAR))
def test_an_amount_survives_the_way_to_dollars_and_back(pico):
    assert to_pico(to_usd(pico)) == pico
    assert to_pico(str(to_usd(pico))) == pico


@given(dollars=st.decimals(0, 10**6, places=15), per=st.sampled_from([1, 10**6]))
def test_amounts_are_rounded_up_to_the_next_picodollar(dollars, per):
    pico = to_pico(dollars, per=per)
    assert pico - 1 < dollars * PICO_PER_DOLLAR / per <= pico


@pytest.mark.parametrize(
    ("dollars", "pico"), [("0", 0), ("0.0000000000001", 1), ("1e-12", 1), (Decimal("0.1"), 10**11), ("1e6", 10**18)]
)
def test_dollars_in_picodollars(dollars, pico):
    assert to_pico(dollars) == pico


@pytest.mark.parametrize("dollars", ["", "five", "$5", "1,5", "1_0", "\u0661", "nan", "sNaN", "-inf"])
def test_what_is_no_amount_is_refused(dollars):
    with pytest.raises(ValueError, match=f"^{re.escape(repr(dollars))} is not an amount in dollars$"):
        to_pico(dollars)


@pytest.mark.parametrize("dollars", ["-0.01", "1000000.000000000001", "1e999999"])
def test_an_amount_below_nothing_or_beyond_a_million_dollars_is_refused(dollars):
    message = f"{dollars!r} is not an amount from 0 to 1,000,000 dollars"
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        to_pico(dollars)
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        rate_per_mtok(dollars)


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [
        ("0", "$0.00"),
        ("0.000000000001", "$0.0000000000010"),
        ("0.004249", "$0.0042"),
        ("0.01", "$0.010"),
        ("0.123", "$0.12"),
        ("0.999", "$1.00"),
        ("1", "$1.00"),
        ("1234.5", "$1234.50"),
    ],
)
def test_an_amount_is_shown_in_cents_or_in_two_significant_digits(dollars, shown):
    assert show_usd(to_pico(dollars)) == shown


@given(pico=st.integers(1, 10**15))
def test_an_amount_that_is_something_is_never_shown_as_nothing(pico):
    shown = Decimal(show_usd(pico).removeprefix("$"))
    assert shown > 0
    assert abs(shown - to_usd(pico)) <= max(Decimal("0.005"), to_usd(pico) / 20)
