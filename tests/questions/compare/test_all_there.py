"""Verdicts that are there already are all read, and one look decides."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm
from support.commandline import judgeloop, result_of

from judgeloop.core.records import UNLIMITED
from judgeloop.methods.stopping.bets import Bets, answers

ITEMS = 60


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write two systems and a table of their verdicts, of which each is 1, 0.5 or 0; the arguments of a comparison."""
    monkeypatch.chdir(tmp_path)

    def write(scores, families=None):
        for name in ("a", "b"):
            rows = [{"id": at, "prompt": f"p{at}", "output": f"{name}{at}"} for at in range(len(scores))]
            if families is not None:
                rows = [row | {"family": family} for row, family in zip(rows, families, strict=True)]
            (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        lines = [f"{at},a,b,{score}" for at, score in enumerate(scores)]
        (tmp_path / "v.csv").write_text("\n".join(["item_id,model_a,model_b,score", *lines]) + "\n")
        return ["compare", "a.jsonl", "b.jsonl", "--judge", "replay:v.csv"]

    return write


def test_a_lucky_start_names_nobody_where_all_verdicts_are_there(table):
    command = table([1, 0] * (ITEMS // 2))
    rehearsed = result_of(*command, "--rule", "bets", "--seed", 33)
    assert (rehearsed["winner"], rehearsed["judged"]) == ("a", 6), "which the bets do, within their risk"
    found = result_of(*command, "--ledger", "other", "--seed", 33)
    assert (found["winner"], found["judged"], found["rule"]) == (None, ITEMS, "once")


@pytest.mark.parametrize(("wins", "named"), [(36, None), (37, "a")])
def test_the_exact_sign_test_of_all_verdicts_names_the_winner(table, wins, named):
    found = result_of(*table([1] * wins + [0] * (ITEMS - wins)))
    p_value = binomtest(wins, ITEMS).pvalue
    assert found["risk"] == pytest.approx(p_value)
    assert found["winner"] == named
    assert (p_value <= 0.1) == (named is not None)


def test_an_open_end_says_how_many_items_more_would_decide_unless_the_two_are_level(table):
    """After r times as many items a lead of z standard deviations is beyond c with an even chance from r = (c / z)²."""
    found = result_of(*table([1] * 34 + [0] * 26))
    z, c = 8 / 60**0.5, norm.ppf(0.95)
    assert found["more_items"] == pytest.approx(60 * ((c / z) ** 2 - 1), rel=0.05)
    assert found["more_items_likely"] is None or found["more_items_likely"] > found["more_items"]
    assert [one["code"] for one in found["advice"]] != ["items_unknown"]
    level = result_of(*table([1, 0] * 30))
    assert (level["more_items"], [one["code"] for one in level["advice"]]) == (None, ["items_unknown"])


def test_of_families_the_sign_of_the_sum_is_one_observation(table):
    """Ten families of six: in nine a wins four items and loses two, in one it loses all."""
    scores = [1, 1, 1, 1, 0, 0] * 9 + [0] * 6
    found = result_of(*table(scores, [f"f{at // 6}" for at in range(60)]))
    assert found["winner"] == "a"
    assert found["risk"] == pytest.approx(binomtest(9, 10).pvalue)


@pytest.mark.parametrize("asked", [["--not-worse", "0.35"], ["--min-gap", "0.35"], ["--near-tie", "0.4"]])
def test_an_answer_about_a_gap_is_read_off_the_bounds_of_all_verdicts(table, asked):
    found = result_of(*table([1, 0] * (ITEMS // 2 - 1) + [0.5, 0]), *asked)
    assert (found["judged"], found["rule"]) == (ITEMS, "bets")
    assert found["exit_code"] == 0


def test_a_limit_or_a_rule_rehearses_a_run_that_asks(table):
    command = table([1] * ITEMS)
    for more in (["--rule", "bets"], ["--max-judgments", "50"]):
        found = result_of(*command, *more)
        assert found["rule"] == "bets"
        assert found["judged"] < ITEMS
    head, *lines = Path("v.csv").read_text().splitlines()
    Path("v.csv").write_text("\n".join([f"{head},cost_usd", *(f"{line},0.01" for line in lines)]))
    found = result_of(*command)
    assert (found["rule"], found["judged"] < ITEMS) == ("bets", True)


@pytest.mark.parametrize("asked", [{"min_gap": 0.2}, {"not_worse": 0.2}])
def test_bounds_that_are_read_at_the_end_are_wrong_with_at_most_the_risk(asked):
    """The first system is worse by just the gap, or the second is: 500 runs."""
    rule = Bets(0.1, UNLIMITED, ITEMS, **asked, read_once=True)
    draws = np.random.default_rng(6).choice([1, 0, -1], (500, ITEMS), p=[0.25, 0.3, 0.45])
    side, draws = (0, draws) if "min_gap" in asked else (1, -draws)
    assert 10 < (answers(rule.begin, draws)[1] == side).sum() <= binom.ppf(0.999, 500, 0.1)


def test_where_several_items_of_families_are_judged_figures_and_files_tell_one_story(table, tmp_path):
    """Most families are for "a", narrowly; the mean of the families is for "b". All items count in it."""
    families = [at // 5 for at in range(40)]
    command = table([float(at < 25 and at % 5 < 3) for at in range(40)], families)
    found = result_of(*command)
    assert (found["wins"], found["leader"], found["gap"]) == ({"a": 5, "b": 3}, "b", pytest.approx(0.25))
    text = " ".join(judgeloop(*command, "--details", "-o", "c.tex", "-o", "c.csv").stdout.split())
    assert text.count("all 40 items of 8 families") == 2, "what was judged, and for a paper"
    assert "votes 5 families for a, 3 for b, 0 ties gap b +25 points" in text
    assert "0 of 8 families" in text
    assert "& 8 families & 3 & 0 & 5 & +25 &" in (tmp_path / "c.tex").read_text()
    assert (tmp_path / "c.csv").read_text().count(",True,") >= 40


def test_another_question_about_recorded_verdicts_is_a_run_of_its_own(table):
    command = table([1] * 30 + [0] * 30)
    run = result_of(*command)["run"]
    done = judgeloop("runs", "show", run, "--not-worse", "0.5")
    assert (done.exit_code, "--not-worse 0.5" in done.stderr) == (2, True)
    text = judgeloop(*command, "--details").stdout
    assert "question that the bounds" not in " ".join(text.split())
    asked = judgeloop(*command, "--not-worse", "0.5")
    assert asked.exit_code == 0
