from __future__ import annotations

import re
from dataclasses import FrozenInstanceError
from decimal import Decimal

import pytest

from judgeloop.core.errors import InputError
from judgeloop.core.records import Order
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.questions.select.settings import SelectSettings
from judgeloop.settings.setting import declared

LEAST = {"first": "a.jsonl", "second": "b.jsonl", "judge": "metric:rouge2"}


def config(**values):
    return CompareSettings.of(**(LEAST | values))


@pytest.mark.parametrize(
    ("budget", "pico"),
    [("0", 0), ("0.10", 10**11), (0.1, 10**11), (3, 3 * 10**12), (Decimal("1e-12"), 1), ("1e6", 10**18)],
)
def test_a_budget_is_exact_however_it_is_written(budget, pico):
    assert config(budget=budget).budget_p == pico


@pytest.mark.parametrize("budget", [".00", ".0", "$.00"])
def test_a_budget_that_a_shell_has_cut_is_refused_with_the_quotes_that_mend_it(budget):
    """A shell reads `--budget $2.00` as `.00`."""
    with pytest.raises(InputError, match=r"`budget`: .*'\$5\.00' in quotes"):
        config(budget=budget)
    assert config(budget="0").budget_p == 0
    assert config(budget=".50").budget_p == 5 * 10**11


@pytest.mark.parametrize("budget", ["none", "None", "inf", float("inf")])
def test_a_budget_of_none_is_no_limit(budget):
    assert config(budget=budget).budget_p is None


def test_a_value_of_none_counts_as_not_given():
    assert config(**dict.fromkeys(declared(CompareSettings).keys() - LEAST.keys())) == config()


def test_a_configuration_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        config().risk = 0.5


def test_values_are_read_as_a_command_line_gives_them():
    read = config(order="random", seed="7", risk="0.05", max_judgments="50", allow_partial="true")
    assert (read.order, read.seed, read.risk, read.max_judgments, read.allow_partial) == (
        Order.RANDOM,
        7,
        0.05,
        50,
        True,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vote", "loudest"),
        ("verdict", "prose"),
        ("controls", "maybe"),
        ("rpm", 0),
        ("tpm", 0),
        ("judge_timeout", 0),
        ("judge_max_tokens", 15),
        ("tie_margin", -0.1),
        ("tie_margin", "nan"),
        ("selector", "greedy"),
        ("rule", "hope"),
        ("risk", 0),
        ("risk", 1.01),
        ("risk", "nan"),
        ("min_judgments", 0),
        ("max_judgments", 0),
        ("max_judgments", 2.5),
        ("max_abstentions", -0.01),
        ("max_abstentions", 2),
        ("budget", "-1"),
        ("budget", "nan"),
        ("budget", "five"),
        ("budget", "1000000.01"),
        ("budget", "1e5000"),
        ("budget", "1e999999"),
        ("order", "sorted"),
        ("concurrency", 0),
        ("seed", -1),
        ("seed", "x"),
        ("represent", "bert"),
        ("represent", "minilm:"),
    ],
)
def test_a_value_out_of_range_is_refused_naming_the_setting_and_the_value(name, value):
    with pytest.raises(InputError, match=f"^`{name}`: .*found {re.escape(repr(value))}($|; )"):
        config(**{name: value})


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match=r"^`no_such_setting`: there is no such setting$"):
        config(no_such_setting=1)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("give_up", 2.0, "`give_up`: expected a value less than 1, found 2.0"),
        ("max_judgments", "ten", "`max_judgments`: expected a valid integer, found 'ten'"),
        ("risk", "0,1", "`risk`: expected a valid number, found '0,1'; for 0,1 write 0.1"),
        ("risk", "5,5%", "`risk`: expected a valid number, found '5,5%'; for 5,5% write 5.5%"),
        ("order", "sorted", "`order`: expected 'both', 'random' or 'fixed', found 'sorted'"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_was_expected(name, value, said):
    with pytest.raises(InputError, match="^" + re.escape(said) + "$"):
        config(**{name: value})


def test_a_missing_value_is_named():
    with pytest.raises(InputError, match=r"^`judge`: expected a value, found none$"):
        SelectSettings.of(outputs="a,b", baseline="a")


def test_a_comparison_needs_no_judge_and_the_other_questions_one():
    assert CompareSettings.of(first="a", second="b").judge == ()
    with pytest.raises(InputError, match=r"^`judge`: "):
        SelectSettings.of(outputs="a,b", baseline="a", judge=())
