"""`ledger dump` and `ledger load`: what was paid for, as lines that any store takes."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from judgeloop.history.verdict_columns import VerdictColumns
from support.booked import COST_P, WORST_P, known, spent, write
from support.commandline import judgeloop

from judgeloop.cli.app import app
from judgeloop.core.errors import DataError
from judgeloop.ledger.dumping import dump, load
from judgeloop.ledger.inspection import inspect
from judgeloop.ledger.opening import open_reader

SCORES = {"k1": 1.0, "k2": 0.0, "k3": 0.5}
VERDICT = {
    "judge": "annotators",
    "item": "1",
    "prompt": "Why?",
    "systems": ["old", "new"],
    "outputs": ["a", "b"],
    "score": 0,
}


@pytest.fixture
def theirs(tmp_path):
    return write(tmp_path / "theirs.sqlite", SCORES, outputs=["o1"], unknown=1, in_flight=1)


def test_a_dump_is_taken_whole_into_either_store_once(theirs, address):
    found = load(address, dump(theirs), "lines")
    assert (found.attempts, found.verdicts, found.outputs) == (5, 3, 1)
    assert found.spent_p == 4 * COST_P + WORST_P
    assert known(address, SCORES) == SCORES
    assert spent(address)["elsewhere"] == found.spent_p, "it counts for no budget here"
    assert not inspect(address).problems
    again = load(address, dump(theirs), "lines")
    assert (again.attempts, again.verdicts, again.outputs) == (0, 0, 0)


def test_what_a_store_dumps_another_file_takes(theirs, address, tmp_path):
    load(address, dump(theirs), "lines", own=True)
    back = tmp_path / "back.sqlite"
    load(back, dump(address), "lines")
    assert known(back, SCORES) == SCORES
    with open_reader(address) as one, open_reader(back) as other:
        mine, its = VerdictColumns.of(one.history(None)), VerdictColumns.of(other.history(None))
    assert mine.scores.tolist() == its.scores.tolist() == list(SCORES.values())
    assert set(mine.places.values()) == set(its.places.values())


def test_a_ledger_that_loads_its_own_dump_takes_nothing(theirs):
    found = load(theirs, list(dump(theirs)), "lines")
    assert (found.attempts, found.verdicts, found.outputs) == (0, 0, 0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: row | {"key": "0" * 64}, "the key of the verdict is not that of its ingredi"),
        (lambda row: row | {"score": 2.0}, "CHECK constraint failed"),
        (lambda row: row | {"attempt": 99}, "no line before has its attempt 99"),
        (lambda row: {"seq": 1}, "attempt, cost_p, key, reason, score differ"),
    ],
)
def test_a_verdict_that_was_changed_is_refused_and_nothing_is_taken(change, says, theirs, tmp_path):
    lines = [json.loads(line) for line in dump(theirs)]
    at = next(at for at, line in enumerate(lines) if "verdict" in line)
    lines[at]["verdict"] = change(lines[at]["verdict"])
    new = tmp_path / "new.sqlite"
    with pytest.raises(DataError, match=says) as refused:
        load(new, map(json.dumps, lines), "night.jsonl")
    assert str(refused.value).startswith(f"night.jsonl, line {at + 1}: ")
    assert not new.exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("no JSON", "Expecting value"),
        ("[]", "it is no object with one key"),
        ('{"budget": {}}', "'budget' is none of ledger, recorded, run, attempt, verdict, output"),
        ('{"ledger": {"form": "judgeloop ledger", "version": 9, "id": "x"}}', "'version': 9"),
        (json.dumps({"recorded": {"judge": "j", "item": "1"}}), "'prompt' is missing"),
        (json.dumps({"recorded": VERDICT | {"at": "yesterday"}}), "Invalid isoformat string"),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_place(line, says, tmp_path):
    with pytest.raises(DataError, match="expected a line of `judgeloop ledger dump`") as refused:
        load(tmp_path / "new.sqlite", ["", line], "night.jsonl")
    assert str(refused.value).startswith("night.jsonl, line 2: ")
    assert says in str(refused.value)


def test_a_recorded_verdict_is_history_and_answers_no_call(address):
    load(address, [json.dumps({"recorded": VERDICT})], "lines")
    with open_reader(address) as reader:
        found = VerdictColumns.of(reader.history(None))
    assert found.preferences.tolist() == [-1]
    assert list(found.names.values()) == ["old", "new"]
    assert [f"{judge.provider}:{judge.model}" for judge in found.judges.values()] == ["recorded:annotators"]
    assert spent(address)["run"] == 0


def test_lines_pass_through_a_pipe(theirs, tmp_path):
    out = judgeloop("ledger", "dump", "--ledger", theirs)
    assert out.exit_code == 0, out.output
    new = tmp_path / "new.sqlite"
    load_it = ["ledger", "load", "-", "--ledger", str(new)]
    done = CliRunner().invoke(app, load_it, input=out.stdout)
    assert done.exit_code == 0, done.output
    assert known(new, SCORES) == SCORES


@pytest.mark.parametrize("bytes_", [b"\xff\xfe", b'{"recorded": "\xff"}\n'])
def test_a_file_that_is_no_text_is_refused(bytes_, tmp_path):
    file = tmp_path / "night.jsonl"
    file.write_bytes(bytes_)
    done = judgeloop("ledger", "load", file, "--ledger", tmp_path / "new.sqlite")
    assert done.exit_code == 2
    assert "night.jsonl" in done.stderr
    assert not (tmp_path / "new.sqlite").exists()


def test_a_loaded_run_is_listed_as_one_of_another_ledger(theirs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    load(tmp_path / "new.sqlite", dump(theirs), "lines")
    (run,) = json.loads(judgeloop("runs", "--ledger", "new.sqlite", "--json").stdout)
    assert run["state"] == "elsewhere"
    assert run["headline"] == "no result here: it was asked with another ledger"
