"""`compare --about`: decisions about items like these, and about these items alone."""

from __future__ import annotations

import json
import re

import pytest
from support import commandline
from support.outputs import write_outputs


def files(folder, first_right, both_wrong=0):
    """Write outputs of two systems; the first is right on so many more items."""
    first = ["yes"] * first_right + ["no"] * (10 - first_right + both_wrong)
    second = ["no"] * first_right + ["yes"] * (10 - first_right) + ["no"] * both_wrong
    return [
        write_outputs(folder / f"{name}.jsonl", outputs, reference="yes")
        for name, outputs in (("a", first), ("b", second))
    ]


def asked(tmp_path, monkeypatch, first_right, *more):
    monkeypatch.chdir(tmp_path)
    both = files(tmp_path, first_right)
    return commandline.judgeloop("compare", *both, "--judge", "metric:exact", *more)


def test_by_default_a_lead_that_is_certain_on_these_items_may_be_chance_on_others(tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 7)
    assert done.exit_code == 3
    assert done.stdout.startswith("? OPEN: no winner yet: a is 40 points ahead of b on these 10 items,")
    said = " ".join(done.stdout.split())
    assert re.search(r"a \+40 points against b \(-\d+ to \+\d+ on items like these\)", said), "what the bounds say"
    assert "about 50 % likely to decide" in said


def test_a_gate_without_an_answer_says_who_is_ahead_on_all_items(tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 6, "--not-worse", "0.1", "--controls", "off")
    assert done.exit_code == 3
    assert "it is not shown whether" in done.stdout
    assert "a is 20 points ahead of b on these 10 items" in " ".join(done.stdout.split())


def test_of_a_fixed_benchmark_the_leader_on_all_items_is_certain(tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 6, "--about", "items", "--risk", "0.01")
    assert done.exit_code == 0
    assert done.stdout.startswith("✓ DECIDED: a is better than b on these 10 items.")
    assert "risk    0: all items" in done.stdout


@pytest.mark.parametrize("what", [("--rule", "tie-aware"), ("--selector", "diffuse")])
def test_without_a_proof_a_decision_is_about_these_items(what, tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 9, *what)
    assert done.exit_code == 0
    assert done.stdout.startswith("✓ DECIDED: a is better than b on these 10 items.")
    values = json.loads(asked(tmp_path, monkeypatch, 9, *what, "--json").stdout)
    assert values["about"] == "items"


def test_a_clear_lead_decides_about_items_like_these(tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 10)
    assert done.exit_code == 0
    assert done.stdout.startswith("✓ DECIDED: a is better than b on items like these 10.")


def test_a_program_reads_the_population_and_how_many_items_would_decide(tmp_path, monkeypatch):
    values = json.loads(asked(tmp_path, monkeypatch, 7, "--json").stdout)
    assert (values["about"], values["winner"], values["leader"]) == ("like-these", None, "a")
    assert values["more_items"] > 0
    assert values["more_items_likely"] is None or values["more_items_likely"] > values["more_items"]
    assert values["risk"] is None


def test_level_systems_are_promised_nothing(tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 5)
    assert done.exit_code == 3
    assert "50 %" not in done.stdout


@pytest.mark.parametrize("what", [("--rule", "tie-aware"), ("--selector", "diffuse")])
def test_without_a_proof_nothing_is_said_about_items_like_these(what, tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 7, "--about", "like-these", *what)
    assert done.exit_code == 2
    assert "speaks of these items alone" in " ".join(done.stderr.split())


def test_giving_up_is_possible_although_the_limit_covers_all_items(tmp_path, monkeypatch):
    more = ("--give-up", "0.9", "--risk", "0.001")
    monkeypatch.chdir(tmp_path)
    both = files(tmp_path, 6, both_wrong=30)
    done = commandline.judgeloop("compare", *both, "--judge", "metric:exact", *more)
    assert done.exit_code == 3
    assert "a decision within the maximum number of judgments is unlikely" in " ".join(done.stdout.split())


@pytest.mark.parametrize("question", ["--not-worse", "--min-gap"])
def test_a_question_about_a_gap_is_asked_of_items_like_these(question, tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 0, question, "0.3")
    assert "on items like these 10" in " ".join(done.stdout.split()), done.output
    assert done.exit_code == 0


def test_one_order_of_each_comparison_cannot_decide_about_these_items(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = files(tmp_path, 6)
    judge = ("--judge", "openai/judge", "--judge-price", "1,10", "--judge-base-url", "http://x")
    more = ("--about", "items", "--order", "random")
    done = commandline.judgeloop("compare", *both, *judge, *more, OPENAI_API_KEY="k")
    assert done.exit_code == 2
    assert "use --order both, or leave --about out" in " ".join(done.stderr.split())


LEVEL = (
    r"Add (\d+) items to these 10, with --max-judgments (\d+): if the two were level, 4 of 5 such runs would name one"
)


def test_where_no_items_are_left_more_are_advised_with_a_limit_that_takes_them(tmp_path, monkeypatch):
    done = asked(tmp_path, monkeypatch, 6, "--min-gap", "0.05")
    assert done.exit_code == 3
    said = " ".join(done.stdout.split())
    (more, limit) = map(int, re.search(LEVEL, said).groups())
    assert limit == 10 + more
