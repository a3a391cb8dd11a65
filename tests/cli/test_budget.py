"""`judgeloop budget`, and runs that draw on budgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.commandline import judgeloop
from support.text import unwrapped


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    for name in ("old", "new"):
        rows = [{"id": n, "prompt": f"p{n}", "output": f"{name} {n}"} for n in range(60)]
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scores = "".join(f"{n},old,new,{n % 2},0.01\n" for n in range(60))
    Path("verdicts.csv").write_text("item_id,model_a,model_b,score,cost_usd\n" + scores)
    return ["compare", "old.jsonl", "new.jsonl", "--judge", "replay:verdicts.csv"]


def said(done):
    return " ".join(f"{done.stdout} {done.stderr}".split())


def budgets():
    return {one["name"]: one for one in json.loads(judgeloop("budget", "--json").stdout)}


def test_each_run_has_its_own_budget_and_all_share_one(files):
    """Recorded costs count, as they do against the budget."""
    judgeloop("budget", "set", "0.5", "--per", "day")
    runs = [judgeloop(*files, "--seed", seed, "--budget", "0.2", "--json") for seed in range(3)]
    assert [run.exit_code for run in runs] == [3, 3, 3]
    assert sum(json.loads(run.stdout)["rehearsed_usd"] for run in runs) == pytest.approx(0.5)
    last = judgeloop(*files, "--seed", "9")
    assert last.exit_code == 3
    assert ": the budget of $0.50 a day for every run" in unwrapped(last.stdout)
    assert (
        "budget of $0.50 a day for every run does not cover the worst case of a query, $0.010: "
        "$0.00 is left, and it starts again at 20"
    ) in said(last)
    assert "set a higher limit with judgeloop budget set, to resume" in said(last).replace("`", "")
    judgeloop("budget", "set", "9", "--per", "day")
    assert judgeloop(*files, "--seed", "9", "--json").exit_code in {0, 3}
    assert budgets()[""]["spent_usd"] > 0.5


def test_charges_of_a_found_file_and_of_the_command_line_add_up(files):
    for name in ("team", "mine"):
        judgeloop("budget", "set", "--name", name, "1")
    Path("judgeloop.toml").write_text('[shared]\ncharge-to = "team"\n')
    judgeloop(*files, "--charge-to", "mine", "--max-judgments", "5")
    spent = {name: one["spent_usd"] for name, one in budgets().items()}
    assert spent == {"mine": pytest.approx(0.05), "team": pytest.approx(0.05)}
    unknown = judgeloop(*files, "--charge-to", "nobody")
    assert unknown.exit_code == 2
    assert "has no budget of this name" in said(unknown)
    moved = judgeloop(*files, "--charge-to", "mine", "--ledger", "elsewhere.sqlite")
    assert (moved.exit_code, Path("elsewhere.sqlite").exists()) == (2, False)
    assert "there is no ledger at elsewhere.sqlite" in said(moved)


@pytest.mark.parametrize("line", ["limit = 99", 'name = "x"', 'per = "total"'])
def test_a_found_file_cannot_set_a_budget(files, line):
    Path("judgeloop.toml").write_text(f"[budget.set]\n{line}\n")
    done = judgeloop("budget", "set", "1")
    assert done.exit_code != 0
    assert not Path(".judgeloop").exists()


def test_a_dry_run_counts_what_is_left(files):
    judgeloop("budget", "set", "0.02")
    done = judgeloop(*files, "--dry-run")
    assert "The $0.020 left of a budget of the ledger covers about 2 judgments" in said(done)


def test_without_a_price_no_budget_can_be_kept(files):
    judgeloop("budget", "set", "3", "--per", "week")
    done = judgeloop(
        *files[:3], "--judge", "openai/unknown", "--judge-base-url", "http://localhost:1/v1",
        "--budget", "none",
    )  # fmt: skip
    assert done.exit_code == 2
    assert "the budget of $3.00 a week for every run cannot be kept" in said(done)


def test_budgets_are_shown_set_and_removed(files):
    assert "there is no ledger there" in said(judgeloop("budget"))
    shown = judgeloop("budget", "set", "$20", "--per", "month", "--day-starts", "12:00+01:00")
    assert said(shown).startswith(
        "every run: $20.00 a month from 12:00+01:00; $0.00 spent, $0.00 held back, $20.00 left; it starts again at 20"
    )
    assert said(judgeloop("budget")) == said(shown)
    judgeloop("budget", "set", "1", "--name", "nightly")
    assert "nightly: $1.00 in total; " in said(judgeloop("budget"))
    raised = said(judgeloop("budget", "set", "30"))
    assert raised.startswith("every run: $30.00 a month from 12:00+01:00; "), "the period is kept"
    assert judgeloop("budget", "remove").exit_code == 0
    assert list(budgets()) == ["nightly"]
    assert judgeloop("budget", "remove").exit_code == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["none"], "expected dollars"),
        (["1", "--day-starts", "12:00"], "a time and its offset from UTC, such as 12:00+01:00"),
        (["1", "--per", "year"], "expected day, week, month or total"),
        (["1", "--name", "a b"], "expected letters, digits, dots and hyphens"),
    ],
)
def test_a_budget_that_cannot_be_is_refused(files, given, expected):
    done = judgeloop("budget", "set", *given)
    assert (done.exit_code, expected in said(done)) == (2, True), said(done)
    assert not Path(".judgeloop").exists()
