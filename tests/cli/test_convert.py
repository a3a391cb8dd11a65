from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from formats.samples import FILES, SAMPLES, text

from judgeloop.cli.app import app
from judgeloop.formats.catalogue import FORMATS
from judgeloop.formats.rows import read_outputs


def invoked(*arguments):
    return CliRunner().invoke(app, ["convert", *map(str, arguments)], catch_exceptions=False)


@pytest.fixture
def here(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def unnamed(row):
    return replace(row, model=None)


@pytest.mark.parametrize("name", [row.name for row in FORMATS if SAMPLES[row.name].outputs])
def test_a_converted_file_reads_the_same(here, name):
    (here / "in").write_bytes(SAMPLES[name].content)
    done = invoked("in", "-o", "out.jsonl")
    assert done.exit_code == 0, done.stderr
    rows = [located.row for located in read_outputs(here / "out.jsonl").rows]
    assert [*map(unnamed, rows)] == [*map(unnamed, SAMPLES[name].outputs)]
    assert f"{len(SAMPLES[name].outputs)} row" in done.stderr


def test_recorded_scores_are_kept(here):
    (here / "in").write_bytes(SAMPLES["inspect"].content)
    invoked("in", "-o", "out.jsonl")
    rows = [json.loads(line) for line in (here / "out.jsonl").read_text().splitlines()]
    assert [row["scores"] for row in rows] == [{"match": 1.0}, {"match": 0.0}]


def test_one_system_of_several_is_written(here):
    (here / "in").write_bytes(text("alpaca_eval_near_miss.json"))
    assert "judgeloop convert FILE --system NAME" in invoked("in", "-o", "out.jsonl").stderr
    assert not (here / "out.jsonl").exists()
    assert invoked("in", "-o", "out.jsonl", "--system", "gpt4").exit_code == 0
    assert read_outputs(here / "out.jsonl").system == "gpt4"
    done = invoked("in", "-o", "out.jsonl", "--system", "gpt5")
    assert (done.exit_code, "found 'text_davinci_003', 'gpt4'" in done.stderr) == (2, True)


def test_questions_become_items(here):
    invoked(FILES / "mt_bench_questions.jsonl", "-o", "items.jsonl")
    rows = [json.loads(line) for line in (here / "items.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["81", "101"]
    assert all("output" not in row for row in rows)


def test_failed_requests_are_left_out_if_allowed_and_counted(here):
    (here / "in").write_bytes(text("openai_batch_failed.jsonl"))
    assert "--allow-partial" in invoked("in", "-o", "out.jsonl").stderr
    assert "left out 2 items without an output" in invoked("in", "-o", "out.jsonl", "--allow-partial").stderr


@pytest.mark.parametrize("output", ["in", "no/such/folder.jsonl", "."])
def test_a_file_that_cannot_be_written_is_refused(here, output):
    (here / "in").write_bytes(text("alpaca_eval.json"))
    before = (here / "in").read_bytes()
    done = invoked("in", "-o", output)
    assert done.exit_code == 2
    assert (here / "in").read_bytes() == before


def test_columns_are_mapped(here):
    (here / "in").write_text("task;reply\nSum up.;Done.\n")
    assert "--map output=task" in invoked("in", "-o", "out.jsonl").stderr
    without = invoked("in", "-o", "out.jsonl", "--map", "output=reply")
    says = "a row needs the field 'id' or 'prompt'; found 'task', 'reply'; say which column it is"
    assert f"{says}, as in --map prompt=task" in without.stderr
    assert invoked("in", "-o", "out.jsonl", "--map", "prompt=task,output=reply").exit_code == 0
    assert json.loads((here / "out.jsonl").read_text()) == {"prompt": "Sum up.", "output": "Done."}
