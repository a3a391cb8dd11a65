from __future__ import annotations

import json
import math
import re

import pytest

from judgeloop.core.errors import DataError
from judgeloop.formats.join import id_of
from judgeloop.formats.verdicts import RecordedScore, read_verdicts


def written(folder, content, name="verdicts"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


SINGLE = {("q1", "a"): RecordedScore(0.25, 1_000_000_000), ("q1", "b"): RecordedScore(None)}
PAIRED = {("q1", "a", "b"): RecordedScore(1.0), ("q1", "a", "c"): RecordedScore(0.5)}


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
        [{"item_id": "q1", "model_a": "a", "model_b": b, "score": score} for b, score in (("b", 1), ("c", 0.5))],
    ],
)
def test_preferences_between_pairs_are_read(tmp_path, content):
    table = read_verdicts(written(tmp_path, content))
    assert (table.rows, table.paired, table.systems) == (PAIRED, True, {"a", "b", "c"})


def annotation(prompt, preference, price=0.01):
    return {"instruction": prompt, "output_1": "x", "generator_1": "base", "output_2": "y", "generator_2": "new",
            "annotator": "gpt4", "preference": preference, "price_per_example": price}  # fmt: skip


def test_annotations_of_alpaca_eval_are_preferences_on_the_items_of_its_outputs(tmp_path):
    preferences = (1.0, 2.0, 1.25, 0, None, math.nan)
    rows = [annotation(f"p{n}", given) for n, given in enumerate(preferences)]
    table = read_verdicts(written(tmp_path, rows))
    assert [one.score for one in table.rows.values()] == [1.0, 0.0, 0.75, 0.5, None, None]
    assert next(iter(table.rows)) == (id_of("p0"), "base", "new")
    assert {one.cost_p for one in table.rows.values()} == {10_000_000_000}


def test_judgments_of_mt_bench_are_the_mean_of_the_turns(tmp_path):
    def single(model, *scores):
        return [{"question_id": 81, "model": model, "judge": ["gpt-4", "single-v1"], "score": score, "turn": turn}
                for turn, score in enumerate(scores, 1)]  # fmt: skip

    rows = "".join(f"{json.dumps(row)}\n" for row in (*single("a", 10, 5.5), *single("b", 1, -1)))
    table = read_verdicts(written(tmp_path, rows))
    assert table.rows == {("81", "a"): RecordedScore(0.75), ("81", "b"): RecordedScore(None)}

    def game(question, *turns):
        return [{"question_id": question, "model_1": "a", "model_2": "b", "g1_winner": first, "g2_winner": second,
                 "judge": ["gpt-4", "pair-v2"], "turn": turn} for turn, (first, second) in enumerate(turns, 1)]  # fmt: skip

    games = (
        *game(81, ("model_1", "model_1"), ("model_1", "model_2")),
        *game(82, ("model_2", "model_2"), ("model_2", "model_2")),
        *game(83, ("tie", "tie"), ("error", "tie")),
    )
    table = read_verdicts(written(tmp_path, "".join(f"{json.dumps(row)}\n" for row in games)))
    assert [one.score for one in table.rows.values()] == [0.75, 0.0, None]


def test_a_single_score_may_be_on_any_scale(tmp_path):
    table = read_verdicts(written(tmp_path, "item_id,model,score\nq1,a,-17.5\nq2,a,1e3\nq3,a, +.5 \nq4,a,2.\n"))
    assert [row.score for row in table.rows.values()] == [-17.5, 1000.0, 0.5, 2.0]


def test_the_digest_follows_the_content_and_not_the_name(tmp_path):
    content = "item_id,model,score\nq1,a,1\n"
    one, same = (read_verdicts(written(tmp_path, content, name)) for name in ("one", "same"))
    other = read_verdicts(written(tmp_path, content.replace("1\n", "0\n"), "other"))
    assert (one.name, same.name) == ("one", "same")
    assert one.digest == same.digest != other.digest


def line(**fields):
    return json.dumps({"item_id": "q1", "score": 1} | fields)


def scored(text):
    """A row with this score, as JSON writes it."""
    return line(model="a").replace('"score": 1', f'"score": {text}')


