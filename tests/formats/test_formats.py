"""The contract of every format in the catalogue, and what is particular to one of them."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
import zipfile

import pytest
from formats.samples import FILES, SAMPLES, inspect_archive, inspect_document, output_items, text

from judgeloop.core.errors import DataError, InputError
from judgeloop.formats import tables
from judgeloop.formats.catalogue import FORMATS, format_of, open_rows
from judgeloop.formats.recorded import read_recorded
from judgeloop.formats.rows import ItemRow, OutputRow, read_items, read_outputs
from judgeloop.formats.source import open_file

pytestmark = pytest.mark.smoke

BY_NAME = {row.name: row for row in FORMATS}
every = pytest.mark.parametrize("name", BY_NAME)
assert SAMPLES.keys() >= set(BY_NAME), "a format without a sample: add one to tests/formats/samples.py"
with_outputs = pytest.mark.parametrize("name", [n for n in BY_NAME if SAMPLES[n].outputs])


@pytest.fixture
def write(tmp_path):
    """Writes a file whose name says nothing about its format."""

    def written(content, name="file"):
        path = tmp_path / "folder" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def rows_of(path):
    return [located.row for located in read_outputs(path).rows]


@every
def test_a_format_is_recognised_by_its_content_and_by_no_other_before_it(name, write):
    path = write(SAMPLES[name].content)
    assert format_of(open_file(path)).name == name


@with_outputs
def test_a_format_reads_its_outputs(name, write):
    assert rows_of(write(SAMPLES[name].content)) == SAMPLES[name].outputs


@with_outputs
def test_a_gzipped_file_reads_the_same(name, write):
    assert rows_of(write(gzip.compress(SAMPLES[name].content))) == SAMPLES[name].outputs


@every
def test_a_near_miss_is_refused_with_its_place_and_what_is_wrong(name, write):
    path = write(SAMPLES[name].near_miss)
    with pytest.raises(DataError, match="^" + re.escape(f"{path}, {SAMPLES[name].refusal}")):
        read_outputs(path)


@every
def test_a_format_says_which_scores_it_records(name, write):
    _, table = open_rows(write(SAMPLES[name].content))
    scores = [row.scores for row in table.rows]
    expected = SAMPLES[name].scores
    assert scores == expected if expected else not any(scores)


def promptfoo_yaml(*, sort_keys=False):
    import yaml

    document = json.loads(text("promptfoo.json"))
    document["results"]["results"][1]["vars"] = document["results"]["results"][0]["vars"]  # an alias
    return yaml.safe_dump(document, sort_keys=sort_keys)


def test_promptfoo_reads_the_same_from_yaml(write):
    found = promptfoo_yaml()
    assert "*id001" in found
    assert rows_of(write(found)) == SAMPLES["promptfoo"].outputs


@pytest.mark.parametrize("before", ["", "version: 2\n"])
def test_promptfoo_reads_yaml_whose_keys_stand_in_another_order(write, before):
    text = before + promptfoo_yaml(sort_keys=not before)
    assert rows_of(write(text)) == SAMPLES["promptfoo"].outputs


BOMB = "results:\n  a0: &a0 [x, x]\n" + "".join(
    f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (BOMB, "the aliases of this YAML stand for far more than its text"),
        ("results:\n  &a\n  b: *a\n", "the aliases of this YAML"),
        ("results:\n  !!python/object/apply:os.system [touch pwned]\n", "this is no YAML: could not"),
        ("results:\n  - [\n", "this is no YAML: "),
    ],
    ids=["many times", "itself", "code", "torn"],
)
def test_yaml_that_is_a_bomb_or_code_or_torn_is_refused(write, content, says):
    with pytest.raises(DataError, match=says):
        read_outputs(write(content))


def test_without_the_extra_yaml_is_refused_with_its_name(write, monkeypatch):
    path = write(promptfoo_yaml())
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(InputError, match=r"pip install '.\[yaml\]'"):
        read_outputs(path)


def test_promptfoo_of_before_its_version_3_is_known_by_its_texts(write):
    document = json.loads(text("promptfoo.json"))
    for result in document["results"]["results"]:
        del result["testIdx"], result["failureReason"]
    rows = rows_of(write(json.dumps(document)))
    assert [(row.id, row.prompt, row.output) for row in rows] == [
        (None, "Translate: cat", "chat"),
        (None, "Translate: dog", "hund"),
    ]


def test_several_providers_of_a_csv_of_promptfoo_are_told_apart(write):
    after = "Status,Score,Named Scores,Grader Reason,Comment"
    path = write(f'text,"[a] Say\n{{{{text}}}}",{after},[b] Repeat,{after}\ncat,chat,PASS,1,,,,chien,FAIL,0,,,\n')
    _, table = open_rows(path)
    assert [(row.fields["model"], row.fields["output"]) for row in table.rows] == [
        ("a Say\n{{text}}", "chat"),
        ("b Repeat", "chien"),
    ]
    with pytest.raises(DataError, match="judgeloop convert FILE --system NAME"):
        read_outputs(path)


def test_a_folder_has_an_output_in_each_file(tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    for name, said in (("b.md", "two\n"), ("a.txt", "one"), (".DS_Store", "\0")):
        (folder / name).write_text(said)
    found = read_outputs(folder)
    assert (found.system, [located.row for located in found.rows]) == (
        "new",
        [OutputRow("a", output="one"), OutputRow("b", output="two")],
    )


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda folder: None, "this folder is empty"),
        (lambda folder: (folder / "out.json").touch(), "this folder holds out.json; give the file"),
        (lambda folder: [(folder / f"{n}.jsonl").touch() for n in "ab"], "holds a.jsonl; give"),
        (lambda folder: [(folder / name).mkdir() for name in "ab"], "found a link or a folder"),
        (lambda folder: [(folder / n).symlink_to("/etc/hosts") for n in "ab"], "found a link"),
        (lambda folder: [(folder / name).write_bytes(b"\xff") for name in "ab"], "expected UTF-8"),
    ],
    ids=["empty", "one file", "tables", "folders", "links", "bytes"],
)
def test_a_folder_of_something_else_is_refused(tmp_path, make, says):
    folder = tmp_path / "new"
    folder.mkdir()
    make(folder)
    with pytest.raises(DataError, match=says):
        read_outputs(folder)


def test_a_document_of_no_known_format_is_refused_with_what_it_holds(write):
    path = write(json.dumps({"data": [], "meta": 1}, indent=2))
    with pytest.raises(DataError, match="of no known format; found 'data', 'meta'"):
        read_outputs(path)


ROWS = [{"id": "0", "prompt": "p", "output": "x"}, {"id": "1", "prompt": "q", "output": "y"}]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"data": ROWS}, "whose field 'data' holds 2 rows; expected the list alone: jq -c '.data[]' FILE"),
        (
            {name: {row["id"]: row[name] for row in ROWS} for name in ("prompt", "output")},
            'expected rows: to_json(FILE, orient="records", lines=True)',
        ),
        ({row["id"]: row for row in ROWS}, "this is a whole table in one object"),
    ],
    ids=["a list in an object", "pandas by columns", "pandas by index"],
)
def test_rows_inside_a_document_are_refused_with_how_to_get_at_them(write, document, problem, indent):
    with pytest.raises(DataError, match=re.escape(problem)):
        read_outputs(write(json.dumps(document, indent=indent)))


def test_a_single_row_of_messages_is_a_row(write):
    messages = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
    assert rows_of(write(json.dumps({"messages": messages}))) == [OutputRow(prompt="2+2?", output="4")]


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ('{"id": 1, "output": "x"}\n', "JSON lines"),
        ('[{"id": 1, "output": "x"}]\n[{"id": 2, "output": "x"}]\n', "JSON lines"),
        ('[{"id": 1, "output": "x"}]', "a JSON array"),
        ("id,output\n1,x\n", "CSV"),
        ("id\toutput\n1\tx\n", "TSV"),
        ("id;output\n1;x\n", "CSV with `;`"),
        ("sep=|\nid|output\n1|x\n", "CSV with `|`"),
    ],
)
def test_rows_are_named_by_the_one_form_that_they_have(write, content, title):
    found, table = open_rows(write(content))
    assert found == title
    assert list(table.rows)


def test_inspect_reads_the_same_from_json_and_from_an_archive(write):
    assert rows_of(write(inspect_document())) == SAMPLES["inspect"].outputs


def zstandard_archive():
    """An archive as Inspect writes it with Zstandard, which zipfile of Python 3.11 cannot."""
    import zstandard

    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(inspect_archive(zipfile.ZIP_STORED))) as plain:
        members = {name: plain.read(name) for name in plain.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, zstandard.ZstdCompressor().compress(content))
    data = bytearray(file.getvalue())
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        for info in archive.infolist():
            data[info.header_offset + 8 : info.header_offset + 10] = b"\x5d\x00"
        position = archive.start_dir
        for _ in archive.infolist():
            data[position + 10 : position + 12] = b"\x5d\x00"
            lengths = [int.from_bytes(data[position + n : position + n + 2], "little") for n in (28, 30, 32)]
            position += 46 + sum(lengths)
    return bytes(data)


def test_inspect_reads_members_compressed_with_zstandard(write):
    assert rows_of(write(zstandard_archive())) == SAMPLES["inspect"].outputs


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads Zstandard itself")
def test_without_the_extra_zstandard_is_refused_with_two_remedies(write, monkeypatch):
    path = write(zstandard_archive())
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InputError, match=r"'.\[zstd\].*inspect log convert --to json"):
        read_outputs(path)


def test_without_the_extra_parquet_is_refused_with_its_name(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setitem(sys.modules, "fastparquet", None)
    with pytest.raises(InputError, match=r"pip install '.\[parquet\]'"):
        read_outputs(write(SAMPLES["parquet"].content))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (inspect_archive(header=False), "this log is not finished: the archive has no header.json"),
        (inspect_archive()[:200], "this zip archive cannot be read"),
        (SAMPLES["parquet"].content[:-20], "this Parquet file cannot be read"),
    ],
    ids=["unfinished log", "cut zip", "cut Parquet"],
)
def test_a_broken_container_is_refused(write, content, problem):
    with pytest.raises(DataError, match=re.escape(problem)):
        read_outputs(write(content))


def test_a_workbook_of_excel_is_refused_with_the_form_to_save_it_in(write):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    path = write(file.getvalue())
    message = f"{path}: this is an Excel workbook; expected text: save its sheet as `CSV UTF-8` and give that file"
    with pytest.raises(DataError, match="^" + re.escape(message) + "$"):
        read_outputs(path)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gzip.compress(b'{"id": 1, "output": "' + b"x" * 5000 + b'"}'), id="gzip"),
        pytest.param(inspect_archive(), id="zip"),
        pytest.param(SAMPLES["parquet"].content, id="parquet"),
    ],
)
def test_a_file_that_is_too_large_when_decompressed_is_refused(write, content, monkeypatch):
    monkeypatch.setattr(tables, "ALWAYS_BYTES", 50)
    monkeypatch.setattr(tables, "EXPANDED", 0)
    with pytest.raises(DataError, match="when decompressed; if that is what it should have"):
        read_outputs(write(content))


def test_failed_requests_are_refused_or_left_out_and_counted(write):
    path = write(text("openai_batch_failed.jsonl"))
    with pytest.raises(DataError, match="line 2: there is no output: the request failed: Invalid"):
        read_outputs(path)
    found = read_outputs(path, allow_failed=True)
    assert [located.row.id for located in found.rows] == ["q1"]
    assert found.failed == 2


def test_a_reply_of_the_responses_endpoint_is_read(write):
    assert rows_of(write(text("openai_responses_batch.jsonl"))) == [
        OutputRow("q1", model="gpt-5.4-mini", output="Four.")
    ]


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("openai_batch_requests.jsonl", [ItemRow("q1", "2+2?"), ItemRow("q2", "System: Be brief.\n\nUser: Pick a lock.")]),
        ("anthropic_batch_requests.jsonl", [ItemRow("q1", "System: Be brief.\n\nUser: 2+2?")]),
        (
            "mt_bench_questions.jsonl",
            [
                ItemRow("81", "[Turn 1]\nCompose a travel post about Hawaii.\n\n[Turn 2]\nRewrite it, starting every sentence with A.", None, "writing"),
                ItemRow("101", "[Turn 1]\nWhich position are you in now?\n\n[Turn 2]\nAnd if you overtake the last person?", "[Turn 1]\nYou are in second place.\n\n[Turn 2]\nUncertain.", "reasoning"),
            ],
        ),
    ],
)  # fmt: skip
def test_files_of_requests_and_questions_are_items(name, items):
    assert [located.row for located in read_items(FILES / name).rows] == items


def test_an_old_answer_of_arena_hard_is_read(write):
    (row,) = rows_of(write(text("arena_hard_v01.jsonl")))
    assert (row.model, row.output) == ("gpt-4-0613", "Use ABC notation.")


def test_a_log_with_epochs_is_read_whole_or_by_epoch(write):
    samples = json.loads(text("inspect_samples.json"))
    repeated = [sample | {"epoch": 2} for sample in samples]
    log = json.loads(text("inspect_header.json")) | {"samples": samples + repeated}
    path = write(json.dumps(log))
    every = read_outputs(path)
    assert ([located.line for located in every.rows], every.repeats) == ([1, 2, 3, 4], True)
    assert [located.line for located in read_outputs(path, epoch="2").rows] == [3, 4]
    with pytest.raises(DataError, match="there is no epoch 7; found 1, 2"):
        read_outputs(path, epoch="7")
    with pytest.raises(InputError, match="a judge reads one answer"):
        read_outputs(path, epoch="mean")


def test_promptfoo_may_write_its_results_as_json_lines(write):
    results = json.loads(text("promptfoo.json"))["results"]["results"]
    path = write("".join(f"{json.dumps(result)}\n" for result in results).encode())
    assert rows_of(path) == SAMPLES["promptfoo"].outputs


@pytest.mark.parametrize(
    ("asked", "answered", "meant"),
    [
        pytest.param("user_input", "response", "reference", id="Ragas"),
        pytest.param("input", "actual_output", "expected_output", id="DeepEval"),
    ],
)
def test_the_columns_of_other_libraries_are_known(asked, answered, meant, write):
    path = write(json.dumps({asked: "2+2?", answered: "4", meant: "four"}).encode())
    assert rows_of(path) == [OutputRow(prompt="2+2?", output="4", reference="four")]


def test_promptfoo_with_several_prompts_names_systems_by_prompt_too(write):
    document = json.loads(text("promptfoo.json"))
    first, second = document["results"]["results"]
    other = second | {"promptIdx": 1, "prompt": {"raw": "To French: dog", "label": "french"}}
    document["results"]["results"] = [first, other]
    _, table = open_rows(write(json.dumps(document)))
    found = [(row.fields["model"], row.fields["prompt"]) for row in table.rows]
    assert found == [
        ("openai:gpt-4.1-mini Translate: {{text}}", "text: cat"),
        ("openai:gpt-4.1-mini french", "text: dog"),
    ]


def promptfoo_results(*columns, tests=("cat", "dog"), repeat=1):
    """What promptfoo writes of `columns`, each a provider's id, its label and a prompt, and of `tests`."""
    results = []
    for number, word in enumerate(word for word in tests for _ in range(repeat)):
        for at, (provider, label, prompt) in enumerate(columns):
            results.append(
                {
                    "promptIdx": at, "testIdx": number, "promptId": prompt, "vars": {"text": word},
                    "testCase": {"vars": {"text": word}, "assert": []},
                    "provider": {"id": provider, "label": label},
                    "prompt": {"raw": prompt.replace("{{text}}", word), "label": prompt},
                    "response": {"output": f"{word} of {at}, {number}"}, "failureReason": 0, "score": 1,
                }
            )  # fmt: skip
    prompts = [{"raw": prompt, "label": prompt, "provider": provider} for provider, _, prompt in columns]
    return json.dumps({"evalId": "e", "results": {"version": 3, "prompts": prompts, "results": results}}).encode()


