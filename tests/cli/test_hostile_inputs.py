"""Input that no person writes: each is refused by a sentence, in bounded time and memory."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from support.commandline import judgeloop
from support.text import unwrapped

import judgeloop as library
from judgeloop.core.errors import InputError
from judgeloop.formats import tables
from judgeloop.formats.tables import read_bytes
from judgeloop.providers.endpoint import ChatOptions, endpoint_for
from judgeloop.providers.openai import PROVIDER

ROWS = [{"id": str(number), "prompt": f"Say {number}.", "output": f"text {number}"} for number in range(6)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return ["compare", "a.jsonl", "b.jsonl", "--judge", "metric:exact"]


def refused(result, says, code=2):
    assert "Traceback" not in result.output
    assert result.exit_code == code, result.output
    assert says in " ".join(result.output.split())


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "fifo"])
def test_a_link_to_what_never_ends_is_refused(files, device):
    if device == "fifo":
        os.mkfifo("fifo")
    Path("c.jsonl").symlink_to(device)
    refused(judgeloop("compare", "a.jsonl", "c.jsonl", *files[3:]), "found a pipe or a device")


def test_a_pipe_that_the_shell_made_is_read(tmp_path):
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    assert read_bytes(Path(f"/dev/fd/{reading}")) == b"text"
    os.close(reading)


def test_a_small_file_does_not_become_a_large_one(files, monkeypatch):
    monkeypatch.setattr(tables, "ALWAYS_BYTES", 1 << 20)
    Path("c.jsonl").write_bytes(gzip.compress(bytes(2 << 20)))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", b" " * (2 << 20))
    Path("c.eval").write_bytes(archive.getvalue())
    for name in ("c.jsonl", "c.eval"):
        found = judgeloop("compare", "a.jsonl", name, *files[3:])
        refused(found, "has more than 1 MiB when decompressed")


def test_a_file_is_read_up_to_a_bound(files, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 50)
    refused(judgeloop(*files), "this file has more than 0 MiB")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[compare]\nitems = "a\\u0000b"', "items in x.toml: expected a text without NUL"),
        (f"[compare]\nseed = {'9' * 5000}", "this is no TOML"),
        (f"x = {'[' * 100_000}", "nested too deep"),
        (f'[compare]\nitems = "{"n" * 300}"', "names of at most 255 bytes"),
        (f'[compare]\nrubric = "{"n" * 300}"', None),
    ],
)
def test_a_settings_file_with_an_odd_value_is_refused(files, text, says):
    Path("x.toml").write_text(text)
    found = judgeloop(*files, "--config", "x.toml")
    if says is None:
        assert "Traceback" not in found.output
        assert found.exit_code != 1
    else:
        refused(found, says)


@pytest.mark.parametrize("value", ["1_0", "\u0661", "0x10"])
def test_a_number_in_an_unusual_form_is_refused(files, value):
    refused(judgeloop(*files, "--max-judgments", value), "--max-judgments")
    refused(judgeloop(*files, "--budget", value), "--budget")


@pytest.mark.parametrize("sign", ["\t", "\n", " ", "\u200b"])
def test_an_address_with_a_sign_that_is_not_seen_is_refused(sign):
    with pytest.raises(InputError, match="expected http"):
        endpoint_for(PROVIDER, ChatOptions(base_url=f"http://ho{sign}st/v1", offline=True))


def test_a_result_that_cannot_be_written_is_refused_before_anything_is_judged(files):
    refused(judgeloop(*files, "-o", "/proc/x.json"), "/proc/x.json cannot be written")
    assert not Path(".judgeloop").exists()


def test_an_id_of_thousands_of_digits_is_refused():
    rows = [{"id": 10**5000, "output": "x"}]
    with pytest.raises(InputError, match="a number of thousands of digits"):
        library.compare(rows, rows, judge="metric:exact")


def test_dates_that_python_has_no_value_for_are_refused(files):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    times = pyarrow.array([2**52, 2**52], pyarrow.timestamp("s"))
    table = pyarrow.table({"id": ["1", "2"], "output": ["x", "y"], "when": times})
    parquet.write_table(table, "c.parquet")
    found = judgeloop("compare", "a.jsonl", "c.parquet", *files[3:])
    refused(found, "this Parquet file cannot be read")


def test_data_frames_with_columns_of_one_name_or_of_numbers():
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame([["1", "x", "y"]], columns=["id", "output", "output"])
    with pytest.raises(InputError, match="give each column one name"):
        library.compare(twice, twice, judge="metric:exact")
    numbers = pandas.DataFrame([["1", "x"], ["2", "y"]])
    with pytest.raises(InputError, match="'0'"):
        library.compare(numbers, numbers, judge="metric:exact")


def test_a_judge_that_raises_cancelled_error_ends_the_run_with_a_sentence(tmp_path):
    def judge(prompt, first, second):
        raise asyncio.CancelledError

    found = library.compare(
        ROWS, [row | {"output": "other"} for row in ROWS], judge=judge, version="1",
        ledger=str(tmp_path / "l.sqlite"),
    )  # fmt: skip
    assert "raised CancelledError, though nobody had cancelled it" in found.stop_sentence


def test_a_new_ledger_is_said_and_may_be_refused(files, monkeypatch):
    references = "".join(f"{json.dumps(row | {'reference': 'text'})}\n" for row in ROWS)
    Path("a.jsonl").write_text(references)
    first = judgeloop(*files)
    assert "ledger: new, at .judgeloop/ledger.sqlite" in first.stderr
    assert "ledger: new" not in judgeloop(*files).stderr
    monkeypatch.setenv("JUDGELOOP_LEDGER_MUST_EXIST", "true")
    assert judgeloop(*files).exit_code == first.exit_code
    at = ["--ledger", "other.sqlite"]
    refused(judgeloop(*files, *at), "make a new ledger with `judgeloop ledger create --ledger other.sqlite`")
    checked = judgeloop("doctor", "--judge", "metric:exact", *at)
    assert checked.exit_code == 4
    assert "ledger --ledger other.sqlite: there is no ledger there" in unwrapped(checked.stdout)
    assert not Path("other.sqlite").exists(), "nor does a check make one"
    folder = judgeloop("ledger", "create", "--ledger", "sub/.judgeloop")
    refused(folder, "this looks like a folder; expected a file, as in --ledger sub/.judgeloop/ledger.sqlite")
    assert judgeloop("ledger", "create", *at).exit_code == 0
    refused(judgeloop("ledger", "create", *at), "there is a file already")
    assert judgeloop(*files, *at).exit_code == first.exit_code
