from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest

from judgeloop.config import compare_config, shipped_template
from judgeloop.errors import InputError
from judgeloop.panel import Vote
from judgeloop.presentation import Order

LEAST = {"first": "a.jsonl", "second": "b.jsonl", "judge": "metric:rouge2"}


def config(**values):
    return compare_config(**(LEAST | values))


def test_two_files_and_a_judge_are_enough():
    defaults = config()
    assert (defaults.first, defaults.second) == (Path("a.jsonl"), Path("b.jsonl"))
    assert (defaults.selector, defaults.rule, defaults.risk) == ("random", "tie-aware", 0.1)
    assert (defaults.min_judgments, defaults.max_judgments, defaults.max_abstentions) == (5, 200, 0.05)
    assert (defaults.order, defaults.seed, defaults.tie_margin) == (Order.BOTH, 0, 0.0)
    assert defaults.budget == Decimal(5)
    assert defaults.budget_p == 5 * 10**12
    assert defaults.ledger == Path(".judgeloop/ledger.sqlite")
    assert not defaults.allow_partial
    assert defaults.judge == ("metric:rouge2",)
    assert (defaults.vote, defaults.verdict, defaults.prompt, defaults.rubric) == (Vote.MAJORITY, "schema", None, None)
    assert (defaults.decoys, defaults.rpm, defaults.tpm) == (0, None, None)
    assert not defaults.allow_plugins


@pytest.mark.parametrize(
    ("budget", "pico"),
    [("0", 0), ("0.10", 10**11), (0.1, 10**11), (3, 3 * 10**12), (Decimal("1e-12"), 1), ("1e6", 10**18)],
)
def test_a_budget_is_exact_however_it_is_written(budget, pico):
    assert config(budget=budget).budget_p == pico


@pytest.mark.parametrize("budget", ["none", "None", "inf", float("inf"), None])
def test_a_budget_of_none_is_no_limit(budget):
    assert config(budget=budget).budget_p is None


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
        ("judge", ()),
        ("vote", "loudest"),
        ("verdict", "prose"),
        ("decoys", -1),
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
        ("no_such_flag", 1),
    ],
)
def test_a_value_out_of_range_is_refused_naming_the_flag_and_the_value(name, value):
    flag = "--" + name.replace("_", "-")
    with pytest.raises(InputError, match="^" + re.escape(flag) + ": .*found " + re.escape(repr(value)) + "$"):
        config(**{name: value})


def test_a_missing_value_is_named():
    with pytest.raises(InputError, match=r"^--judge: Field required"):
        compare_config(first="a", second="b")


def test_the_shipped_template_compares_two_answers():
    template = shipped_template("pairwise.v1")
    assert template.id == "pairwise.v1"
    assert template.labels == {"A": 1.0, "B": 0.0, "tie": 0.5}
    assert template.system
    assert {"{{prompt}}", "{{reference}}", "{{first}}", "{{second}}"} <= set(
        re.findall(r"{{\w+}}", template.user)
    )


def test_the_shipped_schema_allows_what_the_parser_takes_and_nothing_else():
    template = shipped_template("pairwise.v1")
    assert json.loads(json.dumps(template.schema)) == template.schema
    properties = template.schema["properties"]
    assert set(properties["winner"]["enum"]) == set(template.labels)
    assert set(properties) == set(template.schema["required"]) == {"reason", "winner"}
    assert template.schema["additionalProperties"] is False