def rows_by_model(path):
    found = {}
    for row in open_rows(path)[1].rows:
        found.setdefault(row.fields["model"], []).append(row)
    return found


def test_promptfoo_with_several_providers_has_one_prompt(write):
    plain = "Say {{text}}"
    found = rows_by_model(write(promptfoo_results(("openai:a", "", plain), ("openai:b", "", plain))))
    assert {name: [row.fields["prompt"] for row in rows] for name, rows in found.items()} == {
        "openai:a": ["Say cat", "Say dog"],
        "openai:b": ["Say cat", "Say dog"],
    }


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ([("a", "", "Say {{text}}"), ("a", "", "Shout {{text}}")], ["a Say {{text}}", "a Shout {{text}}"]),
        ([("a", "", "Say {{text}}"), ("a", "", "Say {{text}}")], ["a (1)", "a (2)"]),
        ([("a", "hot", "Say {{text}}"), ("a", "cold", "Say {{text}}")], ["hot", "cold"]),
        ([("a", "ours", "Say {{text}}"), ("b", "ours", "Say {{text}}")], ["ours (a)", "ours (b)"]),
    ],
    ids=["two prompts", "one provider twice", "two labels", "one label of two"],
)
def test_every_column_of_promptfoo_is_a_system(write, columns, names):
    found = rows_by_model(write(promptfoo_results(*columns)))
    assert list(found) == names
    assert [rows[0].fields["output"] for rows in found.values()] == ["cat of 0, 0", "cat of 1, 0"]


