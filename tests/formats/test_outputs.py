from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from judgeloop.core.errors import DataError
from judgeloop.formats.join import name_apart
from judgeloop.formats.rows import ItemRow, OutputRow, read_items, read_outputs


def written(folder, *rows, name="system.jsonl"):
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def rows_of(path):
    return [located.row for located in read_outputs(path).rows]


def test_empty_optional_text_is_absent_but_an_empty_output_is_an_answer(tmp_path):
    row = rows_of(written(tmp_path, {"id": "", "prompt": "p", "reference": "", "group": "", "model": "", "output": ""}))
    assert row == [OutputRow(id=None, prompt="p", reference=None, group=None, model=None, output="")]


@pytest.mark.parametrize(
    ("source", "read"),
    [
        pytest.param('"a\\ud800b"', "a\ufffdb", id="the first half of a pair"),
        pytest.param('"a\\udc00b"', "a\ufffdb", id="the second half of a pair"),
        pytest.param('"\\ud83d\\ude00"', "\U0001f600", id="a whole pair"),
    ],
)
@pytest.mark.parametrize("field", ["output", "prompt", "id", "reference", "model"])
def test_lone_surrogates_are_mended_so_that_the_text_can_be_stored(tmp_path, field, source, read):
    path = tmp_path / "a.jsonl"
    others = "" if field == "output" else '"output": "x", '
    path.write_text(f'{{{others}"{field}": {source}}}', encoding="utf-8")
    assert getattr(rows_of(path)[0], field) == read


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"id": 1}, "the field 'output' is missing; found 'id'"),
        ({"id": 1, "output": ["x"]}, "the field 'output' is wrong: "),
        ({"id": True, "output": "x"}, "the field 'id' is wrong: "),
        ({"id": float("nan"), "output": "x"}, "the field 'id' is wrong: "),
        ({"id": float("inf"), "output": "x"}, "the field 'id' is wrong: "),
        ({"prompt": {"text": "p"}, "output": "x"}, "the field 'prompt' is wrong: "),
        ({"instruction": "p", "generator": [], "output": "x"}, "the field 'generator' is wrong: "),
    ],
)
def test_a_wrong_row_is_refused_with_file_line_and_field(tmp_path, row, problem):
    path = written(tmp_path, {"id": 0, "output": "fine"}, row)
    with pytest.raises(DataError, match="^" + re.escape(f"{path}, line 2: {problem}")):
        read_outputs(path)


@pytest.mark.parametrize(
    ("name", "system"),
    [("gpt.jsonl", "gpt"), ("gpt-4.1.json.gz", "gpt-4.1"), ("plain", "plain"), (".hidden", ".hidden")],
)
def test_a_system_that_its_rows_do_not_name_is_named_by_its_file(tmp_path, name, system):
    assert read_outputs(written(tmp_path, {"id": 1, "output": "x"}, name=name)).system == system


def test_two_systems_in_one_file_are_refused_with_names_and_a_line(tmp_path):
    names = ["b", None, "b", "a", "b", "c"]
    path = written(tmp_path, *({"id": n, "output": "x", "model": name} for n, name in enumerate(names)))
    message = f"{path}, line 4: expected the outputs of one system, found 'a' after 'b'; "
    with pytest.raises(DataError, match="^" + re.escape(message) + ".*convert FILE --system NAME"):
        read_outputs(path)


@pytest.mark.parametrize(("said", "read"), [(None, "theirs"), ("", "theirs"), ("own", "own")])
@pytest.mark.parametrize(("own", "theirs"), [("prompt", "instruction"), ("group", "dataset"), ("model", "generator")])
def test_an_own_name_goes_before_alpacaevals_where_it_says_something(tmp_path, own, theirs, said, read):
    (row,) = rows_of(written(tmp_path, {own: said, theirs: "theirs", "id": 7, "output": "x"}))
    assert (getattr(row, own), row.id) == (read, "7")


def test_an_items_file_keeps_its_lines(tmp_path):
    path = written(tmp_path, {"id": 1, "prompt": "p"}, {"instruction": "q", "reference": "r", "output": "not mine"})
    assert [(located.line, located.row) for located in read_items(path).rows] == [
        (1, ItemRow(id="1", prompt="p")),
        (2, ItemRow(prompt="q", reference="r")),
    ]


@pytest.mark.parametrize("row", [{"id": 2}, {"id": 2, "prompt": ""}, {"id": 2, "prompt": None}])
def test_an_item_without_a_prompt_is_refused(tmp_path, row):
    path = written(tmp_path, {"id": 1, "prompt": "p"}, row)
    with pytest.raises(DataError, match=re.escape(f"{path}, line 2: the field 'prompt' is missing")):
        read_items(path)


@pytest.mark.parametrize(
    ("given_files", "names"),
    [
        ((("runs/a.jsonl", "small"), ("runs/b.jsonl", "large")), ("small", "large")),
        ((("runs/a.jsonl", "same"), ("runs/b.jsonl", "same")), ("a", "b")),
        ((("old/out.jsonl", "same"), ("new/out.jsonl", "same")), ("old/out.jsonl", "new/out.jsonl")),
    ],
)
def test_systems_are_told_apart_by_name_then_file_then_path(given_files, names):
    assert name_apart([(system, Path(path)) for path, system in given_files]) == names


def test_a_file_given_twice_is_refused():
    one = ("small", Path("a.jsonl"))
    with pytest.raises(DataError, match=r"^a\.jsonl: this file is given twice"):
        name_apart([one, one])
