"""`compare --not-worse`: what is said, with which exit code, and what goes with it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest
from support import commandline
from support.outputs import write_outputs

import judgeloop

ITEMS = 100


def command(*arguments):
    return commandline.judgeloop("compare", *arguments)


@pytest.fixture
def old(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return outputs(tmp_path / "old.jsonl", 50)


def outputs(path, right):
    """Write a system's outputs, of which so many are right."""
    return write_outputs(path, ["yes"] * right + ["no"] * (ITEMS - right), reference="yes")


@pytest.fixture
def new(old, request):
    """A system that is right on more items than the old one, or on fewer."""
    return outputs(old.with_name("new.jsonl"), 50 + request.param)


def asked(old, new, *more):
    return command(old, new, "--judge", "metric:exact", "--not-worse", "0.2", *more)


@pytest.mark.parametrize("new", [-4, 0, 30], indirect=True)
def test_a_system_that_is_level_a_little_worse_or_better_passes(old, new):
    done = asked(old, new)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("new is not worse than old by more than 0.2 on these 100 items.")
    assert "(guaranteed)" in done.stdout
    assert "ever giving a wrong answer" in " ".join(done.stdout.split())
    assert "asks whether the gap for old is above 0.2" in " ".join(done.stdout.split())


@pytest.mark.parametrize("new", [-45], indirect=True)
def test_a_system_that_is_worse_fails(old, new, tmp_path):
    done = asked(old, new, "-o", "report.xml")
    assert done.exit_code == 5, done.output
    assert done.stdout.startswith(
        "FAILED: new is worse than old by more than 0.2 on these 100 items."
    )
    suite = ET.parse(tmp_path / "report.xml").getroot()
    assert suite.find(".//failure").get("message").startswith("FAILED: new is worse")
    assert asked(old, new, "--risk", "0.05").exit_code == 5


@pytest.mark.parametrize("new", [-20], indirect=True)
@pytest.mark.parametrize("items", [30, 100])
def test_at_the_margin_only_all_items_answer_and_then_it_passes(old, new, items):
    done = asked(old, new, "--max-judgments", items, "--risk", "0.0001")
    assert done.exit_code == (0 if items == ITEMS else 3)
    if items < ITEMS:
        said = (
            "Not known yet: is new worse than old by more than 0.2 on these 100 items? The maximum"
        )
        assert " ".join(done.stdout.split()).startswith(said)
        assert "would probably be enough" in done.stdout


@pytest.mark.parametrize("new", [0], indirect=True)
def test_a_program_reads_the_answer(old, new):
    values = json.loads(asked(old, new, "--json").stdout)
    assert (values["stop_reason"], values["winner"], values["not_worse"]) == (
        "not_worse",
        None,
        0.2,
    )
    assert (values["exit_code"], values["rule"]) == (0, "anytime")
    assert values["risk"] <= 0.1
    assert values["more_judgments"] is None
    result = judgeloop.compare(old, new, judge="metric:exact", not_worse=0.2)
    assert (result.exit_code, result.stop_reason) == (0, "not_worse")
    assert str(result).startswith("new is not worse than old")


@pytest.mark.parametrize("new", [40], indirect=True)
def test_a_dry_run_expects_level_systems(old, new):
    done = asked(old, new, "--dry-run")
    assert done.exit_code == 0
    assert "The expected case assumes 35 % wins each and 30 % ties." in done.stdout
    assert asked(old, new).exit_code == 0
    assert "not worse than old" in asked(old, new, "--dry-run").stdout


@pytest.mark.parametrize("new", [0], indirect=True)
def test_a_level_tally_says_how_many_judgments_would_answer(old, new):
    done = asked(old, new, "--max-judgments", "6", "JUDGELOOP_MIN_JUDGMENTS=6")
    assert done.exit_code == 3
    assert "more judgments" in done.stdout


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize(
    ("other", "said"),
    [
        (["--near-tie", "0.1"], "--near-tie 0.1 does not go with --not-worse 0.2"),
        (["--give-up", "0.1"], "--give-up 0.1 does not go with --not-worse 0.2"),
        (["--require-winner", "new"], "--require-winner new does not go with --not-worse 0.2"),
        (["--rule", "sequential"], "it applies to --rule anytime"),
        (["--rule", "tie-aware"], "it applies to --rule anytime"),
    ],
)
def test_settings_of_another_question_are_refused(old, new, other, said):
    done = asked(old, new, *other)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize("new", [0], indirect=True)
@pytest.mark.parametrize("margin", ["0", "1", "-0.1", "much"])
def test_a_margin_is_above_0_and_below_1(old, new, margin):
    done = command(old, new, "--judge", "metric:exact", f"--not-worse={margin}")
    assert done.exit_code == 2
    assert "--not-worse" in done.stderr


@pytest.mark.parametrize("new", [0], indirect=True)
def test_recorded_scores_do_not_answer_it(old, new):
    done = command(old, new, "--not-worse", "0.1", "--judge", "recorded:score")
    assert done.exit_code == 2
    assert "--not-worse has no effect with --judge recorded:score" in done.stderr