def test_repetitions_of_promptfoo_are_epochs(write):
    plain = ("openai:a", "", "Say {{text}}")
    rows = rows_by_model(write(promptfoo_results(plain, repeat=3)))["openai:a"]
    assert [(row.fields["id"], row.epoch) for row in rows] == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]
    once = rows_by_model(write(promptfoo_results(plain)))["openai:a"]
    assert [(row.fields["id"], row.epoch) for row in once] == [(0, 0), (1, 0)]


def test_repetitions_of_promptfoo_are_told_apart_in_each_column(write):
    plain = "Say {{text}}"
    found = rows_by_model(write(promptfoo_results(("a", "", plain), ("b", "", plain), repeat=2)))
    assert {name: [row.epoch for row in rows] for name, rows in found.items()} == {"a": [1, 2] * 2, "b": [1, 2] * 2}


def test_repetitions_and_a_provider_that_stands_twice_in_a_csv_of_promptfoo_are_told_apart(write):
    after = "Status,Score,Named Scores,Grader Reason,Comment"
    rows = "".join(f"{word},one {word},PASS,1,,,,two {word},FAIL,0,,,\n" for word in ("cat", "cat", "dog"))
    found = rows_by_model(write(f"text,[a] Say,{after},[a] Say,{after}\n{rows}"))
    assert {name: [(row.fields["id"], row.epoch) for row in of] for name, of in found.items()} == {
        "a (1)": [(0, 1), (0, 2), (1, 1)],
        "a (2)": [(0, 1), (0, 2), (1, 1)],
    }


