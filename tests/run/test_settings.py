from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from judgeloop.compare.config import compare_config
from judgeloop.core.errors import InputError
from judgeloop.core.records import Call, Item
from judgeloop.engine.panel import Vote
from judgeloop.engine.presentation import Order
from judgeloop.judges.prompt_files import shipped_template, template_for

LEAST = {"first": "a.jsonl", "second": "b.jsonl", "judge": "metric:rouge2"}


def config(**values):
    return compare_config(**(LEAST | values))


def test_two_files_and_a_judge_are_enough():
    defaults = config()
    assert (defaults.first, defaults.second) == (Path("a.jsonl"), Path("b.jsonl"))
    assert (defaults.selector, defaults.rule_name, defaults.risk) == ("random", "sequential", 0.1)
    assert (defaults.min_judgments, defaults.max_judgments, defaults.max_abstentions) == (
        5,
        200,
        0.05,
    )
    assert (defaults.order, defaults.seed, defaults.tie_margin) == (Order.BOTH, 0, 0.0)
    assert defaults.budget == Decimal(5)
    assert defaults.budget_p == 5 * 10**12
    assert defaults.ledger == Path(".judgeloop/ledger.sqlite")
    assert not defaults.allow_partial
    assert defaults.judge == ("metric:rouge2",)
    assert (defaults.vote, defaults.verdict, defaults.prompt, defaults.rubric) == (
        Vote.MAJORITY,
        "schema",
        None,
        None,
    )
    assert (defaults.decoys, defaults.rpm, defaults.tpm) == (0, None, None)
    assert not defaults.allow_plugins


