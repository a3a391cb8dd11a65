from __future__ import annotations

import json
import re

import pytest

from judgeloop.core.errors import DataError
from judgeloop.formats.verdicts import Recorded, read_verdicts


def written(folder, content, name="verdicts"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


SINGLE = {("q1", "a"): Recorded(0.25, 1_000_000_000), ("q1", "b"): Recorded(None)}
PAIRED = {("q1", "a", "b"): Recorded(1.0), ("q1", "a", "c"): Recorded(0.5)}


@pytest.mark.parametrize(
    "content",
    [
        "item_id,model,score,cost_usd\nq1,a,0.25,0.001\nq1,b,,\n",
        '{"item_id": "q1", "model": "a", "score": 0.25, "cost_usd": 0.001}\n{"item_id": "q1", "model": "b", "score": null}\n',
        [
            {"item_id": "q1", "model": "a", "score": 0.25, "cost_usd": "1e-3"},
            {"item_id": "q1", "model": "b", "score": " "},
        ],
    ],
)
def test_scores_of_single_systems_are_read_from_all_three_forms(tmp_path, content):
    table = read_verdicts(written(tmp_path, content))
    assert (table.rows, table.paired, table.systems) == (SINGLE, False, {"a", "b"})


@pytest.mark.parametrize(
    "content",
    [
        "item_id,model_a,model_b,score\nq1,a,b,1\nq1,a,c,0.5\n",
        [
            {"item_id": "q1", "model_a": "a", "model_b": b, "score": score}
            for b, score in (("b", 1), ("c", 0.5))
        ],
    ],
)
def test_preferences_between_pairs_are_read(tmp_path, content):
    table = read_verdicts(written(tmp_path, content))
    assert (table.rows, table.paired, table.systems) == (PAIRED, True, {"a", "b", "c"})


def test_a_single_score_may_be_on_any_scale(tmp_path):
    table = read_verdicts(
        written(tmp_path, "item_id,model,score\nq1,a,-17.5\nq2,a,1e3\nq3,a, +.5 \nq4,a,2.\n")
    )
    assert [row.score for row in table.rows.values()] == [-17.5, 1000.0, 0.5, 2.0]


def test_the_digest_follows_the_content_and_not_the_name(tmp_path):
    content = "item_id,model,score\nq1,a,1\n"
    one, same = (read_verdicts(written(tmp_path, content, name)) for name in ("one", "same"))
    other = read_verdicts(written(tmp_path, content.replace("1\n", "0\n"), "other"))
    assert (one.name, same.name) == ("one", "same")
    assert one.digest == same.digest != other.digest


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        *[(score, "a finite number") for score in ("NaN", "-Infinity", "1" + "0" * 400, '"1e999"')],
        *[(score, "a number") for score in ('"nan"', '"inf"', "[1]", "true", '"1_0"', '"."')],
    ],
)
def test_a_score_that_is_no_finite_number_is_refused(tmp_path, score, expected):
    path = written(tmp_path, f'{{"item_id": "q1", "model": "a", "score": {score}}}')
    problem = f"the field 'score' is wrong: Value error, expected {expected}, found "
    with pytest.raises(DataError, match="^" + re.escape(f"{path}, line 1: {problem}")):
        read_verdicts(path)


@pytest.mark.parametrize("score", ["1.5", "-0.01"])
def test_a_preference_outside_0_to_1_is_refused(tmp_path, score):
    path = written(tmp_path, f"item_id,model_a,model_b,score\nq1,a,b,0.5\nq2,a,b,{score}\n")
    message = f"{path}, line 3: the score of a pair is in [0, 1], 1 where model_a is better; found {score}"
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        read_verdicts(path)


@pytest.mark.parametrize(
    "cost", ["-1", '"much"', "NaN", '"inf"', "[]", "true", "1000000.01", '"1e999999"']
)
def test_a_cost_that_is_no_amount_is_refused(tmp_path, cost):
    path = written(tmp_path, f'{{"item_id": "q1", "model": "a", "score": 1, "cost_usd": {cost}}}')
    with pytest.raises(
        DataError, match=re.escape(f"{path}, line 1: the field 'cost_usd' is wrong")
    ):
        read_verdicts(path)


@pytest.mark.parametrize("field", ["item_id", "score"])
def test_a_missing_column_is_named(tmp_path, field):
    row = {"item_id": "q1", "model": "a", "score": 1}
    del row[field]
    path = written(tmp_path, [row])
    with pytest.raises(
        DataError, match=re.escape(f"{path}, line 1: the field {field!r} is missing; found ")
    ):
        read_verdicts(path)


@pytest.mark.parametrize(
    "systems",
    [
        {},
        {"model_a": "a"},
        {"model_a": "a", "model_b": ""},
        {"model": "a", "model_a": "b"},
        {"model": "a", "model_a": "a", "model_b": "b"},
    ],
)
def test_a_row_names_either_one_system_or_two(tmp_path, systems):
    path = written(tmp_path, [{"item_id": "q1", "score": 1} | systems])
    message = f"{path}, line 1: expected either the field 'model', or both 'model_a' and 'model_b'"
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        read_verdicts(path)


def test_a_pair_of_a_system_with_itself_is_refused(tmp_path):
    path = written(tmp_path, "item_id,model_a,model_b,score\nq1,a,b,1\nq2,a,a,1\n")
    message = f"{path}, line 3: 'model_a' and 'model_b' are both 'a'"
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        read_verdicts(path)


def test_columns_that_a_row_leaves_empty_name_no_system(tmp_path):
    path = written(tmp_path, "item_id,model,model_a,model_b,score\nq1,a,,,1\nq1,b,,,0\n")
    assert read_verdicts(path).systems == {"a", "b"}


def test_a_table_does_not_mix_single_systems_and_pairs(tmp_path):
    path = written(
        tmp_path,
        '{"item_id": "q1", "model": "a", "score": 1}\n{"item_id": "q1", "model_a": "a", "model_b": "b", "score": 1}\n',
    )
    with pytest.raises(
        DataError, match=re.escape(f"{path}, line 2: rows about one system and about two are mixed")
    ):
        read_verdicts(path)


@pytest.mark.parametrize(
    ("columns", "rows", "about"),
    [
        ("model", ("a", "a", "a"), "q1, a"),
        ("model_a,model_b", ("a,b", "a,b", "a,b"), "q1, a, b"),
        ("model_a,model_b", ("a,b", "a,b", "b,a"), "q1, b, a"),
    ],
    ids=["the same system", "the same pair", "the pair swapped"],
)
def test_a_second_verdict_on_the_same_item_is_refused(tmp_path, columns, rows, about):
    lines = [f"q{number},{row},1" for number, row in zip((1, 2, 1), rows, strict=True)]
    path = written(tmp_path, "\n".join([f"item_id,{columns},score", *lines]))
    message = f"{path}, line 4: a second verdict on {about}"
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        read_verdicts(path)