PAIRS = "item_id,model_a,model_b,score\n"
SYSTEMS = "line 1: expected either the field 'model', or both 'model_a' and 'model_b'"
WRONG_SCORE = "line 1: the field 'score' is wrong: expected"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        *((scored(n), f"{WRONG_SCORE} a finite number, found …") for n in ("-Infinity", "1" + "0" * 400, '"1e999"')),
        *((scored(n), f"{WRONG_SCORE} a number, …") for n in ('"much"', '"inf"', "[1]", "true", '"1_0"', '"."')),
        *(
            (f"{PAIRS}q1,a,b,0.5\nq2,a,b,{n}\n", f"line 3: the score of a pair is in [0, 1], 1 where model_a is better; found {n}")
            for n in ("1.5", "-0.01")
        ),
        *(
            (line(model="a", cost_usd=n), "line 1: the field 'cost_usd' is wrong…")
            for n in (-1, "much", math.nan, "inf", [], True, 1000000.01, "1e999999")
        ),
        ('{"model": "a", "score": 1}', "line 1: the field 'item_id' is missing; found …"),
        ('{"item_id": " ", "model": "a", "score": 1}', "line 1: the field 'item_id' is wrong: expected the id of an item, …"),
        ('{"model": "a", "item_id": "q1"}', "line 1: the field 'score' is missing; found …"),
        (line(), SYSTEMS),
        (line(model_a="a"), SYSTEMS),
        (line(model_a="a", model_b=""), SYSTEMS),
        (line(model="a", model_a="b"), SYSTEMS),
        (line(model="a", model_a="a", model_b="b"), SYSTEMS),
        (f"{PAIRS}q1,a,b,1\nq2,a,a,1\n", "line 3: 'model_a' and 'model_b' are both 'a'"),
        (line(model="a") + "\n" + line(model_a="a", model_b="b"), "line 2: rows about one system and about two are mixed…"),
        ("item_id,model,score\nq1,a,1\nq2,a,1\nq1,a,1", "line 4: a second verdict on q1, a"),
        (f"{PAIRS}q1,a,b,1\nq2,a,b,1\nq1,a,b,1", "line 4: a second verdict on q1, a, b"),
        (f"{PAIRS}q1,a,b,1\nq2,a,b,1\nq1,b,a,1", "line 4: a second verdict on q1, b, a"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_refused_with_its_line(tmp_path, content, problem):
    path = written(tmp_path, content)
    said, more, _ = problem.partition("…")
    with pytest.raises(DataError, match="^" + re.escape(f"{path}, {said}") + ("" if more else "$")):
        read_verdicts(path)


def test_columns_that_a_row_leaves_empty_name_no_system(tmp_path):
    path = written(tmp_path, "item_id,model,model_a,model_b,score\nq1,a,,,1\nq1,b,,,0\n")
    assert read_verdicts(path).systems == {"a", "b"}


@pytest.mark.parametrize("score", ["NaN", "nan", "null", "None", "NA", ""])
def test_what_stands_for_no_score_is_an_abstention(tmp_path, score):
    table = read_verdicts(written(tmp_path, f"item_id,model,score\nq1,a,{score}\n"))
    assert table.rows["q1", "a"].score is None


@pytest.mark.parametrize(
    "header", ["Item ID,Model A,Model B,Score", "question_id,model-a,model_b,winner", "id,Model_1,Model_2,VOTE"]
)
@pytest.mark.parametrize(
    ("vote", "score"),
    [
        ("model_a", 1),
        ("tie", 0.5),
        ("tie (bothbad)", 0.5),
        ("both_bad", 0.5),
        ("MODEL_B", 0),
        ("B", 0),
        ("new", 0),
        ("1", 1),
        ("A is better", 1),
        ("Answer B", 0),
        ("same", 0.5),
        ("2nd", 0),
    ],
)
def test_headers_and_votes_in_words_are_read_in_tables_of_pairs(tmp_path, header, vote, score):
    table = read_verdicts(written(tmp_path, f"{header}\nq1,old,new,{vote}\n"))
    assert (table.paired, table.rows["q1", "old", "new"].score) == (True, score)


def test_a_vote_that_is_no_word_of_votes_is_refused(tmp_path):
    with pytest.raises(DataError, match="the field 'score' is wrong"):
        read_verdicts(written(tmp_path, "id,model_a,model_b,winner\nq1,old,new,nobody knows\n"))


def test_tables_of_chatbot_arena_are_read(tmp_path):
    row = {"question_id": "q", "model_a": "x", "model_b": "y", "winner": "model_b", "judge": "arena_user_1", "turn": 1}
    assert read_verdicts(written(tmp_path, json.dumps(row))).rows["q", "x", "y"].score == 0
    hot = "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie\n1,x,y,0,1,0\n2,x,y,0,0,1\n3,x,y,1,0,0\n"
    found = read_verdicts(written(tmp_path, hot)).rows
    assert [found[n, "x", "y"].score for n in "123"] == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("first", "second", "score"),
    [("B>A", "A>B", 1.0), ("A>>B", "B>>A", 0.0), ("B>>A", "A=B", 0.875), ("A>B", "A>B", 0.5), (None, "A>B", None)],
)
def test_judgments_of_arena_hard_are_read_in_both_games(tmp_path, first, second, score):
    """In the first game the baseline is A, in the second the model; a strong win counts thrice."""
    row = {"uid": "u", "judge": "j", "model": "new", "baseline": "old", "games": [{"score": first}, {"score": second}]}
    assert read_verdicts(written(tmp_path, json.dumps(row))).rows["u", "new", "old"].score == score