def each_of(document, *path):
    """What stands at a path, in which `*` is every entry of a list."""
    found = [document]
    for part in path:
        found = [one for held in found for one in held] if part == "*" else [held[part] for held in found]
    return found


# Where each format says how an output ended: the objects that hold the field, and the field.
REASONS = {
    "inspect": (("samples", "*", "output", "choices", "*"), "stop_reason"),
    "promptfoo": (("results", "results", "*", "response"), "finishReason"),
    "helm": (("request_states", "*", "result", "completions", "*"), "finish_reason"),
    "openai-batch": (("*", "response", "body", "choices", "*"), "finish_reason"),
    "anthropic-batch": (("*", "result", "message"), "stop_reason"),
    "rows": (("*",), "finish_reason"),
}


def with_reason(name, reason):
    """A sample file of a format, of which every output says that it ended so."""
    path, field = REASONS[name]
    raw = inspect_document() if name == "inspect" else SAMPLES[name].content
    if path[0] != "*":
        document = json.loads(raw)
        for holder in each_of(document, *path):
            holder[field] = {"reason": reason} if name == "helm" else reason
        return json.dumps(document).encode()
    lines = [json.loads(line) for line in raw.decode().splitlines() if line.strip()]
    for holder in each_of(lines, *path):
        holder[field] = reason
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


