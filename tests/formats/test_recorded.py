from __future__ import annotations

import json
import re

import pytest
from formats.samples import text

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.join import join
from judgeloop.formats.recorded import read_recorded


@pytest.fixture
def write(tmp_path):
    def written(name, *rows):
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path

    return written


def inspect_log(*samples, model="m"):
    header = json.loads(text("inspect_header.json"))
    header["eval"]["model"] = model
    made = [
        {"epoch": 1, "input": "q", "target": "t", "output": {"choices": [{"message": {"role": "assistant", "content": "a"}}]}} | sample
        for sample in samples
    ]  # fmt: skip
    return header | {"samples": made}


def read(path, scorer="", epoch=None):
    return read_recorded(path, scorer, epoch=epoch)


def scores(path, scorer="", epoch=None):
    return [one.row.score for one in read(path, scorer, epoch).rows]


def test_letters_booleans_and_text_are_scores(write):
    values = ["C", "P", "I", "N", True, 0.25, float("nan")]
    log = inspect_log(*({"id": n, "scores": {"s": {"value": v}}} for n, v in enumerate(values)))
    assert scores(write("log.json", log)) == [1.0, 0.5, 0.0, 0.0, 1.0, 0.25]
    assert scores(write("a.jsonl", {"id": 1, "score": "0.5"}, {"id": 2, "score": ""})) == [0.5]


@pytest.mark.parametrize("text", ["NaN", "nan", "null", "None", "NA", "", " N/A "])
def test_what_stands_for_no_score_is_none_and_counted(write, text):
    path = write("a.jsonl", {"id": 1, "score": "0.5"}, {"id": 2, "score": text})
    assert scores(path) == [0.5]
    assert read(path, "", None).failed == 1


@pytest.mark.parametrize("text", ["#N/A", "#DIV/0!", "#NUM!", "#VALUE!", "-nan"])
def test_what_a_spreadsheet_writes_for_no_number_is_no_score(write, text):
    path = write("a.jsonl", {"id": 1, "score": "0.5"}, {"id": 2, "score": text})
    assert scores(path) == [0.5]
    assert read(path, "", None).failed == 1


def test_several_scorers_are_refused_with_the_choice(write):
    path = write("a.jsonl", {"id": 1, "scores": {"exact": 1, "fuzzy": 0.5}})
    with pytest.raises(DataError, match="choose one: `judge=recorded:exact`, `judge=recorded:fuzzy`"):
        read(path)
    assert scores(path, "fuzzy") == [0.5]
    with pytest.raises(DataError, match="there is no score 'f1'; found `judge=recorded:exact`, `judge=recorded:fuzzy`"):
        read(path, "f1")


def test_a_column_can_be_named_as_the_score(write):
    path = write("a.jsonl", {"id": 1, "output": "x", "rouge": 0.25})
    assert scores(path, "rouge") == [0.25]
    with pytest.raises(DataError, match=r"no scores are recorded.*found 'id', 'output', 'rouge'"):
        read(path)
    with pytest.raises(DataError, match="there is no score 'bleu'; found the columns 'id'"):
        read(path, "bleu")


@pytest.mark.parametrize("value", [7, -0.1, "good", [1], {"a": 1}])
def test_a_score_outside_its_range_is_refused_with_its_place(write, value):
    path = write("a.jsonl", {"id": 1, "score": 1}, {"id": 2, "score": value})
    message = re.escape(f"{path}, line 2: expected a score in [0, 1] from 'score', found {value!r}")
    with pytest.raises(DataError, match=message + ".*`judge=recorded:NAME`"):
        read(path)


def test_epochs_are_averaged_or_chosen(write):
    made = [
        {"id": n, "epoch": epoch, "scores": {"s": {"value": value}}}
        for n, values in enumerate(["CI", "CC"])
        for epoch, value in enumerate(values, start=1)
    ]
    path = write("log.json", inspect_log(*made))
    assert scores(path) == [0.5, 1.0]
    assert scores(path, epoch="2") == [0.0, 1.0]
    assert scores(path, epoch="mean") == [0.5, 1.0]


def test_an_item_twice_or_two_systems_are_refused(write):
    twice = write("a.jsonl", {"id": 1, "score": 1}, {"id": 1, "score": 0})
    with pytest.raises(DataError, match=r"line 2: the item '1' appears twice, first on line 1; .*`epoch=mean`"):
        read(twice)
    assert scores(twice, epoch="mean") == [0.5]
    two = write("b.jsonl", {"id": 1, "score": 1, "model": "a"}, {"id": 2, "score": 0, "model": "b"})
    with pytest.raises(DataError, match="scores of one system, found 'a' and 'b'"):
        read(two)


def both(write, mine, theirs):
    return [read(write(f"{name}.jsonl", *rows)) for name, rows in (("a", mine), ("b", theirs))]


def ids(*runs, partial=False):
    joined = join(runs, allow_partial=partial)
    return [item.id for item in joined.pool.items]


def test_runs_join_by_id_or_by_prompt(write):
    a, b = both(write, [{"id": 1, "score": 1}, {"id": 2, "score": 0}], [{"id": 2, "score": 0.5}, {"id": 1, "score": 0}])
    joined = join([a, b], allow_partial=False)
    assert [item.id for item in joined.pool.items] == ["1", "2"]
    assert joined.scores == {("1", "a"): 1.0, ("1", "b"): 0.0, ("2", "a"): 0.0, ("2", "b"): 0.5}
    a, b = both(write, [{"prompt": "p", "score": 1}], [{"id": 9, "prompt": "p", "score": 0}])
    assert ids(a, b) == ["9"]


def test_a_partial_join_is_refused_with_counts_or_allowed(write):
    a, b = both(
        write,
        [{"id": 1, "score": 1}, {"id": 2, "score": 0}, {"id": 3, "score": None}],
        [{"id": 1, "score": 1}, {"id": 3, "score": 0}, {"id": 4, "score": 0}],
    )
    said = f"1 scored in both, 1 only in a ('2'), 2 only in b ('3', '4'), 1 of {a.path} without a score"
    with pytest.raises(InputError, match=re.escape(said) + ".*`allow_partial`"):
        ids(a, b)
    joined = join([a, b], allow_partial=True)
    assert (ids(a, b, partial=True), joined.left_out) == (["1"], said)


def test_runs_without_a_common_item_are_refused(write):
    a, b = both(write, [{"id": 1, "score": 1}], [{"id": 2, "score": 1}])
    with pytest.raises(InputError, match="no item has a score in both files"):
        ids(a, b, partial=True)


def test_other_items_under_the_same_ids_are_refused_unless_their_references_agree(write):
    mine = {"id": 1, "prompt": "<|user|>2+2?", "reference": "4", "output": "x", "score": 1}
    theirs = mine | {"prompt": "2+2?"}
    assert ids(*both(write, [mine], [theirs])) == ["1"]
    assert ids(*both(write, [mine], [mine | {"reference": "four"}])) == ["1"]
    a, b = both(write, [mine], [theirs | {"reference": "5"}])
    with pytest.raises(DataError, match=r"line 1: the field 'prompt' of the item '1' differs"):
        ids(a, b)


def test_a_failed_sample_has_no_score(write):
    log = inspect_log({"id": 1, "scores": {"s": {"value": "C"}}}, {"id": 2, "error": {"message": "x"}, "scores": {}})
    run = read(write("log.json", log))
    assert ([one.row.score for one in run.rows], run.failed) == ([1.0], 1)
