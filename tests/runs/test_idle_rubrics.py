"""A rubric is a part of what every judge is asked that reads it; where none does, it is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.outputs import write_good_and_poor

from judgeloop import function_judge
from judgeloop.cli.app import app
from judgeloop.core.errors import InputError
from judgeloop.judges import human
from judgeloop.questions.compare.settings import CompareSettings
from judgeloop.questions.estimate.settings import EstimateSettings
from judgeloop.runs.inputs import read_inputs
from judgeloop.runs.judging import judge_options
from judgeloop.settings.run_settings import DoctorSettings

SHORTER, LONGER = "Prefer the shorter answer.", "Prefer the longer answer."
LIVE = {"OPENAI_API_KEY": "sk-none"}


@pytest.fixture(autouse=True)
def _two_systems(monkeypatch):
    write_good_and_poor(Path(), 6, reference="good")
    monkeypatch.setattr(human, "SECONDS_TO_GATHER", 0.005)


def by_hand(*arguments):
    """The result, and what the person read who pressed 3 or t at every question."""
    done = CliRunner().invoke(app, [*arguments, "--judge", "human", "--json"], input="3\nt\n" * 60)
    assert done.exit_code in {0, 3}, done.output
    return json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("question", [("compare", "a.jsonl", "b.jsonl"), ("estimate", "a.jsonl")])
def test_an_answer_by_one_rubric_is_none_by_the_opposite(question):
    runs = [by_hand(*question, "--rubric", rubric) for rubric in (SHORTER, LONGER)]
    for (result, screen), rubric in zip(runs, (SHORTER, LONGER), strict=True):
        assert result["rubric"] == rubric
        assert screen.count(rubric) == 6
        assert result["remembered"] == 0
    assert runs[0][0]["run"] != runs[1][0]["run"]
    again, screen = by_hand(*question, "--rubric", LONGER)
    assert again["remembered"] == 6
    assert LONGER not in screen


@pytest.mark.parametrize(
    ("name", "value"),
    [("rubric", SHORTER), ("verdict", "logprob"), ("lenient_replies", True), ("judge_effort", "low"),
     ("judge_max_tokens", 99), ("prompt", "pairwise.v1")],
)  # fmt: skip
def test_what_no_judge_reads_is_refused(name, value):
    own = function_judge(lambda first, second: "A", version="1")
    panels = [("metric:exact",), (own,), ("metric:exact", own), *([("human",)] if name != "rubric" else [])]
    for judges in panels:
        with pytest.raises(InputError, match=f"`{name}={value}` has no effect"):
            read_inputs(CompareSettings.of(first="a.jsonl", second="b.jsonl", judge=judges, **{name: value}), {})


def test_one_judge_of_a_panel_that_reads_it_is_enough():
    for judges in (("metric:exact", "openai/gpt-4.1"), ("openai/gpt-4.1",)):
        config = CompareSettings.of(first="a.jsonl", second="b.jsonl", judge=judges, rubric=SHORTER)
        assert read_inputs(config, LIVE).rubric == SHORTER
    rated = EstimateSettings.of(outputs="a.jsonl", judge="metric:exact", proxy="openai/gpt-4.1", rubric=SHORTER)
    assert read_inputs(rated, LIVE).rubric == SHORTER


def test_doctor_refuses_it_too():
    with pytest.raises(InputError, match="`rubric="):
        judge_options(DoctorSettings.of(judge=("metric:exact",), rubric=SHORTER), {})
