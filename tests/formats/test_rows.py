from __future__ import annotations

import re
from pathlib import Path

import pytest

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats.columns import check_map, guesses_text, map_text, parse_map
from judgeloop.formats.messages import call_text, conversation, text_of
from judgeloop.formats.rows import ItemRow, OutputRow, read_items, read_outputs
from judgeloop.formats.tables import Row, Table

HERE = Path("a.jsonl")
ASKED = {"role": "user", "content": "2+2?"}
ANSWERED = {"role": "assistant", "content": "4"}


def table(*rows):
    return Table(HERE, rows, "line")


def one(fields, mapped=None):
    """The output of a file with one row."""
    found = read_outputs(table(Row(1, fields)), parse_map(mapped))
    return found.rows[0].row


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "2+2?", "output": "4"},
        {"Prompt": "2+2?", "OUTPUT": "4"},
        {"instruction": "2+2?", "output": "4"},
        {"question": "2+2?", "answer": "4"},
        {"Question": "2+2?", "Model Response": "4"},
        {"input": "2+2?", "completion": "4"},
        {"query": "2+2?", "response": "4"},
        {"problem": "2+2?", "generated_text": "4"},
        {"prompt": "", "question": "2+2?", "prediction": "4"},
        {"question": "2+2?", "input": "", "answer": "4"},
        {"question": "2+2?", "input": "2+2?", "answer": "4"},
        {"messages": [ASKED], "output": "4"},
        {"messages": [ASKED, ANSWERED]},
        {"prompt": "2+2?", "messages": [ASKED, ANSWERED]},
        {"prompt": [ASKED], "completion": [ANSWERED | {"role": "user"}]},
        {"conversations": [{"from": "human", "value": "2+2?"}, {"from": "gpt", "value": "4"}]},
    ],
)
def test_columns_are_found_by_common_names_in_any_case(fields):
    assert one(fields) == OutputRow(prompt="2+2?", output="4")


@pytest.mark.parametrize(
    ("fields", "mending"),
    [
        ({"question": "q", "input": "i", "output": "a"}, "prompt=question"),
        ({"question": "q", "answer": "gold", "response": "a"}, "output=response"),
        ({"prompt": "q", "completion": "a", "generation": "b"}, "output=completion"),
        ({"instruction": "q", "input": "i", "output": "a"}, "prompt=instruction+input"),
    ],
)
def test_two_columns_that_may_be_the_same_field_are_refused_with_the_map(fields, mending):
    with pytest.raises(DataError, match=re.escape(f"say which, as in `map={mending}`")):
        one(fields)
    assert one(fields, mending).output == fields.get("response", "a")


@pytest.mark.parametrize(
    ("fields", "mapped", "row"),
    [
        (
            {"question": "q", "answer": "a", "question_id": 3, "target": "t", "category": "c", "model_id": "m"},
            None,
            OutputRow("3", "q", "t", "c", "m", "a"),
        ),
        ({"prompt": "q", "output": "a", "question_id": 3, "answer": "b"}, None, OutputRow(prompt="q", output="a")),
        ({"instruction": "q", "input": "i", "output": "a", "generator": "m"}, None, OutputRow(prompt="q", model="m", output="a")),
        ({"prompt": "no", "output": "no", "q": "q", "a": "a"}, "prompt=q,output=a", OutputRow(prompt="q", output="a")),
        ({"task": "Sum.", "text": "A.", "output": "a"}, "prompt=task+text", OutputRow(prompt="Sum.\n\nA.", output="a")),
        ({"task": None, "text": "A.", "output": "a"}, "prompt=task+text", OutputRow(prompt="A.", output="a")),
        ({"prompt": "p", "output": "a"}, "prompt=question", OutputRow(prompt="p", output="a")),
    ],
)  # fmt: skip
def test_a_map_goes_before_own_names_and_these_before_guesses(fields, mapped, row):
    assert one(fields, mapped) == row


def test_a_map_of_a_column_that_no_file_has_is_refused():
    with pytest.raises(InputError, match=re.escape("`map=prompt=qestion`: no file has the column")):
        check_map(parse_map("prompt=qestion"), [("question", "output"), ("prompt",)])


@pytest.mark.parametrize("text", ["prompt", "task=x", "prompt=", "prompt=a+"])
def test_a_map_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        parse_map(text)


def test_a_map_may_be_a_dictionary_or_several_that_add_up():
    assert map_text({"prompt": "question", "output": "answer"}) == "prompt=question,output=answer"
    assert map_text(["prompt=q, output=a", "output=b"]) == "prompt=q,output=a,output=b"
    assert map_text(None) is None


