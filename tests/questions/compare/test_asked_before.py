"""A result says how often this was asked: each candidate and each seed has a risk of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import commandline
from support.outputs import write_outputs
from support.text import unwrapped

ITEMS = 20


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def ask(candidate, *more, baseline="old", judge="metric:token-f1", items=ITEMS):
        for name, word in ((baseline, "yes"), (candidate, "no")):
            texts = [f"{word} {name} {n}" for n in range(items)]
            write_outputs(tmp_path / f"{name}.jsonl", texts, reference=f"yes {baseline} 1")
        files = [str(tmp_path / f"{name}.jsonl") for name in (baseline, candidate)]
        return commandline.judgeloop("compare", *files, "--judge", judge, *more)

    return ask


def number(done):
    return json.loads(done.stdout)["comparison"]


def test_each_candidate_and_seed_against_the_same_baseline_is_counted(asked):
    assert number(asked("new1", "--json")) == 1
    assert number(asked("new2", "--json")) == 2
    assert number(asked("new2", "--json", "--seed", "5")) == 3
    values = json.loads(asked("new3", "--json").stdout)
    assert values["comparison"] == 4
    assert values["wrong_expected"] == pytest.approx(0.4)


def test_a_seed_counts_where_every_verdict_is_known_and_free(asked):
    assert [number(asked("new1", "--json", "--seed", str(seed))) for seed in range(1, 9)] == [*range(1, 9)]


def test_each_question_counts_with_the_same_seed(asked):
    asked("new1")
    assert number(asked("new1", "--json", "--min-gap", "0.2")) == 2
    assert number(asked("new1", "--json", "--not-worse", "0.2")) == 3
    assert number(asked("new1", "--json")) == 1  # the same command again


def test_each_earlier_comparison_adds_the_risk_that_it_was_run_at(asked):
    asked("new1", "--risk", "0.2")
    asked("new2", "--risk", "0.05")
    values = json.loads(asked("new3", "--json").stdout)
    assert values["wrong_expected"] == pytest.approx(0.35)


def test_a_rule_that_promises_nothing_adds_a_whole_wrong_name(asked):
    asked("new1", "--rule", "tie-aware")
    assert json.loads(asked("new2", "--json").stdout)["wrong_expected"] == pytest.approx(1.1)


def test_more_items_do_not_make_a_first_comparison(asked):
    asked("new1")
    assert number(asked("new2", "--json", items=ITEMS + 5)) == 2


def test_the_first_says_nothing_and_the_next_says_what_the_risks_add_up_to(asked):
    assert "wrongly" not in asked("new1").stdout
    said = " ".join(asked("new2", "--risk", "0.05").stdout.split())
    assert (
        "before old was in 1 other test by this judge; with this test, the chance of any wrong decision is at most 0.15"
        in said
    )
    said = unwrapped(asked("new2", "--risk", "0.05", "--details").stdout)
    assert "if no candidate was chosen, or changed, because of verdicts on these items" in said


def test_the_baseline_is_the_system_that_is_not_required(asked):
    asked("new1")
    said = asked("new1", "--require-winner", "old", "--controls", "off")
    assert "comparison 2" not in said.stdout  # the first with new1 as the baseline


def test_a_repeated_command_is_the_same_comparison(asked):
    asked("new1")
    first, again = (number(asked("new2", "--json")) for _ in range(2))
    assert (first, again) == (2, 2)


def test_another_baseline_or_another_judge_is_counted_by_itself(asked):
    asked("new1")
    assert number(asked("new1", "--json", baseline="other")) == 1
    assert number(asked("new1", "--json", judge="metric:rouge2")) == 1


def test_a_search_that_may_have_chosen_the_two_is_counted_and_warned_of(asked, tmp_path):
    for name in ("new1", "new2"):
        asked(name, "--ledger", "other.sqlite")
    old, *two = [str(tmp_path / f"{name}.jsonl") for name in ("old", "new1", "new2")]
    commandline.judgeloop("select", old, *two, "--judge", "metric:token-f1")
    before = commandline.judgeloop("compare", *two, "--judge", "metric:token-f1", "--dry-run")
    assert "had these two among 3 systems" in unwrapped(before.stdout)
    values = commandline.result_of("compare", *two, "--judge", "metric:token-f1")
    assert (values["comparison"], values["searched"]) == (2, 3)
    (said,) = [one["message"] for one in values["warnings"] if one["code"] == "searched"]
    assert "3 systems" in said
    page = unwrapped(commandline.judgeloop("compare", old, two[0], "--judge", "metric:token-f1", "--details").stdout)
    assert page.count("unless an earlier search of these items chose the two") == 1, page
    assert "risk 0.1, if no earlier search chose these two: at most 1 in 10" in page
    assert not json.loads(asked("new3", "--json").stdout)["searched"], "new3 was not among them"
    bare = []
    for number, path in enumerate(two):
        rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
        bare.append(tmp_path / f"other{number}.jsonl")
        kept = [{name: row[name] for name in ("prompt", "output", "reference")} for row in rows]
        bare[-1].write_text("\n".join(map(json.dumps, kept)))
    other = commandline.result_of("compare", *bare, "--judge", "metric:token-f1")
    assert (other["searched"], other["systems"]) == (3, ["other0", "other1"]), "whatever ids and names are"


@pytest.mark.parametrize(("shared", "comparison"), [(5, 1), (19, 2)])
def test_baselines_that_agree_on_some_items_by_chance_are_two(tmp_path, shared, comparison):
    def compared(name):
        rows = {
            name: [f"yes {n if n < shared else (name, n)}" for n in range(ITEMS)],
            f"for-{name}": [f"no {name} {n}" for n in range(ITEMS)],
        }
        files = [str(write_outputs(tmp_path / f"{one}.jsonl", texts, reference="yes")) for one, texts in rows.items()]
        return commandline.result_of("compare", *files, "--judge", "metric:token-f1")["comparison"]

    assert [compared("old"), compared("other")] == [1, comparison]
