"""What is said of the prices of systems: of models by the token, of code by the call."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from support.code import command, made

from judgeloop.providers.pricing import LONGEST_AGE_DAYS, old_prices, price_sentence, table_date
from judgeloop.systems.catalogue import make_system
from judgeloop.systems.options import options_of

AT = "base-url=http://127.0.0.1:9/v1"


def model(name, *options):
    """A model that is not asked."""
    entries = [f"{name}.{one}" for one in options]
    return make_system(name, options_of(entries, [name], {}, offline=True)[name])


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("vllm/tuned", [AT], "free"),
        ("vllm/tuned", [AT, "price=0,0"], "free"),
        ("openai/m", [AT, "price=1,2"], "$1.00 in and $2.00 out for a million tokens, from `system="),
    ],
)
def test_the_price_of_a_model_is_said_also_where_it_is_free(name, options, said):
    assert price_sentence([], [model(name, *options)]).startswith(said)


@pytest.mark.parametrize(("cost", "said"), [("0.02", "at most $0.020 a call"), ("0", "free")])
def test_the_price_of_code_is_the_most_that_a_call_may_cost(cost, said):
    name = command("print('x')")
    assert price_sentence([], [made(name, f"max-cost={cost}")]) == said
    both = price_sentence([], [model("vllm/tuned", AT), made(name, f"max-cost={cost}")])
    assert both == f"vllm/tuned free; {name} {said}"


def test_old_prices_of_systems_are_found_as_those_of_judges():
    date = table_date()
    assert date is not None
    later = date + timedelta(LONGEST_AGE_DAYS + 1)
    code = made(command("print('x')"))
    Path("d.toml").write_text('model = "openai/gpt-4.1"\n')
    systems = [model("openai/gpt-4.1-mini"), model("d.toml"), model("vllm/tuned", AT), code]
    assert old_prices(systems, later) == dict.fromkeys(("openai/gpt-4.1-mini", "openai/gpt-4.1"), LONGEST_AGE_DAYS + 1)
