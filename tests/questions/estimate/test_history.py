"""What an estimate learns from earlier systems' ratings, through the command line: the ledger, some
of its runs, a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.commandline import judged_items, judgeloop
from support.database import opened
from support.text import unwrapped

ITEMS = 80
NAMES = ("mine", "c1", "c2", "c3", "c4")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Outputs of five systems, and a table of their scores, which depend on the item more than on
    the system."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    easy = rng.random(ITEMS)
    rows = ["item_id,model,score"]
    for name in NAMES:
        lines = [{"id": f"i{at}", "prompt": f"p{at}", "model": name, "output": f"{name} {at}"} for at in range(ITEMS)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        scores = np.clip(easy + rng.normal(0, 0.1, ITEMS), 0, 1)
        rows += [f"i{at},{name},{scores[at]:.4f}" for at in range(ITEMS)]
    (tmp_path / "verdicts.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def command(name, *more, verdicts="verdicts.csv"):
    return judgeloop("estimate", f"{name}.jsonl", "--judge", f"replay:{verdicts}", *more)


def estimate(name, *more, **which):
    result = command(name, "--max-judgments", 30, "--json", *more, **which)
    assert result.exit_code in {0, 3}, result.output
    return json.loads(result.stdout)


def judged(run):
    return [row["item_id"] for row in judged_items(run["run"])]


def rated_before(*names):
    return [estimate(name, "--max-judgments", ITEMS)["run"] for name in names]


def width(run):
    return run["interval"][1] - run["interval"][0]


def test_without_earlier_ratings_it_is_the_plain_estimate_and_says_so(folder):
    first = estimate("mine", "--proxy", "history")
    assert first["history"] == "no other ratings by this judge on these items in the ledger"
    plain = estimate("mine")
    assert (first["mean"], first["interval"]) == (plain["mean"], plain["interval"])
    text = command("mine", "--max-judgments", 30, "--proxy", "history").stdout
    assert "history: no other ratings by this judge on these items in the ledger; the score is the judge's" in unwrapped(text)  # fmt: skip


def test_the_ledger_narrows_later_estimates_and_costs_nothing(folder):
    rated_before("c1", "c2", "c3", "c4")
    plain, helped = estimate("mine"), estimate("mine", "--proxy", "history")
    assert helped["history"] == "320 ratings of 4 systems in the ledger"
    assert helped["proxy"] == "history"
    assert width(helped) < 0.8 * width(plain)
    assert helped["judged"] == helped["asked"] == 30
    text = command("mine", "--max-judgments", 30, "--proxy", "history").stdout
    assert "history: 320 ratings of 4 systems in the ledger, mean 0." in text


def test_items_are_drawn_as_no_other_run_draws_them(folder):
    plain = estimate("c1", "--max-judgments", 20)
    helped = estimate("mine", "--max-judgments", 20, "--proxy", "history")
    assert helped["history"] == "20 ratings of 1 system in the ledger"
    assert judged(plain) == judged(estimate("c2", "--max-judgments", 20)), "one seed, one order"
    assert set(judged(helped)) != set(judged(plain))
    assert judged(estimate("c3", "--max-judgments", 20, "--proxy", "history")) != judged(helped)


def test_a_run_repeated_sees_the_past_that_it_saw_first(folder):
    rated_before("c1")
    before = estimate("mine", "--proxy", "history")
    rated_before("c2")
    again = estimate("mine", "--proxy", "history")
    assert (again["mean"], again["interval"], again["history"]) == (
        before["mean"],
        before["interval"],
        before["history"],
    )
    assert again["attempts"] == 0


def test_the_very_outputs_that_are_rated_are_no_history_of_theirs(folder):
    estimate("mine", "--max-judgments", ITEMS, "--seed", 5)
    assert estimate("mine", "--proxy", "history")["history"].startswith("no other ratings")


def test_ratings_by_another_judge_are_no_history(folder):
    rated_before("c1")
    Path("others.csv").write_text(Path("verdicts.csv").read_text().replace("0.5", "0.6"))
    found = estimate("mine", "--proxy", "history", verdicts="others.csv")
    assert found["history"].startswith("no other ratings")


def test_a_system_of_the_same_name_with_other_outputs_is_another_system(folder):
    rated_before("c1")
    changed = Path("c1.jsonl").read_text().replace('"output": "c1', '"output": "better c1')
    Path("c1.jsonl").write_text(changed)
    rated_before("c1")
    assert estimate("mine", "--proxy", "history")["history"] == f"{2 * ITEMS} ratings of 2 systems in the ledger"


def test_only_the_runs_named_count(folder):
    runs = rated_before("c1", "c2", "c3")
    one = estimate("mine", "--proxy", "history", "--history", runs[1])
    assert one["history"] == f"{ITEMS} ratings of 1 system in run {runs[1]}"
    both = estimate("mine", "--proxy", "history", "--history", f"{runs[0]},{runs[2]}")
    assert both["run"] != one["run"]


def test_a_file_of_scores_is_a_history_without_the_system_itself(folder):
    plain = estimate("mine")
    helped = estimate("mine", "--proxy", "history", "--history", "verdicts.csv")
    assert helped["history"] == f"{4 * ITEMS} ratings of 4 systems in verdicts.csv"
    assert width(helped) < 0.8 * width(plain)


def test_another_file_is_another_run(folder):
    Path("old.csv").write_text("item_id,model,score\ni0,c1,0.1\ni1,c1,0.8\n")
    first = estimate("mine", "--proxy", "history", "--history", "old.csv")
    Path("old.csv").write_text("item_id,model,score\ni0,c1,0.8\ni1,c1,0.1\n")
    assert estimate("mine", "--proxy", "history", "--history", "old.csv")["run"] != first["run"]


def test_scores_that_are_all_the_same_foretell_nothing(folder):
    rows = [f"i{at},c1,0.5" for at in range(ITEMS)]
    Path("flat.csv").write_text("\n".join(["item_id,model,score", *rows]) + "\n")
    found = estimate("mine", "--proxy", "history", "--history", "flat.csv")
    assert found["history"] == "80 ratings of 1 system in flat.csv, which do not distinguish the items"
    assert found["mean"] == estimate("mine")["mean"]


def test_no_history_is_the_plain_estimate(folder):
    rated_before("c1")
    assert estimate("mine", "--proxy", "history", "--history", "none")["interval"] == estimate("mine")["interval"]


def test_a_dry_run_begins_nothing(folder):
    rated_before("c1")
    result = command("mine", "--proxy", "history", "--dry-run")
    assert result.exit_code == 0, result.output
    with opened(".judgeloop/ledger.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


@pytest.mark.parametrize("selector", ["stratified", "random"])
def test_it_goes_with_every_selector_that_draws(folder, selector):
    rated_before("c1", "c2")
    found = estimate("mine", "--proxy", "history", "--selector", selector)
    low, high = found["interval"]
    assert low < found["mean"] < high


TABLES = {
    "pairs.csv": "item_id,model_a,model_b,score\ni0,c1,c2,1\n",
    "marks.csv": "item_id,model,score\ni0,c1,7\n",
    "elsewhere.csv": "item_id,model,score\nx,c1,0.4\n",
    "own.csv": "item_id,model,score\ni0,mine,0.4\n",
}
PROXY = ("--proxy", "history")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*PROXY, "--history", "pairs.csv"), "expected scores of systems (item_id, model, score), found comparisons"),
        ((*PROXY, "--history", "marks.csv"), "expected scores from 0 to 1, found 7 of 'c1' on 'i0'"),
        ((*PROXY, "--history", "elsewhere.csv"), "scores of other systems than 'mine' on the items 'i0' and so on, found none"),
        ((*PROXY, "--history", "own.csv"), "expected scores of other systems than 'mine'"),
        ((*PROXY, "--history", "nothing.csv"), "expected auto, none, a file of verdicts, or names of runs"),
        ((*PROXY, "--history", "0123456789abcdef"), "has no such run"),
        ((*PROXY, "--history", "RUN"), "found no ratings by this judge on these items in these runs"),
        (("--history", "verdicts.csv"), "earlier ratings are used only with --proxy history"),
        ((*PROXY, "--selector", "diffuse"), "--proxy: --selector diffuse picks its items"),
    ],
)  # fmt: skip
def test_a_history_that_cannot_be_had_or_used_is_said_before_anything_is_asked(folder, given, said):
    for name, text in TABLES.items():
        Path(name).write_text(text)
    if "RUN" in given:
        given = (*given[:-1], estimate("mine", "--max-judgments", ITEMS)["run"], "--seed", 1)
    result = command("mine", *given)
    assert result.exit_code == 2
    assert said in result.stderr.replace("\n", " ")


def test_the_interval_is_not_said_to_be_proved(folder):
    rated_before("c1")
    found = estimate("mine", "--proxy", "history", "--interval", "anytime")
    assert found["guarantee"] is None