@pytest.mark.parametrize("name", list(REASONS))
@pytest.mark.parametrize(("reason", "ended"), [("stop", "whole"), ("max_tokens", "cut"), ("refusal", "filtered")])
def test_how_an_output_ended_is_read_from_the_file(write, name, reason, ended):
    rows = read_outputs(write(with_reason(name, reason))).rows
    assert {located.row.ended for located in rows} == {ended}
    assert len(rows) == len(SAMPLES[name].outputs)


@pytest.mark.parametrize("name", list(REASONS))
def test_what_a_server_broke_off_is_no_output_of_a_file(write, name):
    path = write(with_reason(name, "network_error"))
    with pytest.raises(DataError, match="there is no output: it was broken off by the server"):
        read_outputs(path)
    found = read_outputs(path, allow_failed=True)
    assert (len(found.rows), found.failed) == (0, len(SAMPLES[name].outputs))


def test_responses_of_openai_say_that_they_are_incomplete(write):
    body = {
        "model": "m", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "half"}]}],
    }  # fmt: skip
    line = {"custom_id": "1", "response": {"status_code": 200, "body": body}}
    (located,) = read_outputs(write(json.dumps(line))).rows
    assert (located.row.output, located.row.ended) == ("half", "cut")


@pytest.mark.parametrize("name", ["inspect", "promptfoo"])
def test_a_sample_with_an_error_has_the_score_that_its_tool_counts(write, name):
    document = json.loads(inspect_document() if name == "inspect" else SAMPLES[name].content)
    if name == "inspect":
        document["samples"][1] |= {"error": {"message": "TimeoutError()"}}
    else:
        document["results"]["results"][1] |= {"failureReason": 2, "error": "API error: 500", "score": 0}
    path = write(json.dumps(document))
    scorer = "match" if name == "inspect" else "score"
    assert [located.row.score for located in read_recorded(path, scorer).rows] == [1.0, 0.0]
    assert read_recorded(path, scorer).failed == 0
    with pytest.raises(DataError, match="there is no output"):
        read_outputs(path)


