"""How to do it again: what was typed or called stands in the report, with its date, and no secret does."""

from __future__ import annotations

import hashlib
import re
import shlex
from csv import DictReader
from pathlib import Path

import pytest
from support.commandline import judgeloop

from judgeloop import compare
from judgeloop.questions.catalogue import QUESTIONS
from judgeloop.runs.again import masked
from judgeloop.settings.setting import declared, key

KEY = "planted-Key0123456789-abcdefgh"
FLAGS = sorted({key(name) for one in QUESTIONS for name in declared(one.settings())})


def pair(incidents):
    judged = ["--items", incidents / "items.jsonl", "--judge", "metric:rouge2"]
    return ["compare", incidents / "lead.jsonl", incidents / "central.jsonl", *judged]


def test_a_report_names_the_command_the_files_with_hashes_and_the_seed(incidents):
    variables = {"JUDGELOOP_MIN_JUDGMENTS": "11", "JUDGELOOP_JUDGE_API_KEY": KEY}
    judgeloop(*pair(incidents), "--seed", "7", "-o", "my report.html", **variables)
    html = Path("my report.html").read_text().rpartition("How to do it again")[2]
    typed = shlex.join(["judgeloop", *map(str, pair(incidents)), "--seed", "7", "-o", "my report.html"])
    set_ = "JUDGELOOP_DETAILS=true JUDGELOOP_JUDGE_API_KEY='[masked key]' JUDGELOOP_MIN_JUDGMENTS=11"
    shown = re.sub("</?span>", "", html)  # which keeps a flag on one line
    assert f"<pre>{set_} {typed}</pre>".replace("'", "&#x27;") in shown
    for name in ("lead.jsonl", "central.jsonl", "items.jsonl"):
        assert hashlib.sha256((incidents / name).read_bytes()).hexdigest() in html
    assert "<dt>seed</dt><dd>7</dd>" in html
    assert "ledger.sqlite" not in html, "the run writes it, and its hash says nothing"


@pytest.mark.parametrize("flag", FLAGS)
def test_a_key_in_any_flag_is_masked(flag):
    assert KEY not in masked(f"judgeloop compare --{flag} {KEY}", {"MY_API_KEY": KEY})
    assert KEY[8:] not in masked(f"judgeloop compare --{flag}=x{KEY}y", {"MY_API_KEY": KEY})


@pytest.mark.parametrize(
    "text",
    [
        "https://user:word@host/v1",
        "postgresql://me:word@host/ledger",
        "https://host/v1?api-version=1&key=word",
        "--rubric sk-proj-abcdefghijklmnop",
        "--system a.headers=AIzaSyA-abcdefghijklmnop123",
    ],
)
def test_what_looks_like_a_secret_is_masked_though_no_variable_holds_it(text):
    shown = masked(text, {})
    assert "[masked key]" in shown
    assert not any(part in shown for part in ("word", "abcdefghijklmnop"))


@pytest.mark.parametrize(
    "text",
    [
        "--names FuseChat-Gemma-2-9B-Instruct,Meta_Llama_3_1_8B_Instruct_v2",
        "--judge anthropic/claude-haiku-4-5-20251001 --budget '$2' --map id=case,output=answer",
        "/home/me/Runs/2026-11-24-Nightly/outputs_of_SystemA_version12.jsonl",
    ],
)
def test_names_of_models_and_files_stay(text):
    assert masked(text, {"OPENAI_API_KEY": "sk-0123456789"}) == text


def test_a_key_of_the_environment_stands_in_no_file_of_a_run(incidents, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    files = [f"result{ending}" for ending in (".html", ".json", ".md", ".txt", ".csv", ".xml")]
    judgeloop(*pair(incidents), *(part for file in files for part in ("-o", file)))
    written = [*map(Path, files), *Path(".judgeloop").rglob("*")]
    assert [path for path in written if path.is_file() and KEY.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(("which", "some"), [("all", True), ("lost", True), ("none", False)])
def test_the_settings_file_says_whose_texts_a_report_shows(incidents, which, some):
    Path("judgeloop.toml").write_text(f'[compare]\nreport-texts = "{which}"\n')
    judgeloop(*pair(incidents), "-o", "result.html")
    html = Path("result.html").read_text()
    assert ('<p class="text output"' in html) is some
    lost, won = (html.count(f'<span class="chip {kind}">') for kind in ("lost", "won"))
    opened = html.count('<details class="item')
    assert opened == {"all": 43, "lost": lost, "none": 0}[which]
    assert 0 < lost < won


@pytest.mark.parametrize("which", ["lost", "none"])
def test_a_report_of_a_past_run_shows_no_more_texts_than_the_environment_allows(incidents, monkeypatch, which):
    judgeloop(*pair(incidents), "-o", "all.html")
    assert '<p class="text output"' in Path("all.html").read_text()
    monkeypatch.setenv("JUDGELOOP_REPORT_TEXTS", which)
    judgeloop("runs", "show", "-o", "now.html", "-o", "now.csv")
    html, csv = Path("now.html").read_text(), Path("now.csv").read_text()
    assert html.count('<details class="item') == (html.count('chip lost">') if which == "lost" else 0)
    prompts = [row["prompt"] for row in DictReader(csv.splitlines())]
    assert len(list(filter(None, prompts))) == html.count('<details class="item')
    reasons = [row["reason"] for row in DictReader(csv.splitlines())]
    assert len(list(filter(None, reasons))) == html.count('<details class="item')


def test_a_report_of_a_past_run_has_the_settings_and_the_date_of_that_run(incidents, monkeypatch):
    monkeypatch.setenv("JUDGELOOP_REPORT_TEXTS", "none")
    judgeloop(*pair(incidents), "-o", "then.html")
    monkeypatch.delenv("JUDGELOOP_REPORT_TEXTS")
    monkeypatch.setattr("judgeloop.runs.again.datetime", None)  # there is no time but that of the run
    judgeloop("runs", "show", "-o", "later.html")
    assert Path("later.html").read_text() == Path("then.html").read_text()
    assert re.search(r"better\? · \d\d \w+ \d{4}, \d\d:\d\d UTC</p>", Path("later.html").read_text())


def test_a_call_in_python_says_how_it_is_made_again_and_its_files_with_hashes(incidents):
    first, second = incidents / "lead.jsonl", str(incidents / "central.jsonl")
    judged = {"items": incidents / "items.jsonl", "judge": "metric:rouge2", "max_judgments": 5}
    result = compare(first, second, **judged, environment={"MY_KEY": "lead.jsonl"}, progress=print)
    rows = {one.label: one.text for one in result.page.facts if one.section == "again"}
    items = str(judged["items"])
    assert rows["command"] == (
        f"judgeloop.compare('{first}', '{second}', items='{items}', judge='metric:rouge2', max_judgments=5)"
    ).replace("lead.jsonl", "[masked key]")
    assert rows[items] == f"sha256 {hashlib.sha256(judged['items'].read_bytes()).hexdigest()}"
    judgeloop("runs", "show", "-o", "again.html")
    assert "judgeloop.compare(" in Path("again.html").read_text()
