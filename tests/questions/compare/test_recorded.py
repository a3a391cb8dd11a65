"""Two finished runs are compared by the scores in their files: `recorded:NAME`, rule `once`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.text import unwrapped

import judgeloop
from judgeloop.cli.app import app
from judgeloop.core.errors import InputError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a", [1] * 9 + [0.5, 0.5, 0])
    write(tmp_path, "b", [0] * 9 + [0.5, 0.4, 0])
    return tmp_path


def write(folder, name, scores, **more):
    rows = [{"id": n, "prompt": f"q{n}", "score": s, **more} for n, s in enumerate(scores)]
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def compared(first="a.jsonl", second="b.jsonl", judge="recorded:score", **settings):
    return judgeloop.compare(first, second, judge=judge, **settings)


def invoked(*arguments):
    return CliRunner().invoke(app, ["compare", *arguments], catch_exceptions=False)


RECORDED = ("a.jsonl", "b.jsonl", "--judge", "recorded:score")


def test_all_items_are_compared_by_their_recorded_scores(here):
    result = compared()
    assert result.wins == {"a": 10, "b": 0}
    assert (result.ties, result.items, result.winner, result.exit_code) == (2, 12, "a", 0)
    assert result.risk == pytest.approx(2 / 2**10)
    assert result.recorded.means == {"a": pytest.approx(10 / 12), "b": pytest.approx(0.9 / 12)}
    assert result.recorded.win_share_interval[0] == pytest.approx(0.05 ** (1 / 10))
    assert result.labels[0].reason.startswith("scores ")


def test_turning_the_files_round_turns_the_result_round(here):
    turned = compared("b.jsonl", "a.jsonl")
    assert (turned.winner, turned.risk) == ("a", compared().risk)
    for text in (unwrapped(one.to_text()) for one in (turned, compared())):
        assert "; a less b +0.758" in text, "as the gap is for a"
        assert "whenever one looks, so that they are wider than the test's" in text
    low, high = compared().recorded.win_share_interval
    assert turned.recorded.win_share_interval == pytest.approx((1 - high, 1 - low))


def test_more_items_than_any_limit_are_all_compared(here):
    write(here, "a", [1.0, 0.0, 1.0] * 100)
    write(here, "b", [0.0, 1.0, 0.0] * 100)
    result = compared()
    assert (result.judged, result.wins, result.winner) == (300, {"a": 200, "b": 100}, "a")


def test_a_margin_makes_near_scores_ties(here):
    assert compared(tie_margin=0.2).ties == 3


def test_a_difference_that_chance_explains_leaves_it_undecided(here):
    write(here, "b", [0] * 2 + [1] * 7 + [0.5, 0.5, 0])
    result = compared()
    assert (result.winner, result.leader, result.exit_code) == (None, "a", 3)
    assert str(result).startswith(
        "? OPEN: no winner between a and b on items like these 12: a leads, but that may be chance."
    )


def test_level_runs_are_undecided_even_at_a_risk_of_one(here):
    write(here, "b", [1] * 9 + [0.5, 0.5, 0])
    result = compared(risk=1)
    assert (result.winner, result.exit_code) == (None, 3)
    assert "on items like these 12: they are level." in str(result)


@pytest.mark.parametrize(("required", "code"), [("a", 0), ("b", 5)])
def test_a_required_winner_counts_as_with_any_judge(here, required, code):
    assert compared(require_winner=required).exit_code == code
    with pytest.raises(InputError, match="expected one of a, b, found 'c'"):
        compared(require_winner="c")


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", 4), ("max_judgments", 9), ("selector", "diffuse"), ("items", "a.jsonl"), ("order", "fixed"), ("rubric", "be kind")],
)  # fmt: skip
def test_a_setting_without_effect_on_recorded_scores_is_refused(here, name, value):
    with pytest.raises(InputError, match=f'`{name}` has no effect with `judge="recorded:score"`'):
        compared(**{name: value})


def test_pace_and_money_may_be_set_as_they_change_nothing(here):
    assert compared(budget="2", concurrency=3).winner == "a"


def test_recorded_scores_and_the_rule_once_go_with_each_other_alone(here):
    assert compared(rule="once").winner == "a"
    with pytest.raises(InputError, match='`rule="bets"`: recorded scores are all known'):
        compared(rule="bets")
    with pytest.raises(InputError, match='`rule="once"` tests recorded scores; it applies to `judge="r'):
        compared(judge="metric:exact", rule="once")
    with pytest.raises(InputError, match="expected recorded:NAME alone, found 2 judges"):
        compared(judge=["recorded:score", "metric:exact"])


def test_other_questions_do_not_take_recorded_scores(here):
    write(here, "a", [1], output="x")
    with pytest.raises(InputError, match="only `compare`, with no other judge, reads recorded"):
        judgeloop.estimate("a.jsonl", judge="recorded:score")


def test_the_only_score_of_a_file_needs_no_name(here):
    assert compared(judge="recorded:").setup.judge == "recorded:score"
    row = {"id": 0, "scores": {"exact": 1, "fuzzy": 0.5}}
    (here / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(InputError, match='choose one: `judge="recorded:exact"`, `judge="recorded:fuzzy"`'):
        compared(judge="recorded:")


def test_a_file_given_twice_is_refused(here):
    with pytest.raises(InputError, match="this file is given twice"):
        compared("a.jsonl", "a.jsonl")


def test_the_command_costs_nothing_and_writes_no_ledger(here):
    done = invoked(*RECORDED, "-o", "page.html", "-o", "junit.xml")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("✓ DECIDED: a is better than b on items like these 12.\n")
    assert "  risk    p-value 0.002: " in done.stdout
    assert "cost" not in done.stdout
    assert "Warning: The set has only 12 items." in done.stdout
    assert "90 % interval" in invoked(*RECORDED, "--details").stdout
    assert "empty" not in done.stdout  # the files hold no outputs, and none are needed
    assert "scores 1 for a, 0 for b" in (here / "page.html").read_text()
    assert "a is better than b" in (here / "junit.xml").read_text()
    assert not (here / ".judgeloop").exists()


def test_python_and_the_command_line_give_the_same(here):
    values = json.loads(invoked(*RECORDED, "--json").stdout)
    result = compared().to_dict()
    assert values | {"labels": result["labels"]} == result | {"settings_files": {}}
    assert (values["about"], values["items"], values["rule"]) == ("like-these", 12, "once")


def test_a_dry_run_has_nothing_to_ask_and_shows_the_result(here):
    done = invoked(*RECORDED, "--dry-run")
    assert done.exit_code == 0
    assert "Nothing would be asked" in done.stdout
    assert "a is better than b" in done.stdout


def test_without_a_judge_the_message_names_the_scores_in_the_files(here):
    done = invoked("a.jsonl", "b.jsonl")
    assert done.exit_code == 2
    assert "compare the scores that the files hold: --judge recorded:score" in unwrapped(done.stderr)
    write(here, "a", [], rouge=1)
    assert "recorded" not in invoked("a.jsonl", "b.jsonl").stderr


def test_rows_in_memory_have_recorded_scores_too(here):
    rows = [{"id": n, "score": n % 2} for n in range(20)]
    result = compared(rows, [row | {"score": 0} for row in rows])
    assert (result.wins, result.winner) == ({"first": 10, "second": 0}, "first")


def test_what_was_not_asked_is_not_told(here):
    write(here, "a", [1] * 12, group="g")
    rows = (here / "a.jsonl").read_text().replace('"g"', '"h"', 6)
    (here / "a.jsonl").write_text(rows, encoding="utf-8")
    said = (compared(by_group="require", require_winner="a")).to_text()
    assert "The groups" in said
    assert "further judgment" not in said
    assert "none for recorded:score, which is no model" in said
