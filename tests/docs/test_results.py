"""`benchmarks/results.py` makes a table by one command: what it takes, what it says first, what it writes where."""

from __future__ import annotations

import argparse
import json
import subprocess

import pytest
from docs.test_claims import RESULTS

PAGE = """\
before
<!-- table: realsumm-rouge2-rules -->
old
<!-- end -->
between
<!-- table: realsumm-rouge2 -->
kept
<!-- end -->
"""
RULES = [
    {"rule": "r", "risk": 0.1, "selector": "s", "judgments": 7.0, "error": 0.1, "error_se": 0.02, "success": 0.9,
     "inconclusive": 0.0, "success_met": 0.7, "inconclusive_met": 0.2, "gap": 0.2, "gap_error": None, "gap_success": 0.2, "gap_inconclusive": None},
]  # fmt: skip


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Runs the command on a page of its own, without replays: they are made as `RULES`; returns the names that ran."""
    page, ran = tmp_path / "tables.md", []
    page.write_text(PAGE)

    def made(name, arguments):
        ran.append(name)
        out = arguments.output / name
        out.mkdir(parents=True)
        (out / "rules.json").write_text(json.dumps(RULES))
        return out

    monkeypatch.setattr(RESULTS, "PAGE", page)
    monkeypatch.setattr(RESULTS, "run", made)
    monkeypatch.setattr(RESULTS, "lacking", lambda *_: [])

    def run(*flags):
        monkeypatch.setattr("sys.argv", ["results.py", "data", "-o", str(tmp_path / "out"), *flags])
        RESULTS.main()
        return ran

    return run


def test_a_name_is_taken_exactly_and_the_page_stays_as_it_is(command, tmp_path, capsys):
    assert command("--only", "realsumm-rouge2-rules") == ["realsumm-rouge2-rules"]
    assert (tmp_path / "tables.md").read_text() == PAGE
    written = (tmp_path / "out" / "realsumm-rouge2-rules.md").read_text()
    assert "| r | 0.1 | s | 7.0 | 10.0 ± 2.0 | 90.0 | 0.0 | 70.0 | 20.0 |" in written
    said = capsys.readouterr().out
    assert written in said
    assert "not the same as on the page" in said
    assert said.splitlines()[-1] == "realsumm-rouge2-rules: 0 s"


def test_write_changes_its_own_table_of_the_page_alone(command, tmp_path, capsys):
    command("--only", "realsumm-rouge2-rules", "--write", str(tmp_path / "tables.md"))
    page = (tmp_path / "tables.md").read_text()
    table = RESULTS.rules_table(RULES)
    assert page == PAGE.replace("old", table)
    (tmp_path / "out").rename(tmp_path / "first")
    command("--only", "realsumm-rouge2-rules")
    assert ": the same as on the page" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["realsumm", "ablation-base", "estimate-", "realsumm-rouge2,", ""])
def test_a_part_of_a_name_is_refused_with_the_names_there_are(text):
    with pytest.raises(argparse.ArgumentTypeError, match="realsumm-rouge2-rules"):
        RESULTS.names(text)


def test_flags_of_replays_change_figures_and_so_no_page(capsys):
    quick = RESULTS.parsed(["data", "-o", "out", "--only", "alpaca", "--", "--seeds", "2"])
    assert (quick.only, quick.flags) == (["alpaca"], ["--seeds", "2"])
    with pytest.raises(SystemExit) as refused:
        RESULTS.parsed(["data", "-o", "out", "--write", "--", "--seeds", "2"])
    assert refused.value.code == 2
    assert "--write" in capsys.readouterr().err


def test_what_is_missing_is_said_before_anything_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(RESULTS, "find_spec", lambda _: None)
    arguments = RESULTS.parsed([str(tmp_path), "-o", str(tmp_path / "out"), "--write"])
    monkeypatch.setattr(RESULTS, "parsed", lambda: arguments)
    with pytest.raises(SystemExit) as ended:
        RESULTS.main()
    assert not (tmp_path / "out").exists()
    said = str(ended.value)
    for words in ("items.jsonl", "verdicts-rouge2.csv.gz", "tiny-lm/model", "'.[embed]'", "matplotlib"):
        assert words in said


def test_recorded_vectors_need_no_model(tmp_path, monkeypatch):
    monkeypatch.setattr(RESULTS, "find_spec", lambda _: None)
    folder = tmp_path / "realsumm"
    (folder / "outputs").mkdir(parents=True)
    for name in ("items.jsonl", "verdicts-rouge2.csv.gz"):
        (folder / name).touch()
    arguments = RESULTS.parsed([str(tmp_path), "-o", str(tmp_path / "out")])
    assert [said for said in RESULTS.lacking(["realsumm-rouge2"], arguments) if "embed" in said]
    (folder / "minilm.npz").touch()
    assert RESULTS.lacking(["realsumm-rouge2"], arguments) == []


def test_recorded_hidden_states_need_no_model_but_for_the_search_for_the_layer(tmp_path, monkeypatch):
    monkeypatch.setattr(RESULTS, "find_spec", lambda _: None)
    folder = tmp_path / "tiny-lm"
    folder.mkdir()
    for name in ("outputs.jsonl", "verdicts-exact.csv.gz"):
        (folder / name).touch()
    arguments = RESULTS.parsed([str(tmp_path), "-o", str(tmp_path / "out")])
    assert len(RESULTS.lacking(["estimate-tiny-mean"], arguments)) == 2, "the model, and what runs it"
    (folder / "hidden.npz").touch()
    assert RESULTS.lacking(["estimate-tiny-mean"], arguments) == []
    assert len(RESULTS.lacking(["estimate-tiny-auto"], arguments)) == 2
    ran = []
    monkeypatch.setattr(
        "subprocess.run", lambda command, **_: ran.append(command) or subprocess.CompletedProcess([], 0)
    )
    for name in ("estimate-tiny-mean", "estimate-tiny-auto"):
        RESULTS.run(name, arguments)
    assert str(folder / "hidden.npz") in ran[0]
    assert f"hidden:{folder / 'model'}" in ran[1]


def test_one_table_of_several_replays_is_one_name():
    assert "ablation" in RESULTS.NAMES
    assert not set(RESULTS.ABLATIONS) & set(RESULTS.NAMES)
    assert RESULTS.replays_of("ablation") == [*RESULTS.ABLATIONS]
    assert RESULTS.replays_of("alpaca") == ["alpaca"]
