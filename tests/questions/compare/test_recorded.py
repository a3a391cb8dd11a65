from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.text import unwrapped

from judgeloop.cli.app import app
from judgeloop.core.errors import InputError
from judgeloop.questions.compare.config import CompareConfig
from judgeloop.questions.compare.recorded import recorded_of


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "a", [1] * 9 + [0.5, 0.5, 0])
    write(tmp_path, "b", [0] * 9 + [0.5, 0.4, 0])
    return tmp_path


def write(folder, name, scores):
    rows = [{"id": n, "prompt": f"q{n}", "output": "x", "score": s} for n, s in enumerate(scores)]
    (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def compared(**settings):
    return recorded_of(CompareConfig.of(first="a.jsonl", second="b.jsonl", **settings))


def test_all_items_are_compared_by_their_recorded_scores(here):
    result = compared()
    assert result.wins == {"a": 10, "b": 0}
    assert (result.ties, result.items, result.winner, result.exit_code) == (2, 12, "a", 0)
    assert result.p_value == pytest.approx(2 / 2**10)
    assert result.means == {"a": pytest.approx(10 / 12), "b": pytest.approx(0.9 / 12)}
    assert result.win_share_interval[0] == pytest.approx(0.05 ** (1 / 10))


def test_turning_the_files_round_turns_the_result_round(here):
    turned = recorded_of(CompareConfig.of(first="b.jsonl", second="a.jsonl"))
    assert (turned.winner, turned.p_value) == ("a", compared().p_value)
    low, high = compared().win_share_interval
    assert turned.win_share_interval == pytest.approx((1 - high, 1 - low))


def test_a_margin_makes_near_scores_ties(here):
    assert compared(tie_margin=0.2).ties == 3


def test_a_difference_that_chance_explains_leaves_it_undecided(here):
    write(here, "b", [0] * 2 + [1] * 7 + [0.5, 0.5, 0])
    result = compared()
    assert (result.winner, result.leader, result.exit_code) == (None, "a", 3)


@pytest.mark.parametrize(("required", "code"), [("a", 0), ("b", 5)])
def test_a_required_winner_counts_as_with_a_judge(here, required, code):
    assert compared(require_winner=required).exit_code == code
    with pytest.raises(InputError, match="expected one of a, b, found 'c'"):
        compared(require_winner="c")


@pytest.mark.parametrize(
    ("name", "value"),
    [("seed", 4), ("max_judgments", 9), ("selector", "diffuse"), ("items", "a.jsonl"), ("order", "fixed"), ("rubric", "be kind")],
)  # fmt: skip
def test_a_setting_that_needs_a_judge_is_refused(here, name, value):
    with pytest.raises(InputError, match=f"`{name}`: without a `judge`"):
        compared(**{name: value})


def test_pace_and_money_may_be_set_as_they_change_nothing(here):
    assert compared(budget="2", concurrency=3).winner == "a"


def test_a_file_given_twice_is_refused(here):
    with pytest.raises(InputError, match="this file is given twice"):
        recorded_of(CompareConfig.of(first="a.jsonl", second="a.jsonl"))


def invoked(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def test_the_command_without_a_judge_costs_nothing_and_writes_no_ledger(here):
    done = invoked("compare", "a.jsonl", "b.jsonl", "-o", "page.html")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:2] == [
        "a is better than b on items like these 12.",
        "Compared: all 12 items, by recorded scores. p-value: 0.002. Cost: $0.00, as nobody was asked.",
    ]
    assert "Warning: The set has only 12 items." in done.stdout
    assert "90 % interval" in done.stdout
    assert "scores 1 and 0" in (here / "page.html").read_text()
    assert not (here / ".judgeloop").exists()


@pytest.mark.parametrize("ending", [".json", ".md", ".txt", ".html", ".csv"])
def test_the_result_is_written_in_every_form(here, ending):
    assert invoked("compare", "a.jsonl", "b.jsonl", "-o", f"out{ending}").exit_code == 0
    assert (here / f"out{ending}").read_text()


def test_the_json_has_the_test_and_its_interval(here):
    values = json.loads(invoked("compare", "a.jsonl", "b.jsonl", "--json").stdout)
    assert values["recorded"] is True
    assert (values["about"], values["items"]) == ("items_like_these", 12)
    assert values["test"] == "exact sign test"
    assert len(values["win_share_interval"]) == 2
    assert values["spent_usd"] == 0


def test_without_scores_and_without_a_judge_both_remedies_are_named(here):
    (here / "a.jsonl").write_text('{"id": 0, "output": "x", "rouge": 1}')
    done = invoked("compare", "a.jsonl", "b.jsonl")
    assert done.exit_code == 2
    assert "--judge is needed" in done.stderr
    assert "--score COLUMN" in done.stderr


def test_a_score_beside_a_judge_is_refused(here):
    done = invoked("compare", "a.jsonl", "b.jsonl", "--judge", "metric:rouge2", "--score", "score")
    assert done.exit_code == 2
    assert "leave one of them out" in done.stderr


def test_level_runs_are_undecided(here):
    write(here, "b", [1] * 9 + [0.5, 0.5, 0])
    done = invoked("compare", "a.jsonl", "b.jsonl")
    assert done.exit_code == 3
    assert done.stdout.startswith(
        "No winner between a and b on items like these 12: the systems are level."
    )
    assert "every item is a tie" in unwrapped(done.stdout)