@pytest.mark.parametrize(
    ("budget", "pico"),
    [
        ("0", 0),
        ("0.10", 10**11),
        (0.1, 10**11),
        (3, 3 * 10**12),
        (Decimal("1e-12"), 1),
        ("1e6", 10**18),
    ],
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
    with pytest.raises(
        InputError, match="^" + re.escape(flag) + ": .*found " + re.escape(repr(value)) + "$"
    ):
        config(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("give_up", 2.0, "--give-up: expected a value less than 1, found 2.0"),
        ("max_judgments", "ten", "--max-judgments: expected a valid integer, unable to parse string as an integer, found 'ten'"),
        ("order", "sorted", "--order: expected 'both', 'random' or 'fixed', found 'sorted'"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_was_expected(name, value, said):
    with pytest.raises(InputError, match="^" + re.escape(said) + "$"):
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


SHIPPED = sorted(path.stem for path in (Path(__file__).parents[2] / "prompts").glob("*.md"))
CALL = Call(Item("i", "the task", "the right answer"), ("a", "b"), ("one answer", "another"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_prompt_parses_and_renders_all_that_it_names(name):
    template = shipped_template(name)
    assert template.id == name
    assert template.rates == name.startswith("rating")
    filled = template.with_rubric("brevity") if template.takes_rubric else template
    system, user = filled.render(replace(CALL, outputs=CALL.outputs[: 1 if template.rates else 2]))
    shown = json.loads("\n".join(user.split("\n")[1:-1]))
    assert shown["task"] == "the task"
    assert "one answer" in shown.values()
    assert ("another" in shown.values()) == name.startswith("pairwise")
    for field in shown:
        assert f'"{field}"' in system, "every field is explained"
    assert "{{" not in system + user


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_schema_allows_the_labels_and_no_other(name):
    template = shipped_template(name)
    schema = template.schema
    label = schema if schema["type"] == "string" else schema["properties"][template.answer]
    assert label["enum"] == list(template.labels)
    assert {min(template.labels.values()), max(template.labels.values())} == {0.0, 1.0}


@pytest.mark.parametrize(
    ("values", "id_"),
    [
        ({}, "pairwise.v1"),
        ({"rubric": "brevity"}, "pairwise-rubric.v1"),
        ({"verdict": "tool"}, "pairwise.v1"),
        ({"verdict": "logprob"}, "pairwise-label.v1"),
        ({"prompt": "pairwise-reference.v1"}, "pairwise-reference.v1"),
        ({"prompt": "pairwise-rubric.v1", "rubric": "brevity"}, "pairwise-rubric.v1"),
    ],
)
def test_a_comparison_gets_the_prompt_that_is_named_or_that_suits_it(values, id_):
    template = template_for(config(**values))
    assert template.id == id_
    assert template.rubric == values.get("rubric")


@pytest.mark.parametrize(
    ("values", "id_"),
    [
        ({}, "rating.v1"),
        ({"rubric": "brevity"}, "rating-rubric.v1"),
        ({"verdict": "tool"}, "rating.v1"),
        ({"verdict": "logprob"}, "rating-label.v1"),
        ({"verdict": "choice"}, "rating-choice.v1"),
        ({"prompt": "rating-reference.v1"}, "rating-reference.v1"),
        ({"prompt": "rating-rubric.v1", "rubric": "brevity"}, "rating-rubric.v1"),
    ],
)
def test_a_rating_gets_the_prompt_that_is_named_or_that_suits_it(values, id_):
    template = template_for(config(**values), rating=True)
    assert template.id == id_
    assert template.rubric == values.get("rubric")


@pytest.mark.parametrize(
    "name", ["rating.v1", "rating-reference.v1", "rating-rubric.v1", "rating-choice.v1"]
)
def test_a_rating_is_the_place_of_its_label_on_an_even_scale(name):
    scores = list(shipped_template(name).labels.values())
    assert list(shipped_template(name).labels) == [str(n) for n in range(1, len(scores) + 1)]
    assert scores == pytest.approx([n / (len(scores) - 1) for n in range(len(scores))], abs=1e-6)


def test_a_prompt_of_ones_own_is_read_from_its_file(tmp_path):
    path = tmp_path / "mine.md"
    path.write_text(OWN, encoding="utf-8")
    assert template_for(config(prompt=str(path))).id == "mine.v3"


def test_a_rubric_may_be_a_file_and_counts_by_its_text(tmp_path):
    path = tmp_path / "rubric.txt"
    path.write_text("\nbrevity, then manners\n", encoding="utf-8")
    typed, read = (
        template_for(config(rubric=rubric)) for rubric in ("brevity, then manners", str(path))
    )
    assert read == typed
    assert typed.digest != template_for(config(rubric="manners")).digest


OWN = """+++
id = "mine"
version = 3
fields = ["prompt", "first", "second"]
answer = "winner"
labels = { A = 1.0, B = 0.0 }
[schema]
type = "object"
+++
# System
Judge.
# User
{{prompt}} {{first}} {{second}}
"""


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"prompt": "no-such.v1"},
            "--prompt no-such.v1: expected a file ending in .md, or one of pairwise",
        ),
        ({"prompt": "nowhere.md"}, "nowhere.md: there is no such file"),
        ({"prompt": "rating.v1"}, "--prompt rating.v1: this rates one answer"),
        (
            {"prompt": "pairwise-rubric.v1"},
            "--prompt pairwise-rubric.v1 has a place for a rubric; give --rubric",
        ),
        (
            {"prompt": "pairwise.v1", "rubric": "x"},
            "--rubric: the prompt pairwise.v1 has no place for a rubric",
        ),
        (
            {"verdict": "logprob", "rubric": "x"},
            "--rubric: the prompt pairwise-label.v1 has no place for a rubric",
        ),
        (
            {"verdict": "logprob", "prompt": "pairwise.v1"},
            "--verdict logprob needs a prompt with two labels",
        ),
        ({"rubric": " \n"}, "--rubric: the rubric is empty"),
        ({"rubric": ""}, "--rubric: the rubric is empty"),
    ],
)
def test_a_prompt_that_does_not_suit_what_is_asked_of_it_is_refused(values, problem):
    with pytest.raises(InputError, match="^" + re.escape(problem)):
        template_for(config(**values))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {"prompt": "pairwise.v1"},
            "--prompt pairwise.v1: this compares two answers; a rating needs the field output",
        ),
        (
            {"prompt": "rating-rubric.v1"},
            "--prompt rating-rubric.v1 has a place for a rubric; give --rubric",
        ),
        (
            {"prompt": "rating.v1", "rubric": "x"},
            "--rubric: the prompt rating.v1 has no place for a rubric",
        ),
        (
            {"verdict": "logprob", "prompt": "rating.v1"},
            "--verdict logprob needs a prompt with two labels",
        ),
        (
            {"verdict": "choice", "prompt": "rating.v1"},
            "--prompt rating.v1 asks for a reply that goes with --verdict schema or tool, found choice",
        ),
        (
            {"prompt": "rating-label.v1"},
            "--prompt rating-label.v1 asks for a reply that goes with --verdict choice or logprob, found schema",
        ),
    ],
)
def test_a_prompt_that_does_not_suit_a_rating_is_refused(values, problem):
    with pytest.raises(InputError, match="^" + re.escape(problem)):
        template_for(config(**values), rating=True)
