"""A system's confidence out of its output file."""

from __future__ import annotations

import json
import math

import pytest

from judgeloop.core.errors import DataError, InputError
from judgeloop.core.records import Item
from judgeloop.papers.actracer.inputs import read_confidence

ITEMS = (Item("a", "one"), Item("b", "two"))


def written(tmp_path, *values, field="logprobs", names=("a", "b")):
    path = tmp_path / "outputs.jsonl"
    rows = [{"id": name, "output": "x", field: value} for name, value in zip(names, values, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


TOKENS = [{"token": " ", "logprob": -3.0}, {"token": "A", "logprob": math.log(0.4)}, {"token": ".", "logprob": -9}]


@pytest.mark.parametrize(
    ("rule", "values", "expected"),
    [
        ("geometric-mean", ([math.log(0.5), math.log(0.125)], [0.0]), [0.25, 1.0]),
        ("geometric-mean", (0.25, "0.5"), [0.25, 0.5]),
        ("first-token", (TOKENS, {"content": TOKENS[1:]}), [0.4, 0.4]),
        ("first-token", ([math.log(0.4), -9.0], [{"token": "", "logprob": 0.0}]), [0.4, 1.0]),
        ("first-token", ([], [0.0]), [0.0, 1.0]),
    ],
)
def test_a_confidence_is_the_mean_or_the_first_token_that_is_not_empty(tmp_path, rule, values, expected):
    path = written(tmp_path, *values, field="sure")
    assert read_confidence(path, ITEMS, "sure", rule) == pytest.approx(expected)


def test_rows_join_by_prompt_where_they_have_no_id(tmp_path):
    path = tmp_path / "outputs.jsonl"
    path.write_text(
        "".join(
            json.dumps({"prompt": p, "output": "x", "logprobs": [v]}) + "\n" for p, v in (("two", -1.0), ("one", 0.0))
        )
    )
    assert read_confidence(path, ITEMS, "logprobs", "geometric-mean") == pytest.approx([1.0, math.exp(-1)])


def test_a_missing_field_is_named_with_its_line_and_what_to_do(tmp_path):
    path = written(tmp_path, [0.0], [0.0])
    with pytest.raises(DataError, match=r"line 1: the field 'sure' is missing or null.*`confidence`.*stratified"):
        read_confidence(path, ITEMS, "sure", "geometric-mean")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("much", "expected a number"),
        (True, "found True"),
        ([0.5], "at most 0, found 0.5"),
        ([float("-inf")], "found -inf"),
        ([{"token": "a"}], "no 'logprob'"),
        ({"tokens": []}, "no 'content'"),
        ([None], "expected a number"),
    ],
)
def test_what_is_no_confidence_is_refused_with_its_line(tmp_path, value, said):
    path = written(tmp_path, [0.0], value)
    with pytest.raises(DataError, match=r"line 2: .*") as error:
        read_confidence(path, ITEMS, "logprobs", "geometric-mean")
    assert said in str(error.value)


def test_an_item_without_a_row_is_named(tmp_path):
    path = written(tmp_path, [0.0], names=("a",))
    with pytest.raises(InputError, match="no confidence for 1 items, such as 'b'"):
        read_confidence(path, ITEMS, "logprobs", "geometric-mean")
