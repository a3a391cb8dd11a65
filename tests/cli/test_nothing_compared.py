"""What a command says where there is nothing to rely on: identical outputs, a judge that knows one place, no result."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.commandline import judgeloop
from support.outputs import write_outputs
from support.text import unwrapped

from judgeloop.core.outcomes import Outcome
from judgeloop.report.notes import NoteCode
from judgeloop.report.page import BADGES

GATE = ("--not-worse", "0.2")
PLACE = "def first(first, second):\n    return 'A'\n"


@pytest.fixture
def pair():
    """Two files of 80 outputs, all of which are the same."""
    texts = [f"answer {n}" for n in range(80)]
    return [str(write_outputs(Path(f"{name}.jsonl"), texts, reference="yes")) for name in ("old", "same")]


def compared(pair, *more):
    done = judgeloop("compare", *pair, "--judge", "metric:token-f1", *more, "--details")
    assert "for a paper" not in done.stdout
    return done, json.loads(judgeloop("compare", *pair, "--judge", "metric:token-f1", *more, "--json").stdout)


def test_a_gate_on_identical_outputs_passes_and_its_first_lines_say_that_nothing_was_compared(pair):
    done, found = compared(pair, *GATE, "-o", "same.html")
    assert (done.exit_code, found["claim"]) == (0, "not_worse")
    first, *rest = done.stdout.split("\n\n")
    assert first.startswith("✓ PASSED, in doubt: ")
    assert "nothing was compared" in unwrapped(first)
    assert found["warnings"][0]["code"] == NoteCode.ALL_IDENTICAL
    assert found["warnings"][0]["judged"] == found["judged"] < 80
    labels = [line.split()[0] for line in rest[0].split("\n") if line.startswith("  ")]
    assert "risk" not in labels, "what promises something about verdicts is about none"
    assert "was asked about none" in rest[0]
    assert f"ties of identical outputs {found['judged']}" in unwrapped(Path("same.html").read_text()).replace(":", "")


def test_who_wants_a_gate_on_identical_outputs_to_fail_says_so(pair):
    assert compared(pair, *GATE, "JUDGELOOP_FAIL_ON_WARNING=true")[0].exit_code == 5


@pytest.mark.parametrize(("more", "code", "outcome"), [((), 3, "undecided"), (("--about", "items"), 0, "decided")])
def test_outputs_that_are_all_identical_are_said_without_a_gate(pair, more, code, outcome):
    done, found = compared(pair, *more)
    assert (done.exit_code, found["outcome"], found["ties"]) == (code, outcome, 80)
    assert found["advice"] == [], "no number of judgments would decide"
    assert "nothing was compared" in unwrapped(done.stdout.split("\n\n")[0])


def test_a_result_that_is_not_relied_on_promises_nothing_and_none_of_its_tests_hides_it(tmp_path):
    files = [str(write_outputs(Path(f"{name}.jsonl"), [f"{name} {n}" for n in range(80)])) for name in "ab"]
    Path("places.py").write_text(PLACE)
    judge = ("--judge", "python:places:first", "--allow-plugins", *GATE)
    done = judgeloop(
        "compare", *files, *judge, "-o", "broken.xml", "-o", "broken.md", "-o", "broken.html", PYTHONPATH="."
    )
    assert done.exit_code == 4, done.output
    for said in (done.stdout, *(Path(f"broken.{form}").read_text() for form in ("md", "html"))):
        assert "uaranteed" not in said
    answer, flips, *_ = ET.parse("broken.xml").getroot()
    assert (answer.find("error").get("type"), flips.find("error").get("type")) == ("exit code 4",) * 2
    assert Path("broken.md").read_text().split("### ")[1].startswith(BADGES[Outcome.BROKEN].mark)


def test_a_weak_gate_is_warned_of_as_long_as_it_has_no_result(tmp_path):
    files = [str(write_outputs(Path(f"{name}.jsonl"), [f"{name} {n}" for n in range(80)])) for name in "ab"]
    Path("broken.py").write_text("def judge(first, second):\n    raise RuntimeError('no memory')\n")
    weak = ("--judge", "python:broken:judge", "--allow-plugins", "--not-worse", "0.05")
    for _ in range(2):
        done = judgeloop("compare", *files, *weak, PYTHONPATH=".")
        assert done.exit_code == 4
        assert "an equal system passes in only" in unwrapped(done.stderr)
        run = json.loads(judgeloop("runs", "--json").stdout)[0]["run"]
        assert f"judgeloop runs show {run[:8]}" in done.stderr, "a run that broke is named"


def test_a_flag_that_took_the_next_one_for_its_value_is_named(pair):
    done = judgeloop("compare", *pair, "--judge", "metric:token-f1", "--by-group", "-o", "x.html")
    assert done.exit_code == 2
    assert "--by-group needs" in done.stderr
    assert "too many" not in done.stderr