@pytest.mark.parametrize("more", [True, False])
def test_a_page_of_output_items_is_read_whole_or_refused(write, more):
    items = [json.loads(line) for line in output_items(("4", 1.0, None), ("6", 0.5, None)).splitlines()]
    path = write(json.dumps({"object": "list", "data": items, "has_more": more}))
    if more:
        with pytest.raises(DataError, match="the first 2 output items, and says that there are more"):
            read_outputs(path)
    else:
        assert rows_of(path) == SAMPLES["openai-output-items"].outputs


def batch_line(custom_id, text, status=200):
    """A line of an OpenAI batch: an answer, or a request that failed."""
    if text is None:
        return {"custom_id": custom_id, "response": {"status_code": status, "body": {"error": {"message": "again"}}}}
    body = {"model": "m", "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": body}}


def message_line(custom_id, text):
    """The same of an Anthropic batch."""
    if text is None:
        return {"custom_id": custom_id, "result": {"type": "expired"}}
    message = {"type": "message", "model": "m", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
    return {"custom_id": custom_id, "result": {"type": "succeeded", "message": message}}


@pytest.mark.parametrize("of", [batch_line, message_line])
def test_of_a_request_that_was_sent_again_the_last_answer_counts(write, of):
    lines = [of("1", None), of("2", "two"), of("1", "one"), of("2", None), of("3", "old"), of("3", "new")]
    found = read_outputs(write("".join(f"{json.dumps(line)}\n" for line in lines)))
    assert [(located.row.id, located.row.output) for located in found.rows] == [
        ("1", "one"),
        ("2", "two"),
        ("3", "new"),
    ]
    assert found.failed == 0
    with pytest.raises(DataError, match="there is no output"):
        read_outputs(write("".join(f"{json.dumps(of('1', None))}\n" for _ in range(2))))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('land,[demo:new] Name {{land}}\n0,"[FAIL] (0.00)\n\nno\n---\nParis"\n', "results.json"),
        ("<!DOCTYPE html>\n<html><body>4</body></html>", "HTML or XML"),
        ('{"results": {"gsm8k": {}}, "configs": {}, "versions": {}, "n-shot": {}}', "--log_samples"),
        ('{"adapter_spec": {}, "scenario_spec": {}, "name": "mmlu"}', "scenario_state.json"),
        ('[{"instruction": "p", "generator_1": "a", "generator_2": "b", "preference": 1.0}]', "judge=replay:FILE"),
        ('{"question_id": 1, "turn": 1, "judge": ["gpt-4"], "model_1": "a", "model_2": "b"}', "judge=replay:FILE"),
        ('{"uid": "u", "judge": "j", "model": "a", "baseline": "b", "games": []}', "judge=replay:FILE"),
        ('{"id": "batch_1", "object": "batch", "output_file_id": "file-1"}', "output_file_id"),
    ],
)
def test_files_that_are_known_and_not_read_are_refused_by_name(write, content, says):
    with pytest.raises(DataError, match="which is not read: ") as caught:
        read_outputs(write(content))
    assert says in str(caught.value)
    assert "map" not in str(caught.value)


def test_a_file_that_promptfoo_wrote_of_two_providers_is_read_as_it_meant(write):
    """Written by promptfoo 0.118.11 of one prompt, two providers and three tests, with an error and a cut output."""
    path = write(text("promptfoo_two_providers.json"))
    found = rows_by_model(path)
    assert {name: [row.fields["id"] for row in rows] for name, rows in found.items()} == {
        "demo:old": [0, 1, 2],
        "demo:new": [0, 1, 2],
    }
    assert {row.fields["prompt"] for row in found["demo:new"]} == {f"Name the capital of land {n}." for n in (1, 2, 3)}
    assert [row.ended for row in found["demo:new"]] == ["whole", "cut", "whole"]
    assert [bool(row.failed) for row in found["demo:old"]] == [False, False, True]
    assert {name: [row.scores["score"] for row in rows] for name, rows in found.items()} == {
        "demo:old": [0, 0, 0],
        "demo:new": [1, 1, 1],
    }
