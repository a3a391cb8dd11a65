"""Which columns the message of an error proposes, and dotted paths to texts within objects."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from judgeloop.cli.app import app
from judgeloop.core.errors import DataError
from judgeloop.formats.columns import parse_map, suggested_map
from judgeloop.formats.rows import read_outputs
from judgeloop.formats.source import FOREIGN, open_file

NAMES = ("june", "july")


def compare(ending, *arguments):
    files = [f"{name}{ending}" for name in NAMES]
    return CliRunner().invoke(app, ["compare", *files, "--judge", "human", *arguments])


def write_tickets():
    for name in NAMES:
        with Path(f"{name}.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["Ticket #", "Kundenfrage", "Antwort (KI)"])
            lines.writerows([n, f"Wie geht {n}?", f"So geht {n}, sagt {name}."] for n in range(9))


def test_a_missing_field_names_all_columns_as_they_are_to_be_typed():
    write_tickets()
    done = compare(".csv")
    assert done.exit_code == 2
    assert (
        "say which columns they are, for example --map 'id=Ticket #,prompt=Kundenfrage,output=Antwort (KI)'"
    ) in done.stderr


def test_the_proposed_map_reads_the_files():
    write_tickets()
    proposed = "id=Ticket #,prompt=Kundenfrage,output=Antwort (KI)"
    done = CliRunner().invoke(
        app,
        ["compare", "june.csv", "july.csv", "--judge", "openai/gpt-4.1", "--map", proposed, "--dry-run"],
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr


def write_traces(text):
    """Observations as tracing tools export them: objects, or JSON as text."""
    for name in NAMES:
        rows = [
            {"id": n, "input": {"question": f"Q{n}?"}, "outputs": text({"output": f"{name} {n}"})} for n in range(9)
        ]
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("text", [dict, json.dumps])
def test_a_dotted_path_leads_into_an_object_or_json_text(text):
    write_traces(text)
    mapped = "prompt=input.question,output=outputs.output"
    found = read_outputs(Path("july.jsonl"), parse_map(mapped))
    assert (found.rows[3].row.prompt, found.rows[3].row.output) == ("Q3?", "july 3")
    assert f"--map {mapped}" in compare(".jsonl").stderr


def test_a_dotted_path_leads_into_a_list_and_a_whole_name_goes_first():
    row = {"a.b": "whole", "a": {"b": "part"}, "choices": [{"text": "first"}], "prompt": "p"}
    Path("a.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(row) + "\n")
    for path, text in [("a.b", "whole"), ("choices.0.text", "first")]:
        found = read_outputs(Path("a.jsonl"), parse_map(f"output={path},prompt=prompt"))
        assert found.rows[0].row.output == text


def written(rows):
    for name in NAMES:
        Path(f"{name}.jsonl").write_text("".join(f"{json.dumps(rows(name, n))}\n" for n in range(9)))


def test_an_output_that_is_an_object_is_told_with_the_path_to_its_text():
    written(lambda name, n: {"id": f"long id {n}", "prompt": f"p{n}", "output": {"text": f"{name} {n}", "ms": 3}})
    found = "expected text, found {'text': 'june 0', 'ms': 3}; say which columns they are, for example --map output=output.text "
    assert found in compare(".jsonl").stderr
    alone = CliRunner().invoke(app, ["estimate", "june.jsonl", "--judge", "human"])
    assert "; say what in it, as in --map output=output.text" in alone.stderr


def test_an_output_that_is_no_text_is_refused_with_what_to_do():
    written(lambda name, n: {"id": f"long id {n}", "prompt": f"p{n}", "output": name == "june" or n > 1})
    done = compare(".jsonl")
    assert (done.exit_code, "found True; write it as text, in quotes" in done.stderr) == (2, True)


def test_a_path_is_proposed_through_the_lists_of_a_batch_of_gemini():
    def gemini(name, n):
        def content(text):
            return {"parts": [{"text": text}]}

        asked, said = content(f"question {n}"), content(f"{name} answers {n} at length")
        return {"key": f"q{n}", "request": {"contents": [asked]}, "response": {"candidates": [{"content": said}]}}

    written(gemini)
    proposed = "id=key,prompt=request.contents.0.parts.0.text,output=response.candidates.0.content.parts.0.text"
    assert f"--map {proposed} " in compare(".jsonl").stderr
    (first, *_) = read_outputs(Path("june.jsonl"), parse_map(proposed)).rows
    assert (first.row.id, first.row.prompt) == ("q0", "question 0")


def replies_of_gemini(name, n):
    said = {"content": {"parts": [{"text": f"{name} answers {n} at length"}]}}
    counts = {"promptTokenCount": 100 + n}
    return {
        "response": {"candidates": [said], "modelVersion": "gemini 3 flash", "usageMetadata": counts},
        "key": f"q{n}",
    }


def test_where_no_text_differs_between_the_rows_the_file_of_prompts_is_asked_for():
    written(replies_of_gemini)
    says = compare(".jsonl").stderr
    answer = "output=response.candidates.0.content.parts.0.text"
    assert f"--map id=key,{answer} (the output is" in says
    assert "; give the file of prompts, as in --items requests.jsonl" in says


def test_no_prompt_is_named_where_the_file_of_prompts_is_given():
    write_tickets()
    Path("items.jsonl").write_text('{"id": "0", "prompt": "p"}\n')
    says = compare(".csv", "--items", "items.jsonl").stderr
    assert "--map 'id=Ticket #,output=Antwort (KI)' (the output is" in says
    assert "give the file" not in says


@pytest.mark.parametrize("shown", [None, 2])
def test_rows_within_a_document_are_found_beside_other_fields_and_deeper(shown):
    for name in NAMES:
        rows = [{"input": f"Q{n}?", "actualOutput": f"{name} {n}"} for n in range(3)]
        run = {"testRunData": {"testCases": rows, "metricsScores": [{"metric": "m"}]}, "at": 1}
        Path(f"{name}.json").write_text(json.dumps(run, indent=shown))
    says = compare(".json").stderr
    assert "whose field 'testRunData.testCases' holds 3 rows" in says
    assert "jq -c '.testRunData.testCases[]' FILE > ROWS" in says


def test_a_row_with_lists_of_objects_is_a_row_and_no_path_leads_into_them():
    sources = [{"text": "a"}, {"text": "b"}]
    for name in NAMES:
        row = {"id": 1, "prompt": "Why so?", "said": [{"text": name}], "sources": sources}
        Path(f"{name}.jsonl").write_text(json.dumps(row))
    says = compare(".jsonl").stderr
    assert "the field 'output' is missing" in says
    assert ".0" not in says


def test_for_a_single_file_the_column_with_the_longest_text_is_the_example():
    write_tickets()
    done = CliRunner().invoke(app, ["estimate", "june.csv", "--judge", "human"])
    assert "say which column it is, as in --map 'output=Antwort (KI)'" in done.stderr
    Path("numbers.jsonl").write_text('{"id": 1, "tokens": 3}\n')
    done = CliRunner().invoke(app, ["estimate", "numbers.jsonl", "--judge", "human"])
    assert "as in --map output=COLUMN" in done.stderr


def test_rows_of_a_batch_ask_for_the_file_of_its_requests():
    written(lambda name, n: {"custom_id": f"q{n}", "output": f"{name} {n}"})
    says = "give the file of prompts, as in --items requests.jsonl, and say --map id=custom_id"
    assert says in compare(".jsonl").stderr
    written(lambda name, n: {"id": f"q{n}", "output": f"{name} {n}"})
    assert "give the file of prompts, as in --items requests.jsonl, or say" in compare(".jsonl").stderr


def test_ids_that_do_not_match_are_told_with_what_to_do():
    written(lambda name, n: {"id": f"{name}-{n}", "prompt": f"{name} {n}", "output": "x"})
    assert "say which column has it, as in --map id=COLUMN" in compare(".jsonl").stderr


def test_a_path_that_leads_nowhere_is_named():
    write_traces(dict)
    done = compare(".jsonl", "--map", "prompt=input.question,output=outputs.text")
    assert "--map output=outputs.text: no file has the column 'outputs.text'" in done.stderr


@pytest.mark.parametrize("tables", [[], [[], []], [[{"a": "x"}]], [[{"a,b": "x"}], [{"a,b": "y"}]]])
def test_nothing_is_proposed_that_cannot_be_told_or_typed(tables):
    assert suggested_map(tables) == {}


@pytest.mark.parametrize("first", FOREIGN)
def test_a_file_that_is_no_text_is_named_by_its_first_bytes(first):
    Path("x").write_bytes(first + b"\0\1\2")
    with pytest.raises(DataError, match=FOREIGN[first]):
        open_file(Path("x"))


@pytest.mark.parametrize(("first", "name"), [
    (b"\x80\x02", "pickle"), (b"\x80\x03", "pickle"), (b"\xff\xff\xff\xff", "stream of Arrow"),
    (b"FEA1\0\0", "Feather"), (b"ORC\n\x06\0", "ORC"),
])  # fmt: skip
def test_old_pickles_and_binary_tables_are_named(first, name):
    Path("x").write_bytes(first)
    with pytest.raises(DataError, match=name):
        open_file(Path("x"))


def test_a_table_whose_header_begins_like_a_binary_file_is_a_table():
    Path("x.csv").write_text("ORC,id,output\n1,2,x\n")
    assert read_outputs(Path("x.csv")).rows[0].row.output == "x"


def test_utf_16_without_its_mark_is_named():
    Path("x").write_bytes("id,output\n1,y\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="UTF-16"):
        open_file(Path("x"))


def test_a_column_whose_values_repeat_is_never_proposed_as_the_output(tmp_path):
    rows = [{"nr": n, "frage": f"What is {n}?", "by": "the-model-of-june-2026", "said": f"it is {n}"} for n in range(9)]
    july = [row | {"by": "the-model-of-july-2026", "said": f"is {row['nr']}"} for row in rows]
    assert suggested_map([rows, july])["output"] == "said"
    path = tmp_path / "june.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with pytest.raises(DataError, match="as in `map=output=frage`"):
        read_outputs(path)
    only = [{"nr": n, "by": "the-model-of-june-2026"} for n in range(9)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in only), encoding="utf-8")
    with pytest.raises(DataError, match="as in `map=output=COLUMN`"):
        read_outputs(path)