def test_an_item_without_a_prompt_is_refused_with_the_map():
    with pytest.raises(
        DataError, match=re.escape("found 'id', 'text'; say which column it is, as in `map=prompt=text`")
    ):
        read_items(table(Row(4, {"id": 1, "text": "q"})))
    (item,) = read_items(table(Row(4, {"id": 1, "text": "q"})), parse_map("prompt=text")).rows
    assert item.row == ItemRow("1", "q")


def test_a_bare_reply_of_an_api_is_refused_without_a_map_that_would_not_help():
    message = {"role": "assistant", "content": "4"}
    fields = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"message": message}]}
    with pytest.raises(DataError, match="which does not say which item it answers") as refused:
        one(fields)
    assert "map=" not in str(refused.value)
    assert one(fields | {"answer": "4"}).output == "4"


def test_a_conversation_is_shown_turn_by_turn():
    messages = [{"role": "system", "content": "Be brief."}, ASKED, ANSWERED, {"role": "user", "content": "Why?"}]
    assert one({"messages": messages, "output": "Because."}).prompt == (
        "System: Be brief.\n\nUser: 2+2?\n\nAssistant: 4\n\nUser: Why?"
    )


def test_a_call_of_a_tool_is_part_of_the_conversation():
    call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2}'}}
    spoken = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert conversation([ASKED, spoken]).endswith('Assistant: [calls add with {"a": 2}]')
    assert call_text("add", {"a": 2}) == '[calls add with {"a": 2}]'
    inspects = {"role": "assistant", "content": "", "tool_calls": [{"function": "add", "arguments": {"a": 2}}]}
    assert conversation([ASKED, inspects]).endswith('Assistant: [calls add with {"a": 2}]')


def test_an_image_in_a_prompt_is_refused():
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    with pytest.raises(
        DataError,
        match="line 1: the messages cannot be shown to a judge: expected text, found a part of type 'image_url'",
    ):
        one({"messages": [picture], "output": "a cat"})


def test_parts_of_text_are_put_together():
    assert text_of([{"type": "text", "text": "a"}, "b", {"type": "thinking", "thinking": "x"}]) == "ab"
    with pytest.raises(ValueError, match="expected the text of a message, found int"):
        text_of(3)


def test_the_columns_of_all_rows_are_known():
    rows = [Row(1, {"prompt": "p", "output": "a"}), Row(2, {"prompt": "q", "output": "b", "more": 1})]
    assert read_outputs(table(*rows)).columns == ("prompt", "output", "more")


def test_a_place_in_memory_is_named_by_its_unit():
    with pytest.raises(DataError, match=r"^first, row 2: the field 'output' is missing"):
        read_outputs(Table("first", [Row(1, {"prompt": "p", "output": "a"}), Row(2, {"id": 1})]))


@pytest.mark.parametrize(
    ("fields", "guesses"),
    [
        ({"prompt": "q", "output": "a", "answer": "other"}, ()),
        ({"Instruction": "q", "OUTPUT": "a"}, ()),
        ({"Question": "q", "output": "a"}, (("prompt", "'Question'"),)),
        ({"question": "q", "input": "", "Answer": "a"}, (("prompt", "'question' or 'input'"), ("output", "'Answer'"))),
    ],
)
def test_the_columns_that_were_guessed_are_known(fields, guesses):
    assert read_outputs(table(Row(1, fields))).guesses == guesses


def test_the_guesses_are_told_once_for_files_that_are_alike():
    guess, other = [("prompt", "'question'")], [("output", "'answer'")]
    assert guesses_text({"a": guess, "b": guess}) == "prompt from 'question' (a, b); `map` sets it"
    told = guesses_text({"a": guess, "b": [], "c": other})
    assert told == "prompt from 'question' (a); output from 'answer' (c); `map` sets them"
    assert guesses_text({"a": [], "b": []}) == ""


NULLS = [
    {"id": 1, "output": "x"},
    {"id": 2, "output": None},
    {"id": 3, "question": "q", "response": None, "answer": None},
]


def test_a_null_output_is_refused_with_the_number_of_such_rows():
    rows = [Row(line, fields) for line, fields in enumerate(NULLS, start=1)]
    message = (
        "a.jsonl, line 2: there is no output: the field 'output' is null; 2 lines have none; ask the "
        "system again, or leave such items out with `allow_partial`"
    )
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        read_outputs(table(*rows))
    with pytest.raises(DataError, match=r"line 2: .* is null; ask the system again"):
        read_outputs(table(*rows[:2]))


def test_null_outputs_are_left_out_and_counted_where_that_is_allowed():
    rows = [Row(line, fields) for line, fields in enumerate(NULLS, start=1)]
    found = read_outputs(table(*rows), allow_failed=True)
    assert [located.row.id for located in found.rows] == ["1"]
    assert found.failed == 2
